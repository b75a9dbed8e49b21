"""What is kept of GitHub: the landed tables.

What an issue or pull request is given (labels, people, teams) are its children: sets, replaced with it. Comment tables
keep every version. Identity of a place in a diff is what never changes (`original_*`); where it stands now is
re-anchored by every push without moving `updated_at`, so it has a table of its own that is always overwritten.
"""

from sources.core.surfaces import Fills
from sources.core.values import COUNT, FLAG, INSTANT, TEXT, Table

__all__ = ["FILLS", "TABLES"]

_SAID = {
    "event_key": TEXT,
    "id": COUNT,
    "version": TEXT,
    "scope": TEXT,
    "repo": TEXT,
    "number": COUNT,
    "parent_key": TEXT,
}
_WHO = {"author": TEXT, "author_id": COUNT, "author_type": TEXT, "author_association": TEXT, "app": TEXT}
_WHEN = {"created_at": INSTANT, "updated_at": INSTANT, "seen_at": INSTANT}
_LABELS = Table("labels", (), {"name": TEXT, "parent_key": TEXT})
_PEOPLE = Table("people", (), {"login": TEXT, "user_id": COUNT, "parent_key": TEXT})

REPOSITORIES = Table("repositories", ("id",), {
    "id": COUNT, "scope": TEXT, "repo": TEXT, "url": TEXT, "is_private": FLAG, "is_archived": FLAG,
    "created_at": INSTANT, "seen_at": INSTANT,
}, shown=("repo",))  # fmt: skip
ISSUES = Table("issues", ("id",), {
    "id": COUNT, "scope": TEXT, "repo": TEXT, "number": COUNT, "parent_key": TEXT, "is_pull_request": FLAG,
    "state": TEXT, "state_reason": TEXT, "title": TEXT, **_WHO, "milestone": TEXT,
    "is_locked": FLAG, "comment_count": COUNT, "opener_version": TEXT, "url": TEXT, "closed_at": INSTANT,
    "closed_by": TEXT, **_WHEN,
}, children={"labels": _LABELS, "assignees": _PEOPLE})  # fmt: skip
OPENERS = Table("openers", ("id", "version"), {
    **_SAID, "kind": TEXT, "title": TEXT, "body": TEXT, **_WHO, "url": TEXT, **_WHEN,
}, keeps="versions")  # fmt: skip
PULL_REQUESTS = Table("pull_requests", ("id",), {
    "id": COUNT, "scope": TEXT, "repo": TEXT, "number": COUNT, "parent_key": TEXT, "state": TEXT, "is_draft": FLAG,
    "title": TEXT, "author": TEXT, "head_ref": TEXT, "head_sha": TEXT, "base_ref": TEXT, "base_sha": TEXT,
    "merge_commit_sha": TEXT, "url": TEXT, "reviews_read_for": INSTANT, "closed_at": INSTANT, "merged_at": INSTANT,
    "merged_by": TEXT, **_WHEN,
}, children={
    "labels": _LABELS, "assignees": _PEOPLE, "requested_reviewers": _PEOPLE,
    "requested_teams": Table("requested_teams", (), {"slug": TEXT, "parent_key": TEXT}),
})  # fmt: skip
ISSUE_COMMENTS = Table("issue_comments", ("id", "version"), {
    **_SAID, "body": TEXT, **_WHO, "url": TEXT, **_WHEN,
}, keeps="versions")  # fmt: skip
REVIEW_COMMENTS = Table("review_comments", ("id", "version"), {
    **_SAID, "thread_id": COUNT, "in_reply_to_id": COUNT, "review_id": COUNT, "body": TEXT, **_WHO,
    "path": TEXT, "subject_type": TEXT, "side": TEXT, "start_side": TEXT, "original_line": COUNT,
    "original_start_line": COUNT, "original_commit_id": TEXT, "diff_hunk": TEXT, "url": TEXT, **_WHEN,
}, keeps="versions")  # fmt: skip
ANCHORS = Table("review_comment_anchors", ("id",), {
    "id": COUNT, "scope": TEXT, "parent_key": TEXT, "path": TEXT, "line": COUNT, "start_line": COUNT,
    "position": COUNT, "commit_id": TEXT, "is_outdated": FLAG, "seen_at": INSTANT,
})  # fmt: skip
REVIEWS = Table("reviews", ("id", "version"), {
    **_SAID, "state": TEXT, "body": TEXT, **_WHO, "commit_id": TEXT, "url": TEXT, **_WHEN,
}, keeps="versions")  # fmt: skip
DELETIONS = Table("deletions", ("kind", "id"), {
    "kind": TEXT, "id": COUNT, "scope": TEXT, "parent_key": TEXT, "is_deleted": FLAG, "is_missing": FLAG, "cause": TEXT,
    "noticed_at": INSTANT, "noticed_in_run": COUNT,
})  # fmt: skip
THREAD_CHECKS = Table("thread_checks", ("parent_key",), {
    "parent_key": TEXT, "scope": TEXT, "number": COUNT, "remote_count": COUNT, "listed_count": COUNT,
    "updated_at": INSTANT, "checked_at": INSTANT,
})  # fmt: skip
LATEST = Table("latest_versions", ("kind", "id"), {"kind": TEXT, "id": COUNT, "version": TEXT, "parent_key": TEXT})
TABLES = (
    REPOSITORIES, ISSUES, OPENERS, PULL_REQUESTS, ISSUE_COMMENTS, REVIEW_COMMENTS, ANCHORS, REVIEWS, DELETIONS,
    THREAD_CHECKS, LATEST,
)  # fmt: skip
FILLS: Fills = {
    "repositories": (REPOSITORIES,),
    "issues": (ISSUES, OPENERS),
    "pull_requests": (PULL_REQUESTS, REVIEWS, LATEST),
    "issue_comments": (ISSUE_COMMENTS, LATEST),
    "review_comments": (REVIEW_COMMENTS, ANCHORS, LATEST),
}
