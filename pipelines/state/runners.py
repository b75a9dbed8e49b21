"""What a ledger says of its runs, as readers want it; and the same of every runner that shares a destination.

Each runner's ledger lies on its own machine. After every run, also one that changed nothing, it leaves what it says in
`control.runners`: so that anybody can ask how all of them are, and one that has died is missed.
"""

import json
import logging
import sqlite3
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pendulum

from pipelines.state.run_state import quotas
from pipelines.state.skips import SKIPPED
from pipelines.warehouse.control import Control
from pipelines.warehouse.errors import Unavailable

if TYPE_CHECKING:
    from pipelines.warehouse.data_dir import DataDir

__all__ = ["leave_word", "read_ledger", "report_for_work", "reports"]

log = logging.getLogger("earshot.roster")

Row = dict[str, Any]
LAST_RUNS = 5
HEARD, FEW = 21, 3  # runs that are looked at for their rhythm; pauses between them that are needed to tell
READS_ALL = "mode IN ('bulk', 'full', 'sweep')"
LAGS = """
SELECT r.source, r.scope, r.surface, r.lag_seconds FROM requests AS r
INNER JOIN (
    SELECT source, scope, surface, max(run_id) AS run_id FROM requests WHERE lag_seconds IS NOT NULL GROUP BY 1, 2, 3
) AS last USING (source, scope, surface, run_id)
"""
COSTS = """
SELECT source, surface, sum(requests) AS requests, sum(pages) AS pages, sum(fetched) AS fetched, sum(new) AS new,
    sum(replayed) AS replayed
FROM requests GROUP BY source, surface ORDER BY source, surface
"""
FAILURES = "SELECT * FROM failures WHERE resolved_at IS NULL ORDER BY source, scope_name, surface"
QUARANTINE = """
SELECT source, count(*) AS n, min(key) AS key FROM quarantine WHERE resolved_at IS NULL AND let_be_at IS NULL
GROUP BY source ORDER BY source
"""
# newest first; one with a clock in the future would be the newest for years
LAST_WORDS = "SELECT shard, told FROM runners ORDER BY CASE WHEN told_at > ? THEN 1 ELSE 0 END, told_at DESC"
RUNNERS = "shard TEXT PRIMARY KEY, told_at TEXT NOT NULL, told TEXT NOT NULL"


def read_ledger(connection: sqlite3.Connection) -> dict[str, Any]:
    """As of one moment, also while a run is writing."""

    def rows(query: str, *values: object) -> list[Row]:
        return [dict(row) for row in connection.execute(query, values)]

    connection.execute("BEGIN")
    last = rows(f"SELECT * FROM runs WHERE {READS_ALL} AND status <> 'running' ORDER BY run_id DESC LIMIT 1")
    finished = rows(
        f"SELECT * FROM runs WHERE {READS_ALL} AND status IN ('done', 'partial') ORDER BY run_id DESC LIMIT 1"
    )
    starts = rows(f"SELECT started_at FROM runs WHERE {READS_ALL} ORDER BY run_id DESC LIMIT ?", HEARD)
    found = {
        "runs": rows("SELECT * FROM runs ORDER BY run_id DESC LIMIT ?", LAST_RUNS),
        "last": last[0] if last else None,
        "last_finished": finished[0] if finished else None,
        "rhythm": _rhythm([datetime.fromisoformat(row["started_at"]) for row in reversed(starts)]),
        "failures": rows(FAILURES),
        "quarantine": rows(QUARANTINE),
        "skipped": rows(SKIPPED),
        "quotas": quotas(connection),
        "lags": rows(LAGS),
        "costs": rows(COSTS),
        "replayed": rows("SELECT coalesce(sum(replayed), 0) AS n FROM requests")[0]["n"],
    }
    connection.execute("ROLLBACK")
    return found


def _rhythm(starts: list[datetime]) -> float | None:
    """Seconds from run to run, as they have come of late: what three of four kept, so that neither a pause nor a clock
    that was wrong once counts. None where there are too few to tell.
    """
    gaps = sorted((later - earlier).total_seconds() for earlier, later in pairwise(starts) if later > earlier)
    return gaps[len(gaps) * 3 // 4] if len(gaps) >= FEW else None


def report_for_work(control: Control, shard: str, now: str, ledger: sqlite3.Connection) -> None:
    """This runner's ledger in place of what it left before."""
    control.need("runners", RUNNERS)
    told = json.dumps(read_ledger(ledger), default=str)
    control.rows("DELETE FROM runners WHERE shard = ?", [shard])
    control.rows("INSERT INTO runners VALUES (?, ?, ?)", [shard, now, told])


def reports(control: Control | None) -> dict[str, Any] | None:
    """All runners of the present number of shards, as if they had one ledger; None before the first run.

    The last run is one that went wrong, or the newest; the last finished is the one that is longest ago: a runner that
    has died must not hide behind the others.
    """
    if control is None or not control.has("runners"):
        return None
    now = pendulum.now("UTC").add(minutes=1).to_iso8601_string()
    found = control.rows(LAST_WORDS, [now])
    if not found:
        return None
    of = found[0][0].partition("/")[2]
    told = {shard: json.loads(text) for shard, text in found if shard.partition("/")[2] == of}
    each = list(told.values())
    finished = [one["last_finished"] for one in each if one["last_finished"]]
    last = [one["last"] for one in each if one["last"]]
    return {
        "runs": sorted(_of_all(each, "runs"), key=lambda row: row["started_at"], reverse=True)[:LAST_RUNS],
        "last": next((run for run in last if run["status"] in ("failed", "killed")), _newest(last)),
        "rhythm": max((one["rhythm"] for one in each if one.get("rhythm")), default=None),
        "last_finished": min(finished, key=lambda run: run["finished_at"]) if len(finished) == int(of) else None,
        "failures": _of_all(each, "failures"),
        "quarantine": _of_all(each, "quarantine"),
        "skipped": _of_all(each, "skipped"),
        "quotas": {source: quota for one in reversed(each) for source, quota in one["quotas"].items()},
        "lags": _of_all(each, "lags"),
        "costs": _of_all(each, "costs"),
        "replayed": sum(one["replayed"] for one in each),
    }


def leave_word(home: "DataDir", ledger: sqlite3.Connection, now: str) -> None:
    """After a run, however it ended. That it could not be said changes nothing of what was done."""
    try:
        with home.destination.control(home, writes=True) as control:
            assert control is not None
            report_for_work(control, str(home.shard), now, ledger)
    except Unavailable as error:
        log.warning("what this run did could not be told to the others: %s", error)


def _of_all(each: list[dict[str, Any]], name: str) -> list[Row]:
    return [row for one in each for row in one[name]]


def _newest(runs: list[Row]) -> Row | None:
    return max(runs, key=lambda run: str(run["started_at"]), default=None)
