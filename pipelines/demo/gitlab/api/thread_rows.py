"""How GitLab writes what hangs on merge requests and issues: notes and their places, events, diffs, reviewers."""

from pipelines.demo.gitlab.api.rows import TYPES, Json, Place, milestone_json, stamp, user_json
from pipelines.demo.gitlab.state import (
    Discussion,
    Event,
    FileDiff,
    Issuable,
    Label,
    Note,
    Position,
    Review,
    Spot,
    kind_of,
)


def discussion_json(place: Place, thread: Discussion, notes: list[Note]) -> Json:
    """With the notes that its reader may see."""
    return {
        "id": thread.id,
        "individual_note": thread.is_individual,
        "notes": [note_json(place, note) for note in notes],
    }


def note_json(place: Place, note: Note) -> Json:
    """`resolved` and its kin are absent where nothing can be resolved, and `position` where there is no diff."""
    parent = note.parent
    row: Json = {
        "id": note.id,
        "type": note.type,
        "body": note.body,
        "attachment": None,
        "author": user_json(place, note.author),
        "created_at": stamp(note.created_at),
        "updated_at": stamp(note.updated_at),
        "system": note.is_system,
        "noteable_id": parent.id,
        "noteable_type": TYPES[kind_of(parent)],
        "project_id": parent.project_id,
    }
    if note.position:
        row |= {"commit_id": None, "position": position_json(note.position)}
    row["resolvable"] = note.is_resolvable
    if note.is_resolvable:
        row["resolved"] = note.resolved_at is not None
        row["resolved_by"] = user_json(place, note.resolved_by)
        row["resolved_at"] = stamp(note.resolved_at)
    row["confidential"] = note.is_internal
    if place.field_names != "old":
        row["internal"] = note.is_internal
    return row | {"noteable_iid": parent.iid, "commands_changes": {}}


def position_json(position: Position) -> Json:
    refs = position.refs
    row: Json = {
        "base_sha": refs.base_sha,
        "start_sha": refs.start_sha,
        "head_sha": refs.head_sha,
        "old_path": position.old_path,
        "new_path": position.new_path,
        "position_type": position.type,
    }
    if position.image:
        return row | dict(zip(("width", "height", "x", "y"), position.image, strict=True))
    if position.line is None:
        return row
    row |= {"old_line": position.line.old_line, "new_line": position.line.new_line, "line_range": None}
    if position.start:
        ends = {"start": position.start, "end": position.line}
        if position.range_as == "codes":
            codes = {f"{name}_line_code": spot.code(position.new_path) for name, spot in ends.items()}
            return row | {"line_range": codes | {f"{name}_line_type": spot.type for name, spot in ends.items()}}
        row["line_range"] = {name: _range_end(position, spot) for name, spot in ends.items()}
    return row


def _range_end(position: Position, spot: Spot) -> Json:
    end: Json = {"line_code": spot.code(position.new_path), "type": spot.type}
    if position.range_as == "missing":
        return end
    lines = {"old_line": spot.old_line, "new_line": spot.new_line}
    if position.range_as == "strings":
        return end | {name: line and str(line) for name, line in lines.items()}
    return end | lines


def event_json(place: Place, parent: Issuable, event: Event) -> Json:
    row: Json = {
        "id": event.id,
        "user": user_json(place, event.user),
        "created_at": stamp(event.created_at),
        "resource_type": TYPES[kind_of(parent)],
        "resource_id": parent.id,
    }
    if event.kind == "state":
        return row | {
            "source_commit": None,
            "source_merge_request_id": event.source_merge_request_id,
            "state": event.action,
        }
    row["action"] = event.action
    if isinstance(event.subject, Label):
        return row | {"label": None if event.subject.is_deleted else _label_json(event.subject)}
    return row | {"milestone": event.subject and milestone_json(place, event.subject), "state": "active"}


def diff_json(place: Place, diff: FileDiff) -> Json:
    """An empty diff is not an empty change: `collapsed` and `too_large` say so, where the server knows them."""
    is_cut = diff.is_collapsed or diff.is_too_large
    row: Json = {
        "diff": "" if is_cut else diff.diff,
        "new_path": diff.new_path,
        "old_path": diff.old_path,
        "a_mode": "0" if diff.is_new else "100644",
        "b_mode": "0" if diff.is_deleted else "100644",
        "new_file": diff.is_new,
        "renamed_file": diff.is_renamed,
        "deleted_file": diff.is_deleted,
    }
    if place.field_names == "old":
        return row
    return row | {"generated_file": diff.is_generated, "collapsed": diff.is_collapsed, "too_large": diff.is_too_large}


def reviewer_json(place: Place, review: Review) -> Json:
    return {"user": user_json(place, review.user), "state": review.state, "created_at": stamp(review.created_at)}


def _label_json(label: Label) -> Json:
    return {
        "id": label.id,
        "name": label.name,
        "color": label.color,
        "description": None,
        "text_color": "#FFFFFF",
    }
