"""Which review threads are resolved, and which issues a pull request closes: asked of GraphQL, and only when due."""

from pathlib import Path

import pendulum
import pytest

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from tests.in_memory import in_memory
from tests.synced import GitHubDesk, desk

NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.fixture
def world() -> GitHubWorld:
    made = GitHubWorld(NOW)
    repo = made.add_repo("lantern/lantern")
    repo.open_issue("pete-q", "Does it cache POST?", "")
    for number in range(30):
        pull = repo.open_pull("benji", f"Change {number}", "Closes #1." if number == 3 else "")
        first = repo.review_comment(pull, "maya", "cache.go", "Why here?", 12)
        repo.review_comment(pull, "benji", "cache.go", "Because.", 12, in_reply_to=first)
        if number % 3 == 0:
            repo.resolve(first, "maya")
    made.advance(seconds=600)
    return made


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.repos[next(iter(world.repos))]


@pytest.fixture
def read(tmp_path: Path, world: GitHubWorld) -> GitHubDesk:
    """Somebody who has read it all once."""
    made = in_memory(desk(tmp_path / "data", world))
    assert made.run().exit_code == 0
    return made


def queries(made: GitHubDesk) -> int:
    return sum(call.path == "/graphql" for call in made.app.log)


def judge(made: GitHubDesk) -> None:
    """What is held of threads and of what is closed is the world's truth, and nothing else is held."""
    truth = made.world.truth()
    held = {
        row["id"]: (
            row["parent_key"],
            row["first_comment_id"],
            row["is_resolved"],
            row["is_outdated"],
            row["resolved_by"],
        )
        for row in made.rows("github.review_threads__threads")
    }
    assert held == {
        id_: (f"github:{fact['repo_id']}:{fact['number']}", fact["first_comment_id"], fact["is_resolved"],
              fact["is_outdated"], fact["resolved_by"])
        for id_, fact in truth.review_threads.items()
    }  # fmt: skip
    closes = {(row["parent_key"], row["issue_key"]) for row in made.rows("github.review_threads__closes")}
    assert closes == {(f"github:{a}:{b}", f"github:{c}:{d}") for a, b, c, d in truth.closes}


def test_a_first_read_asks_for_twenty_five_at_once_and_an_unchanged_run_asks_nothing(read: GitHubDesk) -> None:
    """Three hundred pull requests are twelve queries; here are thirty."""
    assert queries(read) == 2
    judge(read)
    report = read.run()
    assert queries(read) == 0 and sum(source.packages for source in report.sources) == 0


def test_one_that_changed_is_asked_for_alone(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    repo.review_comment(7, "kofi", "store.go", "And here?", 3)
    world.advance(seconds=600)
    read.run()
    assert queries(read) == 1
    judge(read)
    read.run()
    assert queries(read) == 0
