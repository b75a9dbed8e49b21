"""An endpoint that answers nothing but errors is left alone, told once, and nobody behind it starves."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.server.web import Request, Response
from sources.core.http.client import Failure, connect
from tests.in_memory import in_memory
from tests.small_gitlab import NOW, gitlab, project, world  # noqa: F401
from tests.synced import GitLabDesk, desk

SERVER_ERROR = Response(500, {"message": "500 Internal Server Error"})


def ask(numbers: range, broken: range, path: str = "/items/{}/notes") -> tuple[int, list[str]]:
    """How often a service was asked for so many items one after the other, and what became of each."""
    asked, told = 0, list[str]()

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        number = int(re.findall(r"\d+", request.url.path)[0])
        return httpx.Response(500 if number in broken else 200, json=[])

    async def run() -> None:
        async with connect("http://127.0.0.1", {}, transport=httpx.MockTransport(handler), max_retries=0) as api:
            for number in numbers:
                try:
                    await api.get(path.format(number))
                    told.append("read")
                except Failure as why:
                    told.append("not asked" if "not asked" in str(why) else "failed")

    asyncio.run(run())
    return asked, told


def test_what_always_fails_is_asked_a_few_times() -> None:
    """Thousands of merge requests whose discussions answer 500 were each asked for, four times, with pauses between."""
    asked, told = ask(range(10_000), range(10_000))
    assert asked < 25 and told.count("failed") == asked and told[:5] == ["failed"] * 5


def test_an_endpoint_that_is_well_again_is_noticed() -> None:
    """Now and then one is asked for all the same; the first that answers, and all are."""
    _, told = ask(range(1000), range(20))
    assert told.count("read") > 950 and told[-900:] == ["read"] * 900


def test_failures_among_successes_give_nothing_up() -> None:
    asked, _ = ask(range(0, 400, 3), range(0, 400, 2))
    assert asked == len(range(0, 400, 3))


@pytest.mark.ci
def test_another_endpoint_is_asked(gitlab: GitLabDesk, project: Project) -> None:  # noqa: F811
    """Forty merge requests whose discussions answer 500: asked a few times, told once; everything else of them lands,
    and the next run that can reads all.
    """
    for number in range(40):
        project.comment(project.open_merge_request("maya", f"Change {number}", ""), "kofi", "Well.")
    project.world.advance(seconds=300)
    gitlab.app.switches.fault = lambda request: SERVER_ERROR if request.path.endswith("/discussions") else None
    told = gitlab.run()
    assert told.exit_code == 3
    assert sum(call.path.endswith("/discussions") for call in gitlab.app.log) < 20
    assert sum("not asked" in problem.message for source in told.sources for problem in source.problems) == 1
    assert gitlab.one("SELECT count(*) FROM gitlab.diffs") == len(project.merge_requests)
    gitlab.app.switches.fault = None
    assert gitlab.run().exit_code == 0
    gitlab.judge()


@pytest.mark.ci
def test_those_behind_what_stays_broken_do_not_starve(gitlab: GitLabDesk, project: Project) -> None:  # noqa: F811
    """The newest thirty stay broken; the others are read within a few runs, whatever their place."""
    for number in range(40):
        project.comment(project.open_merge_request("maya", f"Change {number}", ""), "kofi", f"Well {number}.")
        project.world.advance(seconds=100)
    project.world.advance(seconds=300)
    broken = sorted(project.merge_requests)[-30:]

    def fault(request: Request) -> Response | None:
        found = re.search(r"/merge_requests/(\d+)/discussions", request.path)
        return SERVER_ERROR if found and int(found[1]) in broken else None

    gitlab.app.switches.fault = fault
    readable = {f"Well {n}." for n in range(10)}
    for _ in range(6):
        assert gitlab.run().exit_code == 3
        held = {body for (body,) in gitlab.sql("SELECT body FROM feedback.comments")}
        if readable <= held:
            return
    pytest.fail("what can be read was not")


def test_reviews_on_github_too(tmp_path: Path) -> None:
    world = GitHubWorld(NOW)  # noqa: F811
    repo = world.add_repo("lantern/lantern")
    for number in range(60):
        repo.review(repo.open_pull("maya", f"Change {number}", ""), "kofi", "APPROVED")
    world.advance(seconds=300)
    read = in_memory(desk(tmp_path / "data", world))
    read.app.switches.fault = lambda request: SERVER_ERROR if request.path.endswith("/reviews") else None
    assert read.run().exit_code == 3
    assert sum(call.path.endswith("/reviews") for call in read.app.log) < 40
    read.app.switches.fault = None
    assert read.run().exit_code == 0
    read.judge()
