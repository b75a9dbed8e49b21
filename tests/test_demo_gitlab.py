"""The demo GitLab keeps the facts that Earshot must survive: what it says, what moves, what stays.

How it says it, pages, limits and refusals, is in test_demo_gitlab_http.py.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import ExternalIssue, FileDiff, MergeRequest, Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request
from tests.demo_client import TOKEN, get, ids, next_link, walk
from tests.demo_gitlab_client import MRS, NOW, PROJECT, discussions, one


@pytest.fixture
def world() -> GitLabWorld:
    return GitLabWorld(NOW)


@pytest.fixture
def project(world: GitLabWorld) -> Project:
    return world.add_project("lantern/console")


@pytest.fixture
def app(world: GitLabWorld) -> GitLabApp:
    return GitLabApp(world)


@pytest.fixture
def mr(world: GitLabWorld, project: Project) -> MergeRequest:
    """Opened long enough ago to be touched."""
    mr = project.open_merge_request("tomasz-w", "Stream the log", "Closes #1", source="log", reviewers=["maya"])
    world.advance(seconds=600)
    return mr


# Time


def test_times_have_milliseconds_cut_off(app: GitLabApp, mr: MergeRequest) -> None:
    """Instants end in `.678Z`, cut and not rounded, though the server sorts and compares microseconds."""
    assert one(app, mr)["created_at"] == "2026-01-02T03:04:05.678Z" and NOW.microsecond == 678_900
    told = get(app, MRS, updated_after="2026-01-02T03:04:05.678Z").json()
    assert len(told) == 1
    assert get(app, MRS, updated_before="2026-01-02T03:04:05.678Z").json() == []


def test_updated_after_and_before_are_inclusive(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """Both ends of the period belong to it, whatever zone they are written in."""
    made = []
    for second in range(3):
        world.now = NOW.replace(microsecond=0).add(seconds=second)
        made.append(project.open_issue("maya", str(second)).id)
    issues = f"{PROJECT}/issues"
    query = {"order_by": "updated_at", "sort": "asc"}
    assert ids(get(app, issues, updated_after="2026-01-02T03:04:06Z", **query)) == made[1:]
    assert ids(get(app, issues, updated_after="2026-01-02T05:04:06+02:00", **query)) == made[1:]
    assert ids(get(app, issues, updated_before="2026-01-02T03:04:06Z", **query)) == made[:2]


def test_offset_pages_over_a_moving_order_lose_a_row(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """A row edited while page 1 is read moves to the end: page 2 begins one row too late."""
    made = []
    for n in range(25):
        world.advance(seconds=1)
        made.append(project.open_issue("maya", str(n)))
    calls = iter(range(99))

    def edit_before_page_two(_: Request) -> None:
        if next(calls) == 1:
            world.advance(seconds=1)
            project.label(made[3], "maya", add=["bug"])

    app.switches.before = edit_before_page_two
    found = walk(app, f"{PROJECT}/issues", next_link, order_by="updated_at", sort="asc", per_page=10)
    assert {issue.id for issue in made} - set(found) == {made[10].id}
    assert found.count(made[3].id) == 2


# What moves `updated_at` of a merge request


def test_a_note_touches_its_parent_once_a_minute(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """A second note within 60 s of the last touch does not move it; one after more than 60 s does."""
    project.comment(mr, "maya", "first")
    touched = one(app, mr)["updated_at"]
    assert touched == "2026-01-02T03:14:05.678Z"
    for seconds, moves in ((30, False), (30, False), (0.001, True)):
        world.advance(seconds=seconds)
        project.comment(mr, "maya", "again")
        assert (one(app, mr)["updated_at"] != touched) is moves
    assert one(app, mr)["user_notes_count"] == 4


def test_an_edited_note_touches_by_the_same_rule(world: GitLabWorld, project: Project, mr: MergeRequest) -> None:
    """The note's own `updated_at` always moves, its parent's only when a minute has passed."""
    note = project.comment(mr, "maya", "frist")
    touched = mr.updated_at
    world.advance(seconds=20)
    project.edit_note(note, "first")
    assert note.updated_at == world.now and mr.updated_at == touched
    world.advance(seconds=61)
    project.edit_note(note, "first!")
    assert mr.updated_at == note.updated_at == world.now


def test_deleting_a_note_moves_nothing_but_the_count(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """With the last note its discussion goes too, and the list shows it only by `user_notes_count`."""
    note = project.start_thread(mr, "maya", "oops")
    before = one(app, mr)
    world.advance(seconds=600)
    project.delete_note(note)
    assert one(app, mr) == before | {"user_notes_count": 0}
    assert discussions(app, mr) == [] == get(app, f"{MRS}/1/notes").json()
    assert world.history[-1].is_deleted and world.history[-1].id == note.id


def test_resolving_moves_nothing_on_older_servers(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """Neither the merge request nor the note; newer ones move the note, and announce the last one."""
    first = project.start_thread(mr, "maya", "why?")
    project.reply(first, "tomasz-w", "because")
    before, said = one(app, mr)["updated_at"], discussions(app, mr)[0]["notes"]
    world.advance(seconds=600)
    project.resolve(first, "tomasz-w")
    after = discussions(app, mr)[0]["notes"]
    assert one(app, mr)["updated_at"] == before
    assert [note["updated_at"] for note in after] == [note["updated_at"] for note in said]
    assert all(note["resolved"] and note["resolved_at"] == "2026-01-02T03:24:05.678Z" for note in after)
    assert after[0]["resolved_by"]["username"] == "tomasz-w"

    project.unresolve(first)
    world.resolving = "newer"
    project.resolve(first, "maya")
    assert discussions(app, mr)[0]["notes"][0]["updated_at"] == "2026-01-02T03:24:05.678Z"
    assert discussions(app, mr)[-1]["notes"][0]["body"] == "resolved all threads"
    assert one(app, mr)["updated_at"] == "2026-01-02T03:24:05.678Z"


def test_a_push_changes_the_sha_only(world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """A force push moves no `updated_at`, though `sha` differs; that it does can be had too."""
    before = one(app, mr)
    project.push(mr, "tomasz-w", "added 1 commit")
    after = one(app, mr)
    assert after["sha"] != before["sha"] and after["sha"] == after["diff_refs"]["head_sha"]
    assert after["updated_at"] == before["updated_at"] and after["user_notes_count"] == 0
    world.pushing_moves_parent = True
    project.push(mr, "tomasz-w")
    assert one(app, mr)["updated_at"] != before["updated_at"]


def test_edits_of_the_opener_always_move_it(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """Labels, title, description, milestone, draft, people and states, also seconds after another touch."""
    steps: list[Callable[[], Any]] = [
        lambda: project.label(mr, "maya", add=["bug"]),
        lambda: project.edit(mr, "maya", title="Stream the whole log"),
        lambda: project.edit(mr, "maya", description="Closes #2"),
        lambda: project.set_milestone(mr, "maya", "1.1"),
        lambda: project.set_draft(mr, "tomasz-w", True),
        lambda: project.assign(mr, "maya", "tomasz-w"),
        lambda: project.request_review(mr, "maya", "haruki"),
        lambda: project.close(mr, "maya"),
        lambda: project.reopen(mr, "maya"),
    ]
    for step in steps:
        world.advance(seconds=1)
        step()
        assert mr.updated_at == world.now
    world.assigning_moves_parent = False
    world.advance(seconds=1)
    project.assign(mr, "maya", "ines-r")
    assert mr.updated_at != world.now and one(app, mr)["assignee"]["username"] == "ines-r"


def test_labels_change_behind_everybodys_back(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """A label renamed or deleted for the project changes its wearers without moving them; events then lose it."""
    project.label(mr, "maya", add=["bug", "ui"])
    before = one(app, mr)
    world.advance(seconds=90)
    project.rename_label("ui", "area::ui")
    with pytest.raises(ValueError, match="already been taken"):
        project.rename_label("bug", "area::ui")
    project.delete_label("bug")
    assert one(app, mr) == before | {"labels": ["area::ui"]}
    rows = get(app, f"{MRS}/1/resource_label_events").json()
    assert [row["label"] and row["label"]["name"] for row in rows] == [None, "area::ui"]


# Discussions and notes


def test_individual_notes_become_threads_when_answered(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """`individual_note` and the note's type change with the first reply; only threads can be resolved."""
    note = project.comment(mr, "maya", "nice")
    (alone,) = discussions(app, mr)
    assert alone["individual_note"] is True and alone["notes"][0]["type"] is None
    assert alone["notes"][0]["resolvable"] is False and "resolved" not in alone["notes"][0]
    project.reply(note, "tomasz-w", "thank you")
    (thread,) = discussions(app, mr)
    assert thread["id"] == alone["id"] and thread["individual_note"] is False
    assert [row["type"] for row in thread["notes"]] == ["DiscussionNote"] * 2
    assert [row["resolved"] for row in thread["notes"]] == [False] * 2


def test_threads_on_issues_cannot_be_resolved(app: GitLabApp, project: Project) -> None:
    """They have no `resolved` at all."""
    issue = project.open_issue("odile", "It flickers")
    first = project.start_thread(issue, "odile", "Always.")
    (thread,) = discussions(app, issue)
    assert thread["notes"][0]["resolvable"] is False and "resolved_at" not in thread["notes"][0]
    assert thread["notes"][0]["noteable_type"] == "Issue" and thread["notes"][0]["noteable_iid"] == 1
    with pytest.raises(ValueError, match="cannot be resolved"):
        project.resolve(first, "maya")


def test_a_reply_to_a_resolved_thread_is_resolved(project: Project, mr: MergeRequest) -> None:
    """By who wrote it, so that the thread stays resolved."""
    first = project.start_thread(mr, "maya", "why?")
    project.resolve(first, "tomasz-w")
    late = project.reply(first, "maya", "I see")
    assert late.discussion.is_resolved and late.resolved_by is late.author


def test_ranges_came_in_another_way_first(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """GitLab 13.0 told the code and type of either end beside each other, and no lines."""
    place = Position("a.ts", "b.ts", mr.refs, Spot(9, 12), Spot(8, 11, "new"), "codes")
    project.start_thread(mr, "maya", "rename both?", place)
    told = discussions(app, mr)[0]["notes"][0]["position"]["line_range"]
    codes = {name: told.pop(f"{name}_line_code").split("_")[1:] for name in ("start", "end")}
    assert codes == {"start": ["8", "11"], "end": ["9", "12"]}
    assert told == {"start_line_type": "new", "end_line_type": None}


@pytest.mark.parametrize(
    ("range_as", "start", "end"),
    [
        ("numbers", {"old_line": None, "new_line": 11}, {"old_line": 9, "new_line": 12}),
        ("strings", {"old_line": None, "new_line": "11"}, {"old_line": "9", "new_line": "12"}),
        ("missing", {}, {}),
    ],
)
def test_ranges_come_in_three_ways(
    app: GitLabApp, project: Project, mr: MergeRequest, range_as: str, start: dict[str, Any], end: dict[str, Any]
) -> None:
    """Lines as numbers, as strings, or not at all: then only the line code `<sha1>_<old>_<new>` says them."""
    place = Position("a.ts", "b.ts", mr.refs, Spot(9, 12), Spot(8, 11, "new"), range_as)
    project.start_thread(mr, "maya", "rename both?", place)
    position = discussions(app, mr)[0]["notes"][0]["position"]
    code = position["line_range"]["start"].pop("line_code")
    assert code.split("_")[1:] == ["8", "11"] and len(code.split("_")[0]) == 40
    assert position["line_range"]["end"].pop("line_code").endswith("_9_12")
    assert position["line_range"] == {"start": {"type": "new"} | start, "end": {"type": None} | end}
    assert (position["old_line"], position["new_line"]) == (9, 12)
    assert (position["old_path"], position["new_path"], position["position_type"]) == ("a.ts", "b.ts", "text")
    assert position["head_sha"] == mr.refs.head_sha


def test_places_without_lines(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """A removed line has no new number; a point on an image and a whole file have no line fields at all."""
    project.start_thread(mr, "maya", "why gone?", Position("a.ts", "a.ts", mr.refs, Spot(7, 6, "old")))
    project.start_thread(mr, "maya", "too dark", Position("a.png", "a.png", mr.refs, image=(640, 480, 12, 30)))
    project.start_thread(mr, "maya", "licence?", Position("b.ts", "b.ts", mr.refs))
    line, image, file = (thread["notes"][0]["position"] for thread in discussions(app, mr))
    assert (line["old_line"], line["new_line"], line["line_range"]) == (7, None, None)
    assert (image["position_type"], image["width"], image["x"]) == ("image", 640, 12)
    assert file["position_type"] == "file" and "line_range" not in file and "new_line" not in image


def test_a_push_leaves_notes_on_the_commit_they_were_made_on(
    app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """Positions keep the shas that the reviewer was reading, and replies stand where their thread stands."""
    old = mr.refs.head_sha
    first = project.start_thread(mr, "maya", "why?", Position("a.ts", "a.ts", mr.refs, Spot(7, 7, "new")))
    project.push(mr, "tomasz-w")
    project.reply(first, "tomasz-w", "see the new commit")
    shas = {note["position"]["head_sha"] for note in discussions(app, mr)[0]["notes"]}
    assert shas == {old} and one(app, mr)["sha"] != old


def test_the_count_of_notes_counts_people_only(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """System notes are in the lists, not in `user_notes_count`; internal ones are in it, even for strangers to them."""
    project.edit(mr, "maya", title="Stream it")
    project.comment(mr, "maya", "between us", internal=True)
    project.comment(mr, "maya", "for all")
    assert get(app, MRS).json()[0]["user_notes_count"] == 2
    told = get(app, f"{MRS}/1/notes", sort="asc").json()
    assert [(note["system"], note["body"]) for note in told] == [
        (True, "changed title from **{-Stream the log-}** to **{+Stream it+}**"),
        (False, "for all"),
    ]


def test_internal_notes_and_confidential_issues_are_for_the_team(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """The truth can be told as one person may see it."""
    first = project.start_thread(mr, "maya", "between us", internal=True)
    project.reply(first, "ines-r", "agreed")
    secret = project.open_issue("sanvi", "A hole", confidential=True)
    assert discussions(app, mr) == [] and get(app, f"{PROJECT}/issues/{secret.iid}").status_code == 404
    assert not world.truth("earshot").notes and not world.truth("earshot").issues
    assert len(world.truth().notes) == 2 and len(world.truth("sanvi").issues) == 1
    project.team.add("earshot")
    assert [note["internal"] for note in discussions(app, mr)[0]["notes"]] == [True, True]
    assert get(app, f"{PROJECT}/issues").json()[0]["confidential"] is True


# What hangs on them


def test_events_tell_labels_states_and_milestones(
    world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest
) -> None:
    """Each kind has its list and its ids; these changes leave no system notes; a merge closes its issues by name."""
    issue = project.open_issue("odile", "It flickers", labels=["bug"])
    project.label(mr, "maya", add=["bug"], remove=["ui"])
    project.label(mr, "ines-r", remove=["bug"])
    project.set_milestone(mr, "maya", "1.0")
    project.set_milestone(mr, "maya", "1.1")
    assert [row["iid"] for row in get(app, f"{MRS}/1/closes_issues").json()] == [issue.iid]
    project.merge(mr, "ines-r")

    def told(path: str, *names: str) -> list[tuple[Any, ...]]:
        rows = get(app, f"{PROJECT}/{path}_events").json()
        return [tuple(row[name] for name in names) for row in rows]

    labels = get(app, f"{MRS}/1/resource_label_events").json()
    assert [(row["action"], row["label"]["name"], row["user"]["username"]) for row in labels] == [
        ("add", "bug", "maya"),
        ("remove", "bug", "ines-r"),
    ]
    milestones = get(app, f"{MRS}/1/resource_milestone_events").json()
    assert [(row["action"], row["milestone"]["title"]) for row in milestones] == [
        ("add", "1.0"), ("remove", "1.0"), ("add", "1.1"),
    ]  # fmt: skip
    assert told("merge_requests/1/resource_state", "state", "source_merge_request_id") == [("merged", None)]
    assert told("issues/1/resource_state", "state", "source_merge_request_id") == [("closed", mr.id)]
    assert discussions(app, mr) == discussions(app, issue) == []
    assert len(world.truth().label_events) == 3 and world.truth().closes[mr.id] == [issue.iid]


def test_an_empty_diff_is_not_an_empty_change(app: GitLabApp, project: Project) -> None:
    """Collapsed and too large diffs come empty and say so; renames, new, deleted and binary files have their flags."""
    binary = "Binary files /dev/null and b/a.png differ\n"
    files = [
        FileDiff("a.ts", "b.ts", "@@ -1 +1 @@\n-a\n+b\n"),
        FileDiff("a.png", "a.png", binary, is_new=True),
        FileDiff("old.ts", "old.ts", "@@ -1 +0,0 @@\n-x\n", is_deleted=True),
        FileDiff("lock.json", "lock.json", "@@ …", is_collapsed=True, is_generated=True),
        FileDiff("data.json", "data.json", "@@ …", is_too_large=True),
    ]
    project.open_merge_request("maya", "Many files", diffs=files)
    rows = get(app, f"{MRS}/1/diffs").json()
    flags = ("renamed_file", "new_file", "deleted_file", "collapsed", "too_large")
    assert [[name for name in flags if row[name]] for row in rows] == [[name] for name in flags]
    assert [row["diff"] for row in rows[1:]] == [binary, "@@ -1 +0,0 @@\n-x\n", "", ""]
    assert rows[3]["generated_file"] is True
    changes = get(app, f"{MRS}/1/changes").json()
    assert changes["changes"] == rows and changes["overflow"] is True and changes["changes_count"] == "5"


def test_reviewers_have_states_of_their_own(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """The list names them; only `/reviewers` says what became of the review."""
    project.review(mr, "maya", "approved")
    (row,) = get(app, f"{MRS}/1/reviewers").json()
    assert (row["user"]["username"], row["state"]) == ("maya", "approved")
    assert get(app, MRS).json()[0]["reviewers"] == [row["user"]]
    assert discussions(app, mr)[0]["notes"][0]["body"] == "approved this merge request"


# Shapes and their history


def test_merge_requests_have_every_state(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """`locked` is a state between opened and merged, and leaves no event."""
    project.lock(mr)
    assert one(app, mr)["state"] == "locked" and get(app, f"{MRS}/1/resource_state_events").json() == []
    project.merge(mr, "maya")
    merged = one(app, mr)
    assert (merged["state"], merged["merge_user"]["username"], merged["merged_at"]) == (
        "merged", "maya", "2026-01-02T03:14:05.678Z",
    )  # fmt: skip
    assert merged["detailed_merge_status"] == "not_open" and merged["closed_at"] is None


def test_single_merge_requests_say_more_than_the_list(app: GitLabApp, mr: MergeRequest) -> None:
    """`diff_refs` are in the single one only, `sha` and `references` in both."""
    alone, listed = one(app, mr), get(app, MRS).json()[0]
    assert set(listed) < set(alone) and "diff_refs" not in listed
    assert listed["references"] == {"short": "!1", "relative": "!1", "full": "lantern/console!1"}
    assert {name: alone[name] for name in listed} == listed


def test_old_instances_have_only_old_names(project: Project, mr: MergeRequest) -> None:
    """`work_in_progress`, `merge_status`, `merged_by`, and nothing of the new ones."""
    project.world.field_names = "old"
    project.set_draft(mr, "tomasz-w", True)
    project.merge(mr, "maya")
    row = one(GitLabApp(project.world), mr)
    assert row["work_in_progress"] is True and row["merged_by"]["username"] == "maya" and "merge_status" in row
    assert not {"draft", "detailed_merge_status", "merge_user"} & set(row)
    assert GitLabWorld(NOW, old_instance=True).field_names == "old"


def test_both_names_may_disagree(app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """A draft is one if either says so; of the others the new name is right."""
    other = project.open_merge_request("tomasz-w", "Another", draft=True)
    project.set_draft(mr, "tomasz-w", True)
    project.merge(mr, "maya")
    project.world.field_names = "disagreeing"
    rows = [one(app, mr), one(app, other)]
    assert [(row["draft"], row["work_in_progress"]) for row in rows] == [(False, True), (True, False)]
    assert rows[0]["merge_user"]["username"] == "maya" != rows[0]["merged_by"]["username"]
    assert rows[0]["merge_status"] == "checking"


def test_gone_people_become_the_ghost(world: GitLabWorld, app: GitLabApp, project: Project, mr: MergeRequest) -> None:
    """Their words stay, by `ghost`, and nothing moves; what they did was done by nobody, and nobody is assigned."""
    project.comment(mr, "old-otter", "bye")
    project.assign(mr, "maya", "maya", "old-otter")
    project.label(mr, "old-otter", add=["bug"])
    issue = project.open_issue("old-otter", "Last words")
    before = one(app, mr)["updated_at"]
    world.advance(seconds=90)
    world.delete_user("old-otter")
    assert one(app, issue)["author"]["username"] == "ghost"
    assert discussions(app, mr)[0]["notes"][0]["author"]["username"] == "ghost"
    assert one(app, mr)["updated_at"] == before
    assert [user["username"] for user in one(app, mr)["assignees"]] == ["maya"]
    assert [event["user"] for event in get(app, f"{MRS}/1/resource_label_events").json()] == [None]


def test_issues_of_another_tracker_are_told_by_title_alone(
    world: GitLabWorld, app: GitLabApp, project: Project
) -> None:
    """A connected Jira's, beside the project's own; a key that it does not know is a word."""
    issue = project.open_issue("maya", "Dark")
    project.tracker["LAMP-12"] = ExternalIssue("LAMP-12", "Too bright")
    mr = project.open_merge_request("benji", "Dark mode", "Closes LAMP-12, #1 and LAMP-99; see also LAMP-7")
    told = get(app, f"{MRS}/{mr.iid}/closes_issues").json()
    assert told[0] == {"title": "Too bright", "id": "LAMP-12"} and [row.get("iid") for row in told] == [None, issue.iid]
    assert world.truth().closes_elsewhere[mr.id] == ["LAMP-12"]


def test_tasks_and_incidents_are_issues(app: GitLabApp, project: Project) -> None:
    """In the same list and sequence; a task has an address of its own kind."""
    made = [project.open_issue("maya", kind, type=kind) for kind in ("issue", "incident", "task")]
    rows = [one(app, issue) for issue in made]
    assert [(row["type"], row["issue_type"]) for row in rows] == [(i.type.upper(), i.type) for i in made]
    assert [row["web_url"].split("/-/")[1] for row in rows] == ["issues/1", "issues/2", "work_items/3"]


def test_iids_count_per_kind_and_ids_for_all(world: GitLabWorld, app: GitLabApp, project: Project) -> None:
    """!1 and #1 are different things, and every project has its own."""
    other = world.add_project("lantern/docs")
    made = [project.open_issue("a", "x"), project.open_merge_request("a", "x"), other.open_issue("a", "x")]
    assert [row.iid for row in made] == [1, 1, 1] and made[0].id != made[2].id
    assert get(app, "/api/v4/projects/lantern%2Fdocs/issues/1").json()["id"] == made[2].id


def test_truth_and_history(world: GitLabWorld, project: Project, mr: MergeRequest) -> None:
    """The truth is what is now, to the millisecond; the history keeps every version and every deletion."""
    note = project.start_thread(mr, "maya", "frist")
    project.edit_note(note, "first")
    truth = world.truth()
    assert truth.notes[note.id]["body"] == "first"
    assert truth.notes[note.id]["created_at"].microsecond == 678_000
    assert truth.merge_requests[mr.id]["reviewers"] == ["maya"]
    project.delete(mr)
    assert not world.truth().notes and not world.truth().merge_requests
    said = [(version.body, version.is_deleted) for version in world.history if version.kind == "note"]
    assert said == [("frist", False), ("first", False), ("first", True)]


def test_filled_worlds_are_the_same_each_time_and_say_what_was_asked() -> None:
    """Amounts are exact, spread over the days, and end before now."""
    worlds = []
    for _ in range(2):
        world = GitLabWorld(NOW)
        world.fill(world.add_project("a/b"), merge_requests=8, discussions=4, notes=3, issues=2, days=20)
        worlds.append(world)
    truth = worlds[0].truth()
    assert truth == worlds[1].truth() and worlds[0].now == NOW
    assert (len(truth.merge_requests), len(truth.issues)) == (8, 2)
    assert (len(truth.discussions), len(truth.notes)) == (40, 120)
    assert any(note["is_resolved"] for note in truth.notes.values())
    assert all(NOW - timedelta(days=20) <= note["created_at"] <= NOW for note in truth.notes.values())
    assert get(GitLabApp(worlds[0]), "/api/v4/projects/a%2Fb", TOKEN).json()["open_issues_count"] == 2
