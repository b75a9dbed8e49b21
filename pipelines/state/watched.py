"""What somebody follows: watched, blocked (only commands count), and closed or merged, which is for good.

A watched change that a run finds closed or merged stays so here when it is reopened upstream: closing was the signal to
stop. So it is when it was closed and reopened between two runs, where the service tells of that: what it tells bears
its own clock, and so does `since_at`. `resume` takes it up again, with what was said shortly before; older words were
meant for whoever stopped. What nobody watches has no row, and counts while it is open.
"""

import time
from dataclasses import dataclass
from typing import Literal

import duckdb
import pendulum
from pendulum import DateTime

from pipelines.state import decisions
from pipelines.state.ledger import clock_ahead
from pipelines.warehouse.data_dir import DataDir
from sources.core.values import fingerprint

__all__ = ["NOTHING", "Settled", "State", "decided", "forget", "link", "put", "settle", "state_of", "unlink"]

NOTHING = fingerprint([], [], [])  # decided
State = Literal["watched", "blocked", "closed", "merged"]

OVER = """
SELECT life.parent_key, parent.state, parent.state IN ('closed', 'merged') AS is_still FROM ops.lifecycle AS life
INNER JOIN feedback.parents AS parent ON parent.parent_key = life.parent_key
WHERE life.state IN ('watched', 'blocked') AND (
    parent.state IN ('closed', 'merged')
    OR EXISTS (
        SELECT 1 FROM feedback.state_changes AS change
        WHERE change.parent_key = life.parent_key AND change.state = 'closed' AND change.created_at > life.since_at
    )
)
"""
PUT = """
INSERT INTO lifecycle VALUES (?, ?, ?, ?, ?) ON CONFLICT (parent_key) DO UPDATE SET
    state = excluded.state, since_at = excluded.since_at, revision = excluded.revision,
    actionable_from = coalesce(excluded.actionable_from, lifecycle.actionable_from)
"""
LINK = """
INSERT INTO links VALUES (?, ?, ?) ON CONFLICT (issue_key) DO UPDATE SET change_key = excluded.change_key
"""


@dataclass(frozen=True)
class Settled:
    """What a run found closed or merged."""

    found: int
    reopened: int  # of these, are open again: what was built of their words counts them still


def settle(connection: duckdb.DuckDBPyConnection, home: DataDir) -> Settled:
    """What is closed or merged is not actionable for that already: nothing of it is built again."""
    over = connection.execute(OVER).fetchall()
    if over:
        with decisions.writing(home) as decided:
            for key, state, is_still in over:
                settled = "UPDATE lifecycle SET state = ?, since_at = ? WHERE parent_key = ?"
                decided.rows(settled, [state if is_still else "closed", decisions.now(), key])
    return Settled(len(over), sum(not is_still for _, _, is_still in over))


def put(home: DataDir, key: str, state: State, *, since: DateTime | None = None, at: DateTime | None = None) -> None:
    """`since`: what was said before is over and done with. `at`: now, by the service's clock, if that is known."""
    ahead = 0.0 if at else clock_ahead(home, key.partition(":")[0])
    at = at or pendulum.now("UTC").subtract(microseconds=round(ahead * 1e6))
    with decisions.writing(home) as decided:
        # what is forgotten and decided again must not look like what was there before
        revision = time.time_ns() // 1000
        values = [key, state, at.to_iso8601_string(), since and since.to_iso8601_string(), revision]
        decided.rows(PUT, values)


def forget(home: DataDir, key: str) -> bool:
    with decisions.writing(home) as decided:
        return bool(decided.rows("DELETE FROM lifecycle WHERE parent_key = ? RETURNING parent_key", [key]))


def state_of(home: DataDir, key: str) -> str | None:
    with decisions.writing(home) as decided:
        rows = decided.rows("SELECT state FROM lifecycle WHERE parent_key = ?", [key])
    return str(rows[0][0]) if rows else None


def link(home: DataDir, issue: str, change: str) -> None:
    """`change` answers `issue`. Named anew, it may be another."""
    with decisions.writing(home) as decided:
        decided.rows(LINK, [issue, change, decisions.now()])


def unlink(home: DataDir, issue: str) -> bool:
    with decisions.writing(home) as decided:
        return bool(decided.rows("DELETE FROM links WHERE issue_key = ? RETURNING issue_key", [issue]))


def decided(home: DataDir) -> str:
    """Differs after every decision of somebody; not after what a run settles by itself."""
    with decisions.writing(home) as held:
        lives = held.rows("SELECT parent_key, revision FROM lifecycle ORDER BY parent_key")
        links = held.rows("SELECT issue_key, change_key, linked_at FROM links ORDER BY issue_key")
        acked = held.rows("SELECT count(*) FROM acknowledgements") if links else []  # how far consumers came there
    return fingerprint(*([tuple(row) for row in rows] for rows in (lives, links, acked)))
