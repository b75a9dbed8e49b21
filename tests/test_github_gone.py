"""What is no longer there on GitHub: marked deleted only if it is, for as long as it is, and never for our want of
access.
"""

from pathlib import Path

import pendulum
import pytest

from pipelines.demo.github_access import not_found
from pipelines.demo.github_repo import Repo
from pipelines.demo.github_world import GitHubWorld
from pipelines.demo.web import Request, Response
from pipelines.report import Report
from tests.synced import GitHubDesk as Desk
from tests.synced import desk

NOW = pendulum.datetime(2026, 3, 1, 12)
DELETED = "SELECT kind, body FROM feedback.events WHERE is_deleted ORDER BY kind"


@pytest.fixture
def world() -> GitHubWorld:
    return GitHubWorld(NOW)


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.add_repo("lantern/lantern")


@pytest.fixture
def read(tmp_path: Path, world: GitHubWorld, repo: Repo) -> Desk:
    """One issue and one pull request with a word of every kind, all of it read."""
    issue, pull = repo.open_issue("pete-q", "Does it cache?", "Asking."), repo.open_pull("benji", "Cache", "It does.")
    repo.comment(issue, "maya", "It does not.")
    review = repo.review(pull, "tomasz-w", "CHANGES_REQUESTED", "One thing.")
    repo.review_comment(pull, "tomasz-w", "cache.go", "Why?", 12, review_id=review)
    world.advance(seconds=600)
    told = desk(tmp_path / "data", world)
    assert told.run().exit_code == 0
    world.advance(seconds=600)
    return told


def lose_one(read: Desk, repo: Repo) -> Report:
    """A run that notices a deleted comment by the count of its issue, which moved for another reason."""
    repo.delete_comment(min(repo.comments.rows))
    repo.label(1, "answered")
    return read.run()


def test_a_transferred_issue_is_gone_here_whatever_number_it_has_there(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """Its old address leads into another repository; taken for ours, it would be a second issue under one number."""
    assert world.transfer(repo, 1, world.add_repo("lantern/other")) == 1
    assert read.run(sweep=True).exit_code == 0
    assert read.sql("SELECT kind, cause FROM github.deletions") == [("issue", "moved to another repository")]
    assert read.one("SELECT count(*) FROM github.issues") == 2
    assert read.one("SELECT bool_and(is_deleted) FROM feedback.events WHERE parent_number = 1")


def test_comments_of_a_transferred_issue_are_not_filed_under_its_new_number(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """The list of its comments redirects as well."""
    other = world.add_repo("lantern/other")
    other.open_issue("odile", "The first here", "…")
    moved = []

    def before(request: Request) -> None:
        if request.path.endswith("/issues/1/comments") and not moved:
            moved.append(world.transfer(repo, 1, other))

    read.app.switches.before = before
    repo.comment(1, "odile", "Sorry?")
    lose_one(read, repo)
    assert moved == [2]
    assert read.one("SELECT count(*) FROM github.issue_comments WHERE number <> 1") == 0


def test_what_a_repository_made_private_no_longer_shows_is_not_deleted(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """It was readable when its lists were read; then everything in it answers 404, also what is there."""
    gone: list[str] = []

    def fault(request: Request) -> Response | None:
        if request.path.endswith("/issues/1/comments"):
            gone.append(request.path)
        return not_found().response if gone else None

    read.app.switches.fault = fault
    report = lose_one(read, repo)
    assert gone and [problem.code for problem in report.sources[0].problems] == ["NOT_FOUND"]
    assert read.sql(DELETED) == []
    read.app.switches.fault = None
    assert read.run().exit_code == 0
    read.judge()
