"""`--every`: a run that stays, and what passes by itself does not end it; how it is stopped, and watched."""

import fcntl
import signal
import threading
import time
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pendulum
import pytest

from pipelines.sync.output import progress
from pipelines.sync.output.report import Watch
from sources.core.http.client import RequestCounts
from sources.core.reading import Reading
from tests.story import Project, judge, served, small_world

pytestmark = pytest.mark.ci

PATIENCE = 30


def until_read(project: Project) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (
        project.published.exists() and project.ledger("SELECT count(*) FROM runs WHERE status = 'done'") != [(0,)]
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_who_stays_tries_again_when_the_lock_is_free(tmp_path: Path) -> None:
    """Somebody's surgical run has the lock when the next one is due: told in a line, and the one after that reads."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        project.data.mkdir()
        with open(project.data / "earshot.lock", "a+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            process = project.start("--every", "1s")
            assert process.stderr and "another run holds" in process.stderr.readline()
            time.sleep(0.5)
            assert process.poll() is None
        until_read(project)
        process.send_signal(signal.SIGTERM)
        ended = project.ended(process)
        assert ended.code == 130 and "Traceback" not in ended.said, ended.said
        judge(project.published, world)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_stop_is_told_like_everything(tmp_path: Path, options: tuple[str, ...]) -> None:
    """On Ctrl-C a person reads a line and a program the envelope: no program is left with no answer at all."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        process: list[Popen[str]] = []
        project.app.switches.before = lambda _: process[0].send_signal(signal.SIGINT)
        process.append(project.start(*options))
        ended = project.ended(process[0])
        assert ended.code == 130 and ended.said.count("cancelled") == 1, ended.said
        if options:
            told = orjson.loads(ended.out)
            assert (told["ok"], told["error"]["code"], told["meta"]["exit_code"]) == (False, "CANCELLED", 130)


def test_what_is_watched_fits_a_terminal() -> None:
    """A first read of everything, at 80 columns: no line is broken in two, eight times a second."""
    tally, now = RequestCounts(requests=123_456, fetched=12_345_678, total=12_345_678_901), pendulum.now("UTC")
    api = SimpleNamespace(waits={f"{'long-name.' * 3}gitlab.example": now.add(seconds=90)})
    names = ("github", "gitlab", "bluesky")
    watch = Watch("settling", landed=dict.fromkeys(names, 12_345_678), scopes=dict.fromkeys(names, 10_000))
    for name in names:
        watch.readings[name] = Reading(cast(Any, api), cast(Any, None), {}, tallies={("posts", "*"): tally})
        watch.at("reading", name)
    watch.settles("gitlab", 123_456)
    lines = progress.lines(watch, 86_400, now).splitlines()
    assert lines[0].startswith("reading, settling · 86400 s")
    assert [line.split()[0].strip(":") for line in lines if line[:3].strip()] == ["reading,", *names]
    assert max(map(len, lines)) <= 80


def test_who_reads_on_may_go(tmp_path: Path) -> None:
    """`earshot sync --every 60s | head -1`: with nobody left to tell, it ends, and blames no disk."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        process = project.start("--every", "1s", PYTHONUNBUFFERED="")
        assert process.stdout and process.stderr
        process.stdout.close()
        try:
            assert process.wait(PATIENCE) == 1
            assert "pipe" not in process.stderr.read()
        finally:
            process.kill()


def test_each_run_is_told_when_it_ends(tmp_path: Path) -> None:
    """Into a log or a program: the first envelope is there while the run still stays."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        process = project.start("--every", "1h", "--json", PYTHONUNBUFFERED="")
        assert process.stdout
        late = threading.Timer(PATIENCE, process.kill)
        late.start()
        told = process.stdout.readline()
        late.cancel()
        is_there = process.poll() is None
        process.kill()
        assert orjson.loads(told)["ok"] and is_there
