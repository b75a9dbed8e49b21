"""What GitLab's discussions become: a row per discussion with its notes, and a version row per note.

A row that is landed vouches for all notes of its merge request, so one note that cannot be read must not look deleted:
it keeps the row that was last read of it. Where the bad one does not tell which note it is, everybody's absence is in
doubt, and all that is held stays.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime

from sources.core.values import (
    Json,
    Row,
    Unreadable,
    event_key,
    flag,
    instant,
    integer,
    maybe,
    need,
    number,
    text,
    version,
)
from sources.gitlab.rows import inner, named, parent_key, times
from sources.gitlab.tables import NOTE

__all__ = ["Bad", "Discussions", "Parent", "read_discussions", "with_last_read"]

LINE_CODE = re.compile(r"[0-9a-f]+_(\d*)_(\d*)")


class Parent:
    """The merge request or issue that is being read."""

    def __init__(self, scope: str, project: str, kind: str, number: int) -> None:
        self.scope, self.project, self.kind, self.number = scope, project, kind, number

    @property
    def key(self) -> str:
        return parent_key(self.scope, self.kind, self.number)


@dataclass(frozen=True)
class Bad:
    """A note, or a whole discussion, that could not be read; its id, if that could be."""

    raw: Json
    reason: str
    id: int | None = None


@dataclass
class Discussions:
    """What one answer becomes."""

    rows: list[Row] = field(default_factory=list)
    versions: list[Row] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)

    @property
    def user_notes(self) -> int:
        """How many, as lists count them."""
        read = sum(not note["is_system"] for row in self.rows for note in notes_of(row))
        return read + sum(bad.raw.get("system") is not True for bad in self.bad)


def read_discussions(found: Iterable[Json], parent: Parent, seen_at: DateTime) -> Discussions:
    """Every note that can be read, in its discussion, and one version row each; the others by themselves."""
    read = Discussions()
    for discussion in found:
        try:
            id_, notes = text(need(discussion, "id")), need(discussion, "notes")
            if not isinstance(notes, list):
                raise Unreadable(f"discussion {id_}: notes are not a list")
            is_individual = flag(discussion.get("individual_note"))
        except Unreadable as error:
            read.bad.append(Bad(discussion, f"{error}"))
            continue
        rows = _readable(notes, discussion, parent, seen_at, read)
        if rows:
            read.rows.append(_discussion_row(id_, rows, parent, is_individual))
    return read


def with_last_read(read: Discussions, held: Iterable[Row], parent: Parent) -> list[Row]:
    """The discussions with what is held (notes, each with `is_individual` of its discussion) of the bad ones."""
    there = {note["id"] for row in read.rows for note in notes_of(row)}
    ids, is_doubtful = {bad.id for bad in read.bad}, any(bad.id is None for bad in read.bad)
    kept: dict[object, list[Row]] = {}
    for note in held:
        if note["id"] not in there and (is_doubtful or note["id"] in ids):
            kept.setdefault(note["discussion_id"], []).append(note)
    rows = {row["id"]: row for row in read.rows}
    for id_, notes in kept.items():
        known = rows.get(id_)
        is_individual = known["is_individual"] if known else notes[0]["is_individual"]
        together = [*(notes_of(known) if known else []), *({name: n[name] for name in NOTE} for n in notes)]
        rows[id_] = _discussion_row(str(id_), together, parent, is_individual)
    return list(rows.values())


def notes_of(discussion: Row) -> list[Row]:
    notes = discussion["notes"]
    assert isinstance(notes, list)
    return notes


def _readable(notes: list[Any], discussion: Json, parent: Parent, seen_at: DateTime, read: Discussions) -> list[Row]:
    rows, opener = [], None
    for index, note in enumerate(notes):
        try:
            if not isinstance(note, dict):
                raise Unreadable("a note is not an object")
            row = _note_row(note, index, str(discussion["id"]), parent)
            read.versions.append(_version_row(note, discussion, opener, parent, seen_at))
            rows.append(row)
        except (Unreadable, AttributeError, TypeError, KeyError, ValueError) as error:
            raw = note if isinstance(note, dict) else {"discussion": discussion["id"], "note": note}
            read.bad.append(Bad(raw, f"{error}"[:300], _id(note)))
        opener = opener or _id(note)
    return rows


def _id(note: Any) -> int | None:
    try:
        return integer(note.get("id"))
    except (Unreadable, AttributeError):
        return None


def _discussion_row(id_: str, notes: list[Row], parent: Parent, is_individual: object) -> Row:
    """Resolvable if any note is; resolved if all resolvable notes are."""
    resolvable, times = [note for note in notes if note["is_resolvable"]], [note["created_at"] for note in notes]
    return {
        "id": id_,
        "parent_key": parent.key,
        "noteable_type": "MergeRequest" if parent.kind == "merge_request" else "Issue",
        "is_individual": is_individual,
        "is_resolvable": bool(resolvable),
        "is_resolved": bool(resolvable) and all(note["is_resolved"] for note in resolvable),
        "first_note_at": min(times),  # type: ignore[type-var]
        "last_note_at": max(times),  # type: ignore[type-var]
        "notes": sorted(notes, key=lambda note: note["index_in_discussion"]),  # type: ignore[arg-type, return-value]
    }


def _note_row(note: Json, index: int, discussion_id: str, parent: Parent) -> Row:
    for name, ours in (("project_id", parent.scope), ("noteable_iid", str(parent.number))):
        if note.get(name) is not None and str(note[name]) != ours:
            raise Unreadable(f"a note with {name} {note[name]!r:.40} among those of {parent.key}")
    created_at, updated_at = times(note)
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
        "body": _body(note),
        "is_resolvable": flag(note.get("resolvable")),
        "is_resolved": flag(note.get("resolved")),
        "resolved_by": named(note, "resolved_by"),
        "resolved_at": maybe(instant, note.get("resolved_at")),
        **_place(inner(note, "position")),
        "created_at": created_at,
        "updated_at": updated_at,
    }


def _place(position: Json) -> Row:
    """In a diff or on a picture. Positions of before there were types are of text, as GitLab takes them; of a lost one
    it tells an object with nothing in it."""
    start, end = _line_range(position)
    default = None if not position else "text" if position.get("x") is None else "image"
    return {
        "position_type": maybe(text, position.get("position_type")) or default,
        "position_old_path": maybe(text, position.get("old_path")),
        "position_new_path": maybe(text, position.get("new_path")),
        "position_old_line": _line(position.get("old_line")),
        "position_new_line": _line(position.get("new_line")),
        "position_line_range_start": start,
        "position_line_range_end": end,
        "position_base_sha": maybe(text, position.get("base_sha")),
        "position_start_sha": maybe(text, position.get("start_sha")),
        "position_head_sha": maybe(text, position.get("head_sha")),
        "position_x": maybe(number, position.get("x")),
        "position_y": maybe(number, position.get("y")),
        "position_width": maybe(number, position.get("width")),
        "position_height": maybe(number, position.get("height")),
    }


def _version_row(note: Json, discussion: Json, opener: object, parent: Parent, seen_at: DateTime) -> Row:
    position, (created_at, updated_at) = inner(note, "position"), times(note)
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
        "in_reply_to": opener,
        "body": _body(note),
        "author": _author(note),
        "author_id": maybe(integer, inner(note, "author").get("id")),
        "created_at": created_at,
        "updated_at": updated_at,
        "seen_at": seen_at,
    }


def _version(note: Json) -> str:
    return version(times(note)[1], _body(note))


def _body(note: Json) -> str:
    """Some servers send none where nothing was said."""
    return maybe(text, note.get("body")) or ""


def _author(note: Json) -> str:
    return maybe(text, inner(note, "author").get("username")) or "ghost"


def _line(value: object) -> int | None:
    """Lines come as numbers, as text, or not at all (an added line has no old one)."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return maybe(integer, value)


def _line_range(position: Json) -> tuple[int | None, int | None]:
    """Two ends as objects; GitLab 13.0 and 13.1 sent the line code and type of either beside each other."""
    ranged = inner(position, "line_range")
    return _range_line(_range_end(ranged, "start")), _range_line(_range_end(ranged, "end"))


def _range_end(ranged: Json, name: str) -> Json:
    flat = {"line_code": ranged.get(f"{name}_line_code"), "type": ranged.get(f"{name}_line_type")}
    return inner(ranged, name) or flat


def _range_line(end: Json) -> int | None:
    """The line on its own side of the diff; where it is missing, `line_code` (`<sha1>_<old>_<new>`) still tells it."""
    old, new = _line(end.get("old_line")), _line(end.get("new_line"))
    code = LINE_CODE.fullmatch(maybe(text, end.get("line_code")) or "")
    if code and old is None and new is None:
        old, new = (int(number) if number else None for number in code.groups())
    return old if end.get("type") == "old" or new is None else new
