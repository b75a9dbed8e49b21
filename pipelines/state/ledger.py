"""What was done: runs, requests, failures, quarantine. SQLite, because it must be writable while DuckDB is locked and
must survive every crash; `ops.*` in the warehouse mirrors it as of the last publish.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import orjson
import pendulum

from pipelines.state import run_state, skips
from pipelines.state.request_counts import by_scope, gathered
from pipelines.state.run_state import LONG_AGO, RunState, SourceState
from pipelines.warehouse.files import Files, is_alive
from pipelines.warehouse.version import stamp
from sources.core.http.client import RequestCounts
from sources.core.reading import Problem
from sources.core.values import has_passed, instant

__all__ = ["MIRRORED", "Ledger", "clock_ahead"]

MIRRORED = ("runs", "requests", "failures", "quarantine", "scopes")
HEARTBEAT = 5.0  # seconds
SILENT = timedelta(seconds=24 * HEARTBEAT)

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, status TEXT NOT NULL, exit_code INTEGER,
    mode TEXT NOT NULL, sources TEXT NOT NULL, phase TEXT, requests INTEGER, not_modified INTEGER, rows_new INTEGER,
    rows_replayed INTEGER, packages INTEGER, published_bytes INTEGER, seconds REAL, error TEXT, pid INTEGER,
    heartbeat_at TEXT, detail TEXT
);
CREATE TABLE IF NOT EXISTS requests (
    run_id INTEGER NOT NULL, source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL, surface TEXT NOT NULL,
    requests INTEGER NOT NULL, pages INTEGER NOT NULL, fetched INTEGER NOT NULL, new INTEGER NOT NULL,
    replayed INTEGER NOT NULL, not_modified INTEGER NOT NULL, retries INTEGER NOT NULL, bytes INTEGER NOT NULL,
    waited_seconds REAL NOT NULL, lag_seconds REAL, PRIMARY KEY (run_id, source, scope, surface)
);
CREATE TABLE IF NOT EXISTS failures (
    source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL, surface TEXT NOT NULL, code TEXT NOT NULL,
    message TEXT NOT NULL, first_run_id INTEGER NOT NULL, last_run_id INTEGER NOT NULL, first_at TEXT NOT NULL,
    last_at TEXT NOT NULL, attempts INTEGER NOT NULL, until_at TEXT, resolved_at TEXT,
    PRIMARY KEY (source, scope, surface, first_run_id)
);
CREATE TABLE IF NOT EXISTS quarantine (
    source TEXT NOT NULL, key TEXT NOT NULL, scope TEXT NOT NULL, surface TEXT NOT NULL, reason TEXT NOT NULL,
    raw TEXT NOT NULL, first_at TEXT NOT NULL, last_at TEXT NOT NULL, attempts INTEGER NOT NULL, retry_at TEXT NOT NULL,
    resolved_at TEXT, parent_key TEXT, let_be_at TEXT, PRIMARY KEY (source, key)
);
CREATE TABLE IF NOT EXISTS scopes (
    source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL, last_read_at TEXT NOT NULL,
    last_new_at TEXT, reads INTEGER NOT NULL, new INTEGER NOT NULL, PRIMARY KEY (source, scope)
) WITHOUT ROWID;
"""


@dataclass
class Ledger:
    connection: sqlite3.Connection

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["Ledger"]:
        connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        try:
            stamp(connection, path)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.executescript(SCHEMA + skips.SCHEMA + run_state.SCHEMA)
            yield cls(connection)
        finally:
            connection.close()

    def begin(self, mode: str, sources: Iterable[str], **columns: object) -> int:
        """A new run. A run still called running whose process is gone was killed."""
        now = pendulum.now("UTC")
        for row in self.connection.execute("SELECT * FROM runs WHERE status = 'running'").fetchall():
            if row["pid"] is None or has_passed(instant(row["heartbeat_at"]), SILENT, now) or not is_alive(row["pid"]):
                self.note(row["run_id"], status="killed", finished_at=_now())
        cursor = self.connection.execute(
            "INSERT INTO runs (started_at, heartbeat_at, status, mode, sources, pid)"
            " VALUES (?1, ?1, 'running', ?2, ?3, ?4)",
            (_now(), mode, orjson.dumps(list(sources)).decode(), os.getpid()),
        )
        assert cursor.lastrowid is not None
        if columns:
            self.note(cursor.lastrowid, **columns)
        return cursor.lastrowid

    def third_last(self, run_id: int, source: str) -> int:
        """The first of the three runs before this one that read the source by its lists; this one, if none did."""
        query = (
            "SELECT run_id FROM runs WHERE run_id < ? AND instr(sources, ?) AND mode NOT IN ('surgical', 'preflight')"
            " ORDER BY run_id DESC LIMIT 3"
        )
        found = self.connection.execute(query, (run_id, f'"{source}"')).fetchall()
        return int(found[-1]["run_id"]) if found else run_id

    def begun(self, run_id: int) -> str:
        row = self.connection.execute("SELECT started_at FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return str(row["started_at"])

    @asynccontextmanager
    async def beating(self, run_id: int) -> AsyncIterator[None]:
        """Says every few seconds that the run is alive."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT)
                self.note(run_id, heartbeat_at=_now())

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()

    def note(self, run_id: int, **columns: object) -> None:
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        self.connection.execute(f"UPDATE runs SET {assignments} WHERE run_id = :run_id", {**columns, "run_id": run_id})

    def finish(self, run_id: int, status: str, exit_code: int, **columns: object) -> None:
        self.note(run_id, status=status, exit_code=exit_code, finished_at=_now(), **columns)

    def record_requests(
        self, run_id: int, source: str, tallies: Mapping[tuple[str, str], RequestCounts], names: Mapping[str, str]
    ) -> None:
        """What each list cost, and when each scope was last read: for all scopes in one transaction."""
        run = {"run_id": run_id, "source": source, "now": _now()}
        told = [
            {**asdict(tally), **run, "surface": surface, "scope": scope, "scope_name": names.get(scope, scope)}
            for (surface, scope), tally in tallies.items()
        ]
        with self.transaction():
            self.connection.executemany(
                "INSERT OR REPLACE INTO requests VALUES (:run_id, :source, :scope, :scope_name, :surface, :requests,"
                " :pages, :fetched, :new, :replayed, :not_modified, :retries, :bytes, :waited, :lag_seconds)",
                gathered(told),
            )
            self.connection.executemany(
                "INSERT INTO scopes VALUES (:source, :scope, :scope_name, :now, iif(:new, :now, NULL), 1, :new)"
                " ON CONFLICT (source, scope) DO UPDATE SET scope_name = excluded.scope_name,"
                " last_read_at = excluded.last_read_at, last_new_at = coalesce(excluded.last_new_at, last_new_at),"
                " reads = reads + 1, new = new + excluded.new",
                by_scope(told),
            )

    def scopes(self, source: str) -> dict[str, str]:
        """Every scope that was ever read, and what people call it; what was read last comes last."""
        query = "SELECT scope, scope_name FROM scopes WHERE source = ? ORDER BY last_read_at"
        found = self.connection.execute(query, (source,))
        return {row["scope"]: row["scope_name"] for row in found}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def record_problems(
        self,
        run_id: int,
        source: str,
        problems: Iterable[Problem],
        names: Mapping[str, str],
        was_read: Callable[[str, str], bool] | None = None,
    ) -> None:
        """Opens or continues a failure; what did not fail again is resolved, if `was_read` (scope, surface)."""
        now, seen = _now(), set()
        for problem in problems:
            seen.add((problem.scope, problem.surface))
            until, name = problem.until, names.get(problem.scope, problem.scope)
            values = {**vars(problem), "source": source, "scope_name": name, "run_id": run_id, "now": now}
            values["until_at"] = until and until.to_iso8601_string()
            updated = self.connection.execute(
                "UPDATE failures SET code = :code, message = :message, last_run_id = :run_id, last_at = :now,"
                " attempts = attempts + 1, until_at = :until_at WHERE source = :source AND scope = :scope"
                " AND surface = :surface AND resolved_at IS NULL",
                values,
            )
            if updated.rowcount == 0:
                self.connection.execute(
                    "INSERT OR REPLACE INTO failures VALUES (:source, :scope, :scope_name, :surface, :code, :message,"
                    " :run_id, :run_id, :now, :now, 1, :until_at, NULL)",
                    values,
                )
        for row in self.open_failures(source):
            is_read = was_read is None or was_read(row["scope"], row["surface"])
            if is_read and (row["scope"], row["surface"]) not in seen:
                self.connection.execute(
                    "UPDATE failures SET resolved_at = ?"
                    " WHERE source = ? AND scope = ? AND surface = ? AND resolved_at IS NULL",
                    (now, source, row["scope"], row["surface"]),
                )

    def open_failures(self, source: str) -> list[sqlite3.Row]:
        return self.connection.execute(
            "SELECT * FROM failures WHERE source = ? AND resolved_at IS NULL", (source,)
        ).fetchall()

    @property
    def state(self) -> RunState:
        return RunState(self.connection)

    def source_state(self, source: str) -> SourceState:
        return SourceState(self.connection, source)

    def look_again(self, sources: Collection[str] = ()) -> None:
        """Nothing that was looked for counts as looked for: whoever remembers that it was may know of rows or words
        that are not there any more. Of `sources` it is known that they were read."""
        for name in {*run_state.sources(self.connection), *sources}:
            remembered = self.source_state(name)
            remembered.nothing_due_by = None
            if remembered.swept_at or name in sources:
                remembered.swept_at = LONG_AGO
        state = self.state
        state.is_undocumented = state.is_unembedded = True


def clock_ahead(home: Files, source: str) -> float:
    """Seconds that this machine's clock was ahead of a service's in the last run; none, where no run was yet."""
    if not home.control.exists():
        return 0.0
    try:
        with Ledger.open(home.control) as ledger:
            return ledger.source_state(source).clock_ahead
    except sqlite3.Error:  # the look then finds out itself, by one request more
        return 0.0


def _now() -> str:
    return pendulum.now("UTC").to_iso8601_string()
