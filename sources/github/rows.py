"""What GitHub's records become: pure row functions, and what makes a version of them."""

import re

from pendulum import DateTime

from sources.core.values import (
    Json,
    Row,
    Unreadable,
    event_key,
    fingerprint,
    flag,
    instant,
    integer,
    maybe,
    need,
    text,
    version,
)  # fmt: skip

PARENT = re.compile(r"/(?:issues|pulls)/([0-9]{1,18})$")


def parent_key(scope: str, number: int) -> str:
    return f"github:{scope}:{number}"


def number_told(item: Json) -> int | None:
    """The number of the issue that a record is, or hangs on, as far as one that cannot be read tells it."""
    number = item.get("number")
    if isinstance(number, int):
        return number
    told = (item.get(name) for name in ("issue_url", "pull_request_url", "url"))
    led = next(filter(None, (PARENT.search(url) for url in told if isinstance(url, str))), None)
    return int(led[1]) if led else None


def repository_row(repo: Json, seen_at: DateTime) -> Row:
    id_ = integer(need(repo, "id"))
    return {
        "id": id_,
        "scope": str(id_),
        "repo": text(need(repo, "full_name")),
        "url": maybe(text, repo.get("html_url")),
        "is_private": flag(repo.get("private")),
        "is_archived": flag(repo.get("archived")),
        "created_at": maybe(instant, repo.get("created_at")),
        "seen_at": seen_at,
    }


def issue_row(issue: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    """An issue or a pull request as /issues tells it; merged is a state here, not a kind of closed."""
    number, pull = integer(need(issue, "number")), issue.get("pull_request")
    key = parent_key(scope, number)
    merged = isinstance(pull, dict) and pull.get("merged_at") is not None
    return {
        "id": integer(need(issue, "id")),
        "scope": scope,
        "repo": repo,
        "number": number,
        "parent_key": key,
        "is_pull_request": pull is not None,
        "state": "merged" if merged else text(need(issue, "state")),
        "state_reason": maybe(text, issue.get("state_reason")),
        "title": text(need(issue, "title")),
        **_who(issue),
        "milestone": maybe(text, _inner(issue, "milestone").get("title")),
        "is_locked": flag(issue.get("locked")),
        "comment_count": integer(need(issue, "comments")),
        "opener_version": _opener_version(issue),
        "url": maybe(text, issue.get("html_url")),
        "closed_at": maybe(instant, issue.get("closed_at")),
        "closed_by": _login(issue, "closed_by"),
        **_when(issue, seen_at),
        "labels": _labels(issue, key),
        "assignees": _people(_assigned(issue), key),
    }


def opener_row(issue: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    """The opener's words. Versioned by their hash alone: `updated_at` moves with every comment under it."""
    kind = "pull_request" if issue.get("pull_request") is not None else "issue"
    said = _said(kind, issue, scope, repo, integer(need(issue, "number")), _opener_version(issue))
    return {
        **said, "kind": kind, "title": text(need(issue, "title")), "body": _body(issue), **_who(issue),
        "url": maybe(text, issue.get("html_url")), **_when(issue, seen_at),
    }  # fmt: skip


def pull_request_row(pull: Json, scope: str, repo: str, seen_at: DateTime, reviews_read: bool) -> Row:
    number, head, base = integer(need(pull, "number")), _inner(pull, "head"), _inner(pull, "base")
    updated_at, key = instant(need(pull, "updated_at")), parent_key(scope, number)
    return {
        "id": integer(need(pull, "id")),
        "scope": scope,
        "repo": repo,
        "number": number,
        "parent_key": key,
        "state": "merged" if pull.get("merged_at") else text(need(pull, "state")),
        "is_draft": flag(pull.get("draft")),
        "title": text(need(pull, "title")),
        "author": _who(pull)["author"],
        "head_ref": maybe(text, head.get("ref")),
        "head_sha": maybe(text, head.get("sha")),
        "base_ref": maybe(text, base.get("ref")),
        "base_sha": maybe(text, base.get("sha")),
        "merge_commit_sha": maybe(text, pull.get("merge_commit_sha")),
        "url": maybe(text, pull.get("html_url")),
        "reviews_read_for": updated_at if reviews_read else None,
        "closed_at": maybe(instant, pull.get("closed_at")),
        "merged_at": maybe(instant, pull.get("merged_at")),
        "merged_by": _login(pull, "merged_by"),  # no list tells
        **_when(pull, seen_at),
        "labels": _labels(pull, key),
        "assignees": _people(_assigned(pull), key),
        "requested_reviewers": _people(pull.get("requested_reviewers"), key),
        "requested_teams": [{"slug": slug, "parent_key": key} for slug in _named(pull.get("requested_teams"), "slug")],
    }


def comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number, body = _number_of(comment, "issue_url"), _body(comment)
    v = version(instant(need(comment, "updated_at")), body)
    said = _said("issue_comment", comment, scope, repo, number, v)
    return {
        **said,
        "body": body,
        **_who(comment),
        "url": maybe(text, comment.get("html_url")),
        **_when(comment, seen_at),
    }


def review_comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number, body = _number_of(comment, "pull_request_url"), _body(comment)
    said = _said("review_comment", comment, scope, repo, number, version(instant(need(comment, "updated_at")), body))
    reply_to = maybe(integer, comment.get("in_reply_to_id"))
    return {
        **said,
        "thread_id": reply_to or said["id"],  # in_reply_to_id always names the thread's first comment
        "in_reply_to_id": reply_to,
        "review_id": maybe(integer, comment.get("pull_request_review_id")),
        "body": body,
        **_who(comment),
        "path": text(need(comment, "path")),
        "subject_type": maybe(text, comment.get("subject_type")) or "line",
        "side": maybe(text, comment.get("side")),
        "start_side": maybe(text, comment.get("start_side")),
        "original_line": maybe(integer, comment.get("original_line")),
        "original_start_line": maybe(integer, comment.get("original_start_line")),
        "original_commit_id": maybe(text, comment.get("original_commit_id")),
        "diff_hunk": maybe(text, comment.get("diff_hunk")),
        "url": maybe(text, comment.get("html_url")),
        **_when(comment, seen_at),
    }


def anchor_row(comment: Json, scope: str, _repo: str, seen_at: DateTime) -> Row:
    """Where a review comment stands now. No line: outdated, or said of the whole file. Old servers tell no line at all,
    but a position in the diff.
    """
    line, position = (maybe(integer, comment.get(name)) for name in ("line", "position"))
    told = next((name for name in ("line", "position") if name in comment), None)
    return {
        "id": integer(need(comment, "id")),
        "scope": scope,
        "parent_key": parent_key(scope, _number_of(comment, "pull_request_url")),
        "path": text(need(comment, "path")),
        "line": line,
        "start_line": maybe(integer, comment.get("start_line")),
        "position": position,
        "commit_id": maybe(text, comment.get("commit_id")),
        "is_outdated": told is not None and comment[told] is None and comment.get("subject_type") != "file",
        "seen_at": seen_at,
    }


def review_row(review: Json, scope: str, repo: str, number: int, seen_at: DateTime) -> Row:
    """Reviews have no `updated_at`; a dismissal changes the state and is a version too. One that tells no time was said
    when this version was first seen: a version lands once.
    """
    state, body, submitted_at = text(need(review, "state")), _body(review), maybe(instant, review.get("submitted_at"))
    return {
        **_said("review", review, scope, repo, number, version(submitted_at, state, body)),
        "state": state,
        "body": body,
        **_who(review),
        "commit_id": maybe(text, review.get("commit_id")),
        "url": maybe(text, review.get("html_url")),
        "created_at": submitted_at or seen_at,
        "updated_at": submitted_at or seen_at,
        "seen_at": seen_at,
    }


def latest_row(kind: str, row: Row) -> Row:
    """Says which version is the latest where their times cannot."""
    return {"kind": kind, "id": row["id"], "version": row["version"], "parent_key": row["parent_key"]}


def deletion_row(
    kind: str, id_: int, scope: str, number: int, seen_at: DateTime, cause: str, *, gone: bool = True,
    is_missing: bool = False, run: int | None = None,
) -> Row:  # fmt: skip
    """`run`: in which it was noticed, where the next ones are to look again."""
    return {
        "kind": kind, "id": id_, "scope": scope, "parent_key": parent_key(scope, number), "is_deleted": gone,
        "is_missing": is_missing, "cause": cause, "noticed_at": seen_at, "noticed_in_run": run,
    }  # fmt: skip


def comment_version(comment: Json) -> str:
    return version(instant(need(comment, "updated_at")), _body(comment))


def issue_version(issue: Json) -> str:
    """Changes with anything that an issue's row shows, also within one second."""
    plain = ("title", "state", "state_reason", "comments", "locked")
    shown = [_body(issue), *(issue.get(name) for name in plain), _inner(issue, "milestone").get("title")]
    shown += [list(_named(issue.get("labels"), "name")), list(_named(_assigned(issue), "login"))]
    return version(instant(need(issue, "updated_at")), *shown)


def pull_version(pull: Json) -> str:
    shown = [pull.get(name) for name in ("title", "state", "merged_at", "draft")]
    shown += [_inner(pull, "head").get("sha"), _inner(pull, "base").get("ref"), list(_named(_assigned(pull), "login"))]
    names = {"labels": "name", "requested_reviewers": "login", "requested_teams": "slug"}
    shown += [list(_named(pull.get(field), name)) for field, name in names.items()]
    return fingerprint(str(instant(need(pull, "updated_at"))), *shown)


def _opener_version(issue: Json) -> str:
    return version(None, text(need(issue, "title")), _body(issue))


def _said(kind: str, record: Json, scope: str, repo: str, number: int, version_: str) -> Row:
    id_ = integer(need(record, "id"))
    return {
        "event_key": event_key("github", kind, scope, id_, version_), "id": id_, "version": version_, "scope": scope,
        "repo": repo, "number": number, "parent_key": parent_key(scope, number),
    }  # fmt: skip


def _who(record: Json) -> Row:
    """A deleted account is null, and shown as ghost by GitHub itself."""
    user, app = _inner(record, "user"), _inner(record, "performed_via_github_app")
    return {
        "author": maybe(text, user.get("login")) or "ghost",
        "author_id": maybe(integer, user.get("id")),
        "author_type": maybe(text, user.get("type")),
        "author_association": maybe(text, record.get("author_association")),
        "app": maybe(text, app.get("slug")),
    }


def _when(record: Json, seen_at: DateTime) -> Row:
    created_at, updated_at = instant(need(record, "created_at")), instant(need(record, "updated_at"))
    return {"created_at": created_at, "updated_at": updated_at, "seen_at": seen_at}


def _body(record: Json) -> str:
    return maybe(text, record.get("body")) or ""


def _inner(record: Json, field: str) -> Json:
    inner = record.get(field)
    if inner is not None and not isinstance(inner, dict):
        raise Unreadable(f"{field} is not an object")
    return inner or {}


def _login(record: Json, field: str) -> str | None:
    return maybe(text, _inner(record, field).get("login"))


def _assigned(record: Json) -> object:
    """Old answers tell one, where the others are not told."""
    told = record.get("assignees")
    return [_inner(record, "assignee")] if told is None else told


def _labels(record: Json, key: str) -> list[Row]:
    return [{"name": name, "parent_key": key} for name in _named(record.get("labels"), "name")]


def _people(told: object, key: str) -> list[Row]:
    return [
        {"login": login, "user_id": maybe(integer, person.get("id")), "parent_key": key}
        for login, person in _named(told, "login").items()
    ]


def _named(told: object, field: str) -> dict[str, Json]:
    """The objects of a list (or plain names, as labels may be) by their name, each once. What has none is left out."""
    if told is not None and not isinstance(told, list):
        raise Unreadable(f"a list of {field}s is not a list")
    records = (each if isinstance(each, dict) else {field: each} for each in told or [])
    return {text(each[field]): each for each in records if each.get(field) is not None}


def _number_of(record: Json, field: str) -> int:
    tail = text(need(record, field)).rpartition("/")[2]
    if not tail.isdecimal():
        raise Unreadable(f"{field} does not end in a number")
    return integer(int(tail))
