"""GitLab's records as rows: which field wins where old and new ones disagree, and what may be missing. No HTTP, no database."""

from typing import Any

import pendulum
import pytest

from sources.core.values import Unreadable
from sources.gitlab.notes import Parent, read_discussions, with_last_read
from sources.gitlab.rows import issue_row, merge_request_row, opener_row, parent_key

NOW = pendulum.datetime(2026, 3, 1, 12)
AT = "2026-03-01T11:00:00.000Z"
MR = {"id": 5, "iid": 3, "project_id": 7, "title": "Dark mode", "state": "opened", "created_at": AT, "updated_at": AT}
NOTE = {"id": 11, "body": "Why?", "created_at": AT, "updated_at": AT}
PARENT = Parent("7", "lantern/console", "merge_request", 3)


def merge_request(**more: Any) -> dict[str, Any]:
    return merge_request_row({**MR, **more}, "7", "lantern/console", NOW)


def discussion(*notes: dict[str, Any], **more: Any) -> dict[str, Any]:
    read = read_discussions([{"id": "d1", "notes": [{**NOTE, **note} for note in notes], **more}], PARENT, NOW)
    for bad in read.bad:
        raise Unreadable(bad.reason)
    return read.rows[0]


def note(**more: Any) -> dict[str, Any]:
    [row] = discussion(more)["notes"]
    return row  # type: ignore[no-any-return]


def test_prefers_detailed_merge_status_when_both_fields_present() -> None:
    """The deprecated one is a fallback only."""
    told = merge_request(detailed_merge_status="discussions_not_resolved", merge_status="can_be_merged")
    assert told["detailed_merge_status"] == "discussions_not_resolved"
    assert merge_request(merge_status="can_be_merged")["detailed_merge_status"] == "can_be_merged"
    assert merge_request(detailed_merge_status=None)["detailed_merge_status"] is None


def test_prefers_merge_user_when_both_fields_present() -> None:
    told = merge_request(merge_user={"username": "alice"}, merged_by={"username": "bob"})
    assert told["merge_user"] == "alice"
    assert merge_request(merge_user=None, merged_by={"username": "bob"})["merge_user"] == "bob"


@pytest.mark.parametrize(("draft", "work_in_progress", "is_draft"), [
    (False, True, True), (True, False, True), (None, True, True), (True, None, True), (False, False, False),
    (None, None, False),
])  # fmt: skip
def test_prefers_draft_when_both_draft_and_work_in_progress_present(
    draft: bool | None, work_in_progress: bool | None, is_draft: bool
) -> None:
    """A draft if either says so; the old name alone is enough."""
    fields = {"draft": draft, "work_in_progress": work_in_progress}
    assert merge_request(**{k: v for k, v in fields.items() if v is not None})["is_draft"] is is_draft


def test_a_merge_request_with_next_to_nothing_is_a_row() -> None:
    """No labels, nobody assigned, nobody asked to review, no description, no author, an instance without references."""
    row = merge_request()
    assert [row[name] for name in ("labels", "assignees", "reviewers")] == [[], [], []]
    assert row["author"] == "ghost" and row["is_draft"] is False
    optional = ("head_sha", "merge_user", "merged_at", "closed_at", "milestone", "references_full", "user_notes_count")
    assert {row[name] for name in optional} == {None}
    assert opener_row("merge_request", MR, "7", "lantern/console", NOW)["body"] == ""


def test_times_references_and_shas_are_taken_as_they_are() -> None:
    row = merge_request(
        merged_at="2026-03-01T10:00:00+02:00", closed_at=AT, sha="abc", references={"short": "!3", "full": "g/p!3"}
    )
    assert row["merged_at"] == pendulum.datetime(2026, 3, 1, 8) and row["closed_at"] == NOW.subtract(hours=1)
    assert (row["head_sha"], row["references_short"], row["references_full"]) == ("abc", "!3", "g/p!3")


@pytest.mark.parametrize("state", ["opened", "closed", "merged", "locked"])
def test_every_state_is_kept(state: str) -> None:
    """`locked` cannot be asked for: it is kept when it is seen."""
    assert merge_request(state=state)["state"] == state


def test_labels_come_as_names_or_as_objects_and_each_once() -> None:
    row = merge_request(labels=["ui", {"name": "area::charts"}, "ui"])
    assert [label["name"] for label in row["labels"]] == ["ui", "area::charts"]


@pytest.mark.parametrize("field", ["reviewers", "assignees"])
def test_people_come_once_and_never_without_a_username(field: str) -> None:
    """One without is a broken record, not nobody: the merge request is quarantined rather than stripped of a reviewer."""
    maya = {"id": 1, "username": "maya"}
    assert [person["username"] for person in merge_request(**{field: [maya, maya]})[field]] == ["maya"]
    for broken in ({"id": 2}, {"id": 2, "username": None}, {"id": 2, "username": 5}, "maya"):
        with pytest.raises(Unreadable):
            merge_request(**{field: [maya, broken]})


@pytest.mark.parametrize("shape", [merge_request_row, issue_row])
@pytest.mark.parametrize("project_id", [8, None, "7"])
def test_a_record_of_another_project_is_no_row_of_this_one(shape: Any, project_id: object) -> None:
    with pytest.raises(Unreadable):
        shape({**MR, "project_id": project_id}, "7", "lantern/console", NOW)


def test_a_merge_request_and_an_issue_with_one_number_have_two_keys() -> None:
    """Each kind has its own sequence."""
    assert parent_key("7", "merge_request", 12) != parent_key("7", "issue", 12)


def test_a_discussion_links_to_its_parent_and_knows_its_times() -> None:
    """First and last are those of its notes, whatever their order."""
    row = discussion({"created_at": "2026-03-01T11:30:00Z"}, {"id": 12}, individual_note=False)
    assert (row["parent_key"], row["noteable_type"], row["is_individual"]) == ("gitlab:7:!3", "MergeRequest", False)
    assert (row["first_note_at"], row["last_note_at"]) == (NOW.subtract(hours=1), NOW.subtract(minutes=30))
    assert [n["index_in_discussion"] for n in row["notes"]] == [0, 1]
    assert discussion({}, individual_note=True)["is_individual"] is True


@pytest.mark.parametrize(("notes", "resolvable", "resolved"), [
    ([{"resolvable": True, "resolved": True}, {"resolvable": True, "resolved": True}], True, True),
    ([{"resolvable": True, "resolved": True}, {"resolvable": True, "resolved": False}], True, False),
    ([{"resolvable": True, "resolved": True}, {"resolvable": False}], True, True),
    ([{"resolvable": False}, {}], False, False),
])  # fmt: skip
def test_a_discussion_is_resolved_if_all_of_it_that_can_be_is(
    notes: list[dict[str, Any]], resolvable: bool, resolved: bool
) -> None:
    row = discussion(*notes)
    assert (row["is_resolvable"], row["is_resolved"]) == (resolvable, resolved)


POSITION = {
    "base_sha": "b", "start_sha": "s", "head_sha": "h", "old_path": "old.ts", "new_path": "new.ts", "position_type": "text",
    "old_line": None, "new_line": 45,
    "line_range": {"start": {"type": "new", "new_line": 45}, "end": {"type": "new", "new_line": 48}},
}  # fmt: skip


def test_a_diff_note_keeps_its_place() -> None:
    """Both paths of a rename, lines, range, kind and the three shas."""
    row = note(position=POSITION, type="DiffNote")
    names = ("old_path", "new_path", "old_line", "new_line", "type", "line_range_start", "line_range_end", "base_sha",
             "start_sha", "head_sha")  # fmt: skip
    expected = ["old.ts", "new.ts", None, 45, "text", 45, 48, "b", "s", "h"]
    assert [row[f"position_{name}"] for name in names] == expected


def test_a_note_without_a_place_has_none() -> None:
    row = note(position=None)
    assert {value for name, value in row.items() if name.startswith("position_")} == {None}


@pytest.mark.parametrize(("end", "line"), [
    ({"type": "new", "old_line": None, "new_line": 48}, 48),
    ({"type": "old", "old_line": 7, "new_line": None}, 7),
    ({"type": "new", "new_line": "48"}, 48),
    ({"line_code": "0a1b_7_48", "type": "new"}, 48),
    ({"line_code": "0a1b_7_48", "type": "old"}, 7),
    ({"line_code": "0a1b__48"}, 48),
    ({"line_code": "rubbish"}, None),
    ({}, None),
])  # fmt: skip
def test_the_end_of_a_range_is_found_however_it_is_sent(end: dict[str, Any], line: int | None) -> None:
    """Numbers, text, or the line code alone."""
    row = note(position={**POSITION, "line_range": {"start": {"new_line": 1}, "end": end}})
    assert row["position_line_range_end"] == line


def test_two_edits_within_one_second_are_two_versions() -> None:
    """A version is the time and a hash of the text."""
    versions = {note(body=body)["version"] for body in ("one", "two")}
    assert len(versions) == 2
    assert note(body="one")["version"] == note(body="one", resolved=True, resolvable=True)["version"]


@pytest.mark.parametrize("more", [{"project_id": 8}, {"noteable_iid": 4}])
def test_a_note_of_another_place_is_no_note_of_this_one(more: dict[str, Any]) -> None:
    """Where it says so; older instances do not."""
    with pytest.raises(Unreadable):
        note(**more)
    assert note(project_id=7, noteable_iid=3)["id"] == 11


def test_version_rows_know_what_they_answer() -> None:
    """Replies point to the opener of their discussion, diff notes are a kind of their own."""
    notes = [{**NOTE, "position": POSITION}, {**NOTE, "id": 12}]
    rows = read_discussions([{"id": "d1", "notes": notes}], PARENT, NOW).versions
    assert [row["in_reply_to"] for row in rows] == [None, 11]
    assert [str(row["event_key"]).split(":")[1] for row in rows] == ["diff_note", "note"]


def held(*notes: dict[str, Any]) -> list[dict[str, Any]]:
    """As an earlier run read them."""
    read = read_discussions([{"id": "d1", "notes": [{**NOTE, **note} for note in notes]}], PARENT, NOW)
    return [{**note, "is_individual": False} for row in read.rows for note in row["notes"]]  # type: ignore[attr-defined]


def kept_of(found: list[Any], *known: dict[str, Any]) -> list[tuple[int, str]]:
    rows = with_last_read(read_discussions(found, PARENT, NOW), held(*known), PARENT)
    return [(note["id"], note["body"]) for row in rows for note in row["notes"]]  # type: ignore[attr-defined]


def test_a_bad_note_keeps_its_last_row_and_nobody_elses() -> None:
    """In its place; what is absent from the answer and is not the bad one is gone."""
    found = [{"id": "d1", "notes": [NOTE, {**NOTE, "id": 12, "body": 5}, {**NOTE, "id": 13, "body": "new"}]}]
    assert kept_of(found, {}, {"id": 12, "body": "old"}, {"id": 14, "body": "gone"}) == [
        (11, "Why?"), (12, "old"), (13, "new"),
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [{**NOTE, "id": "12"}, "text", {**NOTE, "id": 2**63}], ids=["text id", "text", "huge"])
def test_one_who_does_not_tell_who_it_is_makes_everybodys_absence_doubtful(bad: Any) -> None:
    """All that is held and absent stays: one of them is it."""
    found = [{"id": "d1", "notes": [NOTE, bad]}]
    assert kept_of(found, {}, {"id": 12, "body": "old"}, {"id": 14, "body": "or this"}) == [
        (11, "Why?"), (12, "old"), (14, "or this"),
    ]  # fmt: skip


def test_a_reply_to_an_unreadable_opener_still_knows_it() -> None:
    """Its id could be read; where it could not, the reply stands for itself."""
    read = read_discussions([{"id": "d1", "notes": [{**NOTE, "body": 5}, {**NOTE, "id": 12}]}], PARENT, NOW)
    assert [row["in_reply_to"] for row in read.versions] == [11]
    read = read_discussions([{"id": "d1", "notes": [{**NOTE, "id": None}, {**NOTE, "id": 12}]}], PARENT, NOW)
    assert [row["in_reply_to"] for row in read.versions] == [None]
