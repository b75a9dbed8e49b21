"""Who is skipped, and why: accounts that are away, names that nobody has. Told when it happens and listed by `status`;
no failure, for no run mends it, and what it is about comes back by itself.
"""

import sqlite3
from collections.abc import Collection, Mapping

import pendulum

__all__ = ["SCHEMA", "SKIPPED", "known", "record"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS skips (
    source TEXT NOT NULL, name TEXT NOT NULL, why TEXT NOT NULL, since_at TEXT NOT NULL, PRIMARY KEY (source, name)
);
"""
SKIPPED = "SELECT source, name, why, since_at FROM skips ORDER BY source, name"


def known(ledger: sqlite3.Connection, source: str) -> dict[str, str]:
    """Name → why, as earlier runs found it."""
    return dict(ledger.execute("SELECT name, why FROM skips WHERE source = ?", (source,)).fetchall())


def record(
    ledger: sqlite3.Connection, source: str, skipped: Mapping[str, str], asked: Collection[str] | None = None
) -> None:
    """What this run skipped; `asked`: of these names alone, where it did not read all that is configured."""
    before, now = known(ledger, source), pendulum.now("UTC").to_iso8601_string()
    over = [name for name in before if name not in skipped and (asked is None or name in asked)]
    ledger.executemany("DELETE FROM skips WHERE source = ? AND name = ?", [(source, name) for name in over])
    ledger.executemany(
        "INSERT OR REPLACE INTO skips VALUES (?, ?, ?, ?)",
        [(source, name, why, now) for name, why in skipped.items() if before.get(name) != why],
    )
