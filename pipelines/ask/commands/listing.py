"""`earshot list …`: what there is, newest first, narrowed by filters."""

import webbrowser
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format import lines
from pipelines.ask.format.answer import USAGE, Answer, Refusal, answering
from pipelines.ask.format.shown import NOUNS, headline, line
from pipelines.ask.query import find
from pipelines.ask.query.acks import acknowledged, answered
from pipelines.ask.query.filters import login, options, parents_where, places, threads_where
from pipelines.ask.query.known import why_empty
from pipelines.ask.query.names import names, reference, short_id
from pipelines.ask.query.published import Published, Row, Where, home, published

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["listing", "open_pages"]

TABS = 10
PARENT = ("source", "project", "state", "author", "assignee")
TURN = ("waiting_on", "unresolved", "since", "limit", "offset", "open")
ON = ("mr", "pr", "issue")
ANSWERED = """
SELECT command_key FROM staging.marks
WHERE kind = 'command' AND (command_key IN (FROM answered) OR said_key IN (FROM answered))
"""
CHANGE = ("reviewer", "draft", "target_branch", "source_branch", "label")


@click.group("list")
def listing() -> None:
    """What there is, newest first."""


@listing.command()
@options(*PARENT, *CHANGE, *TURN)
@answering
def mrs(**asked: Any) -> Answer:
    """Merge requests."""
    return _parents("mr", asked)


@listing.command()
@options(*PARENT, *CHANGE, *TURN)
@answering
def prs(**asked: Any) -> Answer:
    """Pull requests."""
    return _parents("pr", asked)


@listing.command()
@options(*PARENT, "label", *TURN)
@answering
def issues(**asked: Any) -> Answer:
    """Issues, of all forges."""
    return _parents("issue", asked)


@listing.command()
@options("source", "author", "kind", "since", "limit", "offset", "open")
@answering
def posts(**asked: Any) -> Answer:
    """Posts, replies, quotes and reposts."""
    where = places(Where.all().flag(True, "parent_kind = 'post'"), asked)
    where.given(asked["kind"], "kind = ?").given(asked["since"], "created_at >= ?")
    where.given(login(asked["author"]), "lower(author) = ? OR lower(scope_name) = ?", times=2)
    with published() as warehouse:
        found = _page(
            warehouse, f"FROM feedback.comments WHERE {where.sql}", where, "created_at DESC, event_key", asked
        )
        return _answer("Posts", lines.posts, *found, warehouse, asked, "id")


@listing.command()
@options("source", "project", "state", "author", *ON)
@click.option("--oldest", is_flag=True, help="What waits longest first.")
@options(*TURN)
@answering
def threads(oldest: bool, **asked: Any) -> Answer:
    """Discussions: whose turn it is, what was said last."""
    order = f"last_at {'' if oldest else 'DESC'}, thread_id"
    with published() as warehouse:
        where = _on(warehouse, threads_where(asked), asked)
        rows, total = _page(warehouse, f"FROM feedback.threads WHERE {where.sql}", where, order, asked)
        keys = [row["parent_key"] for row in rows]  # joined before, all of them would be: a fifth of a second
        found = [{**row, **told} for row, told in zip(rows, _titles(warehouse, keys), strict=True)], total
        return _answer("Threads", lines.threads, *found, warehouse, asked, "thread_id")


@listing.command("diff-notes")
@options("source", "project", "author", *ON)
@click.option("--path", metavar="PATH", help="Only on this file, or below this folder.")
@options("unresolved", "since", "limit", "offset", "open")
@answering
def diff_notes(**asked: Any) -> Answer:
    """Comments on places in diffs: file, line, is it outdated."""
    where = places(Where.all(), asked).given(login(asked["author"]), "lower(author) = ?")
    where.given((asked["path"] or "").rstrip("/"), "path = ? OR starts_with(path, ? || '/')", times=2)
    where.flag(asked["unresolved"], "is_resolved IS NOT TRUE").given(asked["since"], "created_at >= ?")
    with published() as warehouse:
        relation = f"FROM feedback.diff_notes WHERE {_on(warehouse, where, asked).sql}"  # with its values in `where`
        found = _page(warehouse, relation, where, "created_at DESC, event_key", asked)
        return _answer("Diff notes", lines.diff_notes, *found, warehouse, asked, "thread_id")


@listing.command()
@options("source", "project", "author", "kind", "since")
@click.option("--actionable", is_flag=True, help="Only what somebody may have to act on.")
@click.option("--unacked-by", metavar="CONSUMER", help="Only what `ack` did not mark for this consumer; oldest first.")
@options("limit", "offset", "open")
@answering
def events(actionable: bool, unacked_by: str | None, **asked: Any) -> Answer:
    """Every version of every utterance."""
    if unacked_by is not None and not unacked_by.strip():  # as of `ack`: a script's unset variable
        raise click.UsageError("--unacked-by: a consumer needs a name")
    where = places(Where.all(), asked).given(asked["kind"], "kind = ?").given(asked["since"], "updated_at >= ?")
    where.given(login(asked["author"]), "lower(author) = ?").flag(actionable, "is_actionable")
    with published() as warehouse:
        order = "updated_at DESC, event_key"
        if unacked_by is not None:
            warehouse.hold("acked", acknowledged(home(), unacked_by.strip()))
            where.flag(True, "event_key NOT IN (SELECT key FROM acked)")
            order = "seen_at, event_key"
        found = _page(warehouse, f"FROM feedback.events WHERE {where.sql}", where, order, asked)
        return _answer("Events", lines.events, *found, warehouse, {**asked, "unacked_by": unacked_by or actionable})


@listing.command()
@options("source", "project", "author", "since")
@click.option("--name", metavar="NAME", help="Only this command.")
@click.option("--unanswered", is_flag=True, help="Only what stands, may be asked by its author and has no answer yet.")
@options("limit", "offset", "open")
@answering
def commands(name: str | None, unanswered: bool, **asked: Any) -> Answer:
    """Slash commands in what was said.

    With --unanswered the oldest first.
    """
    where = places(Where.all(), asked).given(name and name.lower(), "name = ?").given(asked["since"], "updated_at >= ?")
    where.given(login(asked["author"]), "lower(author) = ?")
    where.flag(unanswered, "status = 'seen' AND is_author_allowed AND is_actionable AND problem IS NULL")
    with published() as warehouse:
        if unanswered:  # also those answered since the last run
            warehouse.hold("answered", answered(home()))
            where.flag(True, f"command_key NOT IN ({ANSWERED})")
        order = "created_at, event_key, position" if unanswered else "updated_at DESC, event_key, position"
        found = _page(warehouse, f"FROM feedback.commands WHERE {where.sql}", where, order, asked)
        return _answer("Commands", lines.commands, *found, warehouse, {**asked, "name": name or unanswered})


def _parents(noun: str, asked: dict[str, Any]) -> Answer:
    kind, _, many = NOUNS[noun]
    where = parents_where(kind, asked)
    relation = f"FROM (SELECT *, kind AS parent_kind, number AS parent_number FROM feedback.parents) WHERE {where.sql}"
    with published() as warehouse:
        found = _page(warehouse, relation, where, "updated_at DESC, parent_key", asked)
        return _answer(many, lines.parents, *found, warehouse, asked)


def _titles(warehouse: Published, keys: list[str]) -> list[Row]:
    warehouse.hold_each("listed", keys)
    some = "SELECT parent_key, title, state FROM feedback.parents WHERE parent_key IN (SELECT key FROM listed)"
    by_key = {row.pop("parent_key"): row for row in warehouse.rows(some)}
    return [by_key.get(key, {"title": None, "state": None}) for key in keys]


def _on(warehouse: Published, where: Where, asked: dict[str, Any]) -> Where:
    """Only what is said on the one thing that is named, if one is."""
    for noun in ON:
        if asked[noun]:
            where.given(find.parent(warehouse, noun, asked[noun], asked)["parent_key"], "parent_key = ?")
    return where


def _page(
    warehouse: Published, relation: str, where: Where, order: str, asked: dict[str, Any]
) -> tuple[list[Row], int]:
    """The first rows, or those after them, and how many there are in all: only counted if they are not all shown."""
    limit, offset = asked["limit"], asked["offset"]
    rows = warehouse.rows(f"SELECT * {relation} ORDER BY {order} LIMIT ? OFFSET ?", [*where.values, limit, offset])
    if len(rows) < limit and not offset:
        return rows, len(rows)
    return rows, warehouse.row(f"SELECT count(*) AS n {relation}", where.values)["n"]


def _answer(
    name: str,
    show_rows: Callable[["Console", Sequence[Row]], None],
    rows: list[Row],
    total: int,
    warehouse: Published,
    asked: dict[str, Any],
    by: str | None = None,
) -> Answer:
    """`by`: what rows are known by that have no number of their own; a short id of it is looked up again."""
    beyond = f"There is nothing after them: these are {total:,}."
    empty = "" if rows else beyond if total else why_empty(warehouse, asked)
    known = names(warehouse)
    for row in rows:
        row["place"] = reference(row, known)
        row["reference"] = short_id(row[by]) if by else row["place"]
    if asked["opens"]:
        open_pages([row["url"] for row in rows])

    def show(console: "Console") -> None:
        headline(console, name, len(rows), total)
        if rows:
            show_rows(console, rows)
        else:
            console.print(line(empty))

    meta = {"shown": len(rows), "total": total, **({"hint": empty} if empty else {})}
    return Answer(rows, show, meta)


def open_pages(urls: list[str | None]) -> None:
    """In the browser; only web addresses, and no flood of tabs."""
    pages = [url for url in urls if url and url.startswith(("https://", "http://"))]
    if len(pages) > TABS:
        raise Refusal("USAGE", f"that would open {len(pages)} tabs", f"narrow it with --limit {TABS}", USAGE)
    for page in pages:
        webbrowser.open(page)
