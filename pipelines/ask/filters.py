"""What lists and counts can be narrowed to: the options, and the conditions they become."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from pipelines.ask.answer import USAGE, Refusal
from pipelines.ask.published import Published, Where
from pipelines.ask.times import since

__all__ = ["MOST", "login", "none_match", "options", "parents_where", "places", "threads_where"]

F = TypeVar("F", bound=Callable[..., Any])

PROJECTS = "SELECT DISTINCT scope_name AS name FROM feedback.parents ORDER BY name"
SOURCES = "SELECT DISTINCT source AS name FROM feedback.events ORDER BY name"
NAMED = 10
MOST = 10_000_000
STATES = ("opened", "open", "merged", "closed", "locked", "all")


def _projects(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """For completion: what the published warehouse knows."""
    from pipelines.ask.published import published

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
    "reviewer": click.option("--reviewer", metavar="NAME"),
    "draft": click.option("--draft/--no-draft", default=None, help="Only drafts, or none of them."),
    "target_branch": click.option("--target-branch", metavar="BRANCH"),
    "source_branch": click.option("--source-branch", metavar="BRANCH"),
    "label": click.option("--label", "labels", metavar="NAME", multiple=True, help="Repeat to ask for all of them."),
    "since": click.option("--since", type=since, metavar="WHEN", help="Touched since: 3d, 12h, 2w, 2026-01-31."),
    "waiting_on": click.option("--waiting-on", metavar="WHO", help="Whose turn it is: maintainers, a name, or anyone."),
    "unresolved": click.option(
        "--unresolved", is_flag=True, help="With a thread not told to be resolved (GitHub tells of none)."
    ),
    "kind": click.option("--kind", metavar="KIND", help="Only this kind of utterance, e.g. note, review, post."),
    "limit": click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True),
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
    for column in ("assignee", "reviewer"):
        where.given(login(asked.get(column)), f"list_contains(list_transform({column}s, lambda x: lower(x)), ?)")
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
    where.given(_state(asked.get("state")), "state = ?")
    return where.given(asked.get("since"), "last_at >= ?")


def places(where: Where, asked: dict[str, Any]) -> Where:
    """A project by its whole path or by its last part; names are the same in any case."""
    where.given(asked.get("source"), "source = lower(?)")
    project = asked.get("project")
    condition = "lower(scope_name) = lower(?) OR ends_with(lower(scope_name), '/' || lower(?))"
    return where.given(project.strip("/") if project else None, condition, times=2)


def none_match(warehouse: Published, asked: dict[str, Any], many: str = "") -> str:
    """Why a list of `many` is empty: a name, a filter, or that not everything could be read."""
    for option, known in (("source", SOURCES), ("project", PROJECTS)):
        if asked.get(option):
            where = places(Where.all(), {option: asked[option]})
            if not warehouse.rows(f"SELECT 1 FROM feedback.events WHERE {where.sql} LIMIT 1", where.values):
                return f"No {option} {asked[option]}; there is {_listed(row['name'] for row in warehouse.rows(known))}."
    unread = warehouse.rows("SELECT 1 FROM ops.failures WHERE resolved_at IS NULL LIMIT 1")
    why = "Nothing matches these filters" if _is_filtered() else f"There are no {many or 'such'} here"
    return f"{why}; but not everything could be read: see `earshot status`." if unread else f"{why}."


def _is_filtered() -> bool:
    """Whether somebody gave a filter."""
    context = click.get_current_context()
    given = (name for name in context.params if name not in ("limit", "opens", "as_json"))
    return any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in given)


def _turn(where: Where, asked: dict[str, Any]) -> Where:
    who = login(asked.get("waiting_on"))
    if who == "anyone":
        where.flag(True, "waiting_on IS NOT NULL")
    else:
        where.given(who, "lower(waiting_on) = ?")
    return where.flag(bool(asked.get("unresolved")), "is_resolvable AND is_resolved IS NOT TRUE")


def _state(asked: str | None) -> str | None:
    return {"all": None, "open": "opened"}.get(asked or "all", asked)


def login(name: str | None) -> str | None:
    if name is None:
        return None
    if not name.lstrip("@"):
        raise Refusal("USAGE", "a name is needed, e.g. --author maya", exit_code=USAGE)
    return name.lstrip("@").lower()


def _listed(names: Iterable[object]) -> str:
    found = [str(name) for name in names]
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{', '.join(found[:NAMED]) or 'none'}{more}"
