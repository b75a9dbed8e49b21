"""What GraphQL says of a pull request, as rows: its review threads, and the issues that it closes."""

import re
from collections.abc import Mapping

from pendulum import DateTime

from sources.core.values import (
    COUNT,
    FLAG,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
    Unreadable,
    flag,
    integer,
    maybe,
    need,
    text,
)
from sources.github.surfaces.parts import inner, login, parent_key

__all__ = ["REVIEW_THREADS", "Before", "closed_row", "thread_row"]

Before = Mapping[str, tuple[bool, DateTime | None]]  # thread → whether it was resolved, and when we saw that it was

THREAD = {
    "id": TEXT,
    "parent_key": TEXT,
    "first_comment_id": COUNT,
    "is_resolved": FLAG,
    "is_outdated": FLAG,
    "is_collapsed": FLAG,
    "resolved_by": TEXT,
    "seen_resolved_at": INSTANT,
}
CLOSED = {
    "parent_key": TEXT,
    "issue_scope": TEXT,
    "issue_repo": TEXT,
    "issue_number": COUNT,
    "issue_key": TEXT,
    "title": TEXT,
}
READ = {
    "parent_key": TEXT,
    "scope": TEXT,
    "repo": TEXT,
    "number": COUNT,
    "read_for_updated_at": INSTANT,
    "is_settled": FLAG,
    "read_at": INSTANT,
    "shown": TEXT,
}
MEMBERS = {"threads": Table("threads", (), THREAD), "closes": Table("closes", (), CLOSED)}
REVIEW_THREADS = Table("review_threads", ("parent_key",), READ, children=MEMBERS)


def thread_row(node: Json, key: str, before: Before, now: DateTime) -> Row:
    """When it was resolved nobody tells: what is known is when we saw that it had been, where it was open before."""
    id_, is_resolved = text(need(node, "id")), flag(need(node, "isResolved"))
    was_resolved, seen_at = before.get(id_, (True, None))
    return {
        "id": id_,
        "parent_key": key,
        "first_comment_id": _first_comment(node),
        "is_resolved": is_resolved,
        "is_outdated": flag(need(node, "isOutdated")),
        "is_collapsed": flag(node.get("isCollapsed")),
        "resolved_by": login(node, "resolvedBy"),  # null of an account that is deleted, too
        "seen_resolved_at": (seen_at if was_resolved else now) if is_resolved else None,
    }


def closed_row(node: Json, key: str) -> Row:
    there, number = inner(node, "repository"), integer(need(node, "number"))
    scope = str(integer(need(there, "databaseId")))
    return {
        "parent_key": key,
        "issue_scope": scope,
        "issue_repo": maybe(text, there.get("nameWithOwner")),
        "issue_number": number,
        "issue_key": parent_key(scope, number),
        "title": maybe(text, node.get("title")),
    }


def _first_comment(node: Json) -> int | None:
    """The first that is left. Its id comes as text: it may have more than 32 bits. None is left, or to be seen."""
    nodes = inner(node, "comments").get("nodes")
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    told = first.get("fullDatabaseId") if isinstance(first, dict) else None
    if told is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", text(told)):
        raise Unreadable(f"not an id: {told!r:.60}")
    return int(text(told))
