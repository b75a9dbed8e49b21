"""One run in a forked process, which may be killed at any moment.

The child works on a copy of the worlds. What it does to them is in the plan; how far it came stands in shared memory,
so that the parent can make the same happen to its own.
"""

import asyncio
import contextlib
import gc
import json
import logging
import mmap
import os
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pendulum
import stamina

from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from sources.core.http.client import connect
from tests.storm.said import Mob, Operation
from tests.storm.weather import Air, Trouble, Weather

__all__ = ["Ended", "Kill", "Run", "forked", "inside", "warm"]

LONGEST = 120.0  # seconds: a run that takes longer hangs
EVENTS, REQUESTS, FIRST = 0, 1, 2  # places in the shared memory; from FIRST on, operations of each source
WATCHED = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "sqlite3.connect", "shutil.copyfile"}


@dataclass(frozen=True)
class Kill:
    """When: after so many of the run's steps (requests, files opened or moved, statements of a load), or seconds."""

    step: int | None = None
    seconds: float | None = None


@dataclass
class Run:
    """What one run is given."""

    home: DataDir
    mobs: list[Mob]
    weather: dict[str, Weather]
    trouble: dict[str, Trouble]
    amid: dict[str, list[tuple[int, Operation]]]  # by source: before which request, what
    options: dict[str, Any] = field(default_factory=dict)
    skew: float = 0.0  # seconds by which this machine's clock is wrong
    kill: Kill | None = None
    trace: str = ""  # a file that every request and operation is written to


@dataclass
class Ended:
    exit_code: int | None = None  # None: killed
    error: str = ""
    steps: int = 0
    requests: int = 0
    seconds: float = 0.0
    applied: dict[str, int] = field(default_factory=dict)  # operations amid the run, by source
    problems: list[tuple[str, str, str, str, str]] = field(default_factory=list)  # source, scope, surface, code, words
    swept: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    packages: int = 0

    @property
    def is_killed(self) -> bool:
        return self.exit_code is None


class Count:
    """Numbers that parent and child share."""

    def __init__(self, places: int) -> None:
        self.memory = mmap.mmap(-1, 8 * places)

    def __getitem__(self, place: int) -> int:
        return int(struct.unpack_from("q", self.memory, 8 * place)[0])

    def add(self, place: int, by: int = 1) -> int:
        now = self[place] + by
        struct.pack_into("q", self.memory, 8 * place, now)
        return now


def forked(run: Run) -> Ended:
    """The run, in a process of its own."""
    count, (reader, writer), started = Count(FIRST + len(run.mobs)), os.pipe(), time.monotonic()
    gc.freeze()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(run, count, writer)
    os.close(writer)
    try:
        told = _heard(child, reader, run.kill)
    except BaseException:  # told to stop: nobody is left behind
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    ended = Ended(**json.loads(told)) if told else Ended()
    ended.steps, ended.requests, ended.seconds = count[EVENTS], count[REQUESTS], time.monotonic() - started
    ended.applied = {mob.name: count[FIRST + n] for n, mob in enumerate(run.mobs)}
    return ended


def _heard(child: int, reader: int, kill: Kill | None) -> bytes:
    """What the child says at its end; nothing if it was killed, by itself or by us."""
    patience = kill.seconds if kill and kill.seconds is not None else LONGEST
    told, is_ours = b"", False
    deadline = time.monotonic() + patience
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            is_ours = kill is not None and kill.seconds is not None
            os.kill(child, signal.SIGKILL)
            break
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        told += chunk
    os.close(reader)
    _, status = os.waitpid(child, 0)
    was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if was_killed and (is_ours or (kill and kill.step is not None)):
        return b""
    if was_killed or os.WIFSIGNALED(status):
        return json.dumps({"exit_code": 1, "error": f"CRASH: the run hangs or died by signal {status}"}).encode()
    return told or json.dumps({"exit_code": 1, "error": f"CRASH: the run ended without a word, {status}"}).encode()


def _child(run: Run, count: Count, writer: int) -> None:
    told: dict[str, Any] = {}
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        logging.disable(logging.CRITICAL)
        _arm(count, run.kill.step if run.kill else None)
        told = asyncio.run(_sync(run, count))
    except BaseException:
        told = {"exit_code": 1, "error": f"CRASH: {traceback.format_exc()[-3000:]}"}
    finally:
        with contextlib.suppress(BaseException):
            os.write(writer, json.dumps(told).encode())
        os._exit(0)


def _arm(count: Count, step: int | None) -> None:
    """Counts the steps of this process, and kills it before the one that is meant."""
    from dlt.destinations.impl.duckdb.duck import DuckDbCopyJob
    from dlt.destinations.impl.duckdb.sql_client import DuckDbSqlClient
    from dlt.destinations.job_client_impl import SqlLoadJob

    def at_a_step() -> None:
        if count.add(EVENTS) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, _: object) -> None:
        if event in WATCHED:
            at_a_step()

    def counted(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def told(*args: Any, **kwargs: Any) -> Any:
            at_a_step()
            return original(*args, **kwargs)

        setattr(owner, name, told)

    counted(DuckDbCopyJob, "run")
    counted(SqlLoadJob, "run")
    counted(DuckDbSqlClient, "execute_query")
    sys.addaudithook(heard)


async def _sync(run: Run, count: Count) -> dict[str, Any]:
    faults: dict[str, int] = {}
    trace = open(run.trace, "a", encoding="utf-8", buffering=1) if run.trace else None  # noqa: SIM115

    def met(fault: str) -> None:
        faults[fault] = faults.get(fault, 0) + 1

    reached = []
    for n, mob in enumerate(run.mobs):
        happens = _happens(mob, run.amid.get(mob.name, []), count, FIRST + n, trace)
        air = Air(mob, run.weather[mob.name], run.trouble[mob.name], happens, met)
        reached.append(Reached(mob.source(), air, trace))
    pendulum.now = _clock(run)  # type: ignore[assignment]
    stamina.set_testing(True, attempts=2, cap=True)
    report = await sync(run.home, reached, Options(**run.options))
    problems = [(s.source, p.scope, p.surface, p.code, p.message) for s in report.sources for p in s.problems]
    problems += [(s.source, "", "quarantine", each.key, each.reason) for s in report.sources for each in s.unread]
    problems += [("", "", "stage", "", report.stage_problem)] if report.stage_problem else []
    return {
        "exit_code": report.exit_code, "error": report.error or "", "problems": problems, "faults": faults,
        "swept": [s.source for s in report.sources if s.swept], "packages": sum(s.packages for s in report.sources),
    }  # fmt: skip


def _happens(mob: Mob, amid: list[tuple[int, Operation]], count: Count, place: int, trace: Any) -> Any:
    left = list(reversed(amid))

    def happens(request: int) -> None:
        count.add(REQUESTS)
        while left and left[-1][0] <= request:
            operation = left.pop()[1]
            mob.do(operation)
            count.add(place)
            if trace:
                trace.write(f"    {mob.name}: {operation[0]} {operation[1]}\n")

    return happens


def _clock(run: Run) -> Any:
    """This machine's clock: the worlds' own, and as wrong as it is to be."""

    def now(tz: Any = "UTC") -> pendulum.DateTime:
        return max(mob.world.now for mob in run.mobs).add(seconds=run.skew).in_timezone(tz or "UTC")

    return now


@dataclass
class Reached:
    """A source and the way to it."""

    source: Any
    air: Air
    trace: Any = None

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Any]:
        headers = self.source.headers
        async with connect(self.source.config.api_url, headers, transport=self.air, max_retries=1) as api:
            api.sleep = _at_once
            if self.trace:
                api.client.event_hooks = {"response": [self._traced]}
            yield api

    async def _traced(self, response: Any) -> None:
        url = response.request.url
        self.trace.write(f"  {self.source.name} {response.status_code} {url.raw_path.decode()}\n")


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def inside(run: Run) -> Ended:
    """The run in this process: nobody kills it, and it works on the worlds themselves."""
    clock, count, started = pendulum.now, Count(FIRST + len(run.mobs)), time.monotonic()
    logging.disable(logging.CRITICAL)
    try:
        ended = Ended(**asyncio.run(_sync(run, count)))
    except Exception:
        ended = Ended(1, f"CRASH: {traceback.format_exc()[-3000:]}")
    finally:
        pendulum.now = clock
        stamina.set_testing(False)
        logging.disable(logging.NOTSET)
    ended.requests, ended.seconds = count[REQUESTS], time.monotonic() - started
    ended.applied = {mob.name: count[FIRST + n] for n, mob in enumerate(run.mobs)}
    return ended


def warm(home: DataDir, mobs: list[Mob]) -> None:
    """A run in this process, so that all that is imported late is there before it is forked."""
    fair = {mob.name: Weather() for mob in mobs}
    ended = inside(Run(home, mobs, fair, {mob.name: Trouble() for mob in mobs}, {}))
    assert ended.exit_code == 0, ended
