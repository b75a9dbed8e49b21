"""Every field that is read of GitLab's records: what becomes of the row when it is null, and when it is absent.

`API::Entities` of GitLab's source make nothing of a record required, and old servers, deleted accounts, removed labels
and external trackers leave out much of it. Only what says which record it is may put it into quarantine. The table has a
row for each field; a record that notes what is asked of it keeps the table complete.
"""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request
from sources.core.reply import PostedComment
from sources.core.values import Unreadable
from sources.gitlab import dependent_rows as hanging
from sources.gitlab.notes import Parent, read_discussions
from sources.gitlab.reply import _said
from sources.gitlab.rows import (
    issue_row,
    listed_version,
    merge_request_row,
    number_told,
    opener_row,
    people,
    project_row,
    reviewers_told,
)
from tests.in_memory import in_memory
from tests.synced import gitlab_desk

Json = dict[str, Any]
NOW = pendulum.datetime(2026, 3, 1, 12)
AT, LATER = pendulum.datetime(2026, 3, 1, 10), pendulum.datetime(2026, 3, 1, 11)
BEGAN, MOVED = "2026-03-01T10:00:00.000Z", "2026-03-01T11:00:00.000Z"
KEY = "gitlab:7:!3"
PARENT = Parent("7", "lantern/console", "merge_request", 3)
MAYA, NOOR = {"id": 1, "username": "maya"}, {"id": 2, "username": "noor"}
SHARED: Json = {
    "id": 5, "iid": 3, "project_id": 7, "title": "Dark mode", "description": "As asked.", "state": "opened",
    "author": MAYA, "milestone": {"title": "1.0"}, "references": {"short": "!3", "full": "lantern/console!3"},
    "user_notes_count": 2, "web_url": "https://gitlab.example/x/3", "created_at": BEGAN, "updated_at": MOVED,
    "closed_at": MOVED, "labels": ["ui"], "assignees": [NOOR], "assignee": NOOR,
}  # fmt: skip
MR: Json = SHARED | {
    "draft": True, "work_in_progress": True, "source_branch": "dark", "target_branch": "main", "sha": "5a",
    "detailed_merge_status": "mergeable", "merge_status": "can_be_merged", "merge_user": NOOR, "merged_by": MAYA,
    "merged_at": MOVED, "reviewers": [NOOR],
}  # fmt: skip
ISSUE: Json = SHARED | {"confidential": True, "issue_type": "incident", "type": "INCIDENT"}
SPOT = {"line_code": "0a_7_9", "type": "new", "old_line": 7, "new_line": 9}
POSITION: Json = {
    "base_sha": "b", "start_sha": "s", "head_sha": "h", "old_path": "a", "new_path": "a", "position_type": "text",
    "old_line": 7, "new_line": 9, "line_range": {"start": SPOT, "end": SPOT}, "x": 1, "y": 2, "width": 3, "height": 4,
}  # fmt: skip
NOTE: Json = {
    "id": 11, "type": "DiffNote", "body": "Why?", "author": MAYA, "created_at": BEGAN, "updated_at": MOVED,
    "system": True, "internal": True, "confidential": True, "project_id": 7, "noteable_iid": 3, "position": POSITION,
    "resolvable": True, "resolved": True, "resolved_by": NOOR, "resolved_at": MOVED,
}  # fmt: skip
EVENT = {"id": 9, "user": MAYA, "created_at": BEGAN}
RECORDS: dict[str, Json] = {
    "project": {"id": 7, "path_with_namespace": "lantern/console", "name": "console", "web_url": "https://x",
                "default_branch": "main", "visibility": "public", "created_at": BEGAN},
    "merge_request": MR,
    "issue": ISSUE,
    "opener": SHARED,
    "discussion": {"id": "d1", "individual_note": True, "notes": [NOTE]},
    "note": NOTE,
    "note_version": NOTE,
    "state": EVENT | {"state": "closed"},
    "label": EVENT | {"action": "add", "label": {"name": "ui"}},
    "milestone": EVENT | {"action": "add", "milestone": {"title": "1.0"}},
    "closed_issue": {"id": 5, "iid": 3, "project_id": 7, "title": "Dark mode"},
    "diff": {"diff": "@@", "old_path": "a", "new_path": "b", "new_file": True, "deleted_file": True,
             "renamed_file": True, "collapsed": True, "too_large": True, "generated_file": True},
    "reviewer": {"user": MAYA, "state": "reviewed"},
    "person": MAYA,
    "said": {"id": 11, "author": MAYA, "body": "Why?"},
    "unreadable": {"id": 5, "iid": 3, "web_url": "https://gitlab.example/-/work_items/3"},
}  # fmt: skip


def note_rows(note: Json) -> tuple[Json, Json]:
    read = read_discussions([{"id": "d1", "notes": [note]}], PARENT, NOW)
    for bad in read.bad:
        raise Unreadable(bad.reason)
    return read.rows[0]["notes"][0], read.versions[0]  # type: ignore[index]


def discussion_row(discussion: Json) -> Json:
    read = read_discussions([discussion], PARENT, NOW)
    for bad in read.bad:
        raise Unreadable(bad.reason)
    return {name: value for name, value in (read.rows or [{}])[0].items() if name != "notes"}


def said(item: Json) -> Json:
    told: PostedComment = _said(item)
    return vars(told)


SHAPES: dict[str, Callable[[Json], Json]] = {
    "project": lambda r: project_row(r, NOW),
    "merge_request": lambda r: merge_request_row(r, "7", "lantern/console", NOW),
    "issue": lambda r: issue_row(r, "7", "lantern/console", NOW),
    "opener": lambda r: opener_row("merge_request", r, "7", "lantern/console", NOW),
    "discussion": discussion_row,
    "note": lambda r: note_rows(r)[0],
    "note_version": lambda r: note_rows(r)[1],
    **{name: (lambda r, shape=hanging.EVENTS[f"{name}s"]: shape(r, KEY)) for name in ("state", "label", "milestone")},
    "closed_issue": lambda r: hanging.closed_row(r, KEY),
    "diff": lambda r: hanging.file_row(r, KEY),
    "reviewer": lambda r: {"people": reviewers_told([r], KEY)},
    "person": lambda r: {"people": people([r], KEY)},
    "said": said,
    "unreadable": lambda r: {"number": number_told(r)},
}
NEEDED = "quarantine"  # without it nobody knows which record this is
VERSIONED = {"version", "event_key", "opener_version"}  # they tell words and times by a hash
_GHOST: Json = {"author": "ghost", "author_id": None}
_SHARED: dict[str, Json | str] = {
    "id": NEEDED, "iid": NEEDED, "project_id": NEEDED, "state": NEEDED, "title": {"title": ""}, "description": {},
    "author": _GHOST, "author.username": {"author": "ghost"}, "author.id": {"author_id": None},
    "milestone": {"milestone": None}, "milestone.title": {"milestone": None},
    "references": {"references_short": None, "references_full": None}, "references.short": {"references_short": None},
    "references.full": {"references_full": None}, "user_notes_count": {"user_notes_count": None},
    "web_url": {"url": None}, "created_at": {"created_at": LATER}, "updated_at": {"updated_at": AT},
    "closed_at": {"closed_at": None}, "labels": {"labels": []}, "assignees": {}, "assignee": {},
}  # fmt: skip
_EVENT: dict[str, Json | str] = {
    "id": NEEDED, "user": {"author": "ghost"}, "user.username": {"author": "ghost"}, "created_at": NEEDED,
}  # fmt: skip
# What the row says, when the field is null and when it is absent: only these columns are others than in the full record.
FIELDS: dict[str, dict[str, Json | str]] = {
    "project": {
        "id": NEEDED, "path_with_namespace": NEEDED, "name": {"name": None}, "web_url": {"url": None},
        "default_branch": {"default_branch": None}, "visibility": {"visibility": None},
        "created_at": {"created_at": None},
    },
    "merge_request": _SHARED | {
        "draft": {}, "work_in_progress": {}, "source_branch": {"source_branch": None},
        "target_branch": {"target_branch": None}, "sha": {"head_sha": None},
        "detailed_merge_status": {"detailed_merge_status": "can_be_merged"}, "merge_status": {},
        "merge_user": {"merge_user": "maya"}, "merge_user.username": {"merge_user": "maya"}, "merged_by": {},
        "merged_at": {"merged_at": None}, "reviewers": {"reviewers": []},
    },
    "issue": _SHARED | {"confidential": {"is_confidential": False}, "issue_type": {}, "type": {}},
    "opener": {
        "id": NEEDED, "iid": NEEDED, "title": {"title": ""}, "description": {"body": ""}, "author": _GHOST,
        "author.username": {"author": "ghost"}, "author.id": {"author_id": None}, "web_url": {"url": None},
        "created_at": {"created_at": LATER}, "updated_at": {"updated_at": AT},
    },
    "discussion": {"id": NEEDED, "individual_note": {"is_individual": False}, "notes": NEEDED},
    "note": {
        "id": NEEDED, "type": {"note_type": None}, "body": {"body": ""}, "author": {"author": "ghost"},
        "author.username": {"author": "ghost"}, "author.id": {}, "created_at": {"created_at": LATER},
        "updated_at": {"updated_at": AT}, "system": {"is_system": False}, "internal": {}, "confidential": {},
        "project_id": {}, "noteable_iid": {}, "resolvable": {"is_resolvable": False},
        "resolved": {"is_resolved": False}, "resolved_by": {"resolved_by": None},
        "resolved_by.username": {"resolved_by": None}, "resolved_at": {"resolved_at": None},
        "position": {f"position_{name}": None for name in (
            "type", "old_path", "new_path", "old_line", "new_line", "line_range_start", "line_range_end", "base_sha",
            "start_sha", "head_sha", "x", "y", "width", "height")},
        "position.position_type": {"position_type": "image"},
        **{f"position.{name}": {f"position_{name}": None} for name in (
            "old_path", "new_path", "old_line", "new_line", "base_sha", "start_sha", "head_sha", "x", "y", "width",
            "height")},
        "position.line_range": {"position_line_range_start": None, "position_line_range_end": None},
        "position.line_range.start": {"position_line_range_start": None},
        "position.line_range.end": {"position_line_range_end": None},
        **{f"position.line_range.{end}.{name}": {} for end in ("start", "end") for name in ("line_code", "type", "old_line")},
        **{f"position.line_range.{end}.new_line": {f"position_line_range_{end}": 7} for end in ("start", "end")},
        **{f"position.line_range.{end}_line_{name}": {} for end in ("start", "end") for name in ("code", "type")},
    },
    "note_version": {
        "id": NEEDED, "body": {"body": ""}, "author": _GHOST, "author.username": {"author": "ghost"},
        "author.id": {"author_id": None}, "created_at": {"created_at": LATER}, "updated_at": {"updated_at": AT},
        "system": {"is_system": False}, "internal": {}, "confidential": {}, "project_id": {}, "noteable_iid": {},
        "position": {"is_diff_note": False}, "position.old_path": {}, "position.new_path": {},
    },
    "state": _EVENT | {"state": {"state": None}},
    "label": _EVENT | {"action": {"action": None}, "label": {"label": None}, "label.name": {"label": None}},
    "milestone": _EVENT | {
        "action": {"action": None}, "milestone": {"milestone": None}, "milestone.title": {"milestone": None},
    },
    "closed_issue": {
        "id": {"issue_id": None}, "iid": {"issue_number": None, "issue_scope": None, "issue_key": None},
        "project_id": {"issue_number": None, "issue_scope": None, "issue_key": None}, "title": {"title": None},
    },
    "diff": {
        "diff": {"diff": None}, "old_path": {"old_path": None}, "new_path": {"new_path": "a"},
        "new_file": {"is_new": False}, "deleted_file": {"is_deleted": False}, "renamed_file": {"is_renamed": False},
        "collapsed": {"is_collapsed": False}, "too_large": {"is_too_large": False},
        "generated_file": {"is_generated": False},
    },
    "reviewer": {"user": {"people": []}, "user.username": NEEDED,
                 "user.id": {"people": [{"username": "maya", "user_id": None, "parent_key": KEY}]}},
    "person": {"username": NEEDED, "id": {"people": [{"username": "maya", "user_id": None, "parent_key": KEY}]}},
    "said": {"id": {"id": "None"},  # nobody's; what was just sent is believed with an id only
             "author": {"author": None}, "author.username": {"author": None}, "body": {"body": ""}},
    "unreadable": {"id": {}, "iid": {}, "web_url": {}},
}  # fmt: skip


class Noted(dict[str, Any]):
    """A record that notes which of its fields are asked for."""

    def __init__(self, record: Json, asked: set[str], path: str = "") -> None:
        super().__init__({n: Noted(v, asked, f"{path}{n}.") if isinstance(v, dict) else v for n, v in record.items()})
        self.asked, self.path = asked, path

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(self.path + name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.asked.add(self.path + name)
        return super().__getitem__(name)


def without(record: Json, path: str, *, null: bool) -> Json:
    changed: Json = json.loads(json.dumps(record))
    inner, names = changed, path.split(".")
    for name in names[:-1]:
        inner = inner[name]
    if null:
        inner[names[-1]] = None
    else:
        inner.pop(names[-1], None)
    return changed


def rows_of_the_table() -> Iterator[Any]:
    for kind, fields in FIELDS.items():
        for path, expected in fields.items():
            yield pytest.param(kind, path, expected, id=f"{kind} {path}")


@pytest.mark.parametrize(("kind", "path", "expected"), list(rows_of_the_table()))
@pytest.mark.parametrize("null", [True, False], ids=["null", "absent"])
def test_a_field_may_be_null_or_absent(kind: str, path: str, expected: Json | str, null: bool) -> None:
    """The record lands, and says of all else what it said."""
    shape, record = SHAPES[kind], RECORDS[kind]
    sent = without(record, path, null=null)
    if expected == NEEDED:
        with pytest.raises(Unreadable):
            shape(sent)
        return
    assert isinstance(expected, dict)
    row = shape(sent)
    full = shape(deepcopy(record)) | expected
    assert {n: v for n, v in row.items() if n not in VERSIONED} == {n: v for n, v in full.items() if n not in VERSIONED}


@pytest.mark.parametrize("kind", FIELDS)
def test_every_field_that_is_read_has_a_row(kind: str) -> None:
    """In the table above, and the table has no more; in lists of people and notes the fields are those of a row of their own."""
    asked: set[str] = set()
    for path in ("", *FIELDS[kind]):  # what is only asked for in place of another is asked for without that
        for null in (True, False):
            sent = without(RECORDS[kind], path, null=null) if path else RECORDS[kind]
            try:
                SHAPES[kind](Noted(sent, asked))
            except Unreadable:
                assert FIELDS[kind].get(path) == NEEDED
    both = {"note", "note_version"}
    table = set().union(*(FIELDS[name] for name in both)) if kind in both else set(FIELDS[kind])
    inner = {"reviewer": set(), "merge_request": {"assignee.username", "assignee.id", "merged_by.username"}}
    assert asked - inner.get(kind, {"assignee.username", "assignee.id"} if kind == "issue" else set()) == table


OTHER_SHAPES: list[tuple[str, Json, Json | str]] = [
    ("merge_request", {"assignees": None, "assignee": None}, {"assignees": []}),
    ("merge_request", {"assignees": [None, NOOR]}, {"assignees": ["noor"]}),
    ("merge_request", {"assignees": [None]}, {"assignees": []}),  # who was assigned is no more; nobody else is
    ("merge_request", {"assignees": [], "assignee": NOOR}, {"assignees": []}),
    ("merge_request", {"reviewers": [None, NOOR]}, {"reviewers": ["noor"]}),
    ("merge_request", {"labels": [None, {"name": None}, "ui"]}, {"labels": ["ui"]}),
    ("merge_request", {"merge_user": None, "merged_by": None}, {"merge_user": None}),
    ("merge_request", {"draft": None, "work_in_progress": None}, {"is_draft": False}),
    ("merge_request", {"squash": None, "force_remove_source_branch": None, "discussion_locked": None}, {}),
    ("merge_request", {"created_at": None, "updated_at": None}, NEEDED),
    ("issue", {"issue_type": None, "type": "INCIDENT"}, {"issue_type": "incident"}),
    ("issue", {"issue_type": None, "type": None}, {"issue_type": None}),
    ("issue", {"issue_type": "task", "type": "TASK"}, {"issue_type": "task"}),
    ("note", {"resolved_by": "noor"}, {"resolved_by": "noor"}),
    ("note", {"created_at": None, "updated_at": None}, NEEDED),
    ("note", {"internal": None, "confidential": None}, {"is_internal": False}),
    ("note", {"position": {}}, {"position_type": None, "position_new_path": None}),  # `nil.to_h` of a lost position
    ("note", {"position": POSITION | {"position_type": "image", "x": 1.5, "y": 0}}, {"position_x": 1.5, "position_y": 0.0}),
    ("closed_issue", {"id": "LAMP-12", "iid": None, "project_id": None},
     {"issue_id": None, "issue_key": None, "external_id": "LAMP-12", "title": "Dark mode"}),
    ("closed_issue", {"id": 2**70}, {"issue_id": None}),
    ("diff", {"old_path": None, "new_path": None}, NEEDED),
    ("person", {"username": 5}, NEEDED),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "expected"), OTHER_SHAPES, ids=lambda value: str(value)[:60])
def test_other_shapes_that_servers_send(kind: str, change: Json, expected: Json | str) -> None:
    """Null within lists, several fields null together, other types than today's."""
    if expected == NEEDED:
        with pytest.raises(Unreadable):
            SHAPES[kind]({**RECORDS[kind], **change})
        return
    assert isinstance(expected, dict)
    row = SHAPES[kind]({**RECORDS[kind], **change})
    for name, value in expected.items():
        told = row[name]
        assert ([each.get("username") or each["name"] for each in told] if isinstance(told, list) else told) == value


CODE, END = "0a_{}_{}".format, "588440f66559714280628a4f9799f0c4eb880a4a_11_12"
RANGES: list[tuple[object, tuple[int | None, int | None]]] = [
    (None, (None, None)),
    ({}, (None, None)),
    ({"start": None, "end": None}, (None, None)),
    ({"start": {"line_code": CODE(7, 9), "type": "new"}, "end": {"line_code": CODE(8, 10), "type": "new"}}, (9, 10)),
    ({"start": {"line_code": CODE(7, 9), "type": "old"}, "end": {"line_code": CODE(8, ""), "type": None}}, (7, 8)),
    ({"start": {"old_line": 7, "new_line": None}, "end": {"old_line": None, "new_line": 10}}, (7, 10)),
    ({"start": {"old_line": 7, "new_line": 9, "type": None}, "end": {"new_line": "10", "type": "new"}}, (9, 10)),
    ({"start_line_code": CODE(7, 9), "start_line_type": "new", "end_line_code": END, "end_line_type": "old"}, (9, 11)),
    ({"start_line_code": CODE(7, 9), "end_line_code": END}, (9, 12)),
    ({"start_line_code": CODE(7, 9), "start_line_type": None, "end_line_code": None}, (9, None)),
]


@pytest.mark.parametrize(("sent", "lines"), RANGES, ids=lambda value: str(value)[:60])
def test_a_range_is_read_in_every_shape_that_it_ever_had(sent: object, lines: tuple[int | None, int | None]) -> None:
    """13.2 sent line codes and types alone, beside each other; later both ends as objects, with lines or without."""
    row = SHAPES["note"]({**NOTE, "position": {**POSITION, "line_range": sent}})
    assert (row["position_line_range_start"], row["position_line_range_end"]) == lines


@pytest.mark.parametrize(("position", "type_"), [
    ({"new_path": "a", "new_line": 3}, "text"), ({"new_path": "a", "x": 0, "y": 0, "width": 9, "height": 9}, "image"),
    ({"new_path": "a", "position_type": "file"}, "file"), ({}, None),
])  # fmt: skip
def test_positions_of_before_there_were_types_are_of_text(position: Json, type_: str | None) -> None:
    """As GitLab itself takes them; a point on a picture is one of an image."""
    assert SHAPES["note"]({**NOTE, "position": position})["position_type"] == type_


@pytest.mark.parametrize("address", [
    "/-/issues/12", "/issues/12", "/-/work_items/12", "/-/issues/incident/12", "/-/merge_requests/12",
])  # fmt: skip
def test_an_unreadable_record_is_asked_for_by_its_address(address: str) -> None:
    """Tasks and incidents have addresses of their own kind; those of tasks named another number for some years."""
    url = f"https://gitlab.example/lantern/console{address}"
    assert number_told({"iid": None, "web_url": url}) == 12
    assert number_told({"iid": None, "id": 12, "web_url": url}) == (None if "work_items" in url else 12)


def test_what_a_list_shows_needs_one_time_only() -> None:
    """Either time makes a version of a list item; without both it is nobody's."""
    assert listed_version(SHARED) != listed_version({**SHARED, "updated_at": None})
    with pytest.raises(Unreadable):
        listed_version({**SHARED, "updated_at": None, "created_at": None})


ENDPOINTS = {
    r"/(merge_requests)": ["merge_request", "opener"], r"/(issues)": ["issue", "opener"],
    r".*/discussions": ["discussion"], r".*/closes_issues": ["closed_issue"], r".*/diffs": ["diff"],
    **{rf".*/resource_{name}_events": [name] for name in ("state", "label", "milestone")},
}  # fmt: skip


def bare(record: Json, kinds: list[str], *, null: bool) -> Json:
    """All that may be null or absent is, at once; of its two times it keeps one."""
    kept = {path for kind in kinds for path, expected in FIELDS[kind].items() if expected == NEEDED} | {"updated_at"}
    top = {path for kind in kinds for path in FIELDS[kind] if "." not in path} - kept
    for name in top & record.keys():
        record = without(record, name, null=null)
    if "notes" in record:
        record["notes"] = [bare(note, ["note", "note_version"], null=null) for note in record["notes"]]
    if "new_path" in record or "old_path" in record or kinds == ["diff"]:
        record["new_path"] = "a"
    return record


@pytest.mark.parametrize("null", [True, False], ids=["null", "absent"])
def test_a_project_that_tells_next_to_nothing_is_read_whole(tmp_path: Path, null: bool) -> None:
    """Merge requests, issues, their notes and events, each with all at once that it need not tell: none is in quarantine."""
    world = GitLabWorld(NOW)
    project = world.add_project("lantern/console")
    world.fill(project, merge_requests=3, discussions=2, notes=2, issues=2, days=5)
    for parent in (project.merge_requests[1], project.issues[1]):
        project.set_milestone(parent, "maya", "1.0")
        project.close(parent, "maya")
    world.advance(seconds=300)
    desk = in_memory(gitlab_desk(tmp_path, world, "lantern/console"))

    def rewrite(request: Request, data: Any) -> Any:
        path = request.path.removeprefix(f"/api/v4/projects/{project.id}")
        kinds = next((kinds for pattern, kinds in ENDPOINTS.items() if re.fullmatch(pattern, path)), None)
        return [bare(record, kinds, null=null) for record in data] if kinds else data

    desk.app.rewrite = rewrite
    report = desk.run()
    assert report.exit_code == 0 and report.sources[0].quarantined == 0, report
    truth = world.truth()
    for table, held in {"merge_requests": truth.merge_requests, "issues": truth.issues}.items():
        assert {row["id"] for row in desk.rows(f"gitlab.{table}")} == held.keys()
    assert {row["id"] for row in desk.rows("gitlab.threads__discussions__notes")} == truth.notes.keys()
    assert {row["id"] for row in desk.rows("gitlab.resource_events__labels")} == truth.label_events.keys()
    assert desk.one("SELECT count(*) FROM feedback.events WHERE author <> 'ghost'") == 0
    assert desk.run().published_bytes is None
