"""What somebody follows (`earshot watch`, `unwatch`, `resume`); which change answers an issue (`link`, `unlink`)."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click
from pendulum import DateTime

from pipelines.ask.format.answer import Answer, Refusal, answering
from pipelines.ask.format.shown import line
from pipelines.ask.query import find
from pipelines.ask.query.filters import options, places
from pipelines.ask.query.names import place
from pipelines.ask.query.published import Row, Where, home, published
from pipelines.state import watched
from pipelines.warehouse.configured import connected

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["link", "resume", "unlink", "unwatch", "watch"]

CHANGE = click.Choice(["pr", "mr"])
SHOWN = "the next run shows it"


@click.command()
@click.argument("noun", type=CHANGE)
@click.argument("iid")
@options("project", "source")
@answering
def watch(noun: str, iid: str, **asked: Any) -> Answer:
    """Follow a pull or merge request until it is closed or merged.

    And no longer if it is reopened: see `resume`.
    """
    row, held = _found(noun, iid, asked)
    state = held if held not in (None, "watched") else row["state"]
    if state in ("blocked", "closed", "merged"):
        hint = f"earshot resume {noun} {iid}" if state != "merged" else ""
        raise Refusal("NOT_OPEN", f"{_name(row)} is {state}", hint)
    if held is None:
        watched.put(home(), row["parent_key"], "watched")
    return _told(row, "watched", "is watched already" if held else f"is watched; {SHOWN}")


@click.command()
@click.argument("noun", type=CHANGE)
@click.argument("iid")
@click.option("--forget", is_flag=True, help="As if nobody had ever watched it: it counts while it is open.")
@options("project", "source")
@answering
def unwatch(noun: str, iid: str, forget: bool, **asked: Any) -> Answer:
    """Stop acting on what is said there, until `resume`.

    Only commands still count.
    """
    row, held = _found(noun, iid, asked)
    if forget:
        gone = watched.forget(home(), row["parent_key"])
        return _told(row, None, f"is forgotten; {SHOWN}" if gone else "was never watched")
    if held in ("closed", "merged"):
        return _told(row, held, f"is {held}: nothing there counts")
    if held != "blocked":
        watched.put(home(), row["parent_key"], "blocked")
    return _told(row, "blocked", f"is blocked: only commands count; {SHOWN}")


@click.command()
@click.argument("noun", type=CHANGE)
@click.argument("iid")
@options("project", "source")
@answering
def resume(noun: str, iid: str, **asked: Any) -> Answer:
    """Take up again what was blocked, or closed and reopened.

    Reads it anew; older words than [earshot] safe_backfill_hours do not count any more. What is merged is over.
    """
    row, held = _found(noun, iid, asked)
    if "merged" in (held, row["state"]):
        raise Refusal("MERGED", f"{_name(row)} is merged: it is not taken up again")
    if held == "watched":
        return _told(row, held, "is watched already")
    state = _read_anew(row, noun)
    if state != "watched":
        hint = "" if state == "merged" else "reopen it there first"
        raise Refusal("MERGED" if state == "merged" else "CLOSED", f"{_name(row)} is {state}", hint)
    return _told(row, "watched", "is watched again")


@click.command()
@click.argument("issue")
@click.argument("change", metavar="PR")
@options("project", "source")
@answering
def link(issue: str, change: str, **asked: Any) -> Answer:
    """Say that pull or merge request PR answers ISSUE.

    What was said on the issue since PR was opened belongs there: `feedback.routes` tells it from what was said before.
    """
    with published() as warehouse:
        row = find.parent(warehouse, "issue", issue, asked)
        named, number = find.referred(change)
        where = places(Where.all().given(row["source"], "source = ?").given(row["scope"], "scope = ?"), named)
        where.given(number, "number = ?").flag(True, "kind IN ('pull_request', 'merge_request')")
        found = warehouse.rows(f"SELECT * FROM feedback.parents WHERE {where.sql}", where.values)
    if not found:
        raise Refusal("NOT_FOUND", f"there is no pull or merge request {change} in {line(row['scope_name'])}")
    watched.link(home(), row["parent_key"], found[0]["parent_key"])
    told = _told(row, None, f"is answered by {_name(found[0])}; {SHOWN}")
    told.data |= {"change_key": found[0]["parent_key"]}
    return told


@click.command()
@click.argument("issue")
@options("project", "source")
@answering
def unlink(issue: str, **asked: Any) -> Answer:
    """Take back what `link` said of ISSUE."""
    with published() as warehouse:
        row = find.parent(warehouse, "issue", issue, asked)
    gone = watched.unlink(home(), row["parent_key"])
    return _told(row, None, f"is answered by nothing any more; {SHOWN}" if gone else "has no link")


def _found(noun: str, iid: str, asked: dict[str, Any]) -> tuple[Row, str | None]:
    with published() as warehouse:
        row = find.parent(warehouse, noun, iid, asked)
    return row, watched.state_of(home(), row["parent_key"])


def _read_anew(row: Row, noun: str) -> str | None:
    """The state after a surgical run of it, which takes it up as soon as it is read, or finds it closed."""
    from pipelines.run import options_of
    from pipelines.sync.targets.outcomes import Order
    from pipelines.sync.targets.run import operate
    from sources.core.targets import Target

    there = connected(home(), row["source"])
    backfill = timedelta(hours=there.config.safe_backfill_hours)

    def decide(server_time: DateTime) -> None:
        watched.put(home(), row["parent_key"], "watched", since=server_time - backfill, at=server_time)

    target = Target(noun, row["number"])
    order = Order(there, row["scope_name"], [target], there.config.entity_timeout_seconds, decide=decide)
    surgery = asyncio.run(operate(home(), order, options_of(there.config, embed=False)))
    if surgery.exit_code not in (0, 3):
        if watched.state_of(home(), row["parent_key"]) == "watched":
            why = surgery.error or "what was read could not be published"
            raise Refusal("UNPUBLISHED", f"{_name(row)} is watched again, but {why}", "run `earshot sync`: it shows it")
        why = surgery.error or "; ".join(str(failure) for _, _, failure in surgery.failures)
        raise Refusal("FETCH_ERROR", f"{_name(row)} could not be read: {why}", "nothing was changed; try again")
    return watched.state_of(home(), row["parent_key"])


def _name(row: Row) -> str:
    return place(row, "number")


def _told(row: Row, state: str | None, message: str) -> Answer:
    data = {"parent_key": row["parent_key"], "state": state, "message": f"{_name(row)} {message}"}

    def show(console: "Console") -> None:
        console.print(f"{_name(row)} {message}", soft_wrap=True)

    return Answer(data, show)
