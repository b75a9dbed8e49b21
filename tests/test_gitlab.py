"""GitLab end to end: the demo world → a real warehouse → models, judged by the world's own truth.

GitLab moves `updated_at` at most once a minute, and not at all when a note is deleted or a thread resolved: most tests
here are about what that hides.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import DiffRefs, FileDiff, MergeRequest, Position, Review, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request
from pipelines.state import payloads as payload_files
from pipelines.state.ledger import Ledger
from pipelines.state.payloads import Payloads
from pipelines.sync.source.pipeline import SourcePipeline
from pipelines.warehouse.embedded.destination import EMBEDDED
from sources.core.targets import Target
from sources.gitlab.threads import is_due, is_settled
from tests.in_memory import in_memory
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
LATER = 300  # seconds after which everything has settled


@pytest.fixture
def world() -> GitLabWorld:
    return GitLabWorld(NOW)


@pytest.fixture
def project(world: GitLabWorld) -> Project:
    return world.add_project("lantern/console")


def place(project: Project, new: int | None, old: int | None, **more: object) -> Position:
    refs: DiffRefs = project.merge_requests[1].refs
    return Position("old/app.ts", "app.ts", refs, Spot(old or 0, new or 0, "new" if old is None else "old"), **more)  # type: ignore[arg-type]


def fill(world: GitLabWorld, project: Project) -> None:
    """One merge request with a diff thread and a conversation, one issue; all of it settled."""
    mr = project.open_merge_request(
        "benji", "Dark mode", "At last.", labels=("ui",), reviewers=("maya",), assignees=("benji",)
    )
    issue = project.open_issue("freja", "Contrast", "Too low.", labels=("a11y",), assignees=("ines-r",))
    world.advance(seconds=100)
    thread = project.start_thread(mr, "maya", "Why not a variable?", place(project, 12, None, start=Spot(8, 9, "new")))
    world.advance(seconds=100)
    project.reply(thread, "benji", "Done.")
    world.advance(seconds=100)
    project.comment(mr, "freja", "Lovely.")
    project.comment(issue, "maya", "Agreed.")
    world.advance(seconds=LATER)


@pytest.fixture
def small(tmp_path: Path, world: GitLabWorld, project: Project, placed: Callable[..., GitLabDesk]) -> GitLabDesk:
    """A small project of which nothing was read yet."""
    fill(world, project)
    return placed(gitlab_desk(tmp_path / "data", world))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    """Somebody who has read it."""
    world = GitLabWorld(NOW)
    fill(world, world.add_project("lantern/console"))
    read = in_memory(gitlab_desk(tmp_path_factory.mktemp("base") / "data", world))
    assert read.run().exit_code == 0
    return read


@pytest.fixture
def read(small: GitLabDesk, base: GitLabDesk) -> GitLabDesk:
    """The same after its first run."""
    if small.home.destination is not EMBEDDED:
        return in_memory(small, base)
    assert small.run().exit_code == 0
    return small


def test_merge_requests_issues_and_all_that_is_said_on_them_arrive(small: GitLabDesk) -> None:
    """Both lists, their labels and people, threads with their notes, and one event for each word."""
    report = small.run()
    assert report.exit_code == 0, report
    small.judge()
    assert small.sql("SELECT username FROM gitlab.merge_requests__reviewers") == [("maya",)]
    assert small.sql("SELECT username FROM gitlab.issues__assignees") == [("ines-r",)]


@pytest.mark.on_disk
def test_an_unchanged_run_costs_a_conditional_request_a_list_and_none_a_merge_request(read: GitLabDesk) -> None:
    """And writes nothing at all."""
    before = {p: hashlib.sha256(p.read_bytes()).digest() for p in (read.home.warehouse, read.home.published)}
    report = read.run()
    assert [(call.status, call.conditional) for call in read.app.log] == [(304, True)] * 3
    assert report.sources[0].packages == 0
    assert before == {p: hashlib.sha256(p.read_bytes()).digest() for p in before}


def test_a_changed_merge_request_costs_its_own_dependents_only(
    small: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """Unchanged merge requests skip the reading of their discussions."""
    for n in range(5):
        project.comment(project.open_merge_request("benji", f"Other {n}"), "maya", "ok")
    world.advance(seconds=LATER)
    small.run()
    world.advance(seconds=LATER)
    project.comment(project.merge_requests[1], "maya", "One more.")
    world.advance(seconds=LATER)
    small.run()
    small.judge()
    hanging = [call.path for call in small.app.log if "/merge_requests/" in call.path]
    assert hanging and all("/merge_requests/1/" in path for path in hanging)


def test_a_second_note_within_a_minute_is_not_lost(read: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """It moves nothing: what was read in that minute is not settled, and is read once more later."""
    mr = project.merge_requests[1]
    world.advance(seconds=LATER)
    project.comment(mr, "maya", "First.")
    world.advance(seconds=10)
    read.run()
    moved = mr.updated_at
    project.comment(mr, "maya", "Second, within the minute.")
    assert mr.updated_at == moved, "the world must throttle, or this test proves nothing"
    world.advance(seconds=LATER)
    read.run()
    read.judge()
    read.run()
    assert {call.status for call in read.app.log} == {304}


@pytest.mark.parametrize("is_hidden", [False, True], ids=["all is shown", "internal notes are hidden"])
def test_a_count_of_the_minute_of_a_change_is_no_proof(
    read: GitLabDesk, project: Project, world: GitLabWorld, is_hidden: bool
) -> None:
    """A note is said in that minute, after the list was read and before the threads are; later it is deleted, and the
    list tells the count, and the time, that it told before. What is closed no sweep reads again.
    """
    mr = project.merge_requests[1]
    if is_hidden:
        project.comment(mr, "kofi", "Among us.", internal=True)
    project.close(mr, "maya")
    moved, said = mr.updated_at, []

    def meanwhile(request: Request) -> None:
        if request.path.endswith("/merge_requests/1/discussions") and not said:
            world.advance(seconds=50)
            said.append(project.comment(mr, "maya", "Within the minute."))
            assert mr.updated_at == moved, "the world must throttle, or this test proves nothing"
            world.advance(seconds=LATER)

    read.app.switches.before = meanwhile
    read.run()
    read.app.switches.before = None
    assert read.one("SELECT count(*) FROM feedback.comments WHERE body = 'Within the minute.'") == 1
    project.delete_note(said[0])
    world.advance(seconds=LATER)
    for _ in range(3):
        read.run(sweep=True)
    assert read.sql("SELECT body FROM feedback.events WHERE is_deleted AND is_latest") == [("Within the minute.",)]
    assert not any(call.path.endswith("/merge_requests/1/discussions") for call in read.app.log), (
        "whatever else is hidden"
    )


@pytest.fixture
def told_again(read: GitLabDesk, project: Project, world: GitLabWorld) -> MergeRequest:
    """Listed within the minute of its change, its threads read later: it is asked for by itself."""
    mr, late = project.merge_requests[1], list[Request]()
    project.comment(mr, "maya", "Almost.")
    project.close(mr, "maya")

    def meanwhile(request: Request) -> None:
        if request.path.endswith("/merge_requests/1/discussions") and not late:
            late.append(request)
            world.advance(seconds=LATER)

    read.app.switches.before = meanwhile
    return mr


def test_what_is_told_again_is_not_taken_where_it_is_older(read: GitLabDesk, told_again: MergeRequest) -> None:
    """A replica that lags tells it as it was, and no list would bring it again as it is."""
    asked = list[Request]()

    def lagging(request: Request, data: object) -> object:
        if not request.path.endswith("/merge_requests/1") or asked:
            return data
        asked.append(request)
        assert isinstance(data, dict)
        return {**data, "state": "opened", "updated_at": "2026-01-01T00:00:00.000Z"}

    read.app.rewrite = lagging
    for _ in range(2):
        read.run()
        assert read.sql("SELECT state FROM gitlab.merge_requests WHERE number = 1") == [("closed",)]
    assert asked, "or this proves nothing"
    read.run()
    assert {call.status for call in read.app.log} == {304}, "it was told again, as it is"


def test_what_is_told_again_has_all_its_reviewers(read: GitLabDesk, project: Project, told_again: MergeRequest) -> None:
    """Where lists show some of them, and so does the merge request itself."""
    told_again.reviews.append(Review(project.world.user("odile"), told_again.updated_at))

    def some(request: Request, data: object) -> object:
        for each in data if isinstance(data, list) else [data]:
            if isinstance(each, dict) and "reviewers" in each:
                each["reviewers"] = each["reviewers"][:1]
        return data

    read.app.rewrite = some
    for _ in range(2):
        read.run({"verify_reviewers": True})
        shown = "SELECT username FROM gitlab.merge_requests__reviewers WHERE parent_key LIKE '%!1' ORDER BY 1"
        assert read.sql(shown) == [("maya",), ("odile",)]


def test_what_had_not_settled_is_read_again_also_by_a_new_control_plane(
    read: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """control.sqlite is lost, or the warehouse is another machine's now: nobody has told that nothing is due."""
    note = project.comment(project.merge_requests[1], "maya", "First.")
    world.advance(seconds=10)
    read.run()
    project.edit_note(note, "Edited within the minute: no time and no count moves.")
    for file in read.home.path.glob("control.sqlite*"):
        file.unlink()
    world.advance(seconds=LATER)
    read.run()
    read.judge()


def test_a_deleted_note_is_found_by_the_sweep_and_marked(
    read: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """updated_at stays; the count of notes drops."""
    note = next(n for t in project.merge_requests[1].threads for n in t.notes if n.body == "Lovely.")
    project.delete_note(note)
    world.advance(seconds=LATER)
    read.run(sweep=True)
    read.judge()
    assert read.sql("SELECT is_deleted, is_actionable FROM feedback.events WHERE body = 'Lovely.'") == [(True, False)]


def test_the_last_note_deleted_leaves_none(read: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """Replacing a set also when it became empty."""
    issue = project.issues[1]
    for thread in list(issue.threads):
        for note in list(thread.notes):
            project.delete_note(note)
    world.advance(seconds=LATER)
    read.run(sweep=True)
    read.judge()
    assert read.one("SELECT count(*) FROM gitlab.threads__discussions__notes WHERE parent_key LIKE '%#%'") == 0


def test_the_sweep_minds_the_configured_start(small: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """What is older is not read by the sweep either; what is held from before the start was set is not missed."""
    world.now = NOW.add(days=30)
    project.comment(project.issues[1], "odile", "Much later.")
    world.advance(seconds=LATER)
    config = {"since": NOW.add(days=20).to_date_string()}
    small.run(config)
    before = small.sql("SELECT event_key, is_deleted FROM feedback.events ORDER BY 1")
    small.run(config, sweep=True)
    assert small.sql("SELECT event_key, is_deleted FROM feedback.events ORDER BY 1") == before
    small.run()
    small.run(full=True)
    small.run(config, sweep=True)
    assert not any(call.path.endswith("/merge_requests/1") for call in small.app.log)
    small.judge()


def test_a_resolved_thread_is_found_by_the_sweep(read: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """Older instances move nothing at all when a thread is resolved."""
    thread = next(n for t in project.merge_requests[1].threads for n in t.notes if n.position)
    project.resolve(thread, "maya")
    world.advance(seconds=LATER)
    read.run(sweep=True)
    read.judge()
    assert read.sql("SELECT is_resolved, waiting_on FROM feedback.threads WHERE is_resolvable") == [(True, None)]
    assert read.sql("SELECT DISTINCT is_resolved FROM feedback.diff_notes") == [(True,)]


def test_a_force_push_without_a_move_is_found_by_the_sweep(
    read: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """The sha differs: notes and diffs are read again, and the notes are outdated."""
    mr = project.merge_requests[1]
    before = mr.updated_at
    project.push(mr, "benji")
    assert mr.updated_at == before
    world.advance(seconds=LATER)
    read.run(sweep=True)
    read.judge()
    assert read.one("SELECT head_sha FROM gitlab.merge_requests") == mr.refs.head_sha
    assert read.one("SELECT head_sha FROM gitlab.diffs") == mr.refs.head_sha
    assert read.one("SELECT bool_and(is_outdated) FROM feedback.diff_notes")


def test_the_configured_start_bounds_history_for_the_sweep_too(
    small: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """What is older is neither read nor missed; only what a surgical run was asked for is there, and stays."""
    world.advance(seconds=30 * 86_400)
    young = project.open_merge_request("benji", "Much later")
    world.advance(seconds=LATER)
    since = {"since": "2026-03-20"}
    small.run(since)
    small.operate("lantern/console", Target("issue", 1), config=since)
    report = small.run(since, sweep=True)
    assert report.exit_code == 0 and not any(call.path.endswith("/merge_requests/1") for call in small.app.log)
    assert small.sql("SELECT number FROM gitlab.merge_requests") == [(young.iid,)]
    assert small.sql("SELECT number FROM gitlab.issues") == [(1,)] and small.rows("gitlab.deletions") == []
    assert not any(call.path.endswith("/issues/1") for call in small.app.log), "it is not missed: no list reaches it"


def test_an_edited_note_is_a_second_version(read: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """`note_versions` keeps both, also after the thread was replaced whole."""
    note = next(n for t in project.merge_requests[1].threads for n in t.notes if n.body == "Lovely.")
    project.edit_note(note, "Lovely, really.")
    world.advance(seconds=LATER)
    read.run()
    read.judge()
    assert read.sql("SELECT body, is_latest FROM feedback.events WHERE id = ? ORDER BY is_edit", str(note.id)) == [
        ("Lovely.", False), ("Lovely, really.", True),
    ]  # fmt: skip


def test_a_removed_label_and_reviewer_are_unlinked(read: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """Child tables are replaced with their merge request."""
    mr = project.merge_requests[1]
    project.label(mr, "maya", add=("theme",), remove=("ui",))
    mr.reviews.clear()
    mr.revision += 1
    world.advance(seconds=LATER)
    read.run()
    read.judge()
    assert read.one("SELECT count(*) FROM gitlab.merge_requests__reviewers") == 0


def test_a_project_made_private_fails_alone_and_loses_nothing(
    small: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """A failed read never looks like an empty one."""
    other = world.add_project("lantern/charts")
    other.comment(other.open_issue("maya", "Axis"), "kofi", "Log?")
    small.names = ("lantern/console", "lantern/charts")
    world.advance(seconds=LATER)
    small.run()
    project.private, project.members = True, set()
    other.comment(other.issues[1], "maya", "Yes.")
    world.advance(seconds=LATER)
    report = small.run()
    assert report.exit_code == 3 and report.sources[0].problems[0].code == "NOT_FOUND"
    assert small.one("SELECT count(*) FROM feedback.events WHERE body = 'Yes.'") == 1
    assert small.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0


@pytest.mark.parametrize("names", ["old", "disagreeing", "current"])
def test_field_names_of_old_and_new_instances(tmp_path: Path, world: GitLabWorld, project: Project, names: str) -> None:
    """Current names first, deprecated ones as a fallback; a draft if either says so."""
    world.field_names = names  # type: ignore[assignment]
    for draft in (True, False):
        mr = project.open_merge_request("benji", "Dark mode", draft=draft)
    project.merge(mr, "maya")
    world.advance(seconds=LATER)
    desk = in_memory(gitlab_desk(tmp_path, world))
    assert desk.run().exit_code == 0
    truth = world.truth(reader="earshot").merge_requests
    held = {r["id"]: (r["is_draft"], r["merge_user"]) for r in desk.rows("gitlab.merge_requests")}
    assert held == {id_: (fact["is_draft"], fact["merge_user"]) for id_, fact in truth.items()}
    statuses = {r["detailed_merge_status"] for r in desk.rows("gitlab.merge_requests")}
    assert None not in statuses and (names == "old" or "checking" not in statuses)


@pytest.mark.parametrize("sent", ["numbers", "strings", "missing", "codes"])
def test_positions_and_ranges_of_diff_notes(tmp_path: Path, world: GitLabWorld, project: Project, sent: str) -> None:
    """Paths of a rename, lines of either side, ranges however they are sent, points on pictures, the sha triplet."""
    mr = project.open_merge_request("benji", "Dark mode")
    refs = mr.refs
    ranged = Position("old.ts", "new.ts", refs, Spot(19, 20, "new"), Spot(16, 17, "new"), sent)
    removed = Position("old.ts", "new.ts", refs, Spot(8, 7, "old"))
    image = Position("a.png", "a.png", refs, image=(10, 10, 3, 4))
    whole = Position("b.ts", "b.ts", refs)
    for n, position in enumerate((ranged, removed, image, whole)):
        project.start_thread(mr, "maya", f"note {n}", position)
    world.advance(seconds=LATER)
    desk = in_memory(gitlab_desk(tmp_path, world))
    assert desk.run().exit_code == 0
    assert desk.sql("SELECT path, old_path, start_line, line, side, position_type, is_renamed, head_sha FROM feedback.diff_notes ORDER BY body") == [
        ("new.ts", "old.ts", 17, 20, "RIGHT", "text", True, refs.head_sha),
        ("new.ts", "old.ts", 8, 8, "LEFT", "text", True, refs.head_sha),
        ("a.png", "a.png", None, None, "RIGHT", "image", False, refs.head_sha),
        ("b.ts", "b.ts", None, None, "RIGHT", "file", False, refs.head_sha),
    ]  # fmt: skip
    points = (
        "SELECT path, image_x, image_y, image_width, image_height FROM feedback.diff_notes WHERE image_x IS NOT NULL"
    )
    assert desk.sql(points) == [("a.png", 3, 4, 10, 10)]
    assert desk.sql(
        "SELECT DISTINCT position_base_sha, position_start_sha FROM gitlab.threads__discussions__notes WHERE NOT is_system"
    ) == [(refs.base_sha, refs.start_sha)]


def test_locked_is_kept_as_it_is(small: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """It cannot be asked for, only seen in passing."""
    project.lock(project.merge_requests[1])
    project.comment(project.merge_requests[1], "maya", "Merging.")
    world.advance(seconds=LATER)
    small.run()
    assert small.one("SELECT state FROM gitlab.merge_requests") == "locked"


def test_events_closed_issues_and_diffs_hang_on_their_parents(
    small: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """Each replaced whole with its parent's watermark."""
    mr = project.merge_requests[1]
    project.edit(mr, "benji", description="Closes #1")
    project.label(mr, "maya", add=("theme",))
    project.set_milestone(mr, "maya", "1.0")
    project.close(project.issues[1], "maya")
    world.advance(seconds=LATER)
    small.run()
    truth = world.truth(reader="earshot")
    assert {r["id"] for r in small.rows("gitlab.resource_events__labels")} == set(truth.label_events)
    assert {r["id"] for r in small.rows("gitlab.resource_events__milestones")} == set(truth.milestone_events)
    assert {r["id"] for r in small.rows("gitlab.resource_events__states")} == set(truth.state_events)
    assert small.sql("SELECT issue_number FROM gitlab.closes_issues__issues") == [(iid,) for iid in truth.closes[mr.id]]
    assert len(small.rows("gitlab.diffs__files")) == len(truth.diffs[mr.id])


def test_a_file_that_becomes_a_link_is_two_changes(small: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """Of another type, it is deleted and added under one path."""
    mr = project.merge_requests[1]
    project.push(mr, "benji", diffs=[
        FileDiff("docs", "docs", "@@ -1 +0,0 @@\n-x\n", is_deleted=True), FileDiff("docs", "docs", "", is_new=True),
    ])  # fmt: skip
    world.advance(seconds=LATER)
    small.run(sweep=True)
    found = small.sql("SELECT is_deleted, is_new FROM gitlab.diffs__files WHERE new_path = 'docs' ORDER BY ALL")
    assert found == [(False, True), (True, False)]


@pytest.mark.parametrize(("switch", "path"), [
    ("fetch_resource_events", "resource_"), ("fetch_closes_issues", "closes_issues"), ("fetch_diffs", "/diffs"),
])  # fmt: skip
def test_each_dependent_can_be_switched_off(small: GitLabDesk, switch: str, path: str) -> None:
    """No request of its kind is sent, and nothing of it stays due: else every run would look at all there is."""
    small.run({switch: False})
    assert not any(path in call.path for call in small.app.log)
    small.judge()
    with Ledger.open(small.home.control) as ledger:
        assert ledger.source_state("gitlab").nothing_due_by
    small.run({switch: False})
    assert {call.status for call in small.app.log} == {304}
    small.run()
    assert any(path in call.path for call in small.app.log), "switched on again, it is fetched"


def test_reviewers_are_verified_where_asked_for(small: GitLabDesk, project: Project, world: GitLabWorld) -> None:
    """For instances whose lists are incomplete."""
    small.run({"verify_reviewers": True})
    assert any(call.path.endswith("/reviewers") for call in small.app.log)
    small.judge()


def test_concurrent_requests_stay_within_the_setting(tmp_path: Path, world: GitLabWorld, project: Project) -> None:
    """The server counts; `dependent_concurrency` bounds what hangs on merge requests."""
    world.fill(project, merge_requests=40, discussions=2, notes=2)
    world.advance(seconds=LATER)
    desk = in_memory(gitlab_desk(tmp_path, world))
    desk.app.switches.latency = 0.002
    desk.run({"dependent_concurrency": 4})
    assert 2 <= desk.app.max_in_flight <= 4
    desk.judge()


def test_unreadable_notes_make_short_and_empty_pages_that_end_nothing(
    tmp_path: Path, world: GitLabWorld, project: Project
) -> None:
    """Internal notes are filtered after paging; only the headers, or an empty page where they are stripped, end a list."""
    mr = project.open_merge_request("benji", "Busy")
    for n in range(130):
        project.comment(mr, "odile", f"remark {n}", internal=n < 105 and n % 5 != 0)
    world.advance(seconds=LATER)
    desk = in_memory(gitlab_desk(tmp_path, world))
    assert desk.run().exit_code == 0
    desk.judge()


def test_payloads_are_kept_but_for_system_notes_without_a_place(read: GitLabDesk) -> None:
    """The seed's selective rule."""
    payloads = Payloads(read.home.payloads)
    for id_, is_system in read.sql("SELECT id, is_system FROM gitlab.threads__discussions__notes"):
        assert bool(payloads.read("gitlab", "note", str(id_))) is not is_system
    [mr] = read.sql("SELECT id, title FROM gitlab.merge_requests")
    assert payloads.read("gitlab", "merge_request", str(mr[0]))[0]["title"] == mr[1]


def test_payloads_of_notes_in_a_diff_are_kept_even_if_the_system_says_them(
    read: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """Such a note says where something changed."""
    project.comment(project.merge_requests[1], "odile", "One more.")
    world.advance(seconds=LATER)

    def by_the_system(request: Request, data: list[dict[str, object]]) -> object:
        for discussion in data if request.path.endswith("/discussions") else ():
            for note in discussion["notes"]:  # type: ignore[attr-defined]
                note["system"] = True
        return data

    read.app.rewrite = by_the_system
    read.home.payloads.unlink()
    read.run()
    payloads = Payloads(read.home.payloads)
    notes = read.sql(
        "SELECT id, position_new_path IS NOT NULL FROM gitlab.threads__discussions__notes WHERE parent_key LIKE '%!1'"
    )
    assert {placed for _, placed in notes} == {True, False}
    assert all(bool(payloads.read("gitlab", "note", str(id_))) is placed for id_, placed in notes)


@pytest.mark.on_disk
@pytest.mark.parametrize("room", [payload_files.MANY, 1])
def test_payloads_are_on_the_disk_before_what_they_are_of_has_landed(
    small: GitLabDesk, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A kill after a landing finds no row without its payload, whether they wait for the landing or their room is full."""
    original, found = SourcePipeline.load, list[int]()

    def watched(pipeline: SourcePipeline, *args: Any) -> None:
        original(pipeline, *args)
        with small.home.destination.looking(small.home) as warehouse:
            landed = warehouse.execute("SELECT id FROM gitlab.merge_requests").fetchall()
        found.extend(len(Payloads(small.home.payloads).read("gitlab", "merge_request", str(id_))) for (id_,) in landed)

    monkeypatch.setattr(payload_files, "MANY", room)
    monkeypatch.setattr(SourcePipeline, "load", watched)
    assert small.run().exit_code == 0
    assert found and all(found)


def test_payloads_can_be_switched_off(small: GitLabDesk) -> None:
    """`keep_payloads = false`."""
    small.run(keep_payloads=False)
    assert not small.home.payloads.exists()


def test_full_forgets_watermarks_and_changes_nothing(read: GitLabDesk) -> None:
    """Lists and threads are read again; what was first seen stays first seen."""
    before = read.sql("SELECT * FROM feedback.events ORDER BY event_key")
    read.run(full=True)
    assert any(call.path.endswith("/discussions") for call in read.app.log)
    assert read.sql("SELECT * FROM feedback.events ORDER BY event_key") == before


def test_completeness_compares_counts_of_user_notes(read: GitLabDesk) -> None:
    """System notes are not counted."""
    assert read.sql("SELECT DISTINCT is_complete FROM ops.completeness WHERE source = 'gitlab'") == [(True,)]


HEADERS = {"link", "x-next-page", "x-prev-page", "x-page", "x-per-page", "x-total", "x-total-pages"}


@pytest.mark.parametrize("stripped", [{"link"}, {"x-next-page"}, HEADERS], ids=["no Link", "no x-next-page", "neither"])
def test_pagination_continues_when_headers_are_missing(
    tmp_path: Path, world: GitLabWorld, project: Project, stripped: set[str]
) -> None:
    """Link, else x-next-page, else until a page is empty: a full page is never taken for the last."""
    for n in range(105):
        project.open_merge_request("benji", f"Change {n}")
    for n in range(205):
        project.comment(project.merge_requests[1], "maya", f"remark {n}")
    world.advance(seconds=LATER)
    desk = in_memory(gitlab_desk(tmp_path, world))
    desk.app.switches.strip_headers = stripped
    assert desk.run({"fetch_resource_events": False, "fetch_closes_issues": False, "fetch_diffs": False}).exit_code == 0
    desk.judge()


def test_the_settled_rule() -> None:
    """A read is final only when it began later than the last minute in which a note could hide."""
    assert not is_settled(NOW.add(seconds=70), NOW, timedelta(seconds=70))
    assert is_settled(NOW.add(seconds=71), NOW, timedelta(seconds=70))


def test_the_due_rule() -> None:
    """Never read, read for an earlier time, not settled, another count, another sha."""
    assert is_due(None, NOW, True, True, True)
    assert is_due(NOW.subtract(seconds=1), NOW, True, True, True)
    assert is_due(NOW, NOW, False, True, True)
    assert is_due(NOW, NOW, True, False, True)
    assert is_due(NOW, NOW, True, True, False)
    assert not is_due(NOW, NOW, True, True, True)
