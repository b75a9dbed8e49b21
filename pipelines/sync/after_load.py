"""What is made of what has landed: models, documents with their full-text index, the readers' file, embeddings.

Each is made only if something changed since it was last made, and remembers what it could not finish: the
run's state says what is unpublished, undocumented (the index may differ from the documents) and unembedded.
"""

import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import orjson
import pendulum
from pendulum import DateTime

from pipelines.models import build
from pipelines.models.control_tables import TABLES
from pipelines.models.files import BUILT
from pipelines.replies import reply_seen
from pipelines.settings import landed_tables
from pipelines.state import mirror, watched
from pipelines.state.ledger import Ledger
from pipelines.sync.output import changes
from pipelines.sync.output.report import Report, Watch, totals
from pipelines.warehouse.data_dir import QUICKLY, SPARING, DataDir
from sources.core.reading import Problem
from sources.core.values import fingerprint, has_passed, instant

if TYPE_CHECKING:
    from pipelines.search.documents import Documented
    from pipelines.search.embedders import Embedder

__all__ = ["STATUS", "Making", "Options", "made_of", "staged"]

log = logging.getLogger("earshot.making")

CHUNK_ROWS, CHUNK_SECONDS = 25_000, 300.0  # of reading, before it is loaded: a kill costs no more
# what is narrowed to a few parents joins hundreds of small tables: their buffers count in full, and are hardly touched
ROOMY = "512MiB"
STATUS = {0: "done", 1: "failed", 3: "partial"}


@dataclass(frozen=True)
class Options:
    full: bool = False
    sweep: bool = False
    deep: bool = False  # of a sweep: also what is compared rarely
    is_narrowed: bool = False  # not all that is configured is read
    sweep_hours: float = 24.0
    safe_backfill_hours: float = 24.0
    authors: Sequence[str] = ()
    team: Sequence[str] = ()
    command_prefix: str = "/earshot"
    keep_payloads: bool = True
    chunk_rows: int = CHUNK_ROWS
    chunk_seconds: float = CHUNK_SECONDS
    docs: bool = True
    embedder: "Embedder | None" = None  # None: nothing is embedded
    embed_seconds: float = 300.0
    quick: bool = False  # somebody waits for a few rows

    def sweep_is_due(self, last: DateTime) -> bool:
        return has_passed(last, timedelta(hours=self.sweep_hours), pendulum.now("UTC"))


@dataclass
class Making:
    """The stages after the landing: `make` them, and without the lock, `embed`."""

    home: DataDir
    ledger: Ledger
    run_id: int
    options: Options
    work: Callable[..., Awaitable[Any]]  # runs a job in the one thread that may touch DuckDB
    watch: Watch
    cursors: Callable[[], mirror.Cursors]
    report: Report
    note: Callable[[str], None]
    detail: Callable[[int], dict[str, object]]
    anew: str | None = None
    decided: str = ""  # what people had decided when the models were built
    is_due: bool = False
    had_undocumented: bool = False
    told_code: int | None = None  # how readers are told that the run ends
    kept_open: ExitStack = field(default_factory=ExitStack)  # every stage finds the warehouse open: 0.1 s

    async def make(self, only: Collection[str] | None = None) -> None:
        """Models, documents and what readers get; `only`: documents of these alone."""
        if not (self.report.is_read or self.home.destination.is_published(self.home)):
            return  # of nothing that could be read nothing is shown: it would look like an empty place
        try:
            await self.build()
            await self.document(only)
            await self.publish()
        finally:
            self.kept_open.close()

    async def build(self) -> None:
        """The models, if anything landed or they or their settings are others."""
        self.anew = self._settings_changed()
        self.had_undocumented = self.ledger.state.is_undocumented
        self.decided = watched.decided(self.home)
        is_shown = self.decided == (self.ledger.state.decided or watched.NOTHING)
        is_new = self.run_id == 1 or not self.home.destination.is_published(self.home)
        self.is_due = self.ledger.state.is_unpublished or not is_shown or self.anew is not None or is_new
        if self.is_due:
            with self.stage("models"):
                self.ledger.state.is_undocumented = True
                await self.work(self._build)
        else:
            changes.remembered(self.ledger, self.report)

    async def document(self, only: Collection[str] | None = None) -> None:
        """Documents and their index: of what was touched, of these alone, or of all where something was left undone."""
        from pipelines.search.index import is_current

        left = self.had_undocumented or (self.home.shard.is_all and not is_current(self.home.search))
        if not self.options.docs or not (self.is_due or left):
            return
        from pipelines.search.documents import document

        with self.stage("docs"):
            if self.had_undocumented and not self.is_due:
                self.ledger.state.is_unpublished = True
                self.is_due = True
            if left:
                self.ledger.state.is_unembedded = True
            job = partial(document, self.home, only=only, compare=left, anew=self.anew is not None)
            try:
                self._documented(await self.work(job))
            except (sqlite3.Error, OSError) as error:
                self._failed("docs", "INDEX_FAILED", f"the search index could not be written: {error}")

    def _documented(self, done: "Documented") -> None:
        self.report.documents = done.touched
        if done.touched:
            self.ledger.state.is_unembedded = True
        if done.is_complete:
            self.ledger.state.is_undocumented = False
        self.ledger.record_problems(self.run_id, "docs", [], {})

    async def publish(self) -> None:
        """The readers' file."""
        if self.is_due:
            with self.stage("publish"):
                self.report.published_bytes = await self.work(self._publish)
                if self.anew:
                    self.ledger.state.made_with = self.anew
                self.ledger.state.is_unpublished = False
                self.ledger.state.decided = self.decided

    async def embed(self, only: Collection[str] | None = None) -> None:
        """After the lock was released. Whatever goes wrong here is recorded and tried again, and fails nothing."""
        embedder = self.options.embedder
        if embedder is None or not self.home.search.exists():
            return
        anew = self.ledger.state.embedded_with != embedder.model
        are_there = self.home.vectors.exists() and self.home.packed.exists()
        if only is None and are_there and not (anew or self.ledger.state.is_unembedded):
            return
        from pipelines.search.embed import embed

        with self.stage("embed"):
            wanted = None if only is None else {k: h for k, h in self.report.documents.items() if k in only}
            done = await embed(self.home, embedder, wanted, seconds=self.options.embed_seconds)
            self.report.embedded = done.documents
            problems = [Problem("*", "embed", done.code, done.problem)] if done.problem else []
            self.ledger.record_problems(self.run_id, "embed", problems, {"*": embedder.model})
            if only is None:
                self.ledger.state.embedded_with = embedder.model
                if done.is_complete:
                    self.ledger.state.is_unembedded = False

    def stage(self, name: str) -> AbstractContextManager[None]:
        return staged(name, self.note, self.watch, self.report.timings_ms)

    def _build(self) -> None:
        destination = self.home.destination
        # a sweep reads much without news; of a thread with all its notes one is fetched, and many are landed
        limit = ROOMY if self.options.quick or self.anew is None else SPARING["memory_limit"]
        settings = (f"SET memory_limit = '{limit}'", *((QUICKLY,) if self.options.quick else ()))
        self.kept_open.enter_context(destination.held_open(self.home, SPARING, settings))
        try:
            self._build_with(SPARING)
        except duckdb.OutOfMemoryException:  # something that cannot be spilled
            log.info("models need more than %s; built again without a limit", limit)
            with destination.unbounded(self.home, SPARING) as config:
                self._build_with(config)

    def _build_with(self, config: Mapping[str, Any]) -> None:
        report, home = self.report, self.home
        with home.destination.building(home, config) as connection:
            self.anew = self.anew and self._settings_changed()  # another runner may have built them since we asked
            mirror.prepare(connection, self.options.authors, self.options.command_prefix, self.options.team)
            mirror.mirror_decisions(connection, home)
            mirror.mirror_unread(connection, self.ledger, str(home.shard))
            before = _event_counts(connection)
            if before is None:
                self.anew = self.anew or self._settings()
            is_compared = self.anew is None
            touched, is_shared = changes.before if is_compared else None, home.destination.is_shared
            build.build(connection, landed_tables(), anew=not is_compared, is_shared=is_shared, touched=touched)
            changes.after(connection, self.ledger, report, is_compared=is_compared)
            report.new_events = _more(before or {}, _event_counts(connection) or {})
            settled = watched.settle(connection, home)
            if reply_seen.observe(connection, home) + settled.found:
                mirror.mirror_decisions(connection, home)
            if settled.reopened:
                build.build(connection, landed_tables(), anew=False, is_shared=is_shared)
            mirror.mirror(connection, self.ledger, str(home.shard))
            self._tell(connection)
            mirror.mirror_cursors(connection, self.cursors(), {s.source: s.names for s in report.sources})
            if self.anew:
                home.destination.remember_made(connection, self.anew)

    def _tell(self, connection: duckdb.DuckDBPyConnection) -> None:
        """This run as it ends. Whoever reads has no later word of it until the next publish, which knows its end: what
        only comes after this one (an index that cannot be finished, embeddings, a kill) is told by `earshot status`.
        """
        report, now = self.report, pendulum.now("UTC")
        report.seconds = (now - instant(self.ledger.begun(self.run_id))).total_seconds()
        code, phase = report.exit_code, "publish" if self.options.embedder else "done"
        mirror.mirror_ending(
            connection,
            self.run_id,
            str(self.home.shard),
            status=STATUS[code],
            exit_code=code,
            phase=phase,
            finished_at=now.to_iso8601_string(),
            detail=orjson.dumps(self.detail(code)).decode(),
            **totals(report),
        )
        self.ledger.note(self.run_id, **totals(report))
        self.told_code = code

    def _publish(self) -> int | None:
        destination = self.home.destination
        if not destination.is_shared or self.report.exit_code != self.told_code:  # there, readers have it already
            with destination.building(self.home, SPARING) as connection:
                self._tell(connection)
        try:
            destination.checkpoint(self.home, SPARING)
        except duckdb.OutOfMemoryException:
            with destination.unbounded(self.home, SPARING) as config:
                destination.checkpoint(self.home, config)
        self.kept_open.close()
        return self.home.publish()

    def _failed(self, stage: str, code: str, message: str) -> None:
        self.report.stage_problem = message
        self.ledger.record_problems(self.run_id, stage, [Problem("*", stage, code, message)], {"*": stage})

    def _settings(self) -> str:
        return made_of(self.options.authors, self.options.command_prefix, self.options.team)

    def _settings_changed(self) -> str | None:
        now = self._settings()
        return now if now != self.home.destination.made_with(self.home, self.ledger) else None


def made_of(authors: Sequence[str], prefix: str, team: Sequence[str]) -> str:
    """The models, and the settings that they mind."""
    return fingerprint(build.models_fingerprint(), TABLES, sorted(authors), prefix, sorted(team))


@contextmanager
def staged(name: str, note: Callable[[str], None], watch: Watch, timings_ms: dict[str, int]) -> Iterator[None]:
    """A stage of a run: said when it begins, timed when it ends, however that is."""
    started = time.monotonic()
    note(name)
    watch.at(name)
    try:
        yield
    finally:
        timings_ms[name] = round((time.monotonic() - started) * 1000)


def _more(before: dict[tuple[str, str], int], after: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    return {kind: n - before.get(kind, 0) for kind, n in after.items() if n != before.get(kind, 0)}


def _event_counts(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], int] | None:
    """None: the warehouse is new, nothing was built in it yet."""
    if not connection.execute(BUILT).fetchone():
        return None
    rows = connection.execute("SELECT source, kind, count(*) FROM feedback.events GROUP BY source, kind").fetchall()
    return {(source, kind): count for source, kind, count in rows}
