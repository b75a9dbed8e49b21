"""What the ledger knows, read while a run may be writing it; and what the published warehouse knows of itself."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from pipelines.ask.format.answer import USAGE, Refusal, after, nobody_was
from pipelines.ask.query.published import Published, Row, published
from pipelines.state.decisions import dicts
from pipelines.state.runners import read_ledger, reports
from pipelines.warehouse.control import to_be_read
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import Unavailable
from pipelines.warehouse.version import OtherVersion

__all__ = ["Control", "Held", "read_control", "read_held"]

ANSWER_COUNTS = "SELECT source, status, count(*) FROM answers GROUP BY source, status ORDER BY source, status"

CURSORS = """
SELECT source, scope, scope_name, surface, nullif(newest, TIMESTAMPTZ '1970-01-01 00:00:00+00') AS newest, is_complete
FROM ops.cursors
WHERE newest IS NOT NULL OR since IS NOT NULL OR NOT is_complete
ORDER BY source, scope_name, surface
"""
INCOMPLETE = """
SELECT source, scope_name, parent_number, remote_count, held_count FROM ops.completeness
WHERE NOT is_complete AND is_all_that_is_listed IS NOT TRUE
ORDER BY source, scope_name, parent_number
"""
DEEP = """
SELECT count(*) AS accounts, count(deep_swept_at) AS swept, min(deep_swept_at) AS earliest_at
FROM ops.accounts WHERE status = 'active'
"""
OTHERS = "SELECT type, posts, last_seen_at FROM ops.other_embeds ORDER BY posts DESC, type"
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
WITH given AS (SELECT coalesce(command_key, said_key) AS key FROM ops.answers WHERE status IN ('posted', 'observed'))

SELECT count(DISTINCT command_key) AS n, count(DISTINCT command_key) FILTER (
    WHERE command_key IN (FROM given) OR said_key IN (FROM given)
) AS answered
FROM staging.marks WHERE kind = 'command'
"""


@dataclass(frozen=True)
class Control:
    """Always as of now."""

    runs: list[Row]
    last: Row | None  # to end that was to read all, not only what somebody named
    last_finished: Row | None  # of these, that landed what it could
    failures: list[Row]
    quarantine: list[Row]
    quotas: dict[str, Any]
    lags: list[Row]
    costs: list[Row]
    replayed: int
    rhythm: float | None = None  # seconds from run to run, as they have come of late
    skipped: list[Row] = field(default_factory=list)  # who, and why that is no failure
    is_lost: bool = False  # told by what was published, while control.sqlite is missing
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
    deep_sweep: Row = field(
        default_factory=dict
    )  # of accounts: how many there are, how many had one, when the earliest
    other_embeds: list[Row] = field(default_factory=list)  # kinds that are kept raw


def read_control(home: DataDir) -> Control:
    try:
        found = _of_all_runners(home) if home.destination.is_shared else _of_this_one(home)
        return Control(**found, **_answers(home))
    except Unavailable as error:
        raise Refusal("UNREADABLE", str(error), home.destination.remedy(home)) from None
    except OtherVersion as error:
        raise Refusal("CONFIG", str(error), exit_code=USAGE) from None


def _of_this_one(home: DataDir) -> dict[str, Any]:
    if not home.control.is_file():
        return _of_its_copy(home)
    try:
        with closing(to_be_read(home.control)) as connection:
            connection.row_factory = sqlite3.Row
            return read_ledger(connection)
    except sqlite3.Error as error:
        raise Refusal("UNREADABLE", f"{home.control} cannot be read: {error}", after(error)) from None


def _of_its_copy(home: DataDir) -> dict[str, Any]:
    from pipelines.warehouse.embedded.restore import as_published

    with as_published(home) as copy:
        if copy is None:
            raise nobody_was(f"here: {home.path}")
        return {**read_ledger(copy), "is_lost": True}


def _of_all_runners(home: DataDir) -> dict[str, Any]:
    """Each runner's ledger lies on its own machine: what they left after their last runs."""
    with home.destination.control(home, writes=False) as control:
        found = reports(control)
    if found is None:
        raise nobody_was("here")
    return found


def _answers(home: DataDir) -> dict[str, Any]:
    """Of ours, as far as nobody has heard them; and how many there are of each kind."""
    with home.destination.control(home, writes=False) as decided:
        if decided is None or not decided.has("answers"):
            return {}
        counts = decided.rows(ANSWER_COUNTS)
        return {
            "answers": dicts(decided, "answers", "WHERE status <> 'observed' ORDER BY planned_at"),
            "answer_counts": [dict(zip(("source", "status", "n"), row, strict=True)) for row in counts],
        }


def read_held(home: DataDir) -> Held:
    try:
        with published(home) as warehouse:
            return _held(warehouse)
    except Refusal as refusal:
        if refusal.code == "NOTHING_YET":
            return Held()
        raise


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
        deep_sweep=warehouse.row(DEEP),
        other_embeds=warehouse.rows(OTHERS),
    )
