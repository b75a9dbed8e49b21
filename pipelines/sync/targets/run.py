"""A surgical run: named issues, merge requests and pull requests, fresh now.

preflight → ingest → dependents → models → docs → publish → lock released → embed. The preflight asks for all targets
without the lock, so that a scheduled run is not disturbed, and collects every failure: if one target is missing nothing
is written. While it was on its way a bulk run may have landed something newer; such a target is skipped, never
overwritten: its `updated_at` here is later, or the same and it was seen after we asked. From the ingest on the lock is
held, so no bulk run can come in between.

What hangs on the targets is read best effort, each part under its own time limit, and lands in the same package as they
do: readers see all of it at once. No list's cursor moves; the watermarks of what was touched do, since they are rows.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import duckdb
import orjson

from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from pipelines.sync.after_load import STATUS, Making, staged
from pipelines.sync.output.report import Report, SourceReport, Watch, totals
from pipelines.sync.run import Options, Run
from pipelines.sync.shared import Shared
from pipelines.sync.source.reader import SourceReader
from pipelines.sync.source.recheck import look
from pipelines.sync.targets.outcomes import CANCELLED, PARTIAL, UNENDED, Cancelled, Order, Outcome, Surgery
from pipelines.warehouse.data_dir import DataDir, Locked, as_dicts
from sources.core.http.client import Failure
from sources.core.reading import Batch, Problem, Reading, Unread, Walk, not_understood
from sources.core.targets import Fetched, Target
from sources.core.values import Row, Unreadable, json_bytes

__all__ = ["operate"]

V = TypeVar("V")
AT_ONCE = 10
FAILED, HELD, UNFIT = 1, 4, 6


async def operate(home: DataDir, order: Order, options: Options, watch: Watch | None = None) -> Surgery:
    """Runs the order. Its outcome is in what is returned, also when it failed; only `Cancelled` is raised, with it."""
    watch, started = watch or Watch(), time.monotonic()
    home.create()
    surgery = Surgery(order, outcomes={target: Outcome(target) for target in order.targets})
    with Ledger.open(home.control) as ledger, ThreadPoolExecutor(1, "warehouse") as worker:
        named = [str(target) for target in order.targets]
        mode = "preflight" if order.preflight_only else "surgical"
        detail = orjson.dumps({"targets": named, "place": order.place}).decode()
        surgery.run_id = run_id = ledger.begin(mode, [order.source.name], phase="preflight", detail=detail)
        told = SourceReport(order.source.name, 1)
        report = surgery.report = Report(run_id, [told], timings_ms=surgery.timings_ms)
        run = Run(Shared(home, ledger, run_id, replace(options, quick=True), worker, watch))
        try:
            async with ledger.beating(run_id):
                surgery.exit_code = await _Stages(surgery, ledger, run, report, told, order.place).run()
        except Locked as locked:
            surgery.error, surgery.exit_code = f"{locked}; nothing was written, try again when it is done", HELD
        except Exception as error:
            surgery.error, surgery.exit_code = f"{type(error).__name__}: {str(error).splitlines()[0]:.300}", FAILED
        except asyncio.CancelledError:
            surgery.exit_code = CANCELLED
            raise Cancelled(surgery) from None
        finally:
            _finish(ledger, surgery, time.monotonic() - started)
    return surgery


def _finish(ledger: Ledger, surgery: Surgery, seconds: float) -> None:
    """The ledger's last word of it."""
    code = FAILED if surgery.exit_code == UNENDED else surgery.exit_code
    status = {CANCELLED: "cancelled"}.get(code) or STATUS.get(code, "failed")
    report = surgery.report or Report(surgery.run_id, [])
    report.seconds = seconds
    ledger.finish(
        surgery.run_id,
        status,
        code,
        phase="done" if code in (0, PARTIAL) else status,
        error=surgery.error or (_named(surgery) if code == UNFIT else None),
        detail=orjson.dumps(surgery.counters()).decode(),
        **totals(report),
    )


def _named(surgery: Surgery) -> str:
    return "; ".join(f"{target}: {why.code} {why}" for target, _, why in surgery.failures)[:500]


@dataclass
class _Stages:
    surgery: Surgery
    ledger: Ledger
    over: Run
    report: Report
    told: SourceReport
    scope: str  # the place's id, as soon as it is known
    touched: list[str] = field(default_factory=list)  # parent_keys

    async def run(self) -> int:
        """The exit code."""
        order, making = self.surgery.order, None
        if not order.preflight_only:
            self.over.shared.worker.submit(_import_dlt)  # while the network is waited for
        async with order.connected.connect() as api:
            run, source = self.over.shared, order.source.name
            reading = run.watch.readings[source] = Reading(
                api,
                {},
                unread=Quarantine(self.ledger, source).unread(),
                run=self.surgery.run_id,
                look=partial(run.ask, look),
            )
            try:
                with self._stage("preflight"):
                    fetched = await self._preflight(reading)
                self._record(reading, [("preflight", target) for target in order.targets])
                if not (self.surgery.failures or order.preflight_only):
                    with run.home.lock():
                        async with run.asking():
                            making = await self._make(reading, fetched)
            finally:
                self._tell(reading)
        if making is None:
            return UNFIT if self.surgery.failures else 0
        await making.embed(self.touched)
        return self.report.exit_code

    async def _make(self, reading: Reading, fetched: list[Fetched]) -> Making:
        """Everything that is done under the lock."""
        with self._stage("ingest"):
            fresh, held = await self._fresh(fetched)
        with self._stage("dependents"):
            opening = asyncio.create_task(self._opened(reading, fresh))
            try:
                batches = await self._dependents(fresh, held)
            finally:
                reader = await opening
        self._record(reading, [(name, one.target) for one in fresh for name in one.dependents])
        self.touched = [one.key for one in fresh]
        await self._land(reading, reader, [*(one.batch for one in fresh), *batches])
        if self.surgery.order.decide:
            self.surgery.order.decide(reading.api.now)
        making = self.over.making(self.report, self._note, self.surgery.counters)
        await making.make(self.touched)
        return making

    async def _preflight(self, reading: Reading) -> list[Fetched]:
        """All targets as they are now; failures are collected, not raised."""
        source, gate = self.surgery.order.source, asyncio.Semaphore(AT_ONCE)
        try:
            place = await source.place(reading, self.surgery.order.place, self._known_scope())
            self.scope = place.scope
        except Failure as failure:
            for outcome in self.surgery.outcomes.values():
                outcome.failures.append(("preflight", failure))
            return []

        async def one(outcome: Outcome) -> Fetched | None:
            found = await self._in_time(outcome, "preflight", gate, partial(source.fetch, place, outcome.target))
            outcome.fetched = found is not None
            return found

        found = await asyncio.gather(*map(one, self.surgery.outcomes.values()))
        return [one for one in found if one]

    async def _fresh(self, fetched: list[Fetched]) -> tuple[list[Fetched], Mapping[str, Row]]:
        """Those that are no older than what the warehouse holds, and what it holds."""
        held: Mapping[str, Any] = await asyncio.to_thread(
            self._held, [one.key for one in fetched]
        )  # the worker still imports dlt
        fresh = []
        for one in fetched:
            ours = held.get(one.key)
            if ours and (ours["updated_at"], ours["seen_at"] > one.seen_at) > (one.updated_at, False):
                self.surgery.outcomes[one.target].is_stale = True
            else:
                fresh.append(one)
        return fresh, held

    async def _dependents(self, fresh: list[Fetched], held: Mapping[str, Row]) -> list[Batch]:
        """What could be read in time; each part of each target fails alone."""
        gate, batches = asyncio.Semaphore(AT_ONCE), list[Batch]()

        async def read(one: Fetched, name: str) -> None:
            async def all_of_it() -> None:
                async for batch in one.dependents[name](held.get(one.key, {})):
                    batches.append(batch)

            await self._in_time(self.surgery.outcomes[one.target], name, gate, all_of_it)

        await asyncio.gather(*(read(one, name) for one in fresh for name in one.dependents))
        return batches

    async def _opened(self, reading: Reading, fresh: list[Fetched]) -> SourceReader | None:
        """While the dependents are waited for."""
        if not fresh:
            return None
        reader = self.over.reader(self.surgery.order.source, lambda: nullcontext(reading.api))
        self.over.readers[reader.source.name] = reader
        await reader.begin()
        return reader

    async def _land(self, reading: Reading, reader: SourceReader | None, batches: list[Batch]) -> None:
        """Everything in one package, by the way that a bulk run's batches take."""
        if reader:
            await reader.land(reading, [Walk("", self.scope, _ready(batches))])
            self.told.packages, self.told.rows = reader.packages, reader.rows
        for outcome in self.surgery.outcomes.values():
            outcome.ingested = outcome.fetched and not outcome.is_stale
        self._tell(reading)

    def _held(self, keys: list[str]) -> dict[str, Row]:
        source, home = self.surgery.order.source, self.over.shared.home
        if not home.destination.is_there(home):
            return {}
        with home.destination.looking(home) as connection:
            try:
                found = connection.execute(source.held, {"keys": keys})
            except duckdb.CatalogException:  # this source never landed anything
                return {}
            return {row["parent_key"]: row for row in as_dicts(found)}

    def _known_scope(self) -> str | None:
        """The id of what was last read under this name; None: it has another by now, or was never read."""
        called = self.ledger.scopes(self.surgery.order.source.name)
        wanted = self.surgery.order.place.casefold()
        known = [id_ for id_, name in called.items() if id_.isdigit() and wanted in (name.casefold(), id_)]
        return known[-1] if known else None

    def _tell(self, reading: Reading) -> None:
        tallies, told = reading.tallies.values(), self.told
        told.requests, told.fetched = sum(t.requests for t in tallies), sum(t.fetched for t in tallies)
        told.completed = sum(outcome.ingested for outcome in self.surgery.outcomes.values())
        told.names, told.unread = (
            reading.names,
            [
                Unread(each.scope, each.surface, key, each.reason, json_bytes(each.raw).decode(), each.parent_key)
                for key, each in reading.quarantined.items()
                if not (key in reading.unread and reading.unread[key].is_let_be)
            ],
        )

    def _record(self, reading: Reading, tried: list[tuple[str, Target]]) -> None:
        """What failed, by the names that bulk runs give it: the next run that reads it closes it. What the preflight
        could not read was not written, so nothing is missing: it is closed at once.
        """
        order, names = self.surgery.order, {self.scope: self.surgery.order.place, **reading.names}
        surfaces = {f"{stage} of {target}" for stage, target in tried}
        problems = [
            Problem(self.scope, f"{stage} of {target}", why.code, str(why), why.until)
            for target, stage, why in self.surgery.failures
        ]

        def was_tried(scope: str, surface: str) -> bool:
            return scope == self.scope and surface in surfaces

        self.ledger.record_problems(self.surgery.run_id, order.source.name, problems, names, was_tried)
        if any(stage == "preflight" for stage, _ in tried):
            self.ledger.record_problems(self.surgery.run_id, order.source.name, [], names, was_tried)
        else:
            self.told.problems = problems

    async def _in_time(
        self, outcome: Outcome, stage: str, gate: asyncio.Semaphore, read: Callable[[], Awaitable[V]]
    ) -> V | None:
        """What was read before its time was up. Whatever comes in between is this target's own failure."""
        try:
            async with gate, asyncio.timeout(self.surgery.order.timeout):
                return await read()
        except TimeoutError:
            told = f"not read within {self.surgery.order.timeout:g} s (entity_timeout_seconds)"
            why = Failure("TIMEOUT", told)
        except Unreadable as error:
            why = not_understood(error)
        except Failure as failure:
            why = failure
        outcome.failures.append((stage, why))
        return None

    def _note(self, phase: str) -> None:
        self.ledger.note(self.surgery.run_id, phase=phase, detail=orjson.dumps(self.surgery.counters()).decode())

    def _stage(self, name: str) -> AbstractContextManager[None]:
        return staged(name, self._note, self.over.shared.watch, self.surgery.timings_ms)


def _import_dlt() -> None:
    import pipelines.sync.source.pipeline  # noqa: F401


async def _ready(batches: list[Batch]) -> AsyncIterator[Batch]:
    for batch in batches:
        yield batch
