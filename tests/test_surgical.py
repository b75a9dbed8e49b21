"""Surgical runs, in process: what is asked for, what lands, what is refused. Numbers are those of the acceptance list in
tests/README.md; those about locks, signals and kills are in test_surgical_processes.py.
"""

import hashlib
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Bent, Request, Response
from pipelines.search.query import search
from pipelines.state.ledger import Ledger
from pipelines.sync.targets.outcomes import MOST
from sources.core.targets import Target
from tests.in_memory import in_memory
from tests.small_gitlab import NOW, PLACE, project, world
from tests.small_gitlab import placed_gitlab as gitlab
from tests.synced import GitHubDesk, GitLabDesk, desk, gitlab_desk

__all__ = ["gitlab", "project", "world"]


def mr(number: int) -> Target:
    return Target("mr", number)


def issue(number: int) -> Target:
    return Target("issue", number)


def asked(gitlab: GitLabDesk) -> list[str]:
    return [call.path.partition("/api/v4/projects/")[2].partition("/")[2] for call in gitlab.app.log]


def content(home: Path) -> dict[str, str]:
    """Every file's bytes but the ledger's."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.iterdir())
        if path.is_file() and not path.name.startswith(("control", "earshot.lock"))
    }


def run_of(gitlab: GitLabDesk, run_id: int) -> dict[str, Any]:
    with Ledger.open(gitlab.home.control) as ledger:
        return dict(ledger.connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone())


@pytest.mark.on_disk
def test_06_one_merge_request_is_fresh_with_all_that_hangs_on_it(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """Its notes, events, closed issues and diffs; nobody else's. The warehouse then equals the world."""
    first, other = (project.merge_requests[n] for n in sorted(project.merge_requests)[:2])
    world.advance(seconds=61)
    project.comment(first, "maya", "look at this one")
    project.comment(other, "maya", "and at that one")
    surgery = gitlab.operate(PLACE, mr(first.iid))
    assert (surgery.exit_code, surgery.completion) == (0, "complete")
    assert sorted(asked(gitlab)) == sorted(
        f"merge_requests/{first.iid}{tail}"
        for tail in ("", "/discussions", "/resource_state_events", "/resource_label_events",
                     "/resource_milestone_events", "/closes_issues", "/diffs")
    )  # fmt: skip
    bodies = {body for (body,) in gitlab.sql("SELECT body FROM feedback.comments")}
    assert "look at this one" in bodies and "and at that one" not in bodies
    world.advance(seconds=300)
    gitlab.run()
    gitlab.judge()


def test_07_several_of_both_kinds(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """In one run, landed in one package, published once."""
    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.issues[number], "odile", f"issue {number}")
    project.comment(project.merge_requests[3], "odile", "mr 3")
    surgery = gitlab.operate(PLACE, issue(1), issue(2), mr(3))
    assert surgery.exit_code == 0 and surgery.report and surgery.report.sources[0].packages == 1
    assert gitlab.one("SELECT count(*) FROM feedback.comments WHERE author = 'odile' AND created_at > ?", NOW) == 3


@pytest.mark.on_disk
def test_10_11_37_every_missing_target_is_named_and_nothing_is_written(gitlab: GitLabDesk) -> None:
    """Not only the first of them; those that are there are said to be there."""
    before = content(gitlab.home.path)
    surgery = gitlab.operate(PLACE, mr(1), mr(999), issue(998))
    assert surgery.exit_code == 6
    assert [(t.number, stage, why.code) for t, stage, why in surgery.failures] == [
        (999, "preflight", "NOT_FOUND"), (998, "preflight", "NOT_FOUND"),
    ]  # fmt: skip
    assert surgery.outcomes[mr(1)].fetched and not surgery.outcomes[mr(1)].ingested
    assert "999" in str(surgery.failures[0][2]) and content(gitlab.home.path) == before


def test_15_what_was_read_before_is_read_again(gitlab: GitLabDesk) -> None:
    """Also where the watermark says that nothing can be new."""
    assert "merge_requests/1/discussions" not in (gitlab.run(), asked(gitlab))[1]
    gitlab.operate(PLACE, mr(1))
    assert "merge_requests/1/discussions" in asked(gitlab)


def test_16_a_bulk_run_goes_on_as_if_nothing_had_happened(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """No cursor moved: what else changed is found. The watermark did: what was touched is not read again."""
    gitlab.run()
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "one")
    project.comment(project.merge_requests[2], "maya", "two")
    world.advance(seconds=300)
    gitlab.operate(PLACE, mr(1))
    gitlab.run()
    assert "merge_requests/2/discussions" in asked(gitlab) and "merge_requests/1/discussions" not in asked(gitlab)
    gitlab.judge()


def test_21_dependents_follow_the_settings(gitlab: GitLabDesk) -> None:
    gitlab.operate(PLACE, mr(1), config={"fetch_diffs": False, "fetch_closes_issues": False})
    assert not {"merge_requests/1/diffs", "merge_requests/1/closes_issues"} & set(asked(gitlab))
    gitlab.operate(PLACE, issue(1))
    assert not any(path.endswith(("diffs", "closes_issues")) for path in asked(gitlab)), "an issue has neither"


@pytest.mark.on_disk
def test_24_preflight_only_looks_and_writes_nothing_but_the_ledger(gitlab: GitLabDesk) -> None:
    before = content(gitlab.home.path)
    surgery = gitlab.operate(PLACE, mr(1), issue(2), preflight_only=True)
    assert (surgery.exit_code, surgery.completion) == (0, "preflight_only")
    assert asked(gitlab) == ["merge_requests/1", "issues/2"] and content(gitlab.home.path) == before
    assert run_of(gitlab, surgery.run_id)["mode"] == "preflight"
    assert gitlab.operate(PLACE, mr(77), preflight_only=True).exit_code == 6


def test_26_27_the_ledger_says_what_was_done(gitlab: GitLabDesk) -> None:
    """Mode, phase, counters and timings, of a run that succeeded and of one that did not."""
    done = run_of(gitlab, gitlab.operate(PLACE, mr(1)).run_id)
    assert (done["mode"], done["status"], done["phase"], done["exit_code"]) == ("surgical", "done", "done", 0)
    assert '"ingested":1' in done["detail"] and '"preflight":' in done["detail"] and done["requests"] == 7
    failed = run_of(gitlab, gitlab.operate(PLACE, mr(99)).run_id)
    assert (failed["status"], failed["phase"], failed["exit_code"]) == ("failed", "failed", 6)
    assert failed["finished_at"] and failed["heartbeat_at"]


def test_29_a_dependent_fails_alone(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """The target lands, so do its other dependents and all of the others'; the next bulk run makes up for it."""
    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.merge_requests[number], "maya", f"new in {number}")
    bad = "merge_requests/1/discussions"
    gitlab.app.switches.fault = lambda request: (
        Response(403, {"message": "403"}) if request.path.endswith(bad) else None
    )
    surgery = gitlab.operate(PLACE, mr(1), mr(2))
    gitlab.app.switches.fault = None
    assert (surgery.exit_code, surgery.completion) == (3, "partial")
    assert [(t, stage, why.code) for t, stage, why in surgery.failures] == [(mr(1), "threads", "AUTH_FAILED")]
    assert surgery.outcomes[mr(1)].ingested and surgery.outcomes[mr(2)].ingested
    assert {b for (b,) in gitlab.sql("SELECT body FROM feedback.comments WHERE body LIKE 'new in%'")} == {"new in 2"}
    world.advance(seconds=300)
    gitlab.run()
    gitlab.judge()


def test_a_note_that_cannot_be_read_is_its_own_targets_failure(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """It is told and kept raw; the other words of its thread land, and so do the other targets (exit 3)."""

    def spoilt(request: Request, body: Any) -> Any:
        if request.path.endswith("/merge_requests/1/discussions"):
            body[0]["notes"][0]["created_at"] = "yesterday"
        return body

    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.merge_requests[number], "maya", f"new in {number}")
    gitlab.app.rewrite = spoilt
    surgery = gitlab.operate(PLACE, mr(1), mr(2))
    gitlab.app.rewrite = None
    assert (surgery.exit_code, surgery.completion) == (3, "partial"), surgery.error
    assert [(t, stage) for t, stage, _ in surgery.failures] == [(mr(1), "threads")]
    assert gitlab.one("SELECT count(*) FROM ops.quarantine WHERE resolved_at IS NULL") == 1
    assert len(gitlab.sql("SELECT 1 FROM feedback.comments WHERE body LIKE 'new in%'")) == 2
    world.advance(seconds=300)
    gitlab.run()
    gitlab.judge()


def test_31_32_new_and_closed_ones_too(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    world.advance(seconds=61)
    fresh = project.open_issue("freja", "Never seen", "words")
    project.close(project.issues[1], "maya")
    assert gitlab.operate(PLACE, issue(fresh.iid), issue(1)).exit_code == 0
    assert gitlab.sql("SELECT number, state FROM gitlab.issues WHERE number IN (1, ?) ORDER BY 1", fresh.iid) == [
        (1, "closed"), (fresh.iid, "opened"),
    ]  # fmt: skip


def between(gitlab: GitLabDesk, job: Any) -> None:
    """`job` happens after the preflight and before the lock is taken."""
    lock = type(gitlab.home).lock

    def busy(home: Any) -> Any:
        type(gitlab.home).lock = lock  # type: ignore[method-assign]
        job()
        return lock(home)

    type(gitlab.home).lock = busy  # type: ignore[method-assign]


def test_41_a_newer_state_in_the_warehouse_is_not_overwritten(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """A bulk run came in between preflight and ingest: ours is skipped and said to be."""
    gitlab.run()

    def meanwhile() -> None:
        world.advance(seconds=61)
        project.edit(project.merge_requests[1], "maya", title="A better title")
        world.advance(seconds=300)
        _in_thread(gitlab.run)

    between(gitlab, meanwhile)
    surgery = gitlab.operate(PLACE, mr(1), mr(2))
    assert surgery.outcomes[mr(1)].is_stale and surgery.outcomes[mr(2)].ingested
    assert surgery.exit_code == 0 and surgery.counters()["skipped_stale"] == 1
    assert gitlab.one("SELECT title FROM gitlab.merge_requests WHERE number = 1") == "A better title"
    gitlab.judge()


def test_42_of_equal_times_what_was_seen_later_stays(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """A label's new name moves no time; whoever looked later is right."""
    gitlab.run()

    def meanwhile() -> None:
        world.advance(seconds=30)
        _in_thread(lambda: gitlab.run(full=True))

    between(gitlab, meanwhile)
    assert gitlab.operate(PLACE, mr(1)).outcomes[mr(1)].is_stale
    assert gitlab.operate(PLACE, mr(1)).outcomes[mr(1)].ingested, "without such a run it is not stale"


@pytest.mark.on_disk
def test_42_a_bulk_run_that_was_under_way_is_judged_by_when_it_looked(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """It began before our preflight, and saw a push, which moves no time, after it: what it saw stays."""
    gitlab.run()
    began, go_on = threading.Event(), threading.Event()

    def wait(request: Request) -> None:
        if request.path.endswith("/merge_requests"):
            began.set()
            assert go_on.wait(20)

    beside = gitlab_desk(gitlab.home.path, world, PLACE)
    beside.app.switches.before = wait
    bulk = threading.Thread(target=lambda: beside.run(sweep=True))
    bulk.start()
    assert began.wait(20)
    world.advance(seconds=5)

    def meanwhile() -> None:
        world.advance(seconds=5)
        project.push(project.merge_requests[1], "benji")
        go_on.set()
        bulk.join()

    between(gitlab, meanwhile)
    assert gitlab.operate(PLACE, mr(1)).outcomes[mr(1)].is_stale
    sha = gitlab.one("SELECT head_sha FROM gitlab.merge_requests WHERE number = 1")
    assert sha == project.merge_requests[1].refs.head_sha


def _in_thread(job: Any) -> None:
    """A run of its own, beside the one whose event loop is waiting here."""
    thread = threading.Thread(target=job)
    thread.start()
    thread.join()


def test_48_a_payload_of_another_project_lands_nowhere(gitlab: GitLabDesk) -> None:
    gitlab.app.rewrite = lambda request, body: {**body, "project_id": 4711} if isinstance(body, dict) else body
    surgery = gitlab.operate(PLACE, mr(1))
    assert surgery.exit_code == 6 and [why.code for _, _, why in surgery.failures] == ["PROJECT_MISMATCH"]


def test_50_a_dependent_out_of_time_is_recorded_and_the_others_go_on(gitlab: GitLabDesk) -> None:
    gitlab.app.switches.fault = lambda request: Bent(delay=9.0) if request.path.endswith("/diffs") else None
    surgery = gitlab.operate(PLACE, mr(1), timeout=1.5)
    assert surgery.exit_code == 3 and [(s, w.code) for _, s, w in surgery.failures] == [("diffs", "TIMEOUT")]
    gitlab.app.switches.fault = lambda request: Bent(delay=9.0) if request.path.endswith("/issues/1") else None
    late = gitlab.operate(PLACE, issue(1), mr(1), timeout=1.5)
    assert late.exit_code == 6 and [(t, w.code) for t, _, w in late.failures] == [(issue(1), "TIMEOUT")]


@pytest.mark.on_disk
def test_nothing_is_published_when_the_landing_fails(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers keep the old state; the next run heals."""
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "soon")
    before = content(gitlab.home.path)["published.duckdb"]
    monkeypatch.setattr("pipelines.sync.source.pipeline.SourcePipeline.load", _broken)
    surgery = gitlab.operate(PLACE, mr(1))
    monkeypatch.undo()
    assert surgery.exit_code == 1 and "disk is on fire" in str(surgery.error)
    assert content(gitlab.home.path)["published.duckdb"] == before
    world.advance(seconds=300)
    gitlab.run()
    gitlab.judge()


def _broken(*_: object) -> None:
    raise OSError("the disk is on fire")


@pytest.fixture
def github(tmp_path: Path, placed: Callable[..., Any]) -> Iterator[tuple[GitHubDesk, GitHubWorld, Any]]:
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    world.fill(repo, pulls=4, comments=12, review_comments=8)
    world.advance(seconds=300)
    made = placed(desk(tmp_path / "data", world))
    made.run()
    yield made, world, repo


@pytest.mark.on_disk
def test_a_pull_request_with_its_comments_reviews_and_diff_comments(github: Any) -> None:
    """GitHub the same way: two requests for what it is, one for each list of words and for its
    threads; deletions are noticed at once."""
    made, world, repo = github
    number = made.one(
        "SELECT parent_number FROM feedback.events WHERE kind = 'issue_comment' AND parent_kind = 'pull_request' LIMIT 1"
    )
    gone = made.one("SELECT id FROM github.issue_comments WHERE number = ? LIMIT 1", number)
    world.advance(seconds=10)
    repo.comment(number, "maya", "and this")
    repo.delete_comment(gone)
    surgery = made.operate("lantern/lantern", Target("pr", number))
    assert (surgery.exit_code, surgery.completion) == (0, "complete")
    tails = sorted(call.path.removeprefix("/repos/lantern/lantern/") for call in made.app.log)
    assert tails == sorted([f"issues/{number}", f"pulls/{number}", f"issues/{number}/comments", f"pulls/{number}/reviews",
                            f"pulls/{number}/comments", "/graphql"])  # fmt: skip
    assert made.one("SELECT count(*) FROM feedback.comments WHERE body = 'and this'") == 1
    assert made.one(
        "SELECT bool_and(is_deleted) FROM feedback.events WHERE kind = 'issue_comment' AND id = ?", str(gone)
    )
    world.advance(seconds=300)
    made.run()
    made.judge()


def test_an_issue_number_that_is_a_pull_request_is_read_as_one(github: Any) -> None:
    made, _, _ = github
    pull = Target("issue", made.one("SELECT min(number) FROM github.pull_requests"))
    surgery = made.operate("lantern/lantern", pull, Target("pr", 9999))
    assert surgery.exit_code == 6 and surgery.outcomes[pull].fetched
    assert made.operate("lantern/lantern", pull).exit_code == 0
    assert any(call.path.endswith("/reviews") for call in made.app.log)


def test_a_project_that_was_renamed_is_found_by_the_name_that_is_configured(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """Bulk runs know it by its new one; the old one is sent on."""
    project.rename("lantern/desk")
    world.advance(seconds=300)
    assert gitlab.run().exit_code == 0
    assert gitlab.operate(PLACE, mr(1)).exit_code == 0
    assert gitlab.app.log[-1].path.startswith(f"/api/v4/projects/{project.id}/")


def test_a_repository_that_was_renamed_is_found_by_the_name_that_is_configured(github: Any) -> None:
    made, world, repo = github
    repo.rename("lantern/torch")
    world.advance(seconds=300)
    assert made.run().exit_code == 0
    number = made.one("SELECT min(number) FROM github.pull_requests")
    assert made.operate("lantern/lantern", Target("pr", number)).exit_code == 0


def test_of_two_projects_that_had_a_name_the_later_is_meant(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """The first was renamed, and another took its place; a bulk run has met it."""
    project.rename("lantern/old")
    other = world.add_project(PLACE)
    other.open_merge_request("benji", "Another", "words")
    world.advance(seconds=300)
    gitlab.run()
    assert gitlab.operate(PLACE, mr(1)).exit_code == 0
    assert {call.path.split("/")[4] for call in gitlab.app.log} == {str(other.id)}


def test_a_name_that_begins_with_a_digit_is_no_id(tmp_path: Path, world: GitLabWorld, project: Project) -> None:
    """The ledger knows a project by its id and by the name that it was looked up by: only one of them is in paths."""
    project.rename("0day/console")
    desk = in_memory(gitlab_desk(tmp_path / "digits", world, "0day/console"))
    desk.run()
    assert desk.operate("0day/console", mr(1)).exit_code == 0


def test_a_first_run_may_be_surgical(tmp_path: Path, world: GitLabWorld) -> None:
    """Nothing was ever read: the project is looked up, the tables are made, a bulk run then reads everything."""
    fresh = in_memory(gitlab_desk(tmp_path / "fresh", world, PLACE))
    assert fresh.operate(PLACE, mr(1)).exit_code == 0
    assert fresh.one("SELECT count(*) FROM gitlab.merge_requests") == 1
    fresh.run()
    fresh.judge()


@pytest.mark.on_disk
def test_notes_that_a_broken_load_left_of_what_is_gone_count_nowhere(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """Killed between its tables, a run may leave notes of a merge request that never landed, and is then deleted."""
    gitlab.run()
    gone = project.merge_requests[1]
    with duckdb.connect(str(gitlab.home.warehouse)) as connection:
        connection.execute("DELETE FROM gitlab.merge_requests WHERE number = 1")
        connection.execute("DELETE FROM ops.taken_loads")
    with Ledger.open(gitlab.home.control) as ledger:
        ledger.state.is_unpublished = True
    project.delete(gone)
    assert gitlab.run(sweep=True).exit_code == 0
    live = "SELECT DISTINCT parent_number FROM feedback.comments WHERE parent_kind = 'merge_request'"
    assert {number for (number,) in gitlab.sql(live)} == set(project.merge_requests)


def test_100_targets_in_a_few_landings(tmp_path: Path) -> None:
    world = GitLabWorld(NOW)
    world.fill(world.add_project(PLACE), merge_requests=MOST, discussions=1, notes=1, issues=0, days=10)
    world.advance(seconds=300)
    many = in_memory(gitlab_desk(tmp_path / "data", world, PLACE))
    surgery = many.operate(PLACE, *map(mr, range(1, MOST + 1)))
    assert surgery.exit_code == 0 and many.one("SELECT count(*) FROM gitlab.threads") == MOST
    assert len(many.app.log) == 7 * MOST + 1 and many.app.max_in_flight <= 10


class Counting:
    """An embedder that keeps the texts it was asked for, and does something beside."""

    model = "counting"

    def __init__(self, beside: Any = None) -> None:
        self.texts: list[str] = []
        self.beside = beside

    async def embed(self, texts: Any) -> list[bytes]:
        if self.beside:
            beside, self.beside = self.beside, None
            beside()
        self.texts += texts
        return [array("f", [1.0, 0.0]).tobytes() for _ in texts]


def said(gitlab: GitLabDesk) -> dict[str, str]:
    return dict(gitlab.sql("SELECT document_key, content_hash FROM feedback.documents"))


def undone(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """Two merge requests have news that were landed by a run which left the documents for later."""
    world.advance(seconds=61)
    for number in (2, 3):
        project.comment(project.merge_requests[number], "maya", f"backlog {number}")
    world.advance(seconds=300)
    gitlab.run(docs=False)


@pytest.mark.on_disk
def test_13_no_docs_and_no_embed_skip_these_stages(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "a walrus")
    surgery = gitlab.operate(PLACE, mr(1), options={"docs": False})
    assert surgery.exit_code == 0 and not {"docs", "embed"} & surgery.timings_ms.keys()
    assert (surgery.counters()["docs_regenerated"], surgery.counters()["docs_embedded"]) == (0, 0)
    assert not search("walrus", data=gitlab.home.path)
    gitlab.run()
    assert len(search("walrus", data=gitlab.home.path)) == 1, "it was left for the next run"


@pytest.mark.on_disk
def test_14_38_45_only_the_documents_of_the_targets_are_regenerated(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """What else is due stays due, in the documents and in the index, until a run over everything takes it."""
    undone(gitlab, world, project)
    before = said(gitlab)
    project.comment(project.merge_requests[1], "maya", "a walrus")
    surgery = gitlab.operate(PLACE, mr(1))
    after = said(gitlab)
    [changed] = [key for key in after if before.get(key) != after[key]]
    assert surgery.counters()["docs_regenerated"] == 1 and changed.endswith("!1")
    assert {"docs"} <= surgery.timings_ms.keys() and '"docs_regenerated":1' in run_of(gitlab, surgery.run_id)["detail"]
    assert len(gitlab.sql("FROM ops.dirty_documents")) == 2
    assert search("walrus", data=gitlab.home.path) and not search('"backlog 2"', data=gitlab.home.path)
    assert {project_key(gitlab, 2), project_key(gitlab, 3)} <= gitlab.run().documents.keys()
    assert search('"backlog 2"', data=gitlab.home.path) and gitlab.sql("FROM ops.dirty_documents") == []


@pytest.mark.on_disk
def test_45_what_was_due_of_the_target_itself_is_taken_along(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    undone(gitlab, world, project)
    assert gitlab.operate(PLACE, mr(2)).counters()["docs_regenerated"] == 1
    assert gitlab.sql("FROM ops.dirty_documents") == [(project_key(gitlab, 3),)]
    assert search('"backlog 2"', data=gitlab.home.path) and not search('"backlog 3"', data=gitlab.home.path)


def project_key(gitlab: GitLabDesk, number: int) -> str:
    return str(gitlab.one("SELECT parent_key FROM gitlab.merge_requests WHERE number = ?", number))


@pytest.mark.on_disk
def test_36_the_lock_is_free_while_it_embeds(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """And what it made is published by then."""
    free, seen = [], []

    def beside() -> None:
        with gitlab.home.lock():
            free.append(True)
        seen.append(gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%walrus%'"))

    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "a walrus")
    surgery = gitlab.operate(PLACE, mr(1), options={"embedder": Counting(beside)})
    assert surgery.exit_code == 0 and free == [True] and seen == [1]
    assert surgery.counters()["docs_embedded"] == 1 and surgery.timings_ms["embed"] >= 0
    assert list(surgery.timings_ms)[-3:] == ["docs", "publish", "embed"]


@pytest.mark.on_disk
def test_43_exactly_the_regenerated_documents_are_embedded(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """None of the backlog, though nothing of it was ever embedded."""
    embedder = Counting()
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "a walrus")
    gitlab.operate(PLACE, mr(1), options={"embedder": embedder})
    assert embedder.texts and all(project.merge_requests[1].title in text for text in embedder.texts)
    assert gitlab.run(embedder=embedder).embedded == len(said(gitlab)) - 1


@pytest.mark.on_disk
def test_49_what_another_run_makes_beside_is_not_embedded(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """Also not if it changes a target's document in between: that run, or the next, embeds it."""

    def beside() -> None:
        world.advance(seconds=61)
        project.comment(project.merge_requests[2], "maya", "an otter")
        world.advance(seconds=300)
        _in_thread(gitlab.run)

    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "a walrus")
    embedder = Counting(beside)
    assert gitlab.operate(PLACE, mr(1), options={"embedder": embedder}).counters()["docs_embedded"] == 1
    assert search("otter", data=gitlab.home.path) and not any("otter" in text for text in embedder.texts)
