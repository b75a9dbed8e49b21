"""Issues and pull requests as /issues tells them, and every version of the words that open them.

List    repos/{owner}/{name}/issues, all states, by updated_at, since the cursor less the overlap; the sweep reads all
Tables  issues (id) with labels, assignees; openers (id, version)
"""

from collections.abc import AsyncIterator

from pendulum import DateTime

from sources.core.http.client import Failure
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
    flag,
    instant,
    integer,
    maybe,
    need,
    text,
    version,
)
from sources.github.config import GithubConfig
from sources.github.surfaces.listed import Listed, changed, followed
from sources.github.surfaces.parts import (
    LABELS,
    PEOPLE,
    UTTERANCE,
    WHEN,
    WHO,
    as_told,
    assigned,
    body_of,
    inner,
    labels,
    login,
    names,
    parent_key,
    people,
    utterance,
    when,
    who,
)

__all__ = ["ISSUES", "OPENERS", "SURFACE", "issue_row", "issue_rows", "issue_version", "opener", "opener_row"]

AS_TOLD = {"state_reason": TEXT, "closed_at": INSTANT}
ISSUE = {
    "id": COUNT,
    "scope": TEXT,
    "repo": TEXT,
    "number": COUNT,
    "parent_key": TEXT,
    "is_pull_request": FLAG,
    "state": TEXT,
    "title": TEXT,
    **WHO,
    "milestone": TEXT,
    "is_locked": FLAG,
    "comment_count": COUNT,
    "opener_version": TEXT,
    "url": TEXT,
    "closed_by": TEXT,
    **AS_TOLD,
    **WHEN,
}
ISSUES = Table("issues", ("id",), ISSUE, children={"labels": LABELS, "assignees": PEOPLE})

OPENER = {**UTTERANCE, "kind": TEXT, "title": TEXT, "body": TEXT, **WHO, "url": TEXT, **WHEN}
OPENERS = Table("openers", ("id", "version"), OPENER, keeps="versions")


def issue_row(issue: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    """Merged is a state here, not a kind of closed."""
    number, pull = integer(need(issue, "number")), issue.get("pull_request")
    key = parent_key(scope, number)
    is_merged = isinstance(pull, dict) and pull.get("merged_at") is not None
    return {
        "id": integer(need(issue, "id")),
        "scope": scope,
        "repo": repo,
        "number": number,
        "parent_key": key,
        "is_pull_request": pull is not None,
        "state": "merged" if is_merged else text(need(issue, "state")),
        "title": text(need(issue, "title")),
        **who(issue),
        "milestone": _milestone(issue),
        "is_locked": flag(issue.get("locked")),
        "comment_count": integer(need(issue, "comments")),
        "opener_version": _opener_version(issue),
        "url": maybe(text, issue.get("html_url")),
        "closed_by": login(issue, "closed_by"),
        **as_told(issue, AS_TOLD),
        **when(issue, seen_at),
        "labels": labels(issue, key),
        "assignees": people(assigned(issue), key),
    }


def opener_row(issue: Json, scope: str, repo: str, seen_at: DateTime) -> Row:
    """Versioned by the hash of its words alone: `updated_at` moves with every comment under it."""
    kind = "pull_request" if issue.get("pull_request") is not None else "issue"
    return {
        **utterance(kind, issue, scope, repo, integer(need(issue, "number")), _opener_version(issue)),
        "kind": kind,
        "title": text(need(issue, "title")),
        "body": body_of(issue),
        **who(issue),
        "url": maybe(text, issue.get("html_url")),
        **when(issue, seen_at),
    }


def issue_version(issue: Json) -> str:
    """Changes with anything that an issue's row shows, also within one second."""
    plain = ("title", "state", "state_reason", "comments", "locked")
    shown = [body_of(issue), *(issue.get(name) for name in plain), _milestone(issue)]
    shown += [names(issue.get("labels"), "name"), names(assigned(issue), "login")]
    return version(instant(need(issue, "updated_at")), *shown)


def _milestone(issue: Json) -> str | None:
    return maybe(text, inner(issue, "milestone").get("title"))


def _opener_version(issue: Json) -> str:
    return version(None, text(need(issue, "title")), body_of(issue))


def issue_rows(repo: Scope, found: list[Json]) -> dict[str, list[Row]]:
    shaped = repo.shape("issues", found, issue_row)
    return {"issues": shaped, "openers": repo.shape("issues", found, opener_row)}


async def issues(repo: Scope, config: GithubConfig) -> AsyncIterator[Batch]:
    """All issues and pull requests, as /issues tells them; the sweep reads them all, for their counts of comments."""
    ask = repo.asks("issues", "issues", state="all", sort="updated", direction="asc")
    surface = Listed("issues", ask, issue_version, lambda found: issue_rows(repo, found.items))
    async for batch in followed(repo, surface, config, reread=repo.reading.sweep):
        yield batch


async def opener(repo: Scope, number: int) -> AsyncIterator[Batch]:
    """A pull request followed by itself. One that was there and is not any more is looked after as any other is; what
    answers again then is news, whatever it says."""
    reading, scope = repo.reading, f"{repo.scope}/{number}"
    try:
        async for issue, cursor in changed(repo, "issues", f"issues/{number}", number):
            yield Batch("issues", scope, issue_rows(repo, [issue]), cursor)
    except Failure as failure:
        if failure.code != "NOT_FOUND" or scope not in reading.saved.get("issues", {}):
            raise
        reading.sightings["absent", scope] = set()
        yield Batch("issues", scope, {}, {"etag": None, "shown": None})
        return
    if reading.sweep:
        reading.sightings["issues", scope] = set()  # it answered; its reviews are looked at


SURFACE = Surface("issues", (ISSUES, OPENERS), issues)
