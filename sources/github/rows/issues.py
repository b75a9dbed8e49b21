"""Issues and pull requests as /issues tells them, and every version of the words that open them."""

from pendulum import DateTime

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
from sources.github.rows.parts import (
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

__all__ = ["ISSUES", "OPENERS", "issue_row", "issue_version", "opener_row"]

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
