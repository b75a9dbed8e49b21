"""What lists and counts can be narrowed to: the options, and the conditions they become."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.ask.query.known import PROJECTS
from pipelines.ask.query.published import Where
from pipelines.ask.query.times import since

__all__ = ["MOST", "login", "options", "parents_where", "places", "threads_where"]

F = TypeVar("F", bound=Callable[..., Any])

MOST = 10_000_000
STATES = ("open", "merged", "closed", "locked", "all", "opened")


def _projects(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """For completion: what the published warehouse knows."""
    from pipelines.ask.query.published import published

    try:
        with published() as warehouse:
            found = warehouse.rows(PROJECTS)
    except Exception:  # a shell that asks for completions wants no answer but completions
        return []
    names = [str(row["name"]) for row in found]
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


OPTIONS = {
    "source": click.option("--source", metavar="NAME", help="Only from this source."),
    "project": click.option(
        "-p", "--project", metavar="PATH", shell_complete=_projects, help="group/name, or the name alone."
    ),
    "state": click.option("--state", type=click.Choice(STATES), default="all", help="Default: all."),
    "author": click.option("--author", metavar="NAME", help="Who opened or said it."),
    "assignee": click.option("--assignee", metavar="NAME"),
    "reviewer": click.option("--reviewer", metavar="NAME", help="A person, or a team that is asked."),
    "draft": click.option("--draft/--no-draft", default=None, help="Only drafts, or none of them."),
    "target_branch": click.option("--target-branch", metavar="BRANCH"),
    "source_branch": click.option("--source-branch", metavar="BRANCH"),
    "label": click.option("--label", "labels", metavar="NAME", multiple=True, help="Repeat to ask for all of them."),
    "since": click.option("--since", type=since, metavar="WHEN", help="Touched since: 3d, 12h, 2w, 2026-01-31."),
    "waiting_on": click.option("--waiting-on", metavar="WHO", help="Whose turn it is: team, a name, anyone."),
    "unresolved": click.option("--unresolved", is_flag=True, help="With a thread that is not told to be resolved."),
    "kind": click.option("--kind", metavar="KIND", help="Only this kind of utterance, e.g. note, review, post."),
    "limit": click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True),
    "offset": click.option("--offset", type=click.IntRange(0, MOST), default=0, help="Leave out so many of the first."),
    "mr": click.option("--mr", metavar="N", help="Only on this merge request: 12, console/12."),
    "pr": click.option("--pr", metavar="N", help="Only on this pull request."),
    "issue": click.option("--issue", metavar="N", help="Only on this issue."),
    "open": click.option("--open", "opens", is_flag=True, help="Open what is listed in the browser."),
}


def options(*names: str) -> Callable[[F], F]:
    def add(command: F) -> F:
        for name in reversed(names):
            command = OPTIONS[name](command)
        return command

    return add


def parents_where(kind: str, asked: dict[str, Any]) -> Where:
    where = places(Where.all().given(kind, "kind = ?"), asked)
    where.given(_state(asked.get("state")), "state = ?").given(login(asked.get("author")), "lower(author) = ?")
    where.given(asked.get("draft"), "is_draft = ?")
    for option, people in {"assignee": "assignees", "reviewer": "list_concat(reviewers, requested_teams)"}.items():
        where.given(login(asked.get(option)), f"list_contains(list_transform({people}, lambda x: lower(x)), ?)")
    for label in asked.get("labels", ()):
        where.given(label.lower(), "list_contains(list_transform(labels, lambda x: lower(x)), ?)")
    for column in ("source_branch", "target_branch"):
        where.given(asked.get(column), f"{column} = ?")
    inner = _turn(Where.all(), asked)
    if len(inner.conditions) > 1:
        where.conditions.append(f"parent_key IN (SELECT parent_key FROM feedback.threads WHERE {inner.sql})")
        where.values += inner.values
    return where.given(asked.get("since"), "updated_at >= ?")


def threads_where(asked: dict[str, Any]) -> Where:
    where = _turn(places(Where.all(), asked), asked)
    where.given(login(asked.get("author")), "lower(opener) = ?")
    where.given(_state(asked.get("state")), "parent_key IN (SELECT parent_key FROM feedback.parents WHERE state = ?)")
    return where.given(asked.get("since"), "last_at >= ?")


def places(where: Where, asked: dict[str, Any]) -> Where:
    """A project by its whole path or by its last part; names are the same in any case."""
    where.given(asked.get("source"), "source = lower(?)")
    project = asked.get("project")
    condition = "lower(scope_name) = lower(?) OR ends_with(lower(scope_name), '/' || lower(?))"
    return where.given(project.strip("/") if project else None, condition, times=2)


def _turn(where: Where, asked: dict[str, Any]) -> Where:
    who = login(asked.get("waiting_on"))
    if who == "anyone":
        where.flag(True, "waiting_on IS NOT NULL")
    else:
        where.given("team" if who == "maintainers" else who, "lower(waiting_on) = ?")
    return where.flag(bool(asked.get("unresolved")), "is_resolvable AND is_resolved IS NOT TRUE")


def _state(asked: str | None) -> str | None:
    return {"all": None, "opened": "open"}.get(asked or "all", asked)


def login(name: str | None) -> str | None:
    if name is None:
        return None
    if not name.lstrip("@"):
        raise Refusal("USAGE", "a name is needed, e.g. --author maya", exit_code=USAGE)
    return name.lstrip("@").lower()
