"""Which names there are, for those that are typed wrong: a typo must look neither like silence nor like zero."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.settings import SOURCES

if TYPE_CHECKING:
    from pipelines.ask.query.published import Published

__all__ = ["PROJECTS", "has_name", "nearest", "project_names", "refuse", "refuse_unknown", "why_empty"]

# also what is configured and silent, or cannot be read: that is no typo
PROJECTS = """
SELECT DISTINCT scope_name AS name FROM (
    SELECT scope_name FROM feedback.parents
    UNION ALL SELECT scope_name FROM ops.cursors
    UNION ALL SELECT scope_name FROM ops.scopes
    UNION ALL SELECT scope_name FROM ops.failures
) AS told WHERE scope_name <> '*' ORDER BY name
"""
HELD_SOURCES = "SELECT DISTINCT source AS name FROM feedback.events"
HELD_KINDS = "SELECT DISTINCT kind AS name FROM feedback.events ORDER BY name"
FAILING = "SELECT count(*) AS n FROM ops.failures WHERE resolved_at IS NULL"
NAMED = 10
NOT_FILTERS = {"limit", "offset", "oldest", "opens"}


def why_empty(warehouse: "Published", asked: Mapping[str, Any]) -> str:
    """Why there is nothing to list. A name that nobody has is refused."""
    refuse_unknown(warehouse, asked)
    if any(value for name, value in asked.items() if name not in NOT_FILTERS and (name, value) != ("state", "all")):
        return "Nothing matches these filters."
    is_failing = warehouse.row(FAILING)["n"]
    return "There are none yet; `earshot status` names what cannot be read." if is_failing else "There are none."


def refuse_unknown(warehouse: "Published", asked: Mapping[str, Any]) -> None:
    if source := asked.get("source"):
        refuse("source", source, {*SOURCES, *_names(warehouse, HELD_SOURCES)})
    if project := asked.get("project"):
        refuse("project", project, project_names(warehouse))
    if kind := asked.get("kind"):
        names = _names(warehouse, HELD_KINDS)
        if kind not in names and nearest(kind, names):  # there may be others elsewhere, of which none is here
            refuse("kind", kind, names)


def refuse(option: str, typed: str, known: Iterable[str]) -> None:
    """Unless one of these has that name, or a path that ends like it."""
    names = sorted(known)
    if any(has_name(name, typed) for name in names):
        return
    near = nearest(typed.strip("/"), names)
    meant = f"; did you mean {near}?" if near else ""
    more = f" and {len(names) - NAMED:,} more: `earshot status -v` names all" if len(names) > NAMED else ""
    hint = f"there is {', '.join(names[:NAMED])}{more}" if names else "nothing has been read yet: see `earshot status`"
    raise Refusal("UNKNOWN_NAME", f"no {option} {typed} here{meant}", hint, USAGE)


def has_name(path: str, typed: str) -> bool:
    return f"/{path}".lower().endswith(f"/{typed.strip('/')}".lower())


def project_names(warehouse: "Published") -> list[str]:
    return _names(warehouse, PROJECTS)


def nearest(typed: str, names: Sequence[str]) -> str | None:
    """The name that was meant, perhaps; by the last part of a path, where no path was typed."""
    written = {name.lower() if "/" in typed else name.lower().rpartition("/")[2]: name for name in reversed(names)}
    near = difflib.get_close_matches(typed.lower(), written, n=1, cutoff=0.6)
    if not near:
        return None
    return written[near[0]] if "/" in typed else written[near[0]].rpartition("/")[2]


def _names(warehouse: "Published", query: str) -> list[str]:
    return [str(row["name"]) for row in warehouse.rows(query)]
