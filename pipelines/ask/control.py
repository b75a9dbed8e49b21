"""What control.sqlite knows, read while a run may be writing it; and what the published file knows of itself."""

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from pipelines.ask.answer import Refusal
from pipelines.ask.published import Published, Row, published
from pipelines.warehouse import Home

__all__ = ["Control", "Held", "read_control", "read_held"]

PATIENCE = 10.0
LAST_RUNS = 5
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
ANSWERS = "SELECT * FROM answers WHERE status <> 'observed' ORDER BY planned_at"
ANSWER_COUNTS = "SELECT source, status, count(*) AS n FROM answers GROUP BY source, status ORDER BY source, status"
FAILURES = "SELECT * FROM failures WHERE resolved_at IS NULL ORDER BY source, scope_name, surface"
QUARANTINE = "SELECT source, count(*) AS n FROM quarantine WHERE resolved_at IS NULL GROUP BY source ORDER BY source"

CURSORS = """
SELECT source, scope, scope_name, surface, newest, is_complete FROM ops.cursors
WHERE newest IS NOT NULL OR since IS NOT NULL OR NOT is_complete
ORDER BY source, scope_name, surface
"""
INCOMPLETE = """
SELECT source, scope_name, parent_number, remote_count, held_count FROM ops.completeness
WHERE NOT is_complete AND is_all_that_is_listed IS NOT TRUE
ORDER BY source, scope_name, parent_number
"""
# only what was said after we began to listen: the rest was old when we came
LAG = """
WITH began AS (SELECT source, scope, min(seen_at) AS at FROM feedback.events GROUP BY source, scope)

SELECT quantile_cont(greatest(epoch(e.seen_at) - epoch(e.updated_at), 0), 0.95) AS p95, count(*) AS events
FROM feedback.events AS e
INNER JOIN began ON began.source = e.source AND began.scope = e.scope
WHERE e.updated_at > began.at AND e.seen_at >= (SELECT max(seen_at) FROM feedback.events) - INTERVAL 1 DAY
"""


# without the events that `feedback.commands` joins: there may be a million
COMMANDS = """
WITH given AS (SELECT event_key, command_key FROM ops.answers WHERE status IN ('posted', 'observed'))

SELECT count(*) AS n, count(*) FILTER (
    WHERE event_key IN (SELECT event_key FROM given WHERE command_key IS NULL AND event_key IS NOT NULL)
    OR event_key || ':' || position IN (SELECT command_key FROM given WHERE command_key IS NOT NULL)
) AS answered
FROM staging.marks WHERE kind = 'command'
"""


@dataclass(frozen=True)
class Control:
    """Always as of now."""

    runs: list[Row]
    last: Row | None  # that was to read all, not only what somebody named
    last_finished: Row | None  # of these, that landed what it could
    failures: list[Row]
    quarantine: list[Row]
    quotas: dict[str, Any]
    lags: list[Row]
    costs: list[Row]
    replayed: int
    answers: list[Row] = field(default_factory=list)  # not heard yet
    answer_counts: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Held:
    """As of the last publish; nothing, before the first."""

    published: bool = False
    cursors: list[Row] = field(default_factory=list)
    parents: int = 0
    incomplete: list[Row] = field(default_factory=list)
    events: int = 0
    commands: int = 0
    commands_answered: int = 0
    lag_p95: float | None = None
    lag_events: int = 0


def read_control(home: Home) -> Control:
    if not home.control.exists():
        raise Refusal("NOTHING_YET", f"no run has been here: {home.path}", "configure a source and run `earshot sync`")
    connection = sqlite3.connect(f"{home.control.as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
    connection.row_factory = sqlite3.Row
    try:
        return _read(connection)
    except sqlite3.Error as error:
        raise Refusal("UNREADABLE", f"{home.control} cannot be read: {error}", "the next run makes it anew") from None
    finally:
        connection.close()


def read_held(home: Home) -> Held:
    try:
        with published(home) as warehouse:
            return _held(warehouse)
    except Refusal as refusal:
        if refusal.code == "NOTHING_YET":
            return Held()
        raise


def _read(connection: sqlite3.Connection) -> Control:
    def rows(query: str, *values: object) -> list[Row]:
        return [dict(row) for row in connection.execute(query, values)]

    connection.execute("BEGIN")  # one moment for all of it
    last = rows(f"SELECT * FROM runs WHERE {READS_ALL} ORDER BY run_id DESC LIMIT 1")
    finished = rows(
        f"SELECT * FROM runs WHERE {READS_ALL} AND status IN ('done', 'partial') ORDER BY run_id DESC LIMIT 1"
    )
    answering = rows("SELECT 1 FROM sqlite_master WHERE name = 'answers'")  # not in ledgers of earlier versions
    facts = rows("SELECT name, value FROM facts WHERE name LIKE 'quota %'")
    return Control(
        runs=rows("SELECT * FROM runs ORDER BY run_id DESC LIMIT ?", LAST_RUNS),
        last=last[0] if last else None,
        last_finished=finished[0] if finished else None,
        failures=rows(FAILURES),
        quarantine=rows(QUARANTINE),
        quotas={row["name"].partition(" ")[2]: json.loads(row["value"]) for row in facts},
        lags=rows(LAGS),
        costs=rows(COSTS),
        replayed=rows("SELECT coalesce(sum(rows_replayed), 0) AS n FROM runs")[0]["n"],
        answers=rows(ANSWERS) if answering else [],
        answer_counts=rows(ANSWER_COUNTS) if answering else [],
    )


def _held(warehouse: Published) -> Held:
    lag, commands = warehouse.row(LAG), warehouse.row(COMMANDS)
    return Held(
        published=True,
        cursors=warehouse.rows(CURSORS),
        parents=warehouse.row("SELECT count(*) AS n FROM ops.completeness")["n"],
        incomplete=warehouse.rows(INCOMPLETE),
        events=warehouse.row("SELECT count(*) AS n FROM feedback.events")["n"],
        commands=commands["n"],
        commands_answered=commands["answered"],
        lag_p95=lag["p95"],
        lag_events=lag["events"],
    )
