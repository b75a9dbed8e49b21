"""A newcomer at a real terminal: `earshot init`, a few answers, and the first threads can be read."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.server.serve import serving
from tests.story import REPO, TOKEN, judge, small_world

PATIENCE = 60
WIDTH = 80


@dataclass
class Terminal:
    """A process whose stdin, stdout, stderr and /dev/tty are one terminal, and what stands on it."""

    process: "subprocess.Popen[bytes]"
    master: int
    screen: str = ""

    def until(self, words: str) -> str:
        """What is shown till then, from where the last one ended."""
        begun, deadline = len(self.screen), time.monotonic() + PATIENCE
        while words not in self.screen[begun:]:
            assert time.monotonic() < deadline, f"no {words!r} in: {self.screen}"
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.screen += os.read(self.master, 65536).decode(errors="replace")
                except OSError:  # it has ended
                    assert words in self.screen[begun:], self.screen
        return self.screen[begun:]

    def types(self, words: str) -> None:
        os.write(self.master, f"{words}\n".encode())

    def ended(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while select.select([self.master], [], [], 0.2)[0] or self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on: {self.screen}"
            try:
                self.screen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                break
        return self.process.wait(PATIENCE)


def _as_a_shell_starts_it() -> None:
    """Ctrl-C reaches it, also where tests run in the background and ignore it themselves."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(folder: Path, *words: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    kept = {
        k: v for k, v in os.environ.items() if "TOKEN" not in k and not k.startswith(("SOURCES__", "EARSHOT", "COL"))
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *words], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True, preexec_fn=_as_a_shell_starts_it,
        env={**kept, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parent.parent)},
    )  # fmt: skip
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


@pytest.mark.ci
def test_from_nothing_to_the_first_threads(tmp_path: Path) -> None:
    """The name mistyped once, the token typed unseen, and read at once; all that was said is there."""
    world, _ = small_world()
    app = GitHubApp(world, public_url="https://api.github.com")
    with serving(app) as url:
        (tmp_path / ".dlt").mkdir()
        (tmp_path / ".dlt" / "config.toml").write_text(f'[sources.github]\napi_url = "{url}"\n', encoding="utf-8")
        with terminal(tmp_path, "init") as at:
            at.until("GitHub repositories")
            at.types(f"{REPO}s")
            at.until("Token for 127.0.0.1")
            at.types(TOKEN)
            assert "no such repository" in at.until("Mend it now?")
            at.types("y")
            at.until("GitHub repositories")
            at.types(f"https://github.com/{REPO}")
            assert "6 pull requests" in at.until("GitLab projects")
            at.types("")
            at.until("Bluesky accounts")
            at.types("")
            assert "which only you can read" in at.until("Read it now?")
            at.types("")
            assert at.ended() == 0, at.screen
            assert TOKEN not in at.screen
        judge(tmp_path / "data" / "published.duckdb", world)
        with terminal(tmp_path, "list", "threads", "--limit", "3") as at:
            assert at.ended() == 0 and "Threads" in at.screen


@pytest.mark.ci
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with terminal(tmp_path, "init") as at:
        at.until("GitHub repositories")
        os.write(at.master, b"\x03")
        assert at.ended() != 0 and "Traceback" not in at.screen
    assert list(tmp_path.iterdir()) == []
