"""What readers and programs are told of a run is true: how it ended, what failed in it by name, also when it was stopped."""

import json
import signal
import sqlite3
import time
from typing import Any

import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Request, Response
from pipelines.search import documents
from pipelines.state.ledger import Ledger
from pipelines.sync import after_load
from sources.core.targets import Target
from tests.read_before import GitLabStory
from tests.small_gitlab import PLACE, gitlab, project, world
from tests.synced import GitLabDesk
from tests.test_gitlab_kills import GitLabProject

__all__ = ["gitlab", "project", "world"]

ENDING = "status, exit_code, phase, finished_at IS NOT NULL, requests, rows_new, seconds > 0"
MR = Target("mr", 1)


def forbidding(tail: str) -> Any:
    return lambda request: Response(403, {"message": "403"}) if request.path.endswith(tail) else None


def ledger(gitlab: GitLabDesk, query: str) -> list[tuple[Any, ...]]:
    with Ledger.open(gitlab.home.control) as held:
        return [tuple(row) for row in held.connection.execute(query).fetchall()]


def last(gitlab: GitLabDesk) -> tuple[Any, ...]:
    """The last run as readers see it."""
    return gitlab.sql(f"SELECT {ENDING} FROM ops.runs ORDER BY run_id DESC LIMIT 1")[0]


def failures(gitlab: GitLabDesk) -> list[tuple[Any, ...]]:
    return ledger(gitlab, "SELECT scope_name, surface, code FROM failures WHERE resolved_at IS NULL ORDER BY surface")


@pytest.fixture
def partial(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> GitLabDesk:
    """After a surgical run that could not read the notes of !1."""
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "new")
    gitlab.app.switches.fault = forbidding("merge_requests/1/discussions")
    assert gitlab.operate(PLACE, MR, Target("mr", 2)).exit_code == 3
    gitlab.app.switches.fault = None
    return gitlab


# As they end


def test_a_partial_surgical_run_is_seen_as_one(partial: GitLabDesk) -> None:
    assert last(partial)[:4] == ("partial", 3, "done", True)
    assert last(partial) == ledger(partial, f"SELECT {ENDING} FROM runs ORDER BY run_id DESC LIMIT 1")[0]
    (detail,) = partial.sql("SELECT detail FROM ops.runs ORDER BY run_id DESC LIMIT 1")[0]
    assert json.loads(detail)["completion_status"] == "partial"


@pytest.mark.parametrize("tail", ["", "merge_requests/1/discussions"])
def test_a_bulk_run_is_seen_as_it_ended(gitlab: GitLabDesk, world: GitLabWorld, project: Project, tail: str) -> None:
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "new")
    gitlab.app.switches.fault = forbidding(tail) if tail else None
    assert gitlab.run().exit_code == (3 if tail else 0)
    assert last(gitlab)[:4] == (("partial", 3) if tail else ("done", 0)) + ("done", True)
    assert last(gitlab) == ledger(gitlab, f"SELECT {ENDING} FROM runs ORDER BY run_id DESC LIMIT 1")[0]


def test_an_index_that_cannot_be_written_is_seen_too(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails after the models were built, and before readers get them."""

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(documents, "opened", full)
    news(world, project, 1)
    assert gitlab.run().exit_code == 3
    assert last(gitlab)[:2] == ("partial", 3)


@pytest.mark.ci
def test_a_run_that_others_published_beside_is_told_to_its_end(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A surgical run embeds without the lock; a bulk run publishes and sees it at that; the next sees its end."""
    runs = "SELECT mode, status, phase FROM ops.runs WHERE run_id > 1 ORDER BY run_id"

    async def embed(self: Any, only: Any = None) -> None:
        if only is None:
            return
        with self.stage("embed"):
            news(world, project, 2)
            await making_beside(gitlab)
            assert gitlab.sql(runs) == [("surgical", "running", "embed"), ("bulk", "done", "done")]

    monkeypatch.setattr(after_load.Making, "embed", embed)
    news(world, project, 1)
    assert gitlab.operate(PLACE, MR).exit_code == 0
    news(world, project, 3)
    gitlab.run()
    assert gitlab.sql(runs) == [("surgical", "done", "done"), ("bulk", "done", "done"), ("bulk", "done", "done")]


def news(world: GitLabWorld, project: Project, number: int) -> None:
    world.advance(seconds=61)
    project.comment(project.merge_requests[number], "maya", "new")


async def making_beside(gitlab: GitLabDesk) -> None:
    from pipelines.sync.run import Options, sync
    from tests.synced import Reached

    assert (await sync(gitlab.home, [Reached(gitlab.source(gitlab.names), gitlab.app)], Options())).exit_code == 0


# By name


def test_what_a_surgical_run_could_not_read_is_an_open_failure(partial: GitLabDesk) -> None:
    """By the name that a bulk run gives it, so that the run which reads it closes it; another's success does not."""
    named = [(PLACE, "threads of !1", "AUTH_FAILED")]
    assert failures(partial) == named
    assert partial.sql("SELECT scope_name, surface, code FROM ops.failures WHERE resolved_at IS NULL") == named
    partial.operate(PLACE, Target("mr", 2))
    assert failures(partial) == named
    partial.operate(PLACE, MR)
    assert failures(partial) == []


def test_a_bulk_run_closes_what_a_surgical_one_left_open(partial: GitLabDesk, world: GitLabWorld) -> None:
    world.advance(seconds=300)
    partial.app.switches.fault = forbidding("merge_requests/1/discussions")
    partial.run()
    assert ledger(partial, "SELECT attempts FROM failures") == [(2,)], "the same failure goes on"
    partial.app.switches.fault = None
    partial.run()
    assert failures(partial) == []
    partial.judge()


def test_what_a_preflight_missed_is_named_and_leaves_nothing_open(gitlab: GitLabDesk) -> None:
    """Nothing was written, so nothing is missing; which targets could not be read stands beside the run."""
    assert gitlab.operate(PLACE, MR, Target("mr", 999), Target("issue", 998)).exit_code == 6
    ((error,),) = ledger(gitlab, "SELECT error FROM runs ORDER BY run_id DESC LIMIT 1")
    assert "!999" in error and "#998" in error and "NOT_FOUND" in error
    known = ledger(gitlab, "SELECT scope_name, surface, code, resolved_at IS NOT NULL FROM failures ORDER BY surface")
    assert known == [(PLACE, "preflight of !999", "NOT_FOUND", 1), (PLACE, "preflight of #998", "NOT_FOUND", 1)] or (
        known == [(PLACE, "preflight of #998", "NOT_FOUND", 1), (PLACE, "preflight of !999", "NOT_FOUND", 1)]
    )


# When they are stopped


@pytest.fixture
def story(gitlab_story: GitLabStory) -> GitLabProject:
    return gitlab_story.project


def interrupted(project: GitLabProject, tail: str, *words: str) -> Any:
    """What a run says that gets Ctrl-C when it asks for this."""
    running: list[Any] = []

    def strike(request: Request) -> None:
        if request.path.endswith(tail) and running:
            running[0].send_signal(signal.SIGINT)
            time.sleep(0.3)

    project.app.switches.before = strike
    before = len(project.app.log)
    running.append(project.start(*words))
    ended = project.ended(running[0], before)
    project.app.switches.before = None
    assert ended.code == 130, ended.said
    return ended


def completion(project: GitLabProject) -> str:
    ((detail,),) = project.ledger("SELECT detail FROM runs ORDER BY run_id DESC LIMIT 1")
    return str(json.loads(detail)["completion_status"])


@pytest.mark.ci
@pytest.mark.parametrize(("tail", "fetched"), [("/merge_requests/1", False), ("/merge_requests/1/discussions", True)])
def test_an_interrupted_surgical_run_tells_what_became_of_its_targets(
    story: GitLabProject, tail: str, fetched: bool
) -> None:
    """One envelope with the run and every target; and the ledger calls it what it is."""
    told = json.loads(interrupted(story, tail, "--mr", "1", "--json").out)
    assert not told["ok"] and told["error"]["code"] == "CANCELLED" and told["meta"]["exit_code"] == 130
    assert told["data"]["run_id"] == told["meta"]["run_id"] == 2
    (outcome,) = told["data"]["entity_outcomes"]
    assert (outcome["number"], outcome["fetched"], outcome["ingested"]) == (1, fetched, False)
    assert told["data"]["completion_status"] == completion(story) == "cancelled"
    assert told["data"]["recovery_actions"] == [f"earshot sync --mr 1 -p {story_place(story)}"]


def story_place(project: GitLabProject) -> str:
    return next(iter(project.ledger("SELECT scope_name FROM scopes")))[0]


@pytest.mark.ci
def test_an_interrupted_bulk_run_tells_how_far_it_was(story: GitLabProject) -> None:
    told = json.loads(interrupted(story, "/merge_requests", "--full", "--json").out)
    assert not told["ok"] and told["error"]["code"] == "CANCELLED" and told["meta"]["exit_code"] == 130
    assert told["data"]["run_id"] == 2 and told["data"]["sources"][0]["source"] == "gitlab"
    assert told["data"]["sources"][0]["requests"] > 0


@pytest.mark.ci
def test_people_are_told_too(story: GitLabProject) -> None:
    ended = interrupted(story, "/merge_requests/1/discussions", "--mr", "1")
    assert "!1  is there; nothing written" in ended.out and "cancelled" in ended.out
    assert "complete" not in ended.said and "Traceback" not in ended.said


@pytest.mark.ci
def test_a_killed_run_is_not_complete(story: GitLabProject) -> None:
    """Nobody was there to say how it ended: it says that it did not."""
    killed = story.killed_at("pipelines.warehouse.data_dir:DataDir.publish", "--mr", "1")
    assert killed.code == -signal.SIGKILL and completion(story) == "unfinished"
