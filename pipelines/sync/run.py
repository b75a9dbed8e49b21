"""One run, top to bottom: lock → read → load → recheck → models → documents → publish → lock released → embeddings.

Sources are extracted side by side, each in a thread of its own; all that touches DuckDB happens in one worker thread,
one load at a time. An extraction ends politely after some thousand rows, is loaded, and the next goes on where it was:
so a killed first read redoes a bounded part. What was loaded and not yet published is remembered before it is loaded: a
run that is killed in between is finished by the next one, also if that finds nothing new.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import duckdb
import orjson
import pendulum

from pipelines.models import build
from pipelines.replies import reply_seen
from pipelines.state import ledger_history, skips
from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from pipelines.state.runners import leave_word
from pipelines.sync.after_load import STATUS, Making, Options
from pipelines.sync.output.report import Report, SourceReport, Watch, totals
from pipelines.sync.shared import Shared
from pipelines.sync.source.committed import Committed
from pipelines.sync.source.reader import SourceReader
from pipelines.sync.source.recheck import look
from pipelines.sync.source.record import record
from pipelines.warehouse.data_dir import DataDir, LandingError, PublishError
from pipelines.warehouse.errors import Unavailable
from pipelines.warehouse.version import OtherVersion
from sources.core.http.client import Api
from sources.core.reading import Problem
from sources.core.source import Source

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
            run = Run(Shared(home, ledger, run_id, options, worker, watch))
            if home.destination.is_shared:
                after.callback(lambda: leave_word(home, ledger.connection, pendulum.now("UTC").to_iso8601_string()))
            try:
                async with ledger.beating(run_id):
                    async with run.shared.asking():
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
                run_id,
                STATUS[report.exit_code],
                report.exit_code,
                phase=watch.phase,
                error=report.error,
                detail=orjson.dumps(report.stages).decode(),
                **totals(report),
            )
            return report


@dataclass
class Run:
    shared: Shared
    readers: dict[str, SourceReader] = field(default_factory=dict)
    is_torn: bool = False  # a load broke off: half a package is not for readers

    async def guarded(self, connected: Connected) -> SourceReport:
        """One source's failure never stops another, whatever it is."""
        name = connected.source.name
        try:
            return await self._read(connected)
        except OtherVersion:
            raise  # nobody's rows are to land there
        except LandingError as error:
            self.is_torn = self.is_torn or error.is_torn
            told = "; readers keep the last state until a run has repaired it" if error.is_torn else ""
            problem = Problem("*", "landing", "LANDING_FAILED", f"{error}{told}")
        except Exception as error:
            log.exception("%s failed", name)
            problem = Problem("*", "reading", "INTERNAL", f"{type(error).__name__}: {error}"[:300])
        self.shared.ledger.record_problems(self.shared.run_id, name, [problem], {})
        return SourceReport(name, len(connected.source.scopes()), problems=[problem])

    async def _read(self, connected: Connected) -> SourceReport:
        source, watch = connected.source, self.shared.watch
        reader = self.readers[source.name] = self.reader(source, connected.connect)
        left = await reader.begin()
        reader.settings = self._settings(source, left)
        watch.scopes[source.name] = len(source.scopes())
        watch.at("reading", source.name)
        await reader.read()
        await reader.recheck()
        watch.left(source.name)
        return record(reader)

    def reader(self, source: Source, connect: Callable[[], AbstractAsyncContextManager[Api]]) -> SourceReader:
        return SourceReader(self.shared, source, connect)

    def _settings(self, source: Source, left: Committed) -> dict[str, Any]:
        """Of this run's reading of the source."""
        ledger, name, options = self.shared.ledger, source.name, self.shared.options
        return {
            "full": options.full,
            "sweep": bool(left.cursors) and self._sweeps(name),
            "deep": options.deep,
            "turn": ledger.source_state(name).turn + 1,
            "run": self.shared.run_id,
            "since_run": ledger.third_last(self.shared.run_id, name),
            "look": partial(self.shared.ask, look),
            "is_new": left.is_new,
            "unread": Quarantine(ledger, name).unread(),
            "open_failures": frozenset((row["scope"], row["surface"]) for row in ledger.open_failures(name)),
            "safe_backfill_hours": options.safe_backfill_hours,
            "skipped_before": skips.known(ledger.connection, name),
        }

    def _sweeps(self, name: str) -> bool:
        """Asked for, or due. A first read sees everything anyway."""
        options, last = self.shared.options, self.shared.ledger.source_state(name).swept_at
        if options.sweep:
            return True
        if last is None or options.is_narrowed:  # what is due for all is not done by some
            return False
        return options.sweep_is_due(last)

    def making(
        self,
        report: Report,
        note: Callable[[str], None] | None = None,
        detail: Callable[[int], dict[str, object]] | None = None,
    ) -> Making:
        """What comes after the loads; `note` is told of every stage that begins. `detail`: what the ledger keeps of
        a run that ends with this exit code.
        """
        shared = self.shared

        def cursors() -> dict[str, Mapping[str, Mapping[str, object]]]:
            return {name: told for name, each in self.readers.items() if (told := each.cursors) is not None}

        def noted(phase: str) -> None:
            shared.ledger.note(shared.run_id, phase=phase)

        return Making(
            shared.home,
            shared.ledger,
            shared.run_id,
            shared.options,
            shared.work,
            shared.watch,
            cursors,
            report,
            note or noted,
            detail or (lambda _: report.stages),
        )

    async def rule_out(self, report: Report) -> None:
        """Answers of ours that a run over everything would have heard by now, had they been there."""
        shared = self.shared
        whole = {told.source: told.whole for told in report.sources if not (told.problems or told.unread)}
        if whole and not shared.options.is_narrowed:
            await shared.work(reply_seen.rule_out, shared.home, whole, shared.ledger.begun(shared.run_id))
