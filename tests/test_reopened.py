"""A watched merge request that was closed and reopened between two runs was closed: the signal to stop counts."""

import pytest

from pipelines.demo.gitlab.project import MergeRequest, Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.state import watched
from tests.small_gitlab import placed_gitlab as gitlab
from tests.small_gitlab import project, world
from tests.synced import GitLabDesk

__all__ = ["gitlab", "project", "world"]

ACTIONABLE = "SELECT count(*) FROM feedback.events WHERE parent_key = ? AND is_actionable AND kind <> 'merge_request'"


@pytest.fixture
def mr(project: Project) -> MergeRequest:
    return project.merge_requests[1]


@pytest.fixture
def key(gitlab: GitLabDesk, mr: MergeRequest) -> str:
    """After a run: it knows how far the world's clock is from ours, which goes on while the world's stands still."""
    gitlab.run()
    return str(gitlab.one("SELECT parent_key FROM gitlab.merge_requests WHERE number = ?", mr.iid))


def passed(world: GitLabWorld, project: Project, mr: MergeRequest, *deeds: str) -> None:
    """These deeds, a minute apart, and time enough that all of it shows."""
    for deed in deeds:
        world.advance(seconds=61)
        if deed == "comment":
            project.comment(mr, "maya", "Still there?")
        else:
            getattr(project, deed)(mr, "maya")
    world.advance(seconds=300)


def test_it_was_closed_and_reopened_and_stays_closed_here(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, mr: MergeRequest, key: str
) -> None:
    """Nothing of it counts in the very publish that shows it, nor later; who resumes it takes it up again."""
    watched.put(gitlab.home, key, "watched")
    gitlab.run()
    assert gitlab.one(ACTIONABLE, key) > 0
    passed(world, project, mr, "close", "reopen", "comment")
    gitlab.run()
    assert gitlab.one("SELECT state FROM feedback.parents WHERE parent_key = ?", key) == "open"
    assert watched.state_of(gitlab.home, key) == "closed" and gitlab.one(ACTIONABLE, key) == 0
    assert gitlab.one("SELECT state FROM ops.lifecycle") == "closed"
    passed(world, project, mr, "comment")
    gitlab.run()
    assert gitlab.one(ACTIONABLE, key) == 0
    watched.put(gitlab.home, key, "watched")
    gitlab.run()
    gitlab.run()
    assert watched.state_of(gitlab.home, key) == "watched" and gitlab.one(ACTIONABLE, key) > 0
    gitlab.judge()


def test_what_was_closed_before_it_was_watched_says_nothing(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, mr: MergeRequest, key: str
) -> None:
    """Also when a run reads of it only after somebody has begun to watch."""
    passed(world, project, mr, "close", "reopen")
    gitlab.run()
    watched.put(gitlab.home, key, "watched")
    passed(world, project, mr, "comment")
    gitlab.run()
    assert watched.state_of(gitlab.home, key) == "watched" and gitlab.one(ACTIONABLE, key) > 0


def test_blocked_is_over_too(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, mr: MergeRequest, key: str
) -> None:
    watched.put(gitlab.home, key, "blocked")
    passed(world, project, mr, "close", "reopen")
    gitlab.run()
    assert watched.state_of(gitlab.home, key) == "closed"


def test_what_nobody_watches_counts_while_it_is_open(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, mr: MergeRequest, key: str
) -> None:
    passed(world, project, mr, "close", "reopen")
    gitlab.run()
    assert gitlab.one(ACTIONABLE, key) > 0 and watched.state_of(gitlab.home, key) is None


def test_closings_are_rows(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, mr: MergeRequest, key: str
) -> None:
    passed(world, project, mr, "close", "reopen")
    gitlab.run()
    query = "SELECT state, author FROM feedback.state_changes WHERE parent_key = ? ORDER BY created_at DESC LIMIT 2"
    assert gitlab.sql(query, key) == [("reopened", "maya"), ("closed", "maya")]
