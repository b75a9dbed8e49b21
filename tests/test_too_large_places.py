"""Nobody can make a merge request or a list unreadable by saying too much: the demo worlds, with a small bound."""

from pathlib import Path

import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.project import Project
from sources.core.http import client
from tests.in_memory import in_memory
from tests.small_gitlab import NOW, gitlab, project, world  # noqa: F401
from tests.synced import GitLabDesk, bluesky_desk, desk

BOUND = 64 * 2**10


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the real bound, and so of the notes."""
    monkeypatch.setattr(client, "MAX_BYTES", BOUND)


def test_many_large_notes_do_not_make_a_merge_request_unreadable(gitlab: GitLabDesk, project: Project) -> None:  # noqa: F811
    """75 notes of 0.9 MB, where an answer holds 64: all are read, and what is said after them."""
    mr = project.merge_requests[1]
    for number in range(75):
        project.comment(mr, "maya", f"{number} ".ljust(900, "x"))
    project.comment(mr, "kofi", "and something new")
    project.world.advance(seconds=300)
    assert gitlab.run().exit_code == 0
    gitlab.judge()


@pytest.mark.ci
def test_large_descriptions_do_not_make_a_list_unreadable(gitlab: GitLabDesk, project: Project) -> None:  # noqa: F811
    """The list of merge requests brings their descriptions too."""
    for number in range(40):
        project.open_merge_request("maya", f"Change {number}", "y" * 2500)
    project.world.advance(seconds=300)
    for options in ({}, {"sweep": True}, {"full": True}):
        assert gitlab.run(**options).exit_code == 0
        gitlab.judge()


def test_large_comments_on_github_are_read_too(tmp_path: Path) -> None:
    """Comments of one second, more than an answer holds, on the first read, later, and in the sweep."""
    world = GitHubWorld(NOW)  # noqa: F811
    repo = world.add_repo("lantern/lantern")
    pull = repo.open_pull("benji", "Cache", "Now.")
    for number in range(60):
        repo.comment(1, "maya", f"{number} ".ljust(2000, "x"))
        repo.review(pull, "maya", "COMMENTED", f"{number} ".ljust(2000, "y"))
    world.advance(seconds=600)
    read = in_memory(desk(tmp_path / "data", world))
    assert read.run().exit_code == 0
    read.judge()
    for number in range(60):
        repo.review_comment(pull, "maya", "a.go", f"{number} ".ljust(2000, "z"), 3)
    world.advance(seconds=600)
    for options in ({}, {"sweep": True}):
        assert read.run(**options).exit_code == 0
        read.judge()


def test_a_comment_too_large_by_itself_is_quarantined_by_name_and_the_others_land(tmp_path: Path) -> None:
    """It is asked for again, and is read once it is of a size that can be held."""
    world = GitHubWorld(NOW)  # noqa: F811
    repo = world.add_repo("lantern/lantern")
    repo.open_issue("benji", "Cache", "Now.")
    for number in range(30):
        repo.comment(1, "maya", f"{number}")
    large = repo.comment(1, "maya", "x" * 2 * BOUND)
    world.advance(seconds=60)
    for number in range(30):
        repo.comment(1, "maya", f"again {number}")
    world.advance(seconds=600)
    read = in_memory(desk(tmp_path / "data", world))
    assert read.run().exit_code == 3
    (kept,) = read.rows("ops.quarantine")
    assert str(large) in kept["key"] and "too large by itself" in kept["reason"]
    assert read.one("SELECT count(*) FROM github.issue_comments") == 60
    repo.edit_comment(large, "shorter")
    world.advance(seconds=600)
    assert read.run().exit_code == 0
    read.judge()


def test_large_posts_do_not_make_a_feed_unreadable(tmp_path: Path) -> None:
    """A record may be of a megabyte: a hundred of them are no answer."""
    world = BlueskyWorld(NOW)  # noqa: F811
    world.account("maya.example", "Maya")
    for number in range(120):
        world.post("maya.example", f"{number} ".ljust(1500, "x"))
        world.advance(seconds=1)
    read = in_memory(bluesky_desk(tmp_path / "data", world, "maya.example"))
    for options in ({}, {"sweep": True}, {"full": True}):
        assert read.run(**options).exit_code == 0
        read.judge()
