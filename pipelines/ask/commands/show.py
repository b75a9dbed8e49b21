"""`earshot show …` and `earshot open …`: one issue, merge request, pull request, post or thread."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.commands.listing import open_pages
from pipelines.ask.format import page
from pipelines.ask.format.answer import Answer, Refusal, answering
from pipelines.ask.format.discussion import Discussion, discussions, notes
from pipelines.ask.format.shown import NOUNS, hang, line
from pipelines.ask.query import find
from pipelines.ask.query.filters import options
from pipelines.ask.query.names import Names, names, reference, short_id
from pipelines.ask.query.published import Published, Row, published
from pipelines.ask.query.reading_page import PAGE, page_of
from pipelines.ask.query.times import ago, instant
from pipelines.sync.output.summary import safe

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["open_", "show"]


@click.group()
def show() -> None:
    """One thing in full, with what was said about it."""


@click.group("open")
def open_() -> None:
    """One thing, in the browser."""


def here(command: Callable[..., Any]) -> Callable[..., Any]:
    told = f"Likewise, at this address. [default: [earshot] page, else {PAGE}]"
    command = click.option("--page", metavar="URL", help=told)(command)
    return click.option("--here", "is_here", is_flag=True, help="On the reading page, where it runs.")(command)


def _of_a_parent(noun: str) -> None:
    _, one, _ = NOUNS[noun]
    told = f"{one} by its number, as lists name it: 847, console/847."

    @show.command(noun, help=told)
    @click.argument("iid")
    @options("project", "source")
    @answering
    def shown(iid: str, **asked: Any) -> Answer:
        with published() as warehouse:
            return _parent(warehouse, find.parent(warehouse, noun, iid, asked))

    @open_.command(noun, help=told)
    @click.argument("iid")
    @options("project", "source")
    @here
    @answering
    def opened(iid: str, is_here: bool, page: str | None, **asked: Any) -> Answer:
        with published() as warehouse:
            row = find.parent(warehouse, noun, iid, asked)
        return _open(row, "parent_key", is_here, page)


for _noun in NOUNS:
    _of_a_parent(_noun)


@show.command("post")
@click.argument("uri", metavar="ID")
@answering
def show_post(uri: str) -> Answer:
    """A post by its short id, at:// or https:// address, with its thread."""
    with published() as warehouse:
        row = find.post(warehouse, uri)
        said = notes(warehouse, row["parent_key"])

    def shown(console: "Console") -> None:
        page.title(console, f"Thread of {len(said):,} around @{row['author']}")
        page.facts(console, [("URL", row["url"]), ("Said", f"{instant(row['created_at'])} ({ago(row['created_at'])})")])
        for each in said:
            page.note(console, each, mark=each["event_key"] == row["event_key"])

    return Answer({**row, "thread": said}, shown)


@show.command("thread")
@click.argument("id_", metavar="ID")
@answering
def show_thread(id_: str) -> Answer:
    """One thread by its short id, or any event key of it."""
    with published() as warehouse:
        thread, known = find.thread(warehouse, id_), names(warehouse)
        thread_id = thread["thread_id"]
        said = [note for note in notes(warehouse, thread["parent_key"]) if note["thread_id"] == thread_id]

    def shown(console: "Console") -> None:
        page.title(console, f"Thread {short_id(thread_id)} on {reference(thread, known)}")
        resolved = {True: "Yes", False: "No", None: ""}[thread["is_resolved"]]
        turn = [("Resolved", resolved), ("Waiting on", thread["waiting_on"]), ("URL", thread["url"])]
        page.facts(console, turn)
        by_people = [note for note in said if not note["is_system"]]
        page.answers(console, Discussion(thread_id, thread["is_resolved"], thread["waiting_on"], by_people))

    return Answer({**thread, "notes": said}, shown)


@open_.command("post")
@click.argument("uri", metavar="ID")
@here
@answering
def open_post(uri: str, is_here: bool, page: str | None) -> Answer:
    """A post by its short id, at:// or https:// address."""
    with published() as warehouse:
        row = find.post(warehouse, uri)
    return _open(row, "parent_key", is_here, page)


@open_.command("thread")
@click.argument("id_", metavar="ID")
@here
@answering
def open_thread(id_: str, is_here: bool, page: str | None) -> Answer:
    """A thread by its short id, or any event key of it."""
    with published() as warehouse:
        row = find.thread(warehouse, id_)
    return _open(row, "thread_id", is_here, page)


def _open(row: Row, key: str, is_here: bool, page: str | None) -> Answer:
    """At its service; or on the reading page, by its `key`."""
    url = page_of(row[key], page) if is_here or page else row["url"]
    if not url:
        raise Refusal("NOT_FOUND", "its service tells no address for it")
    open_pages([url])
    return Answer({"url": url}, lambda console: console.print(line(url), soft_wrap=True))


CLOSES = """
SELECT source, issue_scope_name AS scope_name, issue_number AS parent_number FROM feedback.closes WHERE parent_key = ?
ORDER BY ALL
"""
CLOSED_BY = "SELECT source, scope_name, parent_number FROM feedback.closes WHERE issue_key = ? ORDER BY ALL"


def _parent(warehouse: Published, row: Row) -> Answer:
    said = notes(warehouse, row["parent_key"])
    opener = next((each for each in said if each["kind"] == row["kind"]), None)
    about = [each for each in said if each["kind"] != row["kind"] and not each["is_system"]]
    talk = discussions(warehouse, row["parent_key"], about)
    system = sum(each["is_system"] for each in said)
    body = opener["body"] if opener else ""
    known = names(warehouse)
    closes, closed_by = (
        [reference(each, known) for each in warehouse.rows(query, [row["parent_key"]])] for query in (CLOSES, CLOSED_BY)
    )
    row = {**row, "closes": closes, "closed_by_changes": closed_by}
    data = {**row, "body": body, "discussions": [each.json() for each in talk], "system_notes": system}
    return Answer(data, _page(row, known, body, talk, system))


def _page(row: Row, known: Names, body: str, talk: list[Discussion], system: int) -> Callable[["Console"], None]:
    one = next(one for kind, one, _ in NOUNS.values() if kind == row["kind"])
    name = reference({**row, "parent_number": row["number"]}, known)

    def shown(console: "Console") -> None:
        page.title(console, f"{one} {name}: {row['title']}")
        page.facts(console, page.parent_facts(row))
        console.print("\nDescription:")
        hang(console, "  ", safe(body) or "(none)")
        page.said(console, talk)
        if system:
            console.print(f"\n({system:,} system notes are not shown)")

    return shown
