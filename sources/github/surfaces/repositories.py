"""Repositories as they stand now."""

from pendulum import DateTime

from sources.core.values import COUNT, FLAG, INSTANT, TEXT, Json, Row, Table, flag, instant, integer, maybe, need, text

__all__ = ["REPOSITORIES", "repository_row"]

REPOSITORY = {
    "id": COUNT,
    "scope": TEXT,
    "repo": TEXT,
    "url": TEXT,
    "is_private": FLAG,
    "is_archived": FLAG,
    "created_at": INSTANT,
    "seen_at": INSTANT,
}
REPOSITORIES = Table("repositories", ("id",), REPOSITORY, shown=("repo",))


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
