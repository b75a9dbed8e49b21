"""Somebody at a real terminal, who types and reads."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Terminal", "terminal"]

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
            is_over = not self._read(0.2) and self.process.poll() is not None
            assert time.monotonic() < deadline and not is_over, f"no {words!r} in: {self.screen}"
        return self.screen[begun:]

    def types(self, words: str) -> None:
        self.presses(f"{words}\n".encode())

    def presses(self, keys: bytes) -> None:
        with suppress(OSError):  # it has ended
            os.write(self.master, keys)

    def interrupted(self) -> int:
        """By Ctrl-C, again after a while: what meets Python between writing a question and waiting for its answer is
        heard with the next key.
        """
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self.presses(b"\x03")
            heard = time.monotonic() + 3
            while self.process.poll() is None and time.monotonic() < heard:
                self._read(0.1)
        return self.ended()

    def ended(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self._read(0.2) or self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on: {self.screen}"
        return self.process.wait(PATIENCE)

    def _read(self, seconds: float) -> bool:
        """What comes within so long, if anything does; nothing once it has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.screen += os.read(self.master, 65536).decode(errors="replace")
        except OSError:
            return False
        return True


@contextmanager
def terminal(folder: Path, *words: str, **environ: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    kept = {
        k: v for k, v in os.environ.items() if "TOKEN" not in k and not k.startswith(("SOURCES__", "EARSHOT", "COL"))
    }
    # as a shell starts it: Ctrl-C reaches it, also where tests run in the background and ignore it themselves
    shell = ("setsid", "--ctty", "env", "--default-signal=INT")
    process = subprocess.Popen(
        [*shell, sys.executable, "-m", "pipelines.cli", *words], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
        env={**kept, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parent.parent), **environ},
    )  # fmt: skip
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
