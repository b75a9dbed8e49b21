"""Comments on diffs, every version; and where in the diff they stand now.

The identity of a place in a diff is what never changes (`original_*`). Where it stands now is re-anchored by every push
without moving `updated_at`, so it has a table of its own that is always overwritten.

List    repos/{owner}/{name}/pulls/comments by updated_at, since the cursor less the overlap; no list counts them, so
        the sweep reads all and compares ids
Tables  review_comments (id, version), review_comment_anchors (id), latest_versions
"""

from collections.abc import AsyncIterator

from pendulum import DateTime

from sources.core.reading import Batch
from sources.core.scope import Scope
from sources.core.surfaces import Surface
from sources.core.values import (
    COUNT,
    FLAG,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
    integer,
    maybe,
    need,
    text,
)
from sources.github.config import GithubConfig
from sources.github.surfaces.listed import Listed, followed
from sources.github.surfaces.parts import (
    LATEST,
    UTTERANCE,
    WHEN,
    WHO,
    as_told,
    body_of,
    comment_version,
    latest,
    number_of,
    parent_key,
    utterance,
    when,
    who,
)

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


def review_comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number = number_of(comment, "pull_request_url")
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
        "parent_key": parent_key(scope, number_of(comment, "pull_request_url")),
        "path": text(need(comment, "path")),
        **as_told(comment, NOW),
        "is_outdated": told is not None and comment[told] is None and comment.get("subject_type") != "file",
        "seen_at": seen_at,
    }


def review_comment_rows(repo: Scope, found: list[Json], rivals: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    shaped = repo.shape("review_comments", found, review_comment_row)
    return {
        "review_comments": shaped,
        "review_comment_anchors": repo.shape("review_comments", found, anchor_row),
        "latest_versions": latest("review_comment", shaped, rivals),
    }


async def review_comments(repo: Scope, config: GithubConfig, number: int | None = None) -> AsyncIterator[Batch]:
    """Comments on diffs. No list counts them, so the sweep reads all and compares ids."""
    path = f"pulls/{number}/comments" if number else "pulls/comments"
    surface = Listed(
        "review_comments",
        repo.asks("review_comments", path, sort="updated", direction="asc"),
        comment_version,
        lambda found: review_comment_rows(repo, found.items, found.rivals),
        number,
    )
    async for batch in followed(repo, surface, config, reread=repo.reading.sweep):
        yield batch


SURFACE = Surface("review_comments", (REVIEW_COMMENTS, ANCHORS, LATEST), review_comments)
