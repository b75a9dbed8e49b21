"""`earshot count …`: how many, and in which states."""

from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import Answer, answering
from pipelines.ask.format.shown import NOUNS, line
from pipelines.ask.query.filters import login, options, parents_where, places
from pipelines.ask.query.known import refuse_unknown
from pipelines.ask.query.published import Where, published

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["count"]

STATES = ("open", "merged", "closed", "locked")
PLACES = ("source", "project")
PARENT = (*PLACES, "author", "assignee", "label", "since")
CHANGE = (*PARENT, "reviewer", "draft", "target_branch", "source_branch")
ABOUT = "kind NOT IN ('issue', 'pull_request', 'merge_request', 'post')"
type_option = click.option("--type", "noun", type=click.Choice([*NOUNS, "post"]), help="Only what is said on these.")


@click.group()
def count() -> None:
    """How many there are."""


@count.command()
@options(*CHANGE)
@answering
def mrs(**asked: Any) -> Answer:
    """Merge requests by state."""
    return _parents("mr", asked)


@count.command()
@options(*CHANGE)
@answering
def prs(**asked: Any) -> Answer:
    """Pull requests by state."""
    return _parents("pr", asked)


@count.command()
@options(*PARENT)
@answering
def issues(**asked: Any) -> Answer:
    """Issues by state."""
    return _parents("issue", asked)


@count.command()
@type_option
@options(*PLACES)
@answering
def discussions(noun: str | None, **asked: Any) -> Answer:
    """Discussions and lone comments, by whether resolved."""
    where, name = _about(noun, asked, "Discussions")
    with published() as warehouse:
        total = warehouse.row(
            "SELECT count(DISTINCT if(thread_id = parent_key || ':conversation', event_key, thread_id)) AS n"
            f" FROM feedback.comments WHERE NOT is_system AND {where.sql}",
            where.values,
        )["n"]
        if not total:
            refuse_unknown(warehouse, asked)
        threads = places(Where.all().flag(True, "is_resolvable").given(_kind(noun), "parent_kind = ?"), asked)
        settled = warehouse.row(
            "SELECT count(*) FILTER (is_resolved) AS resolved, count(*) FILTER (is_resolved IS NOT TRUE) AS unresolved"
            f" FROM feedback.threads WHERE {threads.sql}",
            threads.values,
        )
    return _answer(name, total, {each: n for each, n in settled.items() if n})


@count.command()
@type_option
@options(*PLACES)
@answering
def notes(noun: str | None, **asked: Any) -> Answer:
    """Notes and comments; the service's own told apart."""
    where, name = _about(noun, asked, "Notes")
    with published() as warehouse:
        found = warehouse.row(
            "SELECT count(*) FILTER (NOT is_system) AS said, count(*) FILTER (is_system) AS system,"
            " count(*) FILTER (kind IN ('diff_note', 'review_comment')) AS pinned"
            f" FROM feedback.comments WHERE {where.sql}",
            where.values,
        )
        if not any(found.values()):
            refuse_unknown(warehouse, asked)

    def show(console: "Console") -> None:
        console.print(f"{name}: {found['said']:,} (excluding {found['system']:,} system)")
        console.print(f"  DiffNotes: {found['pinned']:,} (with file position metadata)")

    data = {"count": found["said"], "excluded_system": found["system"], "diff_notes": found["pinned"]}
    return Answer(data, show)


@count.command()
@options("source", "author")
@answering
def posts(**asked: Any) -> Answer:
    """Posts by kind: posts, replies, quotes, reposts."""
    where = places(Where.all().flag(True, "parent_kind = 'post'"), asked)
    where.given(login(asked["author"]), "lower(author) = ? OR lower(scope_name) = ?", times=2)
    with published() as warehouse:
        kinds = warehouse.rows(
            f"SELECT kind, count(*) AS n FROM feedback.comments WHERE {where.sql} GROUP BY kind ORDER BY n DESC, kind",
            where.values,
        )
        if not kinds:
            refuse_unknown(warehouse, asked)
    return _answer("Posts", sum(row["n"] for row in kinds), {row["kind"]: row["n"] for row in kinds})


def _parents(noun: str, asked: dict[str, Any]) -> Answer:
    kind, _, many = NOUNS[noun]
    where = parents_where(kind, asked)
    with published() as warehouse:
        rows = warehouse.rows(
            f"SELECT state, count(*) AS n FROM feedback.parents WHERE {where.sql} GROUP BY state", where.values
        )
        if not rows:
            refuse_unknown(warehouse, asked)
    found = {row["state"]: row["n"] for row in rows}
    order = [*(state for state in STATES if state in found), *sorted(found.keys() - set(STATES))]
    return _answer(many, sum(found.values()), {state: found[state] for state in order})


def _about(noun: str | None, asked: dict[str, Any], what: str) -> tuple[Where, str]:
    where = places(Where.all().flag(True, ABOUT).given(_kind(noun), "parent_kind = ?"), asked)
    return where, f"{noun.upper() if noun in ('mr', 'pr') else noun.title()} {what}" if noun else what


def _kind(noun: str | None) -> str | None:
    return NOUNS[noun][0] if noun in NOUNS else noun


def _answer(name: str, total: int, parts: dict[str, int]) -> Answer:
    def show(console: "Console") -> None:
        console.print(f"{name}: {total:,}")
        for part, n in parts.items():
            console.print(f"  {line(part)}: {n:,}")

    return Answer({"count": total, **({"by": parts} if parts else {})}, show)
