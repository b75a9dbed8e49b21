"""One run, top to bottom: lock → read → land → settle → models → documents → publish → lock released → embeddings.

Sources are read side by side; all that touches dlt or DuckDB happens in one worker thread, one landing at a time, while
the reading goes on. A landing commits whatever prefix of the batches has arrived, every few thousand rows, so a killed
first read goes on where it was. What was landed and not yet published is remembered before it is landed: a run that is
killed in between is finished by the next one, also if that finds nothing new.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import orjson
import pendulum

from pipelines.models import build
from pipelines.replies import reply_seen
from pipelines.state import ledger_history, skips
from pipelines.state.ledger import Ledger
from pipelines.state.payloads import Payloads
from pipelines.state.quarantine import Quarantine, open_keys
from pipelines.state.run_state import LONG_AGO
from pipelines.state.runners import leave_word
from pipelines.sync.after_load import STATUS, Making, Options
from pipelines.sync.load.intake import Intake
from pipelines.sync.output.report import Report, SourceReport, Watch, totals
from pipelines.sync.recheck import look, readings_owed, rule, scopes_read, suspects
from pipelines.warehouse.data_dir import DataDir, LandingError, PublishError
from pipelines.warehouse.errors import Unavailable
from pipelines.warehouse.version import OtherVersion
from sources.core.http.client import Api
from sources.core.reading import Problem, Reading, Unread, is_of_one
from sources.core.source import Source

if TYPE_CHECKING:
    from pipelines.sync.load.landing import Landing

__all__ = ["Connected", "Options", "Run", "sync"]

log = logging.getLogger("earshot.sync")


class Connected(Protocol):
    """A configured source and how to reach it."""

    @property
    def source(self) -> Source: ...

    def connect(self) -> AbstractAsyncContextManager[Api]: ...


async def sync(home: DataDir, sources: Sequence[Connected], options: Options, watch: Watch | None = None) -> Report:
    """Holds the lock, reads everything once, publishes. Raises `Locked` when another run is at it."""
    watch, started = watch or Watch(), time.monotonic()
    with ExitStack() as lock:
        lock.enter_context(home.lock())
        with Ledger.open(home.control) as ledger, ThreadPoolExecutor(1, "warehouse") as worker, ExitStack() as after:
            ledger_history.fold(ledger)
            mode = "full" if options.full else "sweep" if options.sweep else "bulk"
            mode = f"narrow {mode}" if options.is_narrowed else mode
            run_id = watch.run_id = ledger.begin(mode, [c.source.name for c in sources])
            report = Report(run_id, [])
            run = Run(home, ledger, run_id, options, worker, watch)
            if home.destination.is_shared:
                after.callback(lambda: leave_word(home, ledger.connection, pendulum.now("UTC").to_iso8601_string()))
            try:
                async with ledger.beating(run_id):
                    report.sources = list(await asyncio.gather(*(run.guarded(connected) for connected in sources)))
                    making = run.making(report)
                    if not run.is_torn:
                        await making.make()
                        await run.rule_out(report)
                    lock.close()
                    await making.embed()
                    watch.at("done")
            except (LandingError, PublishError, Unavailable, build.CheckFailed, duckdb.Error) as error:
                report.error = home.destination.safe(str(error).splitlines()[0])[:300]
            except asyncio.CancelledError:
                ledger.finish(run_id, "cancelled", 130, phase=watch.phase, seconds=time.monotonic() - started)
                raise
            except BaseException as error:
                ledger.finish(run_id, "failed", 1, phase=watch.phase, error=f"{type(error).__name__}: {error}"[:500])
                raise
            report.seconds = time.monotonic() - started
            ledger.finish(
                run_id, STATUS[report.exit_code], report.exit_code, phase=watch.phase, error=report.error,
                detail=orjson.dumps(report.stages).decode(), **totals(report),
            )  # fmt: skip
            return report


@dataclass
class Run:
    home: DataDir
    ledger: Ledger
    run_id: int
    options: Options
    worker: ThreadPoolExecutor
    watch: Watch
    landings: "dict[str, Landing]" = field(default_factory=dict)
    is_torn: bool = False  # a landing broke off: half a package is not for readers

    async def work(self, job: Callable[..., Any], *args: Any) -> Any:
        """A job in the one thread that may touch dlt and DuckDB. Cancelled, it is waited for: it may be writing."""
        running = asyncio.get_running_loop().run_in_executor(self.worker, job, *args)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    def open(self, source: Source) -> "Landing":
        """Where the source's rows go, and how far it was read."""
        from pipelines.sync.load.landing import Landing

        landing = Landing.open(self.home, source.name, source.tables, source.fills, quick=self.options.quick)
        if landing.was_dropped:  # what was made of the tables that somebody dropped is made anew, too
            self.ledger.state.made_with = None
        self.landings[source.name] = landing
        return landing

    def intake(self, source: Source, landing: "Landing", chunk_rows: int) -> Intake:
        return Intake(
            landing, self.ledger, self.run_id, chunk_rows, self.work, partial(self._landed, source.name),
            Payloads(self.home.payloads) if self.options.keep_payloads else None,
        )  # fmt: skip

    async def guarded(self, connected: Connected) -> SourceReport:
        """One source's failure never stops another, whatever it is."""
        name = connected.source.name
        try:
            return await self.read_source(connected)
        except OtherVersion:
            raise  # nobody's rows are to land there
        except LandingError as error:
            self.is_torn = self.is_torn or error.is_torn
            told = "; readers keep the last state until a run has repaired it" if error.is_torn else ""
            problem = Problem("*", "landing", "LANDING_FAILED", f"{error}{told}")
        except Exception as error:
            log.exception("%s failed", name)
            problem = Problem("*", "reading", "INTERNAL", f"{type(error).__name__}: {error}"[:300])
        self.ledger.record_problems(self.run_id, name, [problem], {})
        return SourceReport(name, len(connected.source.scopes()), problems=[problem])

    async def read_source(self, connected: Connected) -> SourceReport:
        source, ledger = connected.source, self.ledger
        landing = await self.work(self.open, source)
        failed = frozenset((row["scope"], row["surface"]) for row in ledger.open_failures(source.name))
        turn = ledger.source_state(source.name).turn + 1
        async with connected.connect() as api:
            intake = self.intake(source, landing, self.options.chunk_rows)
            reading = self.watch.readings[source.name] = intake.reading = Reading(
                api, intake.take, landing.cursors, full=self.options.full, sweep=self._sweeps(source.name, landing),
                deep=self.options.deep, turn=turn, run=self.run_id,
                since_run=ledger.third_last(self.run_id, source.name), look=partial(self.work, look, self.home),
                is_new=not (landing.cursors or landing.is_shaped()),
                unread=Quarantine(ledger, source.name).unread(), open_failures=failed,
                safe_backfill_hours=self.options.safe_backfill_hours,
                skipped_before=skips.known(ledger.connection, source.name),
            )  # fmt: skip
            self.watch.scopes[source.name] = len(source.scopes())
            self.watch.at("reading", source.name)
            await source.read(reading)
            await source.retry(
                reading, [each for key, each in reading.unread.items() if each.is_due and key not in reading.healed]
            )
            await self._land(source, intake)
            await self._settle(source, reading, intake)
            self.watch.left(source.name)
        return self._record(source, reading, intake)

    async def _land(self, source: Source, intake: Intake) -> None:
        """What is left of what was read."""
        if intake.is_owing:
            self.watch.at("landing", source.name)
        await intake.land()

    async def _settle(self, source: Source, reading: Reading, intake: Intake) -> None:
        """Reads again what does not add up. It is not looked for where the last look found nothing, and nothing has
        landed or failed since, and it would be asked for by the same rule."""
        ledger, state = self.ledger, self.ledger.source_state(source.name)
        is_suspected = reading.sweep or reading.full or bool(ledger.open_failures(source.name))
        is_suspected = is_suspected or bool(reading.sightings) or any(u.is_due for u in reading.unread.values())
        if not is_suspected and state.nothing_due_by == rule(source, reading):
            return
        found = await self.work(suspects, self.home, source, reading)
        if found:
            self.watch.settles(source.name, sum(map(readings_owed, found)))
            await source.settle(reading, found)
            await self._land(source, intake)
            reading.sightings.clear()  # what the sweep or --full made suspect was looked at
            reading.full = False
            found = await self.work(suspects, self.home, source, reading)
        if found or not self.options.is_narrowed:
            state.nothing_due_by = None if found else rule(source, reading)

    def making(
        self, report: Report, note: Callable[[str], None] | None = None,
        detail: Callable[[int], dict[str, object]] | None = None,
    ) -> Making:  # fmt: skip
        """What comes after the landing; `note` is told of every stage that begins. `detail`: what the ledger keeps of
        a run that ends with this exit code.
        """
        return Making(
            self.home, self.ledger, self.run_id, self.options, self.work, self.watch,
            lambda: {name: each.cursors for name, each in self.landings.items() if each.kept is None}, report,
            note or (lambda phase: self.ledger.note(self.run_id, phase=phase)), detail or (lambda _: report.stages),
        )  # fmt: skip

    async def rule_out(self, report: Report) -> None:
        """Answers of ours that a run over everything would have heard by now, had they been there."""
        whole = {told.source: told.whole for told in report.sources if not (told.problems or told.unread)}
        if whole and not self.options.is_narrowed:
            await self.work(reply_seen.rule_out, self.home, whole, self.ledger.begun(self.run_id))

    def _landed(self, name: str, rows: int) -> None:
        self.watch.landed[name] = rows
        self.watch.on_change(self.watch)

    def _sweeps(self, name: str, landing: "Landing") -> bool:
        """Asked for, or due. A first read sees everything anyway."""
        if not landing.cursors:
            return False
        if self.options.sweep:
            return True
        last = self.ledger.source_state(name).swept_at
        if last is None or self.options.is_narrowed:  # what is due for all is not done by some
            return False
        return self.options.sweep_is_due(last)

    def _healed(self, reading: Reading) -> set[str]:
        """Of what was kept raw: what could be read now; and after reading all again, what is no longer there."""
        healed = reading.healed - reading.quarantined.keys()
        failed = {problem.scope for problem in reading.problems}
        for key, each in reading.unread.items() if self.options.full else ():
            was_read = (each.surface, each.scope) in reading.tallies and each.scope not in failed
            if was_read and key not in reading.quarantined:
                healed.add(key)
        return healed

    def _was_read(self, source: Source, reading: Reading) -> Callable[[str, str], bool]:
        """Whether this run would have met a failure again, by scope and surface: what a sweep met, and only a sweep
        asks for, is not over because nobody asked."""
        state, is_narrowed = self.ledger.source_state(source.name), self.options.is_narrowed
        owed = state.met_sweeping
        if reading.sweep:
            failed = frozenset((problem.scope, problem.surface) for problem in reading.problems)
            state.met_sweeping = failed | owed if is_narrowed else failed
        scopes = set(scopes_read(reading))
        left_out = frozenset[str]().union(*source.types.values()) - source.surfaces

        def was_read(scope: str, surface: str) -> bool:
            if is_narrowed and (scope not in scopes or surface in left_out or is_of_one(surface)):
                return (scope, surface) in reading.read
            return reading.sweep or (surface, scope) in reading.tallies or (scope, surface) not in owed

        return was_read

    def _missing(self, source: Source, reading: Reading, intake: Intake) -> list[Unread]:
        """What lies in quarantine of the scopes that this run has read. Readers are told what came and went."""
        kept = Quarantine(self.ledger, source.name)
        intake.keep_raw()
        kept.heal(self._healed(reading))
        unread, scopes = kept.unread(), set(scopes_read(reading))
        if open_keys(unread) != open_keys(reading.unread):
            self.ledger.state.is_unpublished = True
        left_out = frozenset[str]().union(*source.types.values()) - source.surfaces
        return [
            each for each in unread.values()
            if not each.is_let_be and each.scope in scopes and each.surface not in left_out
        ]  # fmt: skip

    def _record(self, source: Source, reading: Reading, intake: Intake) -> SourceReport:
        ledger, name = self.ledger, source.name
        state = ledger.source_state(name)
        for tally in reading.tallies.values():
            tally.replayed = max(0, tally.fetched - tally.new)
        ledger.record_requests(self.run_id, name, reading.tallies, reading.names)
        ledger.record_problems(self.run_id, name, reading.problems, reading.names, self._was_read(source, reading))
        asked = set(source.scopes()) if self.options.is_narrowed else None
        skips.record(ledger.connection, name, reading.skipped, asked)
        if quota := reading.api.quota:
            state.keep_quota(quota)
        if reading.api.ahead is not None:
            state.clock_ahead = reading.api.ahead
        missing = self._missing(source, reading, intake)
        swept = reading.sweep or state.swept_at is None
        if not self.options.is_narrowed:
            state.turn = reading.turn
            if swept and not reading.has_newly_failed:
                state.swept_at = pendulum.now("UTC")
        if reading.resets - {(problem.surface, problem.scope) for problem in reading.problems}:
            state.swept_at = LONG_AGO  # once: what failed is reset again
        tallies = reading.tallies.values()
        return SourceReport(
            source=name, scopes=len(source.scopes()), completed=reading.completed,
            requests=sum(t.requests for t in tallies),
            not_modified=sum(t.not_modified for t in tallies), fetched=sum(t.fetched for t in tallies),
            rows=intake.rows, replayed=sum(t.replayed for t in tallies), packages=intake.packages,
            waited=max((t.waited for t in tallies), default=0.0), quota_left=quota.remaining if quota else None,
            quota=quota.limit if quota else None, swept=reading.sweep, unread=missing, told=reading.told,
            deleted=reading.deleted, problems=reading.problems, names=reading.names, whole=reading.whole,
            skipped=reading.skipped,
            asked=_requests(reading),
        )  # fmt: skip


def _requests(reading: Reading) -> dict[str, int]:
    found: dict[str, int] = {}
    for (_, scope), tally in reading.tallies.items():
        found[scope] = found.get(scope, 0) + tally.requests
    return found
