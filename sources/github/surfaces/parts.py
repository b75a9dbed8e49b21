"""What several of GitHub's rows have in common: who said it and when, the parent's key, what a parent is given."""

import re
from collections.abc import Callable, Mapping

import pyarrow as pa
from pendulum import DateTime

from sources.core.values import (
    COUNT,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
    Unreadable,
    event_key,
    instant,
    integer,
    maybe,
    need,
    text,
    version,
)

__all__ = [
    "LABELS",
    "LATEST",
    "PEOPLE",
    "UTTERANCE",
    "WHEN",
    "WHO",
    "as_told",
    "assigned",
    "body_of",
    "comment_version",
    "inner",
    "labels",
    "latest",
    "latest_row",
    "login",
    "names",
    "number_of",
    "number_told",
    "parent_key",
    "people",
    "utterance",
    "when",
    "who",
]

PARENT = re.compile(r"/(?:issues|pulls)/([0-9]{1,18})$")
READ: dict[pa.DataType, Callable[[object], object]] = {TEXT: text, COUNT: integer, INSTANT: instant}

UTTERANCE = {
    "event_key": TEXT,
    "id": COUNT,
    "version": TEXT,
    "scope": TEXT,
    "repo": TEXT,
    "number": COUNT,
    "parent_key": TEXT,
}
WHO = {"author": TEXT, "author_id": COUNT, "author_type": TEXT, "author_association": TEXT, "app": TEXT}
WHEN = {"created_at": INSTANT, "updated_at": INSTANT, "seen_at": INSTANT}
LATEST = Table("latest_versions", ("kind", "id"), {"kind": TEXT, "id": COUNT, "version": TEXT, "parent_key": TEXT})
LABELS = Table("labels", (), {"name": TEXT, "parent_key": TEXT})
PEOPLE = Table("people", (), {"login": TEXT, "user_id": COUNT, "parent_key": TEXT})


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


def as_told(record: Json, columns: Mapping[str, pa.DataType]) -> Row:
    """Columns that are called as GitHub calls them; null where it tells nothing."""
    return {name: maybe(READ[kind], record.get(name)) for name, kind in columns.items()}


def utterance(kind: str, record: Json, scope: str, repo: str, number: int, version_: str) -> Row:
    id_ = integer(need(record, "id"))
    return {
        "event_key": event_key("github", kind, scope, id_, version_),
        "id": id_,
        "version": version_,
        "scope": scope,
        "repo": repo,
        "number": number,
        "parent_key": parent_key(scope, number),
    }


def who(record: Json) -> Row:
    """A deleted account is null, and shown as ghost by GitHub itself."""
    user, app = inner(record, "user"), inner(record, "performed_via_github_app")
    return {
        "author": maybe(text, user.get("login")) or "ghost",
        "author_id": maybe(integer, user.get("id")),
        "author_type": maybe(text, user.get("type")),
        "author_association": maybe(text, record.get("author_association")),
        "app": maybe(text, app.get("slug")),
    }


def when(record: Json, seen_at: DateTime) -> Row:
    created_at, updated_at = instant(need(record, "created_at")), instant(need(record, "updated_at"))
    return {"created_at": created_at, "updated_at": updated_at, "seen_at": seen_at}


def body_of(record: Json) -> str:
    return maybe(text, record.get("body")) or ""


def inner(record: Json, field: str) -> Json:
    found = record.get(field)
    if found is not None and not isinstance(found, dict):
        raise Unreadable(f"{field} is not an object")
    return found or {}


def login(record: Json, field: str) -> str | None:
    return maybe(text, inner(record, field).get("login"))


def assigned(record: Json) -> object:
    """Old answers tell one, where the others are not told."""
    told = record.get("assignees")
    return [inner(record, "assignee")] if told is None else told


def labels(record: Json, key: str) -> list[Row]:
    return [{"name": name, "parent_key": key} for name in _named(record.get("labels"), "name")]


def people(told: object, key: str) -> list[Row]:
    return [
        {"login": name, "user_id": maybe(integer, person.get("id")), "parent_key": key}
        for name, person in _named(told, "login").items()
    ]


def names(told: object, field: str) -> list[str]:
    return list(_named(told, field))


def _named(told: object, field: str) -> dict[str, Json]:
    """The objects of a list (or plain names, as labels may be) by their name, each once. What has none is left out."""
    if told is not None and not isinstance(told, list):
        raise Unreadable(f"a list of {field}s is not a list")
    records = (each if isinstance(each, dict) else {field: each} for each in told or [])
    return {text(each[field]): each for each in records if each.get(field) is not None}


def comment_version(comment: Json) -> str:
    return version(instant(need(comment, "updated_at")), body_of(comment))


def number_of(record: Json, field: str) -> int:
    tail = text(need(record, field)).rpartition("/")[2]
    if not tail.isdecimal():
        raise Unreadable(f"{field} does not end in a number")
    return integer(int(tail))


def latest_row(kind: str, row: Row) -> Row:
    """Says which version is the latest where their times cannot."""
    return {"kind": kind, "id": row["id"], "version": row["version"], "parent_key": row["parent_key"]}


def latest(kind: str, shaped: list[Row], rivals: frozenset[str]) -> list[Row]:
    return [latest_row(kind, row) for row in shaped if str(row["id"]) in rivals]
