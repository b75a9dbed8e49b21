"""What GraphQL shows of the demo GitHub: the types and fields that this world has, and what each of them says.

`isResolved` moves no instant. Who resolved and has no account any more is null, as is who reopened. A thread is there
as long as one of its comments is; those of a review that is not submitted are its author's alone.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.shelves import Shelves
from pipelines.demo.github.state import Issue, ReviewThread, User
from pipelines.demo.github.world import GitHubWorld

__all__ = ["FIELDS", "LISTS", "Json", "Missing", "Viewer", "resolve"]

Json = dict[str, Any]
LIMIT = dict.fromkeys(("cost", "remaining", "resetAt", "limit", "used"))
PAGE = {"pageInfo": "PageInfo", "totalCount": None}
FIELDS: dict[str, dict[str, str | None]] = {  # type → field → the type behind it; None: a plain value
    "Query": {"rateLimit": "RateLimit", "repository": "Repository"},
    "RateLimit": LIMIT,
    "Repository": {"databaseId": None, "nameWithOwner": None, "pullRequest": "PullRequest"},
    "PullRequest": {
        "number": None, "updatedAt": None, "reviewThreads": "PullRequestReviewThreadConnection",
        "closingIssuesReferences": "IssueConnection",
    },
    "PageInfo": {"hasNextPage": None, "endCursor": None},
    "PullRequestReviewThreadConnection": {**PAGE, "nodes": "PullRequestReviewThread"},
    "PullRequestReviewThread": {
        "id": None, "isResolved": None, "isOutdated": None, "isCollapsed": None, "resolvedBy": "User",
        "comments": "PullRequestReviewCommentConnection",
    },
    "PullRequestReviewCommentConnection": {**PAGE, "nodes": "PullRequestReviewComment"},
    "PullRequestReviewComment": {"fullDatabaseId": None, "databaseId": None},
    "IssueConnection": {**PAGE, "nodes": "Issue"},
    "Issue": {"number": None, "title": None, "repository": "Repository"},
    "User": {"login": None},
}  # fmt: skip
LISTS = {
    ("PullRequest", "reviewThreads"), ("PullRequest", "closingIssuesReferences"),
    ("PullRequestReviewThread", "comments"),
}  # fmt: skip
MOST_32 = 2**31 - 1


class Missing(Exception):
    """Not there, or not for this visitor."""


@dataclass(frozen=True)
class Viewer:
    world: GitHubWorld
    login: str


@dataclass(frozen=True)
class Pull:
    repo: Shelves
    issue: Issue


@dataclass(frozen=True)
class Closed:
    repo: Shelves
    issue: Issue


@dataclass(frozen=True)
class Thread:
    repo: Shelves
    thread: ReviewThread


def resolve(name: str, arguments: Mapping[str, Any], viewer: Viewer, of: Any) -> Any:
    """One field of one thing."""
    if isinstance(of, dict):  # what was worked out before: a page, a comment, the limit; or the query itself
        return of[name] if name in of else _repository(viewer, str(arguments["owner"]), str(arguments["name"]))
    if isinstance(of, Shelves):
        plain = {"databaseId": of.id, "nameWithOwner": of.full_name}
        return plain[name] if name in plain else _pull(of, int(arguments["number"]))
    if isinstance(of, Pull):
        return _of_pull(name, arguments, viewer, of)
    if isinstance(of, Closed):
        return {"number": of.issue.number, "title": of.issue.title, "repository": of.repo}[name]
    if isinstance(of, Thread):
        return _of_thread(name, arguments, of)
    assert isinstance(of, User)
    return of.login


def _repository(viewer: Viewer, owner: str, name: str) -> Repo:
    full = f"{owner}/{name}".lower()
    repo = viewer.world.names.get(full) or viewer.world.former_names.get(full)
    if repo is None:
        raise Missing(f"Could not resolve to a Repository with the name '{owner}/{name}'.")
    return repo


def _pull(repo: Shelves, number: int) -> Pull:
    issue = repo.numbered(number)
    if issue is None or issue.pull is None or repo.is_hidden(number):
        raise Missing(f"Could not resolve to a PullRequest with the number of {number}.")
    return Pull(repo, issue)


def _of_pull(name: str, arguments: Mapping[str, Any], viewer: Viewer, of: Pull) -> Any:
    number = of.issue.number
    if name == "reviewThreads":
        threads = of.repo.threads(number, viewer.login)
        return _page([Thread(of.repo, thread) for thread in threads], arguments)
    if name == "closingIssuesReferences":
        return _page([Closed(*each) for each in of.repo.closes(number)], arguments)
    return {"number": number, "updatedAt": of.issue.updated_at.to_iso8601_string()}[name]


def _of_thread(name: str, arguments: Mapping[str, Any], of: Thread) -> Any:
    thread = of.thread
    if name == "comments":
        ids = [
            {"fullDatabaseId": str(each), "databaseId": each if each <= MOST_32 else None} for each in thread.comments
        ]
        return _page(ids, arguments)
    by = thread.resolved_by
    return {
        "id": thread.id, "isResolved": thread.is_resolved, "isOutdated": thread.is_outdated,
        "isCollapsed": thread.is_resolved, "resolvedBy": by if by and not by.is_deleted else None,
    }[name]  # fmt: skip


def _page(rows: list[Any], arguments: Mapping[str, Any]) -> Json:
    after = arguments.get("after")
    start = int(base64.b64decode(after).removeprefix(b"cursor:")) if after else 0
    end = min(start + arguments["first"], len(rows))
    cursor = base64.b64encode(f"cursor:{end}".encode()).decode()
    return {
        "nodes": rows[start:end], "totalCount": len(rows),
        "pageInfo": {"hasNextPage": end < len(rows), "endCursor": cursor if end > start else None},
    }  # fmt: skip
