"""What people and programs decide: acknowledgements, answers, what is watched, links. In control.sqlite beside the
runs' ledger, so that it outlives every rebuild of the warehouse and can be written while a run holds that.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pendulum

from pipelines.warehouse import Home

__all__ = ["SCHEMA", "fact", "now", "writing"]

PATIENCE = 10.0  # seconds; a run writes its ledger in moments

SCHEMA = """
CREATE TABLE IF NOT EXISTS acknowledgements (
    consumer TEXT NOT NULL, event_key TEXT NOT NULL, processed_at TEXT NOT NULL, PRIMARY KEY (consumer, event_key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    token TEXT PRIMARY KEY, source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL,
    parent_key TEXT NOT NULL, parent_kind TEXT NOT NULL, parent_number INTEGER NOT NULL, thread TEXT, event_key TEXT,
    command_key TEXT, body TEXT NOT NULL, resolves INTEGER NOT NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL,
    is_unsure INTEGER NOT NULL, is_over INTEGER NOT NULL, code TEXT, error TEXT, planned_at TEXT NOT NULL,
    attempted_at TEXT, posted_at TEXT, observed_at TEXT, resolved_at TEXT, remote_id TEXT, url TEXT, author TEXT,
    observed_key TEXT
);
CREATE TABLE IF NOT EXISTS lifecycle (
    parent_key TEXT PRIMARY KEY, state TEXT NOT NULL, since_at TEXT NOT NULL, actionable_from TEXT,
    revision INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS links (
    issue_key TEXT PRIMARY KEY, change_key TEXT NOT NULL, linked_at TEXT NOT NULL
);
"""


@contextmanager
def writing(home: Home) -> Iterator[sqlite3.Connection]:
    """A transaction, on disk when the block has ended; nothing of it happened if the block raises."""
    home.create()
    connection = sqlite3.connect(home.control, timeout=PATIENCE, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    finally:
        connection.close()


def fact(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row["value"]) if row else None


def now() -> str:
    return pendulum.now("UTC").to_iso8601_string()
