"""One writer at a time, readers never in anybody's way, and a run without news writes nothing at all."""

import ast
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import orjson
import pytest

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request
from tests.long import LONG
from tests.story import NOW, REPO, Project, judge, news, served, small_world, told

pytestmark = pytest.mark.ci

DATABASES = ("warehouse.duckdb", "published.duckdb")


@contextmanager
def running(project: Project) -> Iterator["subprocess.Popen[str]"]:
    """A run that has the lock and waits for the server's first answer as long as the block lasts."""
    asked, released = threading.Event(), threading.Event()

    def hold(_: Request) -> None:
        asked.set()
        released.wait(30)

    project.app.switches.before = hold
    process = project.start()
    try:
        assert asked.wait(30)
        yield process
    finally:
        project.app.switches.before = None
        released.set()


def untouched(project: Project) -> dict[str, tuple[str, int]]:
    """All files but the ledger's log: the run that has the lock says there every few seconds that it is alive."""
    return {name: told for name, told in project.files().items() if not name.startswith("control.sqlite-")}


def test_second_run_is_refused(tmp_path: Path) -> None:
    """Two runs at once: the second says in one line who holds the lock since when, exits 4 at once and touches nothing."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        with running(project) as first:
            before, started = untouched(project), time.monotonic()
            second = project.run()
            assert second.code == 4 and time.monotonic() - started < 10
            assert second.out == "" and len(second.err.splitlines()) == 1, second.said
            assert f"process {first.pid}" in second.err and "second" in second.err and "Traceback" not in second.err
            assert second.calls == []
            machine = project.run("--json")
            assert machine.code == 4
            envelope = orjson.loads(machine.out)
            assert envelope["ok"] is False and envelope["error"]["code"] == "LOCKED"
            assert untouched(project) == before
        assert project.ended(first).code == 0
        assert project.ledger("SELECT count(*) FROM runs") == [(1,)]
        judge(project.published, world)


def test_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    """kill -9 of the holder: the next run starts at once, and the ledger knows that the other one was killed."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        with running(project) as first:
            first.send_signal(signal.SIGKILL)
            first.wait(10)
            project.ended(first)
        assert (project.data / "earshot.lock").exists()
        assert project.quick().code == 0
        assert project.ledger("SELECT status FROM runs ORDER BY run_id") == [("killed",), ("done",)]
        judge(project.published, world)


READER = """
import sys, duckdb
def count():
    with duckdb.connect(sys.argv[1], read_only=True) as db: return db.execute(QUERY).fetchone()
QUERY = "SELECT count(*), count(*) FILTER (WHERE is_latest), max(updated_at)::VARCHAR FROM feedback.events"
held = duckdb.connect(sys.argv[1], read_only=True)
for line in sys.stdin:
    print(held.execute(QUERY).fetchone(), flush=True)
"""

LOOKER = """
import os, sys, duckdb
seen = set()
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    with duckdb.connect(sys.argv[1], read_only=True) as db:
        seen.add(db.execute(open(sys.argv[3]).read()).fetchone())
print(sorted(seen))
"""
STATE = """
SELECT (SELECT max(run_id) FROM ops.runs), (SELECT count(*) FROM feedback.events), (SELECT count(*) FROM github.issue_comments)
"""


def test_readers_and_runs_do_not_meet(tmp_path: Path, small_world_read: Path) -> None:
    """A reader keeps the snapshot it opened and disturbs no run; who opens anew sees whole runs only, never half of one."""
    world, repo = small_world()
    with served(world, tmp_path) as project:
        shutil.copytree(small_world_read, project.data)
        first = len(told(project.published))
        reader = _program(READER, str(project.published))
        stop = tmp_path / "stop"
        (tmp_path / "state.sql").write_text(STATE)
        looker = _program(LOOKER, str(project.published), str(stop), str(tmp_path / "state.sql"))
        assert reader.stdin and reader.stdout and looker.stdout
        assert looker.stdout.readline() == "ready\n"
        old = _asked(reader)
        assert old.startswith(f"({first},")
        states = [_state(project)]
        for _ in range(2):
            news_of_a_minute(world, repo)
            ended = project.run()
            assert ended.code == 0, ended.said
            assert _asked(reader) == old
            states.append(_state(project))
        judge(project.published, world)
        stop.touch()
        seen = set(ast.literal_eval(looker.communicate(timeout=30)[0]))
        reader.communicate(timeout=30)
        assert seen <= set(states) and len(seen) > 1, (seen, states)


def news_of_a_minute(world: GitHubWorld, repo: Repo) -> None:
    world.advance(60)
    for _ in range(20):
        repo.comment(1, "maya", "again and again")
    world.advance(60)


def test_files_are_private(tmp_path: Path) -> None:
    """What people wrote is nobody else's business on this machine, whatever the umask and the folder's mode were."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        project.data.mkdir(mode=0o755)
        mask = os.umask(0)
        try:
            ended = project.run()
        finally:
            os.umask(mask)
        assert ended.code == 0, ended.said
        modes = {path: path.stat().st_mode & 0o777 for path in [project.data, *project.data.rglob("*")]}
        assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
        assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


# Unchanged runs


def long_thread(world: GitHubWorld, repo: Repo) -> None:
    """A thread with a thousand comments."""
    number = repo.open_pull("maya", "The long one", "…")
    for n in range(1000):
        world.advance(7)
        repo.comment(number, "odile", f"remark {n}")


def burst_of_comments(world: GitHubWorld, repo: Repo) -> None:
    """A hundred and fifty comments in the last second that anything happened."""
    number = repo.open_pull("maya", "A bot wakes up", "…")
    world.advance(60)
    for n in range(150):
        repo.comment(number, "robot[bot]", f"finding {n}")


def burst_of_review_comments(world: GitHubWorld, repo: Repo) -> None:
    number = repo.open_pull("maya", "A linter wakes up", "…")
    world.advance(60)
    for n in range(150):
        repo.review_comment(number, "robot[bot]", "src/pages.py", f"finding {n}", n + 1)


def burst_of_issues(world: GitHubWorld, repo: Repo) -> None:
    """An import: a hundred and fifty issues and pull requests within one second."""
    for n in range(150):
        if n % 3:
            repo.open_issue("robot[bot]", f"Imported {n}", "")
        else:
            repo.open_pull("robot[bot]", f"Imported {n}", "")


def exactly_a_page(world: GitHubWorld, repo: Repo) -> None:
    """A window that fills one page to its last row."""
    number = repo.open_pull("maya", "A hundred", "…")
    for n in range(100):
        repo.comment(number, "odile", f"remark {n}")


def nothing(world: GitHubWorld, repo: Repo) -> None:
    """A repository in which nobody has said anything yet."""


@pytest.mark.parametrize(
    "past", [nothing, long_thread, burst_of_comments, burst_of_review_comments, burst_of_issues, exactly_a_page]
)
def test_unchanged_run_writes_nothing(tmp_path: Path, past: Callable[[GitHubWorld, Repo], None]) -> None:
    """Whatever the history, a run without news asks five times, hears 304 five times and leaves every database as it was."""
    world = GitHubWorld(NOW)
    past(world, world.add_repo(REPO))
    world.advance(600)
    with served(world, tmp_path) as project:
        first = project.quick()
        assert first.code == 0, first.said
        judge(project.published, world)
        before = project.files()
        for run in (project.quick, project.run) if past is burst_of_comments else (project.quick,):
            quiet = run()
            assert quiet.code == 0 and "nothing new" in quiet.out.lower(), quiet.said
            assert len(quiet.calls) <= 5 and {call.status for call in quiet.calls} == {304}, quiet.calls
            after = project.files()
            assert {name: after[name] for name in DATABASES} == {name: before[name] for name in DATABASES}
            unexpected = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
            assert not {name for name in unexpected if not name.startswith(("control.sqlite", "earshot.lock"))}
        assert project.ledger("SELECT packages, rows_new FROM runs ORDER BY run_id DESC LIMIT 1") == [(0, 0)]


def test_cost_does_not_grow_with_a_thread(tmp_path: Path) -> None:
    """One new comment costs as many requests in a thread of a thousand as in a thread of ten."""
    costs = {}
    for size in (10, 1000):
        world = GitHubWorld(NOW)
        repo = world.add_repo(REPO)
        number = repo.open_pull("maya", "A thread", "…")
        for n in range(size):
            world.advance(7)
            repo.comment(number, "odile", f"remark {n}")
        world.advance(600)
        with served(world, tmp_path / str(size)) as project:
            assert project.quick().code == 0
            repo.comment(number, "maya", "And one more.")
            world.advance(600)
            ended = project.quick()
            assert ended.code == 0, ended.said
            costs[size] = len(ended.calls)
            judge(project.published, world)
    assert costs[1000] == costs[10]


# A full disk


def fails_half_way(source: object, target: Path) -> None:
    target.write_bytes(b"half of it")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def fails(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("where", "failure"), [
    ("pipelines.warehouse.files.shutil.copyfile", fails_half_way),
    ("pipelines.warehouse.files.os.fsync", fails),
    ("pipelines.warehouse.files.os.replace", fails),
])  # fmt: skip
def test_disk_full_while_publishing(
    tmp_path: Path, small_world_read: Path, monkeypatch: pytest.MonkeyPatch, where: str, failure: Callable[..., None]
) -> None:
    """No room for the readers' copy: exit 1 with one clear line; they keep the old file, and the next run publishes."""
    world, repo = small_world()
    with served(world, tmp_path) as project:
        shutil.copytree(small_world_read, project.data)
        old = project.published.read_bytes()
        news(world, repo)
        target, _, name = where.rpartition(".")
        module, _, seen = target.rpartition(".")
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{seen}", _with(module, seen, name, failure))
            full = project.quick("--sweep")
        assert full.code == 1
        line = next(line for line in full.out.splitlines() if "No space left" in line)
        assert "published.duckdb" in line
        assert project.published.read_bytes() == old and not list(project.data.glob("*.partial"))
        assert project.ledger("SELECT status, exit_code FROM runs ORDER BY run_id DESC LIMIT 1") == [("failed", 1)]
        assert project.quick().code == 0
        judge(project.published, world)


ROOMS = [0.001, 0.005, 0.05, 0.2, 0.5, 0.9, 1.0, 1.02, 1.05, 1.1, 1.3, 1.6]  # of the warehouse as it is


@pytest.mark.parametrize("room", ROOMS if LONG else [0.05])
def test_no_room_anywhere(tmp_path: Path, small_world_read: Path, room: float) -> None:
    """A real limit on every file's size: wherever it strikes, one clear line, exit 1, and the next run makes it good."""
    world, repo = small_world()
    with served(world, tmp_path) as project:
        shutil.copytree(small_world_read, project.data)
        old = told(project.published)
        news(world, repo)
        world.fill(world.add_repo("lantern/more"), pulls=40, comments=400, review_comments=200)
        project.repos = [REPO, "lantern/more"]
        with _file_limit(int(room * (project.data / "warehouse.duckdb").stat().st_size)):
            process = project.start("--sweep", LOAD__RAISE_ON_MAX_RETRIES="1")  # waiting makes no room
        full = project.ended(process)
        assert full.code == 1, full.said
        assert "Traceback" not in full.said and len(full.err.splitlines()) < 15, full.said[-2000:]
        assert told(project.published) == old
        again = project.quick("--sweep")
        assert again.code == 0, again.said
        assert project.quick("--sweep").code == 0
        judge(project.published, world)


def test_data_directory_is_a_file(tmp_path: Path) -> None:
    """A data directory that cannot be one: a clear line, not a traceback."""
    world, _ = small_world()
    with served(world, tmp_path) as project:
        project.data.write_text("not a directory")
        ended = project.run()
        assert ended.code in (1, 2) and "Traceback" not in ended.err and str(project.data) in ended.err
        assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["größe [1] * {b,c}", 'a "b"; \\ #:', "owner=maya", "maya's", "what?", "100%"])
def test_data_directory_of_any_name(tmp_path: Path, name: str) -> None:
    """Where the data lies is the user's choice: spaces and globs work; what dlt or DuckDB cannot do is refused by name."""
    world, _ = small_world()
    with served(world, tmp_path / name) as project:
        ended = project.quick()
        if set(name) & set("='?%"):
            assert ended.code == 2 and ended.calls == []
            assert name in ended.err and len(ended.err.splitlines()) == 1 and not project.data.exists()
            return
        assert ended.code == 0, ended.said
        judge(project.published, world)


def _program(text: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", text, *arguments], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _asked(reader: "subprocess.Popen[str]") -> str:
    assert reader.stdin and reader.stdout
    reader.stdin.write("\n")
    reader.stdin.flush()
    return reader.stdout.readline()


def _state(project: Project) -> tuple[int, int, int]:
    with duckdb.connect(str(project.published), read_only=True) as db:
        row = db.execute(STATE).fetchone()
    assert row
    return row


def _with(module: str, seen: str, name: str, replacement: Callable[..., None]) -> object:
    """A module as `module` sees it, with one function changed for nobody else."""
    import importlib
    from types import SimpleNamespace

    original = getattr(importlib.import_module(module), seen)
    return SimpleNamespace(**{**vars(original), name: replacement})


@contextmanager
def _file_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
