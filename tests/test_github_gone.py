"""What is no longer there on GitHub: marked deleted only if it is, for as long as it is, and never for our want of
access.
"""

from collections.abc import Callable
from pathlib import Path

import orjson
import pendulum
import pytest

from pipelines.demo.github.api.access import not_found
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Bent, Request, Response
from pipelines.state.ledger import Ledger
from pipelines.sync.output.report import Report
from tests.demo_client import get
from tests.in_memory import in_memory
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
    told = in_memory(desk(tmp_path / "data", world))
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


def test_an_issue_transferred_there_and_back_is_gone_under_its_old_number(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """Its old address leads twice around the corner, to another issue of the very repository."""
    other = world.add_repo("lantern/other")
    back = world.transfer(other, world.transfer(repo, 1, other), repo)
    assert back == 3
    assert read.run(sweep=True).exit_code == 0
    assert read.sql("SELECT kind, cause FROM github.deletions") == [("issue", "moved to another repository")]
    read.judge()


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


def hide(repo: Repo) -> Callable[[], None]:
    """Everything that an account whose words were hidden had said, gone without a trace; and how it comes back."""
    issue, comments, note, review = (
        repo.issues.take(1001), repo.comments.of(1), repo.review_comments.take(1001), repo.reviews.take(1001)
    )  # fmt: skip
    for comment in comments:
        repo.comments.take(comment.id)
    del repo._numbers[1]

    def show() -> None:
        repo._numbers[1] = issue
        for shelf, rows in (
            (repo.issues, [issue]), (repo.comments, comments), (repo.review_comments, [note]), (repo.reviews, [review]),
        ):  # fmt: skip
            for row in rows:
                shelf.put(row)  # type: ignore[attr-defined]

    return show


def test_what_comes_back_is_no_longer_deleted(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """An issue with its comments, a review and a review comment: a deletion is an observation, not an erasure."""
    show = hide(repo)
    read.run(sweep=True)
    assert [kind for kind, _ in read.sql(DELETED)] == ["review", "review_comment"], "an issue is only missing yet"
    read.run()
    assert [kind for kind, _ in read.sql(DELETED)] == ["issue", "issue_comment", "review", "review_comment"]
    show()
    world.advance(seconds=600)
    read.run(sweep=True)
    assert read.sql(DELETED) == []
    read.judge()


@pytest.mark.parametrize("end", ["/pulls/2/reviews", "/issues/1/comments", "/pulls/comments"])
def test_a_list_with_somebody_who_does_not_tell_who_it_is_deletes_nobody(
    read: Desk, repo: Repo, world: GitHubWorld, end: str
) -> None:
    """It may be the very one that seems to be gone. That list is a recorded failure, and the rest of the run goes on."""
    oops = repo.comment(1, "odile", "Oops.")
    read.run()
    repo.delete_comment(oops)
    world.advance(seconds=600)

    def fault(request: Request) -> Response | None:
        if not request.path.endswith(end):
            return None
        read.app.switches.fault = None
        answer = read.app.answer(request)
        read.app.switches.fault = fault
        records = orjson.loads(answer.encoded())
        for record in records:
            record.pop("id")
        return Response(200, records)

    read.app.switches.fault = fault
    report = read.run(sweep=True)
    assert report.exit_code == 3 and not any(problem.code == "INTERNAL" for problem in report.sources[0].problems)
    assert set(read.sql(DELETED)) <= {("issue_comment", "Oops.")}
    read.app.switches.fault = None
    read.run(sweep=True)
    read.judge()


def test_the_sweep_looks_at_pull_requests_that_are_followed_by_themselves(
    read: Desk, repo: Repo, world: GitHubWorld
) -> None:
    """`pulls` asks other lists; what moves no time in them is found all the same."""
    alone = {"pulls": {"lantern/lantern": [2]}}
    read.run(alone)
    repo.delete_review_comment(1001)
    review = repo.reviews.rows[1001]
    review.body, review.revision = "One thing, edited.", review.revision + 1
    read.run(alone, sweep=True)
    assert read.sql(DELETED) == [("review_comment", "Why?")]
    assert read.one("SELECT body FROM feedback.comments WHERE kind = 'review' AND NOT is_system") == review.body


def test_the_same_disagreement_at_a_later_time_is_another(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Said after its issue's count was read, and deleted since: the numbers are those of the first look."""
    late = repo.comment(1, "odile", "Before the count.")
    world.advance(seconds=10)
    asked: list[str] = []

    def before(request: Request) -> None:
        asked.append(request.path)
        if request.path.endswith("/issues/comments") and asked.count(request.path) == 2:
            world.advance(seconds=3)
            asked.append(str(repo.comment(1, "odile", "Between the lists.")))

    def slow(request: Request) -> Bent | None:
        """The issues are read by then."""
        return Bent(delay=0.3) if request.path.endswith("/issues/comments") and asked.count(request.path) == 1 else None

    read.app.switches.before, read.app.switches.fault = before, slow
    read.run()
    read.app.switches.before = read.app.switches.fault = None
    assert read.sql("SELECT remote_count, listed_count FROM github.thread_checks") == [(2, 3)]
    world.advance(seconds=60)
    repo.delete_comment(late)
    world.advance(seconds=60)
    read.run()
    assert read.sql(DELETED) == [("issue_comment", "Before the count.")]
    read.judge()


def test_a_count_of_the_second_of_a_change_settles_nothing(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """Its comment was said within that second, after the count was read; later one is deleted, which moves no time. The
    numbers and the time are those of the first look, but what they say is news."""
    asked: list[str] = []

    def before(request: Request) -> None:
        asked.append(request.path)
        if request.path.endswith("/issues/comments") and asked.count(request.path) == 2:
            repo.comment(1, "odile", "Within the second.")

    def slow(request: Request) -> Bent | None:
        """The issues are read by then."""
        return Bent(delay=0.3) if request.path.endswith("/issues/comments") and asked.count(request.path) == 1 else None

    repo.label(1, "busy")
    repo.comment(2, "odile", "Something to list.")
    read.app.switches.before, read.app.switches.fault = before, slow
    read.run()
    read.app.switches.before = read.app.switches.fault = None
    assert read.one("SELECT count(*) FROM feedback.comments WHERE body = 'Within the second.'") == 1
    world.advance(seconds=60)
    read.run(sweep=True)
    repo.delete_comment(min(repo.comments.rows))
    world.advance(seconds=60)
    read.run(sweep=True)
    assert read.sql(DELETED) == [("issue_comment", "It does not.")]
    read.judge()


def test_an_answer_older_than_what_is_held_is_not_taken(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """A count of the second of its change is told again by the issue itself, here by a replica that lags."""
    older = get(read.app, "/repos/lantern/lantern/issues/1").json()
    repo.comment(1, "spam-bot", "Buy now.")
    repo.close(1)
    read.app.switches.hide = lambda row: getattr(row, "body", "") == "Buy now."
    read.app.switches.fault = lambda request: (
        Response(200, older, {"content-type": "application/json"}) if request.path.endswith("/issues/1") else None
    )
    read.run()
    assert any(call.path.endswith("/issues/1") for call in read.app.log), "or this proves nothing"
    assert read.sql("SELECT state FROM github.issues WHERE number = 1") == [("closed",)]
    read.app.switches.fault = None
    world.advance(seconds=60)
    read.run()
    assert read.sql("SELECT remote_count, listed_count FROM github.thread_checks") == [(2, 1)]


def test_a_disagreement_that_ends_is_looked_at(read: Desk, repo: Repo, world: GitHubWorld) -> None:
    """GitHub counts what it hides: where it counted one more for good, and one is deleted, the numbers agree by chance."""
    repo.comment(1, "odile", "Also here.")
    repo.comment(1, "spam-bot", "Buy now.")
    read.app.switches.hide = lambda row: getattr(row, "body", "") == "Buy now."
    world.advance(seconds=60)
    read.run()
    assert read.sql("SELECT remote_count, listed_count FROM github.thread_checks") == [(3, 2)]
    repo.delete_comment(min(repo.comments.rows))
    world.advance(seconds=60)
    read.run(sweep=True)
    assert read.sql(DELETED) == [("issue_comment", "It does not.")]
    read.run()
    assert not any("/issues/1/comments" in call.path for call in read.app.log)


def test_reading_all_again_puts_off_no_sweep(read: Desk) -> None:
    """`--full` lands what is there; it does not look for what is not."""
    with Ledger.open(read.home.control) as ledger:
        before = ledger.source_state("github").swept_at
    read.run(full=True)
    with Ledger.open(read.home.control) as ledger:
        assert ledger.source_state("github").swept_at == before
