"""Pull requests as /pulls tells them: branches, commits, who is asked for a review, and for which state reviews were
read."""

from pendulum import DateTime

from sources.core.values import (
    COUNT,
    FLAG,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
    fingerprint,
    flag,
    instant,
    integer,
    maybe,
    need,
    text,
)
from sources.github.surfaces.parts import (
    LABELS,
    PEOPLE,
    WHEN,
    as_told,
    assigned,
    inner,
    labels,
    login,
    names,
    parent_key,
    people,
    when,
    who,
)

__all__ = ["PULL_REQUESTS", "pull_request_row", "pull_version"]

AS_TOLD = {"merge_commit_sha": TEXT, "closed_at": INSTANT, "merged_at": INSTANT}
PULL_REQUEST = {
    "id": COUNT,
    "scope": TEXT,
    "repo": TEXT,
    "number": COUNT,
    "parent_key": TEXT,
    "state": TEXT,
    "is_draft": FLAG,
    "title": TEXT,
    "author": TEXT,
    "head_ref": TEXT,
    "head_sha": TEXT,
    "base_ref": TEXT,
    "base_sha": TEXT,
    "url": TEXT,
    "reviews_read_for": INSTANT,
    "merged_by": TEXT,
    **AS_TOLD,
    **WHEN,
}
TEAMS = Table("teams", (), {"slug": TEXT, "parent_key": TEXT})
GIVEN = {"labels": LABELS, "assignees": PEOPLE, "requested_reviewers": PEOPLE, "requested_teams": TEAMS}
PULL_REQUESTS = Table("pull_requests", ("id",), PULL_REQUEST, children=GIVEN)


def pull_request_row(pull: Json, scope: str, repo: str, seen_at: DateTime, reviews_read: bool) -> Row:
    number, head, base = integer(need(pull, "number")), inner(pull, "head"), inner(pull, "base")
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
        "author": who(pull)["author"],
        "head_ref": maybe(text, head.get("ref")),
        "head_sha": maybe(text, head.get("sha")),
        "base_ref": maybe(text, base.get("ref")),
        "base_sha": maybe(text, base.get("sha")),
        "url": maybe(text, pull.get("html_url")),
        "reviews_read_for": updated_at if reviews_read else None,
        "merged_by": login(pull, "merged_by"),  # no list tells
        **as_told(pull, AS_TOLD),
        **when(pull, seen_at),
        "labels": labels(pull, key),
        "assignees": people(assigned(pull), key),
        "requested_reviewers": people(pull.get("requested_reviewers"), key),
        "requested_teams": [{"slug": slug, "parent_key": key} for slug in names(pull.get("requested_teams"), "slug")],
    }


def pull_version(pull: Json) -> str:
    """Changes with anything that a pull request's row shows, also within one second."""
    shown = [pull.get(name) for name in ("title", "state", "merged_at", "draft")]
    shown += [inner(pull, "head").get("sha"), inner(pull, "base").get("ref"), names(assigned(pull), "login")]
    given = {"labels": "name", "requested_reviewers": "login", "requested_teams": "slug"}
    shown += [names(pull.get(field), name) for field, name in given.items()]
    return fingerprint(str(instant(need(pull, "updated_at"))), *shown)
