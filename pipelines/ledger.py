"""What was done: runs, requests, failures, quarantine. SQLite, because it must be writable while DuckDB is locked and
must survive every crash; `ops.*` in the warehouse mirrors it as of the last publish.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import pendulum

from sources.http import Tally
from sources.reading import Problem, Quarantined
from sources.record import json_bytes

__all__ = ["MIRRORED", "Ledger"]

MIRRORED = ("runs", "requests", "failures", "quarantine")

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, finished_at TEXT, status TEXT NOT NULL, exit_code INTEGER,
    mode TEXT NOT NULL, sources TEXT NOT NULL, phase TEXT, requests INTEGER, not_modified INTEGER, rows_new INTEGER,
    rows_replayed INTEGER, packages INTEGER, published_bytes INTEGER, seconds REAL, error TEXT
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
    resolved_at TEXT, PRIMARY KEY (source, key)
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
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
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.executescript(SCHEMA)
            yield cls(connection)
        finally:
            connection.close()

    def begin(self, mode: str, sources: Iterable[str]) -> int:
        """A new run. A run still called running is one that was killed: the lock says nobody holds it."""
        self.connection.execute(
            "UPDATE runs SET status = 'killed', finished_at = ? WHERE status = 'running'", (_now(),)
        )
        cursor = self.connection.execute(
            "INSERT INTO runs (started_at, status, mode, sources) VALUES (?, 'running', ?, ?)",
            (_now(), mode, orjson.dumps(list(sources)).decode()),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def note(self, run_id: int, **columns: object) -> None:
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        self.connection.execute(f"UPDATE runs SET {assignments} WHERE run_id = :run_id", {**columns, "run_id": run_id})

    def finish(self, run_id: int, status: str, exit_code: int, **columns: object) -> None:
        self.note(run_id, status=status, exit_code=exit_code, finished_at=_now(), **columns)

    def record_requests(
        self, run_id: int, source: str, tallies: Mapping[tuple[str, str], Tally], names: Mapping[str, str]
    ) -> None:
        for (surface, scope), tally in tallies.items():
            counts = {**asdict(tally), "run_id": run_id, "source": source, "surface": surface, "scope": scope}
            self.connection.execute(
                "INSERT OR REPLACE INTO requests VALUES (:run_id, :source, :scope, :scope_name, :surface, :requests,"
                " :pages, :fetched, :new, :replayed, :not_modified, :retries, :bytes, :waited, :lag_seconds)",
                {**counts, "scope_name": names.get(scope, scope)},
            )

    def record_problems(self, run_id: int, source: str, problems: Iterable[Problem], names: Mapping[str, str]) -> None:
        """Opens or continues a failure; what did not fail again in a run of its source is resolved."""
        now, seen = _now(), set()
        for problem in problems:
            seen.add((problem.scope, problem.surface))
            values = {
                "source": source, "scope": problem.scope, "surface": problem.surface, "code": problem.code, "now": now,
                "message": problem.message, "run_id": run_id, "scope_name": names.get(problem.scope, problem.scope),
                "until_at": problem.until and problem.until.to_iso8601_string(),
            }  # fmt: skip
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
            if (row["scope"], row["surface"]) not in seen:
                self.connection.execute(
                    "UPDATE failures SET resolved_at = ?"
                    " WHERE source = ? AND scope = ? AND surface = ? AND resolved_at IS NULL",
                    (now, source, row["scope"], row["surface"]),
                )

    def open_failures(self, source: str) -> list[sqlite3.Row]:
        return self.connection.execute(
            "SELECT * FROM failures WHERE source = ? AND resolved_at IS NULL", (source,)
        ).fetchall()

    def keep_raw(self, source: str, records: Iterable[Quarantined]) -> None:
        """Before any cursor passes them. Every failed attempt doubles the wait for the next, up to a day."""
        now = pendulum.now("UTC")
        for record in records:
            self.connection.execute(
                "INSERT INTO quarantine"
                " VALUES (:source, :key, :scope, :surface, :reason, :raw, :now, :now, 1, :soon, NULL)"
                " ON CONFLICT (source, key) DO UPDATE SET reason = excluded.reason, raw = excluded.raw,"
                " last_at = excluded.last_at, attempts = attempts + 1, resolved_at = NULL,"
                " retry_at = strftime('%Y-%m-%dT%H:%M:%SZ', excluded.last_at,"
                " min(86400, 300 * (1 << min(attempts, 9))) || ' seconds')",
                {
                    "source": source, "key": record.key, "scope": record.scope, "surface": record.surface,
                    "reason": record.reason, "raw": json_bytes(record.raw).decode(),
                    "now": now.to_iso8601_string(), "soon": now.add(minutes=5).to_iso8601_string(),
                },
            )  # fmt: skip

    def quarantined(self, source: str, *, due: bool = False) -> list[sqlite3.Row]:
        return self.connection.execute(
            "SELECT * FROM quarantine WHERE source = ? AND resolved_at IS NULL AND (NOT ? OR retry_at <= ?)",
            (source, due, _now()),
        ).fetchall()

    def heal(self, source: str, keys: Iterable[str]) -> None:
        self.connection.executemany(
            "UPDATE quarantine SET resolved_at = ? WHERE source = ? AND key = ?",
            [(_now(), source, key) for key in keys],
        )

    def fact(self, name: str) -> str | None:
        row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row["value"]) if row else None

    def learn(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def _now() -> str:
    return pendulum.now("UTC").to_iso8601_string()
