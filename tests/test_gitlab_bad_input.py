"""Whatever a GitLab answers: what was held before stays with its watermark, the failure is recorded by name (exit 3), the
rest lands, and the next run reaches the world's truth.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pendulum
import pytest

from pipelines.demo.gitlab.api.access import Throttled
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import FileDiff, Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Bent, Request, Response, html_page
from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from pipelines.sync.output.report import Report
from sources.core.targets import Target
from tests.in_memory import in_memory
from tests.long import few
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
SETTLED = 300
PLACE = "lantern/console"


def past() -> tuple[GitLabWorld, Project]:
    """Two merge requests and an issue, all talked about, labelled and settled."""
    world = GitLabWorld(NOW)
    project = world.add_project(PLACE)
    patch = FileDiff("app.ts", "app.ts", "@@ -1 +1 @@\n-a\n+b\n")
    mr = project.open_merge_request("benji", "Dark mode", "Closes #1", reviewers=("maya",), diffs=[patch])
    other = project.open_merge_request("kofi", "Charts", "Axes.")
    issue = project.open_issue("freja", "Contrast", "Too low.")
    world.advance(seconds=100)
    first = project.start_thread(mr, "maya", "one", Position("app.ts", "app.ts", mr.refs, Spot(1, 1, "new")))
    project.reply(first, "benji", "two")
    project.reply(first, "maya", "three")
    project.comment(mr, "freja", "Lovely.")
    project.start_thread(other, "odile", "Log scale?")
    project.comment(issue, "maya", "Agreed.")
    project.label(mr, "maya", add=("ui",))
    project.set_milestone(mr, "maya", "1.0")
    world.advance(seconds=SETTLED)
    return world, project


def news(world: GitLabWorld, project: Project) -> None:
    """Something new on everything, and the middle note of the thread edited."""
    world.advance(seconds=3600)
    thread = project.merge_requests[1].threads[0]
    project.edit_note(thread.notes[1], "two, edited")
    project.reply(thread.notes[0], "benji", "four")
    project.label(project.merge_requests[1], "maya", add=("theme",), remove=("ui",))
    project.comment(project.merge_requests[2], "maya", "News of charts.")
    project.comment(project.issues[1], "kofi", "News of contrast.")
    world.advance(seconds=SETTLED)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    """Somebody who has read the past."""
    world, _ = past()
    desk = in_memory(gitlab_desk(tmp_path_factory.mktemp("base") / "data", world))
    assert desk.run().exit_code == 0
    return desk


@pytest.fixture
def desk(tmp_path: Path, base: GitLabDesk) -> GitLabDesk:
    """Somebody who has read the past, and does not know the news."""
    world, project = past()
    news(world, project)
    return in_memory(gitlab_desk(tmp_path / "data", world), base)


@pytest.fixture
def project(desk: GitLabDesk) -> Project:
    found: Project = desk.world.paths[PLACE]
    return found


CROWD = 24


def past_of_many() -> tuple[GitLabWorld, Project]:
    """Merge requests enough to spoil each in another way, in one run: a thread of three, a remark, a label, a diff."""
    world = GitLabWorld(NOW)
    project = world.add_project(PLACE)
    project.open_issue("freja", "Contrast", "Too low.")
    for n in range(1, CROWD + 1):
        patch = FileDiff(f"{n}.ts", f"{n}.ts", "@@ -1 +1 @@\n-a\n+b\n")
        mr = project.open_merge_request("benji", f"Change {n}", "Closes #1", source=f"branch-{n}", diffs=[patch])
        first = project.start_thread(mr, "maya", "one", Position(f"{n}.ts", f"{n}.ts", mr.refs, Spot(1, 1, "new")))
        project.reply(first, "benji", "two")
        project.reply(first, "maya", "three")
        project.comment(mr, "freja", "Lovely.")
        project.label(mr, "maya", add=("ui",))
        project.set_milestone(mr, "maya", "1.0")
        project.close(mr, "maya")
        project.reopen(mr, "maya")
    world.advance(seconds=SETTLED)
    return world, project


@pytest.fixture(scope="module")
def base_of_many(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    world, _ = past_of_many()
    desk = in_memory(gitlab_desk(tmp_path_factory.mktemp("many") / "data", world))
    assert desk.run().exit_code == 0
    return desk


@pytest.fixture
def crowd(tmp_path: Path, base_of_many: GitLabDesk) -> GitLabDesk:
    """Somebody who has read them all, and does not know that on each a note was edited, two were added, a label changed."""
    world, project = past_of_many()
    world.advance(seconds=3600)
    for mr in project.merge_requests.values():
        first = mr.threads[0].notes[0]
        project.edit_note(first.discussion.notes[1], "two, edited")
        project.reply(first, "benji", "four")
        project.comment(mr, "odile", "and another")
        project.label(mr, "maya", add=("theme",), remove=("ui",))
    world.advance(seconds=SETTLED)
    return in_memory(gitlab_desk(tmp_path / "data", world), base_of_many)


def each_of(crowd: GitLabDesk, cases: Iterable[str]) -> dict[int, str]:
    """One merge request for every case, and at least one that nothing happens to."""
    numbers = dict(enumerate(cases, start=1))
    assert len(numbers) < CROWD
    return numbers


def number_in(path: str) -> int:
    found = re.search(r"/merge_requests/(\d+)", path)
    return int(found[1]) if found else 0


def faulty(desk: GitLabDesk, path: str, outcome: Any, page: str = "1") -> list[Request]:
    """The server answers so for this page of lists that end like this; what was asked then."""
    asked: list[Request] = []

    def fault(request: Request) -> Response | Bent | None:
        if not request.path.endswith(path) or request.query.get("page", "1") != page:
            return None
        asked.append(request)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome(request) if callable(outcome) else outcome  # type: ignore[no-any-return]

    desk.app.switches.fault = fault
    return asked


def spoiled(desk: GitLabDesk, path: str, change: Callable[[Any], object]) -> None:
    """The server's own answer for this path, changed."""

    def rewrite(request: Request, data: Any) -> Any:
        if request.path.endswith(path):
            change(data)
        return data

    desk.app.rewrite = rewrite


def heals(desk: GitLabDesk, quiet: Iterable[int] = (304,), **options: Any) -> None:
    """The server is as it should be: the next run reads everything, and after it there is nothing left to do."""
    desk.app.switches.fault = desk.app.switches.before = desk.app.rewrite = None
    desk.app.access.throttled = None
    report = desk.run(**options)
    assert report.exit_code == 0, report
    desk.judge()
    assert desk.one("SELECT count(*) FROM ops.failures WHERE resolved_at IS NULL") == 0
    assert desk.one("SELECT count(*) FROM ops.quarantine WHERE resolved_at IS NULL") == 0
    assert desk.run().sources[0].packages == 0
    assert {call.status for call in desk.app.log} == set(quiet)


TABLES = {  # of what hangs on a merge request: the row that vouches, and its children
    "threads": ("threads__discussions", "threads__discussions__notes"),
    "resource_events": ("resource_events__states", "resource_events__labels", "resource_events__milestones"),
    "closes_issues": ("closes_issues__issues",),
    "diffs": ("diffs__files",),
}


def held_by_all(desk: GitLabDesk, table: str) -> dict[str, list[str]]:
    """Merge request or issue → all that is held of one kind on it, with its watermark."""
    found: dict[str, list[str]] = {}
    for name in (table, *TABLES[table]):
        for row in desk.rows(f"gitlab.{name}"):
            found.setdefault(str(row["parent_key"]), []).append(f"{name} {sorted(row.items())!r}")
    return {key: sorted(rows) for key, rows in found.items()}


def kept(desk: GitLabDesk, table: str, key: str) -> list[str]:
    return held_by_all(desk, table).get(key, [])


def only_the_others_landed(
    crowd: GitLabDesk, table: str, before: dict[str, list[str]], numbers: Mapping[int, str]
) -> None:
    """Of each of these all is as it was, watermark included; of each other it is new."""
    now = held_by_all(crowd, table)
    changed = {number for number in range(1, CROWD + 1) if now[key_of(number)] != before[key_of(number)]}
    assert not {numbers[n] for n in changed & numbers.keys()}, "something was replaced"
    assert changed == set(range(1, CROWD + 1)) - numbers.keys(), "something else did not land"


def key_of(number: int) -> str:
    return f"gitlab:1001:!{number}"


def failed(desk: GitLabDesk, report: Report, *surfaces: str) -> None:
    """These surfaces and no others; exit 3; the ledger names them, with attempts and the last error, in SQL too."""
    assert report.exit_code == 3, report
    assert sorted(problem.surface for problem in report.sources[0].problems) == sorted(surfaces)
    rows = desk.sql("SELECT surface, attempts, code, message, last_at FROM ops.failures WHERE resolved_at IS NULL")
    assert sorted(row[0] for row in rows) == sorted(surfaces)
    assert all(attempts == 1 and code and message and at for _, attempts, code, message, at in rows)


# Answers that are none


def shaped(body: object, **headers: str) -> Response:
    return Response(200, body, headers)


NO_LISTS: dict[str, Any] = {
    "HTML": html_page(),
    "HTML that calls itself JSON": Response(200, b"<html></html>", {"content-type": "application/json"}),
    "truncated": lambda _: Bent(keep=0.6),
    "empty": shaped(b""),
    "dropped": httpx.ReadError("gone"),
    "500": Response(500, {"message": "500 Internal Server Error"}),
    "502 with HTML": html_page(502),
    "403": Response(403, {"message": "403 Forbidden"}),
    "404": Response(404, {"message": "404 Not found"}),
    "405": Response(405, {"message": "Offset pagination has a maximum allowed offset"}),
    "204": Response(204),
    "not UTF-8": shaped(b'[{"id": "\xff\xfe"}]'),
    "null": shaped(None),
    "an error object": shaped({"message": "500 Internal Server Error"}),
    "an object": shaped({"notes": []}),
    "a list of lists": shaped([[]]),
    "a list of texts": shaped(["note"]),
    "nested beyond reason": shaped(b"[" * 200_000),
}


@pytest.mark.parametrize("page", ["1", "2"])
def test_no_list_of_discussions_keeps_previous_notes_and_watermark(
    crowd: GitLabDesk, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is none never looks like a merge request on which nobody says anything any more; and a first page is
    not believed without the second.
    """
    monkeypatch.setattr("sources.core.http.given_up.AFTER", 100)  # each is asked, whatever the others answered
    numbers = each_of(crowd, NO_LISTS)
    before = held_by_all(crowd, "threads")
    crowd.app.switches.max_per_page = None if page == "1" else 2

    def outcome(request: Request) -> Any:
        what = numbers.get(number_in(request.path))
        return answered(NO_LISTS[what], request) if what and request.query["page"] == page else None

    crowd.app.switches.fault = lambda r: outcome(r) if r.path.endswith("/discussions") else None
    failed(crowd, crowd.run(), *(f"threads of !{n}" for n in numbers))
    only_the_others_landed(crowd, "threads", before, numbers)
    heals(crowd)


def answered(outcome: Any, request: Request) -> Any:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome(request) if callable(outcome) else outcome


ENDPOINTS = {  # what hangs on a merge request: table, and the name under which it fails
    "resource_label_events": ("resource_events", "events"),
    "resource_state_events": ("resource_events", "events"),
    "resource_milestone_events": ("resource_events", "events"),
    "closes_issues": ("closes_issues", "closes"),
    "diffs": ("diffs", "diffs"),
}


def test_every_kind_of_dependent_fails_alone(crowd: GitLabDesk) -> None:
    """Events, closed issues and diffs keep what was held of them; the threads beside them land."""
    kinds = [(endpoint, what) for what in ("HTML", "404", "an error object", "500") for endpoint in ENDPOINTS]
    numbers = dict(enumerate(kinds, start=1))
    before = {table: held_by_all(crowd, table) for table, _ in ENDPOINTS.values()}

    def fault(request: Request) -> Any:
        endpoint, what = numbers.get(number_in(request.path), ("", ""))
        return answered(NO_LISTS[what], request) if endpoint and request.path.endswith(f"/{endpoint}") else None

    crowd.app.switches.fault = fault
    failed(crowd, crowd.run(), *(f"{ENDPOINTS[endpoint][1]} of !{n}" for n, (endpoint, _) in numbers.items()))
    for table in before:
        spoiled = {n: f"{e} {what}" for n, (e, what) in numbers.items() if ENDPOINTS[e][0] == table}
        only_the_others_landed(crowd, table, before[table], spoiled)
    assert crowd.one("SELECT count(*) FROM feedback.events WHERE body = 'four'") == CROWD
    heals(crowd)


@pytest.mark.parametrize("surface", ["merge_requests", "issues"])
@pytest.mark.parametrize("what", few(["HTML", "404", "an error object", "500"], "an error object"))
def test_each_list_fails_alone(desk: GitLabDesk, surface: str, what: str) -> None:
    """The other lands, what was held of it stays."""
    before = desk.rows(f"gitlab.{surface}")
    faulty(desk, f"/{surface}", NO_LISTS[what])
    failed(desk, desk.run(), surface)
    assert desk.rows(f"gitlab.{surface}") == before
    heals(desk)


@pytest.mark.parametrize("what", few(["HTML", "500", "404", "a list of texts", "truncated"], "HTML", "404"))
def test_a_project_that_cannot_be_looked_up_fails_alone(desk: GitLabDesk, what: str) -> None:
    """Nothing under it is asked for, nothing of it is touched."""
    before = desk.rows("feedback.events")
    faulty(desk, "/projects/lantern/console", NO_LISTS[what])
    report = desk.run()
    assert report.exit_code == 1 and len(desk.app.log) == 1, "it was the only one"
    assert desk.rows("feedback.events") == before
    heals(desk)


# Records that cannot be read


def middle(change: dict[str, Any]) -> Callable[[list[Any]], object]:
    """Spoils the second note of the first thread with more than two."""

    def spoil(discussions: list[Any]) -> None:
        next(d for d in discussions if len(d["notes"]) > 2)["notes"][1].update(change)

    return spoil


def thread(change: dict[str, Any]) -> Callable[[list[Any]], object]:
    return lambda discussions: discussions[0].update(change)


NOTES: dict[str, Callable[[list[Any]], object]] = {
    "invalid created_at": middle({"created_at": "yesterday"}),
    "created_at at zero": middle({"created_at": 0}),
    "no time at all": middle({"created_at": None, "updated_at": None}),
    "updated_at without zone": middle({"updated_at": "2026-03-01T12:00:00"}),
    "impossible updated_at": middle({"updated_at": "2026-02-30T12:00:00Z"}),
    "invalid resolved_at": middle({"resolved_at": "soon"}),
    "id is text": middle({"id": "1002"}),
    "id beyond 64 bits": middle({"id": 2**63}),
    "body is a number": middle({"body": 5}),
    "author is text": middle({"author": "maya"}),
    "system is text": middle({"system": "yes"}),
    "position is a list": middle({"position": [1]}),
    "line is an object": middle({"position": {"new_path": "a", "new_line": {}}}),
    "of another project": middle({"project_id": 4711}),
    "of another merge request": middle({"noteable_iid": 4711}),
    "thread without id": thread({"id": None}),
    "thread with a list for an id": thread({"id": [1]}),
    "thread with an object for an id": thread({"id": {"a": 1}}),
    "notes are null": thread({"notes": None}),
    "notes are an object": thread({"notes": {"id": 1}}),
    "a note is text": thread({"notes": ["note"]}),
}


def test_one_unreadable_note_costs_no_other(crowd: GitLabDesk) -> None:
    """In the middle of a discussion, or a whole discussion: the others land, the bad one is in quarantine by name and keeps
    its last readable row. The watermark does not pass it, so each run asks again; nothing new, nothing is published."""
    numbers = each_of(crowd, NOTES)

    def rewrite(request: Request, data: Any) -> Any:
        if request.path.endswith("/discussions") and (what := numbers.get(number_in(request.path))):
            NOTES[what](data)
        return data

    crowd.app.rewrite = rewrite
    report = crowd.run()
    assert report.exit_code == 3 and report.sources[0].problems == []
    assert sorted(each.parent_key or "" for each in report.sources[0].unread) == sorted(map(key_of, numbers))
    assert all(f"merge_requests/{n}:" in str(sorted(u.key for u in report.sources[0].unread)) for n in numbers)
    held = said_on_each(crowd)
    for number, what in numbers.items():
        new = {"four"} if NOTES[what].__qualname__.startswith("middle") else set()
        assert held[number] == {"one", "two", "three", "Lovely.", "and another", *new}, what
    assert held[CROWD] == {"one", "two, edited", "three", "four", "Lovely.", "and another"}
    passed = "SELECT number FROM gitlab.threads AS t JOIN gitlab.merge_requests AS m USING (parent_key, number)"
    passed += " WHERE t.synced_for_updated_at >= m.updated_at"
    assert {n for (n,) in crowd.sql(passed)} == set(range(1, CROWD + 1)) - numbers.keys()
    assert crowd.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0
    report = crowd.run()
    assert report.exit_code == 3 and report.published_bytes is None
    assert {number_in(call.path) for call in crowd.app.log if call.path.endswith("/discussions")} == numbers.keys()
    heals(crowd)


def said_on_each(desk: GitLabDesk) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for number, body in desk.sql(
        "SELECT parent_number, body FROM feedback.comments WHERE kind IN ('note', 'diff_note') AND NOT is_system"
        " AND parent_kind = 'merge_request'"
    ):
        found.setdefault(number, set()).add(body)
    return found


def test_a_note_that_nobody_will_ever_read_can_be_let_be(desk: GitLabDesk, project: Project) -> None:
    """The watermark passes it then, and the thread is asked for no more."""
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    report = desk.run()
    assert report.exit_code == 3
    with Ledger.open(desk.home.control) as ledger:
        Quarantine(ledger, "gitlab").let_be(each.key for each in report.sources[0].unread)
    assert desk.run().exit_code == 0
    report = desk.run()
    assert report.exit_code == 0 and report.published_bytes is None
    assert not any(call.path.endswith("/discussions") for call in desk.app.log)


def test_an_unreadable_note_waits_like_any_record(desk: GitLabDesk, project: Project) -> None:
    """Three runs ask for its thread; then there are pauses, but for news of the thread, which land at once."""
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    asked = []
    for _ in range(6):
        assert desk.run().exit_code == 3
        asked.append(sum(call.path.endswith("/merge_requests/1/discussions") for call in desk.app.log))
    assert asked == [1, 1, 1, 1, 0, 0]
    project.comment(project.merge_requests[1], "freja", "In the pause.")
    desk.world.advance(seconds=SETTLED)
    assert desk.run().exit_code == 3
    assert desk.one("SELECT count(*) FROM feedback.comments WHERE body = 'In the pause.'") == 1
    wait_is_over(desk)
    heals(desk)


def test_a_note_of_the_same_minute_that_cannot_be_read_is_asked_for_again(desk: GitLabDesk, project: Project) -> None:
    """A second note within a minute moves no time: the thread was read for that time before, and is due all the same."""
    parent = project.merge_requests[1]
    project.comment(parent, "freja", "Moves the time.")
    desk.world.advance(seconds=5)
    assert desk.run().exit_code == 0
    moved = parent.updated_at
    project.comment(parent, "freja", "Of the same minute.")
    assert parent.updated_at == moved
    desk.world.advance(seconds=SETTLED)
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    assert desk.run().exit_code == 3
    heals(desk)


def test_an_unreadable_note_that_is_deleted_is_forgotten(desk: GitLabDesk, project: Project) -> None:
    """Absent from the complete answer: gone at once, and nothing is missing any more."""
    thread = project.merge_requests[1].threads[0]
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    assert desk.run().exit_code == 3
    project.delete_note(thread.notes[1])
    desk.app.rewrite = None
    assert desk.run().exit_code == 0
    desk.judge()


@pytest.mark.parametrize("end", ["read after all", "deleted"])
def test_a_run_that_dies_before_it_says_so_is_made_up_for(
    desk: GitLabDesk, project: Project, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """What has landed vouches for the thread, or for the death of its parent, and nothing of it is due any more: but the
    note still lies in quarantine, and every run over it would exit 3.
    """
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    assert desk.run().exit_code == 3
    desk.app.rewrite = None
    if end == "deleted":
        project.delete(project.merge_requests[1])
        assert desk.run(sweep=True).exit_code == 3, "missing so far"
    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "heal", lambda *_: 1 / 0)
        for _ in range(5):  # a deletion is looked after by three runs
            desk.run()
    assert desk.run().exit_code == 0
    assert desk.one("SELECT count(*) FROM ops.quarantine WHERE resolved_at IS NULL") == 0
    if end == "read after all":
        desk.judge()
    assert desk.run().sources[0].packages == 0


def test_a_named_merge_request_tells_of_its_unreadable_note(desk: GitLabDesk) -> None:
    """Exit 3, the others land, and its watermark does not move."""
    spoiled(desk, "/merge_requests/1/discussions", NOTES["body is a number"])
    surgery = desk.operate(PLACE, Target("mr", 1))
    assert surgery.exit_code == 3
    assert "four" in said_on_each(desk)[1] and "two" in said_on_each(desk)[1]
    desk.app.rewrite = None
    heals(desk)


PARENTS: dict[str, dict[str, Any]] = {
    "wrong project_id": {"project_id": 4711},
    "no project_id": {"project_id": None},
    "reviewer without username": {"reviewers": [{"id": 7, "name": "Maya"}]},
    "reviewer is text": {"reviewers": ["maya"]},
    "assignees are an object": {"assignees": {"username": "maya"}},
    "labels are text": {"labels": "ui"},
    "label is a number": {"labels": [5]},
    "invalid updated_at": {"updated_at": "yesterday"},
    "invalid merged_at": {"merged_at": "never"},
    "id is text": {"id": "1001"},
    "no iid": {"iid": None},
    "title is a number": {"title": 5},
    "description is a number": {"description": 5},
    "author is text": {"author": "benji"},
    "milestone is text": {"milestone": "1.0"},
    "count is text": {"user_notes_count": "many"},
    "draft is text": {"draft": "yes"},
}


def test_an_unreadable_merge_request_is_kept_raw_and_healed(crowd: GitLabDesk) -> None:
    """What was held of it stays, the others of its page land; the next run asks for it by its number, or its address."""
    numbers = each_of(crowd, PARENTS)
    threads, rows = held_by_all(crowd, "threads"), held_of(crowd)

    def rewrite(request: Request, data: Any) -> Any:
        if request.path.endswith("/merge_requests"):
            for row in data:
                row.update(PARENTS.get(numbers.get(row["iid"], ""), {}))
        return data

    crowd.app.rewrite = rewrite
    report = crowd.run()
    assert report.exit_code == 3 and report.sources[0].quarantined == len(PARENTS), report
    assert {n for n, row in held_of(crowd).items() if row != rows[n]} == set(range(1, CROWD + 1)) - numbers.keys()
    only_the_others_landed(crowd, "threads", threads, numbers)
    raw = [orjson.loads(kept) for (kept,) in crowd.sql("SELECT raw FROM ops.quarantine WHERE resolved_at IS NULL")]
    assert {row["source_branch"] for row in raw} == {f"branch-{n}" for n in numbers}
    for row in raw:
        change = PARENTS[numbers[int(row["source_branch"].partition("-")[2])]]
        assert {key: row[key] for key in change} == change
    tables = ("merge_requests", "openers", "threads")
    assert {row["scope"] for table in tables for row in crowd.rows(f"gitlab.{table}")} == {"1001"}, "a wrong scope"
    crowd.app.rewrite = None
    heals(crowd)


def held_of(desk: GitLabDesk) -> dict[int, dict[str, Any]]:
    return {row["number"]: row for row in desk.rows("gitlab.merge_requests")}


def wait_is_over(desk: GitLabDesk) -> None:
    import sqlite3

    with sqlite3.connect(desk.home.control) as connection:
        connection.execute("UPDATE quarantine SET retry_at = '2000-01-01T00:00:00Z'")
    connection.close()


def test_a_stranger_with_a_known_id_takes_nobodys_place(desk: GitLabDesk) -> None:
    """One page tells a merge request of ours and, with the same id, one of another project: only ours lands."""

    def double(found: list[Any]) -> None:
        found += [{**row, "project_id": 4711, "title": "Stranger"} for row in found if row["iid"] == 1]

    spoiled(desk, "/merge_requests", double)
    assert desk.run().exit_code == 3
    assert desk.one("SELECT count(*) FROM feedback.events WHERE title = 'Stranger'") == 0
    wait_is_over(desk)
    heals(desk)


def test_a_project_id_that_is_not_the_one_asked_for_is_not_believed(desk: GitLabDesk) -> None:
    """A project configured by its number that answers with another: nothing may land under that."""
    desk.names = ("1001",)
    spoiled(desk, "/projects/1001", lambda project: project.update(id=4711))
    report = desk.run()
    assert report.exit_code == 1 and [p.surface for p in report.sources[0].problems] == ["project"]
    assert {row["id"] for row in desk.rows("gitlab.projects")} == {1001}
    heals(desk)


HANGING: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "label event": ("/resource_label_events", {"created_at": "x"}, "resource_events", "events"),
    "milestone event": ("/resource_milestone_events", {"id": None}, "resource_events", "events"),
    "event of nobody": (
        "/resource_label_events", {"user": 5}, "resource_events", "events"
    ),
    "closed issue": ("/closes_issues", {"title": 5}, "closes_issues", "closes"),
    "diff without a path": ("/diffs", {"new_path": None, "old_path": None}, "diffs", "diffs"),
    "diff with a list for a path": ("/diffs", {"new_path": [1]}, "diffs", "diffs"),
}  # fmt: skip


def test_an_unreadable_record_fails_its_own_kind_only(crowd: GitLabDesk) -> None:
    """Events, closed issues and diffs are whole or as before, and the threads beside them land."""
    numbers = each_of(crowd, HANGING)
    before = {table: held_by_all(crowd, table) for _, _, table, _ in HANGING.values()}

    def rewrite(request: Request, data: Any) -> Any:
        if what := numbers.get(number_in(request.path)):
            endpoint, change, _, _ = HANGING[what]
            if request.path.endswith(endpoint):
                data[0].update(change)
        return data

    crowd.app.rewrite = rewrite
    failed(crowd, crowd.run(), *(f"{HANGING[what][3]} of !{n}" for n, what in numbers.items()))
    for table in before:
        only_the_others_landed(
            crowd, table, before[table], {n: w for n, w in numbers.items() if HANGING[w][2] == table}
        )
    assert crowd.one("SELECT count(*) FROM feedback.events WHERE body = 'four'") == CROWD
    heals(crowd)


def test_ids_that_are_no_numbers_of_ours_are_nobodys(desk: GitLabDesk) -> None:
    """An external tracker's issue has an id of its own kind: it is told without one, and breaks no landing."""
    spoiled(desk, "/merge_requests/1/closes_issues", lambda rows: rows.append({"id": 2**63, "title": "EXT-1"}))
    assert desk.run().exit_code == 0
    assert desk.sql("SELECT issue_id, title FROM gitlab.closes_issues__issues ORDER BY title") == [
        (1001, "Contrast"), (None, "EXT-1"),
    ]  # fmt: skip


# Pages that repeat or overlap


def test_pages_of_discussions_that_overlap_tell_each_note_once(desk: GitLabDesk, project: Project) -> None:
    """Every page begins with what the one before ended with."""
    mr = project.merge_requests[1]
    for n in range(12):
        project.comment(mr, "odile", f"remark {n}")
    desk.world.advance(seconds=SETTLED)
    desk.app.switches.max_per_page = 3

    def lagging(request: Request) -> Response | None:
        page, size = int(request.query.get("page", "1")), min(int(request.query.get("per_page", "20")), 3)
        whole = desk.app.answer(replace(request, query={**request.query, "page": "1", "per_page": "100"}, headers={
            k: v for k, v in request.headers.items() if k != "if-none-match"}))  # fmt: skip
        rows = orjson.loads(whole.encoded())
        start = max(0, (page - 1) * size - 1)  # one row too early
        more = start + size < len(rows)
        return Response(200, rows[start : start + size], {"x-next-page": str(page + 1) if more else ""})

    def fault(request: Request) -> Response | None:
        desk.app.switches.max_per_page = 100
        try:
            return lagging(request) if request.path.endswith("/merge_requests/1/discussions") else None
        finally:
            desk.app.switches.max_per_page = 3

    desk.app.switches.fault = fault
    assert desk.run().exit_code == 0
    desk.judge()


def test_a_server_that_repeats_its_pages_without_end_is_left(desk: GitLabDesk) -> None:
    """It names a next page for ever and always tells the first: a failure, within a bounded number of requests."""
    before = kept(desk, "threads", "gitlab:1001:!1")

    def repeating(request: Request) -> Response:
        answer = desk.app.answer(replace(request, query={**request.query, "page": "1"}))
        return Response(200, answer.body, {**answer.headers, "x-next-page": str(int(request.query["page"]) + 1)})

    asked = list[Request]()

    def fault(request: Request) -> Response | None:
        if not request.path.endswith("/merge_requests/1/discussions"):
            return None
        asked.append(request)
        assert len(asked) < 100
        return repeating(request)

    desk.app.switches.fault = fault
    failed(desk, desk.run(), "threads of !1")
    assert len(asked) <= 20
    assert kept(desk, "threads", "gitlab:1001:!1") == before
    heals(desk)


def test_notes_deleted_while_pages_are_read_lose_no_others(desk: GitLabDesk, project: Project) -> None:
    """Three rows of page 1 go before page 2 is asked for: the rows that moved up over the edge are not missed."""
    mr = project.open_merge_request("benji", "Busy")
    remarks = [project.comment(mr, "odile", f"remark {n}") for n in range(12)]
    gone = remarks[:3]
    desk.world.advance(seconds=SETTLED)
    desk.app.switches.max_per_page = 4

    def delete(request: Request) -> None:
        if request.path.endswith("/merge_requests/3/discussions") and request.query["page"] == "2":
            while gone:
                project.delete_note(gone.pop())

    desk.app.switches.before = delete
    assert desk.run().exit_code == 0
    assert not gone, "nothing was deleted: this proves nothing"
    held = {body for (body,) in desk.sql("SELECT body FROM gitlab.threads__discussions__notes")}
    assert {f"remark {n}" for n in range(3, 12)} <= held
    heals(desk, sweep=True)


# Moved, private, gone


def test_a_project_that_moved_keeps_its_keys_and_is_not_read_again(desk: GitLabDesk, project: Project) -> None:
    """The old path answers 301: the id is the same, the name follows, nothing is said twice."""
    desk.run()
    before = desk.sql("SELECT event_key FROM feedback.events ORDER BY 1")
    project.rename("lantern/terminal")
    assert desk.run().exit_code == 0
    assert not any(call.path.endswith("/discussions") for call in desk.app.log)
    assert desk.sql("SELECT project FROM gitlab.projects") == [("lantern/terminal",)]
    assert desk.sql("SELECT event_key FROM feedback.events ORDER BY 1") == before
    project.comment(project.merge_requests[2], "maya", "After the move.")
    desk.world.advance(seconds=SETTLED)
    heals(desk, quiet=(301, 304))


def test_a_path_that_now_belongs_to_another_project_mixes_nothing(desk: GitLabDesk, project: Project) -> None:
    """Both are kept, each under its own id; nothing of the first counts as deleted."""
    desk.run()
    project.rename("lantern/terminal")
    taken = desk.world.add_project(PLACE)
    taken.comment(taken.open_merge_request("ines", "Newcomer"), "maya", "Hello.")
    desk.world.advance(seconds=SETTLED)
    assert desk.run(sweep=True).exit_code == 0
    desk.judge()
    assert {row["scope"] for row in desk.rows("gitlab.merge_requests")} == {"1001", str(taken.id)}
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0


def test_a_redirect_to_another_host_is_not_followed(desk: GitLabDesk) -> None:
    """The token would go with it."""
    faulty(desk, "/merge_requests/1/discussions", Response(301, b"", {"location": "https://other.example/x"}))
    before = kept(desk, "threads", "gitlab:1001:!1")
    failed(desk, desk.run(), "threads of !1")
    assert "/x" not in {call.path for call in desk.app.log}
    assert kept(desk, "threads", "gitlab:1001:!1") == before
    heals(desk)


@pytest.mark.parametrize("moment", ["before the lists", "before what hangs on them"])
def test_a_project_made_private_in_mid_run_deletes_nothing(desk: GitLabDesk, project: Project, moment: str) -> None:
    """A merge request that answers 404 is gone only if its project still answers."""
    before = desk.one("SELECT count(*) FROM feedback.events")

    def close(request: Request) -> None:
        if ("/discussions" if "hangs" in moment else "/merge_requests") in request.path:
            project.private, project.members = True, set()

    desk.app.switches.before = close
    report = desk.run()
    assert report.exit_code == (3 if "hangs" in moment else 1), "before the lists there is nothing that lands"
    assert {p.code for p in report.sources[0].problems} == {"NOT_FOUND"} and project.private
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0
    assert desk.one("SELECT count(*) FROM gitlab.deletions") == 0
    assert desk.one("SELECT count(*) FROM feedback.events") >= before
    project.private = False
    heals(desk)


@pytest.mark.parametrize("kind", ["merge_requests", "issues"])
def test_what_vanishes_between_list_and_read_is_marked_deleted(desk: GitLabDesk, project: Project, kind: str) -> None:
    """404 on its discussions and by itself while its project is readable, in two runs: its words stay, marked so."""
    gone = getattr(project, kind)[1]

    def delete(request: Request) -> None:
        if request.path.endswith(f"/{kind}/1/discussions") and 1 in getattr(project, kind):
            project.delete(gone)

    desk.app.switches.before = delete
    assert desk.run().exit_code == 0
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0, "it may be a permission that flaps"
    assert desk.run().exit_code == 0
    key = f"gitlab:1001:{'!' if kind == 'merge_requests' else '#'}1"
    assert desk.sql("SELECT parent_key, cause FROM gitlab.deletions") == [(key, "answers 404")]
    assert desk.sql("SELECT DISTINCT is_deleted FROM feedback.events WHERE parent_key = ?", key) == [(True,)]
    desk.app.switches.before = None
    assert desk.run().exit_code == 0
    assert not any(call.path.endswith(f"/{kind}/1/discussions") for call in desk.app.log), "it is asked for no more"


def test_a_deleted_project_loses_nothing_of_what_was_read(desk: GitLabDesk, project: Project) -> None:
    """404 on the project itself says nothing about what was said in it."""
    before = desk.rows("feedback.events")
    del desk.world.projects[project.id], desk.world.paths[PLACE]
    assert desk.run().exit_code == 1
    assert desk.rows("feedback.events") == before
    desk.world.projects[project.id] = desk.world.paths[PLACE] = project
    heals(desk)


# Limits


def test_a_long_limit_stops_all_workers_and_moves_no_watermark(desk: GitLabDesk) -> None:
    """GitLab says `Retry later` in plain text, and when: no further request is sent, later runs go on from there."""
    before = kept(desk, "threads", "gitlab:1001:!1")

    def limit(request: Request) -> None:
        if request.path.endswith("/discussions") and not desk.app.access.throttled:
            desk.app.access.throttled = Throttled(retry_after=3600, times=10**9)

    desk.app.switches.before = limit
    report = desk.run({"dependent_concurrency": 2})
    assert report.exit_code == 3 and {p.code for p in report.sources[0].problems} == {"RATE_LIMITED"}
    limited = [n for n, call in enumerate(desk.app.log) if call.status == 429]
    assert len(desk.app.log) - limited[0] <= 2, "requests went on after the limit"  # what was on its way already
    assert kept(desk, "threads", "gitlab:1001:!1") == before
    assert desk.one("SELECT count(*) FROM ops.failures WHERE until_at IS NOT NULL AND resolved_at IS NULL") > 0
    heals(desk)


def test_a_short_limit_is_waited_for(desk: GitLabDesk) -> None:
    """By everybody at once; nothing fails."""
    desk.app.access.throttled = Throttled(retry_after=1, times=1)
    assert desk.run().exit_code == 0
    assert sum(call.status == 429 for call in desk.app.log) == 1
    desk.judge()


# Any text

ODD = "\u202e right-to-left, quotes ' \" ` $$ ; -- /* \\ %s {} \r\n\t \ufeff\u200b\U0001f9d1\u200d\U0001f4bb e\u0301 \x07\x1b[2J"


def test_any_text_is_kept_to_the_letter(desk: GitLabDesk, project: Project) -> None:
    """In openers, notes, labels and paths."""
    for body in (ODD, "", "x" * 3_000_000):
        said_everywhere(project, body)
    desk.world.advance(seconds=SETTLED)
    heals(desk)


def said_everywhere(project: Project, body: str) -> None:
    mr = project.open_merge_request("maya", f"Title {body[:60]}", body, diffs=[FileDiff("a", body[:90] or "a", body)])
    project.comment(mr, "odile", body or " ")
    project.start_thread(mr, "odile", body or " ", Position("a", body[:90] or "a", mr.refs, Spot(1, 2, "new")))
    project.label(mr, "maya", add=(f"l{body[:50]}",))
    project.comment(project.issues[1], "maya", body or " ")


@pytest.mark.parametrize(("sent", "held"), [(b"\\ud83d", "\ufffd"), (b"\\u0000", "")], ids=["lone surrogate", "NUL"])
def test_half_a_character_costs_nobody_elses_words(desk: GitLabDesk, project: Project, sent: bytes, held: str) -> None:
    """Lone surrogates and NUL bytes, as JSON can write them, wherever they stand: replaced; the payload keeps them."""
    mr = project.open_merge_request("maya", "a HALF title", "a HALF text", diffs=[FileDiff("a", "HALF", "HALF")])
    issue = project.open_issue("maya", "a HALF issue", "HALF")
    note = project.comment(mr, "odile", "a HALF note")
    project.label(mr, "maya", add=("HALF",))
    desk.world.advance(seconds=SETTLED)

    def halve(request: Request) -> Response:
        answer = desk.app.answer(replace(request, headers={**request.headers, "if-none-match": ""}))
        headers = {k: v for k, v in answer.headers.items() if k != "etag"}
        return Response(answer.status, answer.encoded().replace(b"HALF", sent), headers)

    desk.app.switches.fault = halve
    assert desk.run().exit_code == 0
    words = {(kind, id_): (title, body) for kind, id_, title, body in desk.sql(
        "SELECT kind, id, title, body FROM feedback.events WHERE is_latest")}  # fmt: skip
    assert words["merge_request", str(mr.id)] == (f"a {held} title", f"a {held} text")
    assert words["issue", str(issue.id)] == (f"a {held} issue", held)
    assert words["note", str(note.id)] == (None, f"a {held} note")
    assert desk.run().exit_code == 0 and desk.run().sources[0].packages == 0


def test_an_unreadable_merge_request_that_is_deleted_meanwhile_is_forgotten(desk: GitLabDesk, project: Project) -> None:
    """There is nothing left to read again: it does not fail for ever."""
    spoiled(desk, "/merge_requests", lambda found: found[-1].update(title=5))
    assert desk.run().exit_code == 3
    project.delete(project.merge_requests[orjson.loads(desk.one("SELECT raw FROM ops.quarantine"))["iid"]])
    desk.app.rewrite = None
    assert desk.run(sweep=True).exit_code == 3
    assert desk.run().exit_code == 0
    assert desk.one("SELECT count(*) FROM ops.quarantine WHERE resolved_at IS NULL") == 0
