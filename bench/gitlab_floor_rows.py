"""The floor's rows of GitLab: the tables, columns and keys of sources/gitlab/tables.py, by the shortest way that works.

Written again on purpose, as bench/floor_rows.py is; `bench.same` holds both sides' rows against each other.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

import orjson
import pyarrow as pa

__all__ = ["SCHEMAS", "Json", "Origin", "Tables"]

Json = dict[str, Any]
Tables = dict[str, list[Json]]

TEXT, COUNT, FLAG, INSTANT = pa.string(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")
SETTLE = timedelta(seconds=70)


def _schema(text: str = "", count: str = "", flag: str = "", instant: str = "") -> pa.Schema:
    kinds = ((text, TEXT), (count, COUNT), (flag, FLAG), (instant, INSTANT))
    return pa.schema([(name, kind) for names, kind in kinds for name in names.split()])


_PEOPLE = _schema("username parent_key", "user_id")
_SAID = "event_key version scope project parent_kind parent_key author body"
_WHEN = "created_at updated_at seen_at"
_READ = ("parent_key scope project parent_kind", "number", "is_settled", "synced_for_updated_at read_at")

SCHEMAS = {
    "projects": _schema("scope project name url default_branch visibility", "id", "", "created_at seen_at"),
    "merge_requests": _schema(
        "scope project parent_key state title author milestone references_short references_full opener_version url"
        " source_branch target_branch head_sha detailed_merge_status merge_user",
        "id number author_id user_notes_count", "is_draft", f"closed_at merged_at {_WHEN}",
    ),
    "merge_requests__labels": _schema("name parent_key"),
    "merge_requests__assignees": _PEOPLE,
    "merge_requests__reviewers": _PEOPLE,
    "openers": _schema(f"{_SAID} title url", "id number author_id", "", _WHEN),
    "note_versions": _schema(
        f"{_SAID} discussion_id", "id number in_reply_to author_id", "is_individual is_system is_internal is_diff_note",
        _WHEN,
    ),
    "threads": _schema(f"{_READ[0]} head_sha", f"{_READ[1]} user_notes_count", *_READ[2:]),
    "threads__discussions": _schema(
        "id parent_key noteable_type", "", "is_individual is_resolvable is_resolved", "first_note_at last_note_at"
    ),
    "threads__discussions__notes": _schema(
        "version parent_key discussion_id note_type author body resolved_by position_type position_old_path"
        " position_new_path position_base_sha position_start_sha position_head_sha",
        "id index_in_discussion position_old_line position_new_line position_line_range_start"
        " position_line_range_end", "is_system is_internal is_resolvable is_resolved",
        "resolved_at created_at updated_at",
    ),
    "resource_events": _schema(*_READ),
    "resource_events__states": _schema("parent_key author state", "id", "", "created_at"),
    "resource_events__labels": _schema("parent_key author action label", "id", "", "created_at"),
    "resource_events__milestones": _schema("parent_key author action milestone", "id", "", "created_at"),
    "closes_issues": _schema(*_READ),
    "closes_issues__issues": _schema("parent_key issue_scope issue_key title", "issue_id issue_number"),
    "diffs": _schema(f"{_READ[0]} head_sha", *_READ[1:]),
    "diffs__files": _schema(
        "parent_key old_path new_path diff", "",
        "is_new is_deleted is_renamed is_collapsed is_too_large is_generated",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Origin:
    scope: str
    project: str
    now: datetime


def project(tables: Tables, origin: Origin, row: Json) -> None:
    tables["projects"].append({
        "id": row["id"], "scope": origin.scope, "project": row["path_with_namespace"], "name": row["name"],
        "url": row["web_url"], "default_branch": row["default_branch"], "visibility": row["visibility"],
        "created_at": _instant(row["created_at"]), "seen_at": origin.now,
    })  # fmt: skip


def merge_request(tables: Tables, origin: Origin, mr: Json) -> None:
    key, version = _key(origin, mr), _fingerprint(mr["title"], mr["description"] or "")
    shared = {
        "id": mr["id"], "scope": origin.scope, "project": origin.project, "number": mr["iid"], "parent_key": key,
        "title": mr["title"], "author": mr["author"]["username"], "author_id": mr["author"]["id"],
        "url": mr["web_url"], "created_at": _instant(mr["created_at"]), "updated_at": _instant(mr["updated_at"]),
        "seen_at": origin.now,
    }  # fmt: skip
    tables["merge_requests"].append({
        **shared, "state": mr["state"], "milestone": (mr["milestone"] or {}).get("title"),
        "references_short": mr["references"]["short"], "references_full": mr["references"]["full"],
        "user_notes_count": mr["user_notes_count"], "opener_version": version, "closed_at": _instant(mr["closed_at"]),
        "is_draft": mr["draft"], "source_branch": mr["source_branch"], "target_branch": mr["target_branch"],
        "head_sha": mr["sha"], "detailed_merge_status": mr["detailed_merge_status"],
        "merge_user": (mr["merge_user"] or {}).get("username"), "merged_at": _instant(mr["merged_at"]),
    })  # fmt: skip
    tables["openers"].append({
        **shared, "event_key": f"gitlab:merge_request:{origin.scope}:{mr['id']}:{version}", "version": version,
        "parent_kind": "merge_request", "body": mr["description"] or "",
    })  # fmt: skip
    tables["merge_requests__labels"] += [{"name": name, "parent_key": key} for name in mr["labels"]]
    for table in ("assignees", "reviewers"):
        tables[f"merge_requests__{table}"] += [
            {"username": person["username"], "user_id": person["id"], "parent_key": key} for person in mr[table]
        ]


def threads(tables: Tables, origin: Origin, mr: Json, discussions: list[Json]) -> None:
    key = _key(origin, mr)
    tables["threads"].append(
        {**_root(origin, mr), "user_notes_count": mr["user_notes_count"], "head_sha": mr["sha"]}
    )  # fmt: skip
    for discussion in discussions:
        notes = [_note(note, index, discussion["id"], key) for index, note in enumerate(discussion["notes"])]
        resolvable, times = [n for n in notes if n["is_resolvable"]], [note["created_at"] for note in notes]
        tables["threads__discussions"].append({
            "id": discussion["id"], "parent_key": key, "noteable_type": "MergeRequest",
            "is_individual": discussion["individual_note"], "is_resolvable": bool(resolvable),
            "is_resolved": bool(resolvable) and all(n["is_resolved"] for n in resolvable),
            "first_note_at": min(times), "last_note_at": max(times),
        })  # fmt: skip
        tables["threads__discussions__notes"] += notes
        for raw, note in zip(discussion["notes"], notes, strict=True):
            tables["note_versions"].append(_version(raw, note, discussion, origin, mr))


def resource_events(
    tables: Tables, origin: Origin, mr: Json, states: list[Json], labels: list[Json], milestones: list[Json]
) -> None:
    tables["resource_events"].append(_root(origin, mr))
    key = _key(origin, mr)
    tables["resource_events__states"] += [{**_event(e, key), "state": e["state"]} for e in states]
    for name, found in (("label", labels), ("milestone", milestones)):
        field = "name" if name == "label" else "title"
        tables[f"resource_events__{name}s"] += [
            {**_event(e, key), "action": e["action"], name: (e[name] or {}).get(field)} for e in found
        ]


def closes_issues(tables: Tables, origin: Origin, mr: Json, issues: list[Json]) -> None:
    tables["closes_issues"].append(_root(origin, mr))
    tables["closes_issues__issues"] += [
        {
            "parent_key": _key(origin, mr), "issue_id": issue["id"], "issue_number": issue["iid"],
            "issue_scope": str(issue["project_id"]), "issue_key": f"gitlab:{issue['project_id']}:#{issue['iid']}",
            "title": issue["title"],
        }
        for issue in issues
    ]  # fmt: skip


def diffs(tables: Tables, origin: Origin, mr: Json, files: list[Json]) -> None:
    tables["diffs"].append({**_root(origin, mr), "head_sha": mr["sha"]})
    tables["diffs__files"] += [
        {
            "parent_key": _key(origin, mr), "old_path": file["old_path"], "new_path": file["new_path"],
            "diff": file["diff"], "is_new": file["new_file"], "is_deleted": file["deleted_file"],
            "is_renamed": file["renamed_file"], "is_collapsed": file.get("collapsed", False),
            "is_too_large": file.get("too_large", False), "is_generated": file.get("generated_file", False),
        }
        for file in files
    ]  # fmt: skip


def _root(origin: Origin, mr: Json) -> Json:
    moved = _instant(mr["updated_at"])
    assert moved
    return {
        "parent_key": _key(origin, mr), "scope": origin.scope, "project": origin.project,
        "parent_kind": "merge_request", "number": mr["iid"], "is_settled": origin.now > moved + SETTLE,
        "synced_for_updated_at": moved, "read_at": origin.now,
    }  # fmt: skip


def _note(note: Json, index: int, discussion: str, key: str) -> Json:
    position = note.get("position") or {}
    ranged = position.get("line_range") or {}
    return {
        "id": note["id"], "version": f"{_stamp(note['updated_at'])}-{_fingerprint(note['body'])}", "parent_key": key,
        "discussion_id": discussion, "index_in_discussion": index, "note_type": note["type"],
        "is_system": note["system"], "is_internal": note.get("internal", False), "author": note["author"]["username"],
        "body": note["body"], "is_resolvable": note["resolvable"], "is_resolved": note.get("resolved", False),
        "resolved_by": (note.get("resolved_by") or {}).get("username"),
        "resolved_at": _instant(note.get("resolved_at")), "position_type": position.get("position_type"),
        "position_old_path": position.get("old_path"), "position_new_path": position.get("new_path"),
        "position_old_line": position.get("old_line"), "position_new_line": position.get("new_line"),
        "position_line_range_start": (ranged.get("start") or {}).get("new_line"),
        "position_line_range_end": (ranged.get("end") or {}).get("new_line"),
        "position_base_sha": position.get("base_sha"), "position_start_sha": position.get("start_sha"),
        "position_head_sha": position.get("head_sha"), "created_at": _instant(note["created_at"]),
        "updated_at": _instant(note["updated_at"]),
    }  # fmt: skip


def _version(raw: Json, note: Json, discussion: Json, origin: Origin, mr: Json) -> Json:
    on_diff = note["position_new_path"] is not None
    kind = "diff_note" if on_diff else "note"
    same = ("id", "version", "parent_key", "discussion_id", "is_system", "is_internal", "author", "body", "created_at",
            "updated_at")  # fmt: skip
    return {
        **{name: note[name] for name in same},
        "event_key": f"gitlab:{kind}:{origin.scope}:{note['id']}:{note['version']}", "scope": origin.scope,
        "project": origin.project, "parent_kind": "merge_request", "number": mr["iid"],
        "is_individual": discussion["individual_note"], "is_diff_note": on_diff,
        "in_reply_to": discussion["notes"][0]["id"] if note["index_in_discussion"] else None,
        "author_id": raw["author"]["id"], "seen_at": origin.now,
    }  # fmt: skip


def _event(event: Json, key: str) -> Json:
    return {
        "id": event["id"], "parent_key": key, "author": event["user"]["username"],
        "created_at": _instant(event["created_at"]),
    }  # fmt: skip


def _key(origin: Origin, mr: Json) -> str:
    return f"gitlab:{origin.scope}:!{mr['iid']}"


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _stamp(text: str) -> str:
    at = datetime.fromisoformat(text)
    return at.strftime("%Y%m%dT%H%M%S.%fZ" if at.microsecond else "%Y%m%dT%H%M%SZ")


def _fingerprint(*said: str) -> str:
    return blake2b(orjson.dumps(said), digest_size=5).hexdigest()
