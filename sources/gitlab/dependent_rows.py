"""Rows of what hangs on merge requests and issues beside their threads: events, closed issues, diffs."""

from collections.abc import Callable

from sources.core.values import Json, Row, Unreadable, flag, instant, integer, maybe, need, text
from sources.gitlab.rows import inner, named

__all__ = ["EVENTS", "closed_row", "file_row"]


def state_event(event: Json, key: str) -> Row:
    return {
        "id": integer(need(event, "id")),
        "parent_key": key,
        "author": _user(event),
        "state": maybe(text, event.get("state")),
        "created_at": instant(need(event, "created_at")),
    }


def label_event(event: Json, key: str) -> Row:
    return {**_named_event(event, key), "label": maybe(text, inner(event, "label").get("name"))}


def milestone_event(event: Json, key: str) -> Row:
    return {**_named_event(event, key), "milestone": maybe(text, inner(event, "milestone").get("title"))}


def _named_event(event: Json, key: str) -> Row:
    return {
        "id": integer(need(event, "id")),
        "parent_key": key,
        "author": _user(event),
        "action": maybe(text, event.get("action")),
        "created_at": instant(need(event, "created_at")),
    }


def _user(event: Json) -> str:
    return named(event, "user") or "ghost"


def closed_row(issue: Json, key: str) -> Row:
    """An issue of this or another project, or (Jira's, say) one that has only a title and a foreign id."""
    number, scope, id_ = issue.get("iid"), issue.get("project_id"), issue.get("id")
    known = isinstance(number, int) and isinstance(scope, int)
    return {
        "parent_key": key,
        "issue_id": id_ if isinstance(id_, int) and id_ < 2**63 else None,
        "issue_number": number if known else None,
        "issue_scope": str(scope) if known else None,
        "issue_key": f"gitlab:{scope}:#{number}" if known else None,
        "external_id": text(id_) if isinstance(id_, str) else None,
        "title": maybe(text, issue.get("title")),
    }


def file_row(diff: Json, key: str) -> Row:
    old, new = maybe(text, diff.get("old_path")), maybe(text, diff.get("new_path"))
    if new is None and old is None:
        raise Unreadable("a diff without a path")
    return {
        "parent_key": key,
        "old_path": old,
        "new_path": old if new is None else new,
        "is_new": flag(diff.get("new_file")),
        "is_deleted": flag(diff.get("deleted_file")),
        "is_renamed": flag(diff.get("renamed_file")),
        "is_collapsed": flag(diff.get("collapsed")),
        "is_too_large": flag(diff.get("too_large")),
        "is_generated": flag(diff.get("generated_file")),
        "diff": maybe(text, diff.get("diff")),
    }


EVENTS: dict[str, Callable[[Json, str], Row]] = {
    "states": state_event,
    "labels": label_event,
    "milestones": milestone_event,
}
