"""What somebody follows: watched, blocked (only commands count), and closed or merged, which is for good.

A watched change that a run finds closed or merged stays so here when it is reopened upstream: closing was the signal to
stop. `resume` takes it up again, with what was said shortly before; older words were meant for whoever stopped. What
nobody watches has no row, and counts while it is open.
"""

import sqlite3
from typing import Literal

import duckdb
from pendulum import DateTime

from pipelines import control
from pipelines.warehouse import Home
from sources.record import fingerprint

__all__ = ["NOTHING", "State", "decided", "forget", "link", "put", "settle", "state_of", "unlink"]

NOTHING = fingerprint([], [])  # decided
State = Literal["watched", "blocked", "closed", "merged"]

OVER = """
SELECT life.parent_key, parent.state FROM ops.lifecycle AS life
INNER JOIN feedback.parents AS parent ON parent.parent_key = life.parent_key
WHERE life.state IN ('watched', 'blocked') AND parent.state IN ('closed', 'merged')
"""
PUT = """
INSERT INTO lifecycle VALUES (:key, :state, :now, :since, 1) ON CONFLICT (parent_key) DO UPDATE SET
    state = excluded.state, since_at = excluded.since_at, revision = revision + 1,
    actionable_from = coalesce(excluded.actionable_from, actionable_from)
"""


def settle(connection: duckdb.DuckDBPyConnection, ledger: sqlite3.Connection) -> None:
    """What was found closed or merged. It is not actionable for that already: nothing need be built again."""
    for key, state in connection.execute(OVER).fetchall():
        ledger.execute("UPDATE lifecycle SET state = ?, since_at = ? WHERE parent_key = ?", (state, control.now(), key))


def put(home: Home, key: str, state: State, *, since: DateTime | None = None) -> None:
    """`since`: what was said before is over and done with."""
    told = since and since.to_iso8601_string()
    with control.writing(home) as connection:
        connection.execute(PUT, {"key": key, "state": state, "now": control.now(), "since": told})


def forget(home: Home, key: str) -> bool:
    with control.writing(home) as connection:
        return bool(connection.execute("DELETE FROM lifecycle WHERE parent_key = ?", (key,)).rowcount)


def state_of(home: Home, key: str) -> str | None:
    with control.writing(home) as connection:
        row = connection.execute("SELECT state FROM lifecycle WHERE parent_key = ?", (key,)).fetchone()
    return str(row["state"]) if row else None


def decided(connection: sqlite3.Connection) -> str:
    """Differs after every decision of somebody; not after what a run settles by itself."""
    lives = connection.execute("SELECT parent_key, revision FROM lifecycle ORDER BY parent_key").fetchall()
    links = connection.execute("SELECT issue_key, change_key, linked_at FROM links ORDER BY issue_key").fetchall()
    return fingerprint([tuple(row) for row in lives], [tuple(row) for row in links])


def link(home: Home, issue: str, change: str) -> None:
    """`change` answers `issue`. Named anew, it may be another."""
    with control.writing(home) as connection:
        connection.execute(
            "INSERT INTO links VALUES (?, ?, ?) ON CONFLICT (issue_key) DO UPDATE SET change_key = excluded.change_key",
            (issue, change, control.now()),
        )


def unlink(home: Home, issue: str) -> bool:
    with control.writing(home) as connection:
        return bool(connection.execute("DELETE FROM links WHERE issue_key = ?", (issue,)).rowcount)
