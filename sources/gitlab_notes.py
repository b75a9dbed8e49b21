"""What GitLab's discussions become: a row per discussion with its notes, and a version row per note.

All of a thread is parsed before any of it is landed: one note that cannot be read leaves the whole merge request as it
was, because the row that would be landed vouches for all of its notes.
"""

import re

from pendulum import DateTime

from sources.gitlab_rows import inner, parent_key
from sources.record import Json, Row, Unreadable, event_key, flag, instant, integer, maybe, need, text, version

__all__ = ["Parent", "discussion_row", "version_rows"]

LINE_CODE = re.compile(r"[0-9a-f]+_(\d*)_(\d*)")


class Parent:
    """The merge request or issue that is being read."""

    def __init__(self, scope: str, project: str, kind: str, number: int) -> None:
        self.scope, self.project, self.kind, self.number = scope, project, kind, number

    @property
    def key(self) -> str:
        return parent_key(self.scope, self.kind, self.number)


def discussion_row(discussion: Json, parent: Parent) -> Row:
    """Resolvable if any note is; resolved if all resolvable notes are."""
    id_, found = text(need(discussion, "id")), need(discussion, "notes")
    if not isinstance(found, list) or not all(isinstance(note, dict) for note in found):
        raise Unreadable(f"discussion {id_}: notes are not a list of objects")
    notes = [_note_row(note, index, id_, parent) for index, note in enumerate(found)]
    resolvable = [note for note in notes if note["is_resolvable"]]
    times = [instant(note["created_at"]) for note in found]
    return {
        "id": id_,
        "parent_key": parent.key,
        "noteable_type": "MergeRequest" if parent.kind == "merge_request" else "Issue",
        "is_individual": flag(discussion.get("individual_note")),
        "is_resolvable": bool(resolvable),
        "is_resolved": bool(resolvable) and all(note["is_resolved"] for note in resolvable),
        "first_note_at": min(times, default=None),
        "last_note_at": max(times, default=None),
        "notes": notes,
    }


def version_rows(discussions: list[Json], parent: Parent, seen_at: DateTime) -> list[Row]:
    """One row per note as it reads now; landed insert-only, so that earlier readings stay."""
    rows = []
    for discussion in discussions:
        notes = discussion["notes"]
        assert isinstance(notes, list)
        rows += [_version_row(note, discussion, index, parent, seen_at) for index, note in enumerate(notes)]
    return rows


def _note_row(note: Json, index: int, discussion_id: str, parent: Parent) -> Row:
    for field, ours in (("project_id", parent.scope), ("noteable_iid", str(parent.number))):
        if note.get(field) is not None and str(note[field]) != ours:
            raise Unreadable(f"a note with {field} {note[field]!r:.40} among those of {parent.key}")
    position = inner(note, "position")
    start, end = _line_range(position)
    return {
        "id": integer(need(note, "id")),
        "version": _version(note),
        "parent_key": parent.key,
        "discussion_id": discussion_id,
        "index_in_discussion": index,
        "note_type": maybe(text, note.get("type")),
        "is_system": flag(note.get("system")),
        "is_internal": flag(note.get("internal")) or flag(note.get("confidential")),
        "author": _author(note),
        "body": text(need(note, "body")),
        "is_resolvable": flag(note.get("resolvable")),
        "is_resolved": flag(note.get("resolved")),
        "resolved_by": maybe(text, inner(note, "resolved_by").get("username")),
        "resolved_at": maybe(instant, note.get("resolved_at")),
        "position_type": maybe(text, position.get("position_type")),
        "position_old_path": maybe(text, position.get("old_path")),
        "position_new_path": maybe(text, position.get("new_path")),
        "position_old_line": _line(position.get("old_line")),
        "position_new_line": _line(position.get("new_line")),
        "position_line_range_start": start,
        "position_line_range_end": end,
        "position_base_sha": maybe(text, position.get("base_sha")),
        "position_start_sha": maybe(text, position.get("start_sha")),
        "position_head_sha": maybe(text, position.get("head_sha")),
        "created_at": instant(need(note, "created_at")),
        "updated_at": instant(need(note, "updated_at")),
    }


def _version_row(note: Json, discussion: Json, index: int, parent: Parent, seen_at: DateTime) -> Row:
    position, first = inner(note, "position"), discussion["notes"][0]["id"]  # type: ignore[index]
    is_diff_note = bool(position.get("new_path") or position.get("old_path"))
    id_, version_ = integer(need(note, "id")), _version(note)
    return {
        "event_key": event_key("gitlab", "diff_note" if is_diff_note else "note", parent.scope, id_, version_),
        "id": id_,
        "version": version_,
        "scope": parent.scope,
        "project": parent.project,
        "parent_kind": parent.kind,
        "number": parent.number,
        "parent_key": parent.key,
        "discussion_id": discussion["id"],
        "is_individual": flag(discussion.get("individual_note")),
        "is_system": flag(note.get("system")),
        "is_internal": flag(note.get("internal")) or flag(note.get("confidential")),
        "is_diff_note": is_diff_note,
        "in_reply_to": first if index else None,
        "body": text(need(note, "body")),
        "author": _author(note),
        "author_id": maybe(integer, inner(note, "author").get("id")),
        "created_at": instant(need(note, "created_at")),
        "updated_at": instant(need(note, "updated_at")),
        "seen_at": seen_at,
    }


def _version(note: Json) -> str:
    return version(instant(need(note, "updated_at")), text(need(note, "body")))


def _author(note: Json) -> str:
    return maybe(text, inner(note, "author").get("username")) or "ghost"


def _line(value: object) -> int | None:
    """Lines come as numbers, as text, or not at all (an added line has no old one)."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return maybe(integer, value)


def _line_range(position: Json) -> tuple[int | None, int | None]:
    ranged = inner(position, "line_range")
    return _range_line(inner(ranged, "start")), _range_line(inner(ranged, "end"))


def _range_line(end: Json) -> int | None:
    """The line on its own side of the diff; where it is missing, `line_code` (`<sha1>_<old>_<new>`) still tells it."""
    old, new = _line(end.get("old_line")), _line(end.get("new_line"))
    code = LINE_CODE.fullmatch(maybe(text, end.get("line_code")) or "")
    if code and old is None and new is None:
        old, new = (int(number) if number else None for number in code.groups())
    return old if end.get("type") == "old" or new is None else new
