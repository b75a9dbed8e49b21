"""Comments of a conversation and of a diff, every version; and where in the diff the latter stand now.

The identity of a place in a diff is what never changes (`original_*`). Where it stands now is re-anchored by every push
without moving `updated_at`, so it has a table of its own that is always overwritten.
"""

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
    instant,
    integer,
    maybe,
    need,
    text,
    version,
)
from sources.github.rows.parts import (
    UTTERANCE,
    WHEN,
    WHO,
    as_told,
    body_of,
    parent_key,
    utterance,
    when,
    who,
)

__all__ = [
    "ANCHORS",
    "ISSUE_COMMENTS",
    "REVIEW_COMMENTS",
    "anchor_row",
    "comment_row",
    "comment_version",
    "review_comment_row",
]

ISSUE_COMMENT = {**UTTERANCE, "body": TEXT, **WHO, "url": TEXT, **WHEN}
ISSUE_COMMENTS = Table("issue_comments", ("id", "version"), ISSUE_COMMENT, keeps="versions")

AS_SAID = {
    "in_reply_to_id": COUNT,
    "side": TEXT,
    "start_side": TEXT,
    "original_line": COUNT,
    "original_start_line": COUNT,
    "original_commit_id": TEXT,
    "diff_hunk": TEXT,
}
REVIEW_COMMENT = {
    **UTTERANCE,
    "thread_id": COUNT,
    "review_id": COUNT,
    "body": TEXT,
    **WHO,
    "path": TEXT,
    "subject_type": TEXT,
    **AS_SAID,
    "url": TEXT,
    **WHEN,
}
REVIEW_COMMENTS = Table("review_comments", ("id", "version"), REVIEW_COMMENT, keeps="versions")

NOW = {"line": COUNT, "start_line": COUNT, "position": COUNT, "commit_id": TEXT}
ANCHOR = {
    "id": COUNT,
    "scope": TEXT,
    "parent_key": TEXT,
    "path": TEXT,
    **NOW,
    "is_outdated": FLAG,
    "seen_at": INSTANT,
}
ANCHORS = Table("review_comment_anchors", ("id",), ANCHOR)


def comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number = _number_of(comment, "issue_url")
    return {
        **utterance("issue_comment", comment, scope, repo, number, comment_version(comment)),
        "body": body_of(comment),
        **who(comment),
        "url": maybe(text, comment.get("html_url")),
        **when(comment, seen_at),
    }


def review_comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number = _number_of(comment, "pull_request_url")
    said = utterance("review_comment", comment, scope, repo, number, comment_version(comment))
    place = as_told(comment, AS_SAID)
    return {
        **said,
        "thread_id": place["in_reply_to_id"] or said["id"],  # it always names the thread's first comment
        "review_id": maybe(integer, comment.get("pull_request_review_id")),
        "body": body_of(comment),
        **who(comment),
        "path": text(need(comment, "path")),
        "subject_type": maybe(text, comment.get("subject_type")) or "line",
        **place,
        "url": maybe(text, comment.get("html_url")),
        **when(comment, seen_at),
    }


def anchor_row(comment: Json, scope: str, _repo: str, seen_at: DateTime) -> Row:
    """No line: outdated, or said of the whole file. Old servers tell no line at all, but a position in the diff."""
    told = next((name for name in ("line", "position") if name in comment), None)
    return {
        "id": integer(need(comment, "id")),
        "scope": scope,
        "parent_key": parent_key(scope, _number_of(comment, "pull_request_url")),
        "path": text(need(comment, "path")),
        **as_told(comment, NOW),
        "is_outdated": told is not None and comment[told] is None and comment.get("subject_type") != "file",
        "seen_at": seen_at,
    }


def comment_version(comment: Json) -> str:
    return version(instant(need(comment, "updated_at")), body_of(comment))


def _number_of(record: Json, field: str) -> int:
    tail = text(need(record, field)).rpartition("/")[2]
    if not tail.isdecimal():
        raise Unreadable(f"{field} does not end in a number")
    return integer(int(tail))
