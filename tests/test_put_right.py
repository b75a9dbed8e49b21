"""A service's clock that was ahead, and is put right: what it told meanwhile is dated in what is the future now."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from tests.in_memory import in_memory
from tests.small_gitlab import NOW, project, world
from tests.small_gitlab import placed_gitlab as gitlab
from tests.synced import BlueskyDesk, GitLabDesk, bluesky_desk

__all__ = ["gitlab", "project", "world"]

MAYA = "maya.example"
FEW = {"initial_lookback_hours": 24.0, "posts_per_page": 5}


def test_what_was_read_for_a_time_of_the_future_is_due_when_it_is_told_earlier(
    gitlab: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """It is settled for a time that it does not bear any more, and no count tells of a title or a label."""
    change = next(iter(project.merge_requests.values()))
    world.advance(3600)
    project.close(change, "maya")
    world.advance(300)
    gitlab.run()
    world.now -= timedelta(seconds=3600)
    world.advance(60)
    project.edit(change, "maya", title="Renamed")
    project.label(change, "maya", add=("late",))
    world.advance(300)
    assert gitlab.run().exit_code == 0
    gitlab.judge()
    assert gitlab.sql("SELECT 1 FROM gitlab.resource_events__labels WHERE label = 'late'")
    world.advance(300)
    for _ in range(2):
        world.advance(300)
        assert gitlab.run().exit_code == 0
    assert len(gitlab.app.log) <= 3, "and then it is settled again"


def test_what_is_said_between_two_pages_of_the_future_is_not_lost(
    gitlab: GitLabDesk, project: Project, world: GitLabWorld
) -> None:
    """The page behind rows of the future is asked from there: its clock vouches for nothing that is said now."""
    old, asked = next(iter(project.issues.values())), list[str]()
    world.advance(86400 * 10)
    for n in range(150):
        project.open_issue("benji", f"Future {n}", "")
        world.advance(1)
    world.now -= timedelta(days=5)
    app: Any = gitlab.app

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asked.extend([scope["path"]] * scope["path"].endswith("/issues"))
        if len(asked) == 2 and old.title != "Meanwhile":
            world.advance(60)
            project.edit(old, "maya", title="Meanwhile")
            world.advance(200)
        await app(scope, receive, send)

    slow.log, gitlab.app = app.log, slow  # type: ignore[attr-defined, assignment]
    quick = {"fetch_resource_events": False}
    assert gitlab.run(config=quick).exit_code == 0
    world.advance(300)
    gitlab.run(config=quick)
    gitlab.judge()
    assert old.title == "Meanwhile"


@pytest.fixture
def sky() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    made.account(MAYA, "Maya")
    made.post(MAYA, "first")
    made.advance(60)
    return made


def followed(tmp_path: Path, sky: BlueskyWorld) -> BlueskyDesk:
    desk = in_memory(bluesky_desk(tmp_path / "data", sky, MAYA))
    assert desk.run(FEW).exit_code == 0
    return desk


@pytest.mark.parametrize("ahead", [0, 5])
def test_a_feed_that_is_begun_anew_has_no_hole_before_yesterday(tmp_path: Path, sky: BlueskyWorld, ahead: int) -> None:
    """How far it was read cannot be believed, since when it is followed can: the records from then on are compared."""
    sky.now = sky.now.add(days=ahead)
    desk = followed(tmp_path, sky)
    sky.now = sky.now.subtract(days=ahead)
    if not ahead:
        scopes = desk.home.destination.states["bluesky"]["posts"]["scopes"]  # type: ignore[attr-defined]
        for did, cursor in scopes.items():
            scopes[did] = {**cursor, "head": "rubbish"}
    for n in range(36):
        sky.advance(2 * 3600)
        sky.post(MAYA, f"said {n:02}")
    for _ in range(2):
        sky.advance(60)
        assert desk.run(FEW).exit_code == 0
    desk.judge()


@pytest.mark.parametrize("is_away", [False, True])
def test_all_that_is_read_again_is_not_less_than_what_is_news(tmp_path: Path, sky: BlueskyWorld, is_away: bool) -> None:
    """--full after some days: back to where the account was first followed; who they are, nobody forgets meanwhile."""
    sky.label_account(MAYA, "!no-unauthenticated")
    desk = followed(tmp_path, sky)
    sky.advance(86400)
    for n in range(20):
        sky.post(MAYA, f"said {n:02}")
        sky.advance(600)
    if is_away:
        sky.deactivate(MAYA)
    sky.advance(2 * 86400)
    assert desk.run(FEW, full=True).exit_code == 0
    assert desk.sql("SELECT is_unlisted, display_name FROM bluesky.actors") == [(True, "Maya")]
    if is_away:
        sky.advance(86400)
        sky.reactivate(MAYA)
        assert desk.run(FEW).exit_code == 0
    desk.judge()
