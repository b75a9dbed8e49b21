"""Conversation comments on issues and pull requests, every version.

List    repos/{owner}/{name}/issues/comments by updated_at, since the cursor less the overlap; of a pull request that
        is followed by itself, issues/{number}/comments, which cannot be sorted by time
Tables  issue_comments (id, version), latest_versions
"""

from collections.abc import AsyncIterator

from pendulum import DateTime

from sources.core.reading import Batch
from sources.core.scope import Scope
from sources.core.surfaces import Surface
from sources.core.values import (
    TEXT,
    Json,
    Row,
    Table,
    maybe,
    text,
)
from sources.github.config import GithubConfig
from sources.github.surfaces.listed import Listed, followed
from sources.github.surfaces.parts import (
    LATEST,
    UTTERANCE,
    WHEN,
    WHO,
    body_of,
    comment_version,
    latest,
    number_of,
    utterance,
    when,
    who,
)

ISSUE_COMMENT = {**UTTERANCE, "body": TEXT, **WHO, "url": TEXT, **WHEN}
ISSUE_COMMENTS = Table("issue_comments", ("id", "version"), ISSUE_COMMENT, keeps="versions")


def comment_row(comment: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    number = number_of(comment, "issue_url")
    return {
        **utterance("issue_comment", comment, scope, repo, number, comment_version(comment)),
        "body": body_of(comment),
        **who(comment),
        "url": maybe(text, comment.get("html_url")),
        **when(comment, seen_at),
    }


def comment_rows(repo: Scope, found: list[Json], rivals: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    shaped = repo.shape("issue_comments", found, comment_row)
    return {"issue_comments": shaped, "latest_versions": latest("issue_comment", shaped, rivals)}


async def issue_comments(repo: Scope, config: GithubConfig, number: int | None = None) -> AsyncIterator[Batch]:
    """Conversation comments, of the repository or of one PR (whose list cannot be sorted by time)."""
    path = f"issues/{number}/comments" if number else "issues/comments"
    order = {} if number else {"sort": "updated", "direction": "asc"}
    surface = Listed(
        "issue_comments",
        repo.asks("issue_comments", path, **order),
        comment_version,
        lambda found: comment_rows(repo, found.items, found.rivals),
        number,
        seeks=not number,
    )
    async for batch in followed(repo, surface, config):
        yield batch


SURFACE = Surface("issue_comments", (ISSUE_COMMENTS, LATEST), issue_comments)
