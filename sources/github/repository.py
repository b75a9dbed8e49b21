"""One repository of GitHub: who it is, and how its lists are asked.

The numeric id is the scope in every key, so that a rename re-keys nothing. A name that now belongs to another id is
another repository: it gets its own history, the old one's stays.
"""

import re

from pendulum import DateTime

from sources.core.http.client import Answer, Failure
from sources.core.reading import Reading
from sources.core.scope import Scope, ScopeType
from sources.core.values import Json, Row, Unreadable, integer
from sources.github import rows

__all__ = ["REPOSITORY", "comment_rows", "issue_rows", "place_of", "review_comment_rows", "review_rows"]


def place_of(scope: str, name: str, now: DateTime, reading: Reading) -> Scope:
    def parent_of(surface: str, item: Json) -> str | None:
        number = rows.number_told(item)
        return rows.parent_key(scope, number) if number is not None else None

    def is_own(path: str, asked: str) -> bool:
        """A transferred issue redirects into another repository, and one that came back to its new number here: neither
        must be taken for the one that was asked for."""
        led = re.search(r"/repositories/(\d+)/(.*)", path)
        return led is None or led.groups() == (scope, asked)

    return Scope(
        scope,
        name,
        f"/repos/{name}",
        now,
        reading,
        lambda at: {"since": at.format("YYYY-MM-DD[T]HH:mm:ss[Z]")},
        is_own=is_own,
        parent_of=parent_of,
    )


def _identity(name: str, answer: Answer) -> Row:
    try:
        if not isinstance(answer.data, dict):
            raise Unreadable("not an object")
        row = rows.repository_row(answer.data, answer.date)
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(row["repo"]), re.ASCII):
            raise Unreadable("full_name is not of the form owner/name")
        return row
    except Unreadable as error:
        raise Failure("FETCH_ERROR", f"/repos/{name} answered something that is not a repository: {error}") from None


REPOSITORY = ScopeType(
    "repository", "repositories", "repo", ("repo", "is_private", "is_archived"), "/repos/{}".format, _identity, place_of
)


def issue_rows(repo: Scope, found: list[Json]) -> dict[str, list[Row]]:
    shaped = repo.shape("issues", found, rows.issue_row)
    return {"issues": shaped, "openers": repo.shape("issues", found, rows.opener_row)}


def comment_rows(repo: Scope, found: list[Json], rivals: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    shaped = repo.shape("issue_comments", found, rows.comment_row)
    return {"issue_comments": shaped, "latest_versions": _latest("issue_comment", shaped, rivals)}


def review_comment_rows(repo: Scope, found: list[Json], rivals: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    shaped = repo.shape("review_comments", found, rows.review_comment_row)
    return {
        "review_comments": shaped,
        "review_comment_anchors": repo.shape("review_comments", found, rows.anchor_row),
        "latest_versions": _latest("review_comment", shaped, rivals),
    }


def review_rows(repo: Scope, found: list[Json]) -> dict[str, list[Row]]:
    """Each of the pull request that it names. No time tells an edited review from itself: the latest is said."""

    def row(review: Json, scope: str, name: str, now: DateTime) -> Row:
        return rows.review_row(review, scope, name, integer(rows.number_told(review)), now)

    shaped = repo.shape("reviews", found, row)
    return {"reviews": shaped, "latest_versions": [rows.latest_row("review", review) for review in shaped]}


def _latest(kind: str, shaped: list[Row], rivals: frozenset[str]) -> list[Row]:
    return [rows.latest_row(kind, row) for row in shaped if str(row["id"]) in rivals]
