"""What GitLab's records become: pure row functions.

Current field names first, older servers' as a fallback; many send both and they may disagree: the new one wins, except
that a merge request is a draft if either says so. GitLab promises no field: what is null or absent is not known, and
only what says which record it is (ids, the project, the state) puts one that lacks it into quarantine. Of the two times
either stands for the other.
"""

import re

from pendulum import DateTime

from sources.core.values import Json, Row, Unreadable, event_key, flag, instant, integer, maybe, need, text, version

__all__ = [
    "inner",
    "issue_row",
    "listed_version",
    "merge_request_row",
    "named",
    "number_told",
    "opener_row",
    "parent_key",
    "people",
    "project_row",
    "reviewers_told",
    "times",
]

SHOWN = (
    "title",
    "description",
    "state",
    "labels",
    "sha",
    "user_notes_count",
    "draft",
    "work_in_progress",
    "merge_status",
    "detailed_merge_status",
    "merged_at",
    "confidential",
    "assignees",
    "reviewers",
    "milestone",
    "target_branch",
)
SIGNS = {"merge_request": "!", "issue": "#"}
ADDRESS = re.compile(r"/(merge_requests|issues(?:/incident)?|work_items)/([0-9]{1,18})$")


def parent_key(scope: str, kind: str, number: int) -> str:
    """`gitlab:7:!12` is a merge request, `gitlab:7:#12` an issue: each has its own sequence."""
    return f"gitlab:{scope}:{SIGNS[kind]}{number}"


def number_told(item: Json) -> int | None:
    """Of a merge request or issue, as far as one that cannot be read tells it: its address ends in it, too."""
    number, url = item.get("iid"), item.get("web_url")
    if isinstance(number, int):
        return number
    led = ADDRESS.search(url) if isinstance(url, str) else None
    told = int(led[2]) if led else None
    return None if led and led[1] == "work_items" and told == item.get("id") else told  # of tasks it was the id once


def project_row(project: Json, seen_at: DateTime) -> Row:
    id_ = integer(need(project, "id"))
    return {
        "id": id_,
        "scope": str(id_),
        "project": text(need(project, "path_with_namespace")),
        "name": maybe(text, project.get("name")),
        "url": maybe(text, project.get("web_url")),
        "default_branch": maybe(text, project.get("default_branch")),
        "visibility": maybe(text, project.get("visibility")),
        "created_at": maybe(instant, project.get("created_at")),
        "seen_at": seen_at,
    }


def merge_request_row(mr: Json, scope: str, project: str, seen_at: DateTime) -> Row:
    key = parent_key(scope, "merge_request", integer(need(mr, "iid")))
    return {
        **_shared(mr, "merge_request", scope, project, seen_at),
        "is_draft": flag(mr.get("draft")) or flag(mr.get("work_in_progress")),
        "source_branch": maybe(text, mr.get("source_branch")),
        "target_branch": maybe(text, mr.get("target_branch")),
        "head_sha": maybe(text, mr.get("sha")),
        "detailed_merge_status": maybe(text, mr.get("detailed_merge_status")) or maybe(text, mr.get("merge_status")),
        "merge_user": named(mr, "merge_user") or named(mr, "merged_by"),
        "merged_at": maybe(instant, mr.get("merged_at")),
        "labels": _labels(mr, key),
        "assignees": _assignees(mr, key),
        "reviewers": people(mr.get("reviewers"), key),
    }


def issue_row(issue: Json, scope: str, project: str, seen_at: DateTime) -> Row:
    key = parent_key(scope, "issue", integer(need(issue, "iid")))
    return {
        **_shared(issue, "issue", scope, project, seen_at),
        "is_confidential": flag(issue.get("confidential")),
        "issue_type": (maybe(text, issue.get("issue_type")) or maybe(text, issue.get("type")) or "").lower() or None,
        "labels": _labels(issue, key),
        "assignees": _assignees(issue, key),
    }


def opener_row(kind: str, parent: Json, scope: str, project: str, seen_at: DateTime) -> Row:
    """The opener's words, versioned by their hash alone: `updated_at` moves with much that is not said."""
    id_, number = integer(need(parent, "id")), integer(need(parent, "iid"))
    version_ = _opener_version(parent)
    author = inner(parent, "author")
    created_at, updated_at = times(parent)
    return {
        "event_key": event_key("gitlab", kind, scope, id_, version_),
        "id": id_,
        "version": version_,
        "scope": scope,
        "project": project,
        "parent_kind": kind,
        "number": number,
        "parent_key": parent_key(scope, kind, number),
        "title": _title(parent),
        "body": maybe(text, parent.get("description")) or "",
        "author": maybe(text, author.get("username")) or "ghost",
        "author_id": maybe(integer, author.get("id")),
        "url": maybe(text, parent.get("web_url")),
        "created_at": created_at,
        "updated_at": updated_at,
        "seen_at": seen_at,
    }


def listed_version(parent: Json) -> str:
    """Changes with whatever a list item shows: counts and shas may move without `updated_at`."""
    return version(times(parent)[1], [parent.get(name) for name in SHOWN])


def people(found: object, key: str) -> list[Row]:
    """Assignees or reviewers, each once. Null is an account that is no more; one without a username a broken record."""
    if found is not None and not isinstance(found, list):
        raise Unreadable("a list of people is not a list")
    rows: dict[str, Row] = {}
    for person in found or []:
        if person is None:
            continue
        if not isinstance(person, dict):
            raise Unreadable("a person is not an object")
        name = text(need(person, "username"))
        rows[name] = {"username": name, "user_id": maybe(integer, person.get("id")), "parent_key": key}
    return list(rows.values())


def reviewers_told(reviews: list[Json], key: str) -> list[Row]:
    """Those of a merge request's own list of them, where each stands in what became of the request."""
    return people([review.get("user") for review in reviews], key)


def named(record: Json, field: str) -> str | None:
    """Somebody's username; some servers tell it by itself."""
    found = record.get(field)
    return text(found) if isinstance(found, str) else maybe(text, inner(record, field).get("username"))


def times(record: Json) -> tuple[DateTime, DateTime]:
    """When it was created and updated."""
    created, updated = maybe(instant, record.get("created_at")), maybe(instant, record.get("updated_at"))
    if created is None and updated is None:
        raise Unreadable("created_at and updated_at are missing")
    return created or updated, updated or created  # type: ignore[return-value]


def inner(record: Json, field: str) -> Json:
    found = record.get(field)
    if found is not None and not isinstance(found, dict):
        raise Unreadable(f"{field} is not an object")
    return found or {}


def _shared(parent: Json, kind: str, scope: str, project: str, seen_at: DateTime) -> Row:
    if str(integer(need(parent, "project_id"))) != scope:
        raise Unreadable(f"it belongs to project {parent['project_id']}, not {scope}")
    number, author, references = integer(need(parent, "iid")), inner(parent, "author"), inner(parent, "references")
    created_at, updated_at = times(parent)
    return {
        "id": integer(need(parent, "id")),
        "scope": scope,
        "project": project,
        "number": number,
        "parent_key": parent_key(scope, kind, number),
        "state": text(need(parent, "state")),
        "title": _title(parent),
        "author": maybe(text, author.get("username")) or "ghost",
        "author_id": maybe(integer, author.get("id")),
        "milestone": maybe(text, inner(parent, "milestone").get("title")),
        "references_short": maybe(text, references.get("short")),
        "references_full": maybe(text, references.get("full")),
        "user_notes_count": maybe(integer, parent.get("user_notes_count")),
        "opener_version": _opener_version(parent),
        "url": maybe(text, parent.get("web_url")),
        "created_at": created_at,
        "updated_at": updated_at,
        "closed_at": maybe(instant, parent.get("closed_at")),
        "seen_at": seen_at,
    }


def _opener_version(parent: Json) -> str:
    return version(None, _title(parent), maybe(text, parent.get("description")) or "")


def _title(parent: Json) -> str:
    return maybe(text, parent.get("title")) or ""


def _assignees(parent: Json, key: str) -> list[Row]:
    """Where there is no list of them there was one at most, under the name of before 9.2."""
    several = parent.get("assignees")
    return people([parent.get("assignee")] if several is None else several, key)


def _labels(parent: Json, key: str) -> list[Row]:
    """Names; an instance asked for details answers objects instead."""
    found = parent.get("labels")
    if found is not None and not isinstance(found, list):
        raise Unreadable("labels are not a list")
    names = [maybe(text, label.get("name") if isinstance(label, dict) else label) for label in found or []]
    return [{"name": name, "parent_key": key} for name in dict.fromkeys(names) if name]
