"""`earshot quarantine`: the records that could not be read, and what people say about them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import Answer, Refusal, answering, nobody_was
from pipelines.ask.format.shown import hang, line
from pipelines.ask.query.health import moment
from pipelines.ask.query.published import home
from pipelines.ask.query.times import ago
from pipelines.cli import JsonErrors
from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["quarantine"]

Row = dict[str, Any]
LISTED = """
SELECT q.*, coalesce(s.scope_name, q.scope) AS scope_name FROM quarantine AS q
LEFT JOIN scopes AS s ON s.source = q.source AND s.scope = q.scope
WHERE q.resolved_at IS NULL ORDER BY q.let_be_at IS NOT NULL, q.source, q.first_at, q.key
"""
KEYS = click.argument("keys", metavar="KEY…", nargs=-1, required=True)


class Group(JsonErrors, click.Group):
    """A group whose mistakes are told in JSON, too."""


@click.group(cls=Group, name="quarantine")
def quarantine() -> None:
    """Records that could not be read, and what to do with them."""


@quarantine.command("list")
@answering
def listed() -> Answer:
    """Every such record: where it belongs, why, how often it was tried.

    With --json also the record as it came.
    """
    with _ledger() as ledger:
        records = _records(ledger)
    fields = [
        "source",
        "key",
        "scope",
        "scope_name",
        "surface",
        "parent_key",
        "reason",
        "first_at",
        "last_at",
        "attempts",
        "retry_at",
        "let_be_at",
        "raw",
    ]

    def show(console: "Console") -> None:
        if not records:
            console.print("Everything could be read.")
        for each in records:
            console.print(line(each["key"]), style="dim" if each["let_be_at"] else "bold", soft_wrap=True)
            what = f"let be {ago(moment(each['let_be_at']))}" if each["let_be_at"] else _tried(each)
            hang(console, "  ", line(f"{each['source']} {each['scope_name']}: {each['reason']}; {what}"))
        if any(not each["let_be_at"] for each in records):
            console.print("\nWhat nobody will ever read:  earshot quarantine drop KEY…", soft_wrap=True)

    return Answer({"records": [{name: each[name] for name in fields} for each in records]}, show)


@quarantine.command()
@KEYS
@answering
def drop(keys: tuple[str, ...]) -> Answer:
    """Let records be that nobody will ever read.

    No run fails for them any more.
    What can be read after all is read, and is in quarantine no longer.
    """
    return _said(keys, Quarantine.let_be, "let be: no run fails for it any more")


@quarantine.command()
@KEYS
@answering
def retry(keys: tuple[str, ...]) -> Answer:
    """Have the next run ask again, also for what was let be."""
    return _said(keys, Quarantine.ask_again, "asked for again by the next run")


def _said(keys: tuple[str, ...], change: Callable[[Quarantine, list[str]], None], what: str) -> Answer:
    wanted = list(dict.fromkeys(keys))
    with _ledger() as ledger:
        sources: dict[str, list[str]] = {}
        for each in _records(ledger):
            sources.setdefault(each["key"], []).append(each["source"])
        unknown = [key for key in wanted if key not in sources]
        if unknown:
            raise Refusal(
                "NOT_FOUND",
                f"not in quarantine: {', '.join(unknown[:5])}; nothing was changed",
                "`earshot quarantine list` tells the keys",
            )
        for source in {source for key in wanted for source in sources[key]}:
            change(Quarantine(ledger, source), wanted)

    def show(console: "Console") -> None:
        for key in wanted:
            console.print(f"{', '.join(sources[key])} {line(key)}: {what}", soft_wrap=True)

    return Answer({"keys": wanted}, show)


def _records(ledger: Ledger) -> list[Row]:
    return [dict(row) for row in ledger.connection.execute(LISTED)]


def _tried(record: Row) -> str:
    times = "once" if record["attempts"] == 1 else f"{record['attempts']:,} times"
    return f"tried {times} since {ago(moment(record['first_at']))}"


@contextmanager
def _ledger() -> Iterator[Ledger]:
    place = home()
    if not place.control.exists():
        raise nobody_was(f"here: {place.path}")
    try:
        with Ledger.open(place.control) as ledger:
            yield ledger
    except sqlite3.OperationalError as error:
        raise Refusal("UNREADABLE", f"{place.control} cannot be used: {error}") from None
