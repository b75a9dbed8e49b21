"""Reviews of a pull request that has many: what is new of them is read, not all of them, and nothing is missed."""

from pathlib import Path

import pendulum
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request, Switches
from sources.core.paging import walk
from sources.github.surfaces import reviews
from tests.in_memory import in_memory
from tests.long import LONG
from tests.memory import Memory, exists, held, judge, read
from tests.memory import settings as github
from tests.synced import GitHubDesk, desk

NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.fixture
def world() -> GitHubWorld:
    made = GitHubWorld(NOW)
    repo = made.add_repo("lantern/lantern")
    pull = repo.open_pull("benji", "Cache", "Now.")
    for number in range(300):
        repo.review(pull, "maya", "COMMENTED", f"{number}")
    made.advance(seconds=600)
    return made


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.repos[next(iter(world.repos))]


@pytest.fixture
def many(tmp_path: Path, world: GitHubWorld) -> GitHubDesk:
    """Somebody who has read a pull request with three hundred reviews."""
    made = in_memory(desk(tmp_path / "data", world))
    made.run()
    return made


def asked(many: GitHubDesk, **options: bool) -> int:
    """How often a run that goes well asks for reviews; what it leaves is the world's truth."""
    assert many.run(**options).exit_code == 0
    many.judge()
    return sum(call.path.endswith("/reviews") for call in many.app.log)


def test_a_comment_costs_a_page_of_reviews(many: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """Where there are a thousand it was eighteen requests, then sixteen more once the change had settled."""
    repo.comment(1, "kofi", "Hello.")
    assert asked(many) == 1  # not settled
    assert len(many.app.log) <= 9
    world.advance(seconds=60)
    assert asked(many) == 1
    assert asked(many) == 0


def test_what_is_new_costs_its_own_pages(many: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """From the last full page on; the second look at a change that had not settled is one page."""
    for number in range(30):
        repo.review(1, "kofi", "COMMENTED", f"new {number}")
    assert asked(many) == 2
    world.advance(seconds=60)
    assert asked(many) == 1
    for number in range(250):
        repo.review(1, "kofi", "COMMENTED", f"newer {number}")
    world.advance(seconds=60)
    assert asked(many) <= 5


def test_edits_and_dismissals_on_the_last_full_page_are_seen_at_once(
    many: GitHubDesk, repo: Repo, world: GitHubWorld
) -> None:
    for number in range(30):
        repo.review(1, "kofi", "COMMENTED", f"new {number}")
    world.advance(seconds=60)
    asked(many)
    ids = sorted(repo.reviews.rows)
    repo.edit_review(ids[-1], "Better.")
    repo.dismiss_review(ids[200])
    world.advance(seconds=60)
    assert asked(many) == 2


def test_one_that_vanished_is_noticed_by_the_sweep(many: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """Whether this sweep has read the list already, or reads it for that."""
    for is_changed in (True, False):
        repo.reviews.take(min(repo.reviews.rows))
        if is_changed:
            repo.comment(1, "kofi", "Hello.")
        world.advance(seconds=60)
        assert many.run(sweep=True).exit_code == 0
        assert sum(call.path.endswith("/reviews") for call in many.app.log) == 4
        gone = "SELECT count(*) FROM feedback.events WHERE kind = 'review' AND is_deleted"
        assert many.one(gone) == 300 - len(repo.reviews.rows)


@pytest.mark.parametrize("closed", [False, True])
def test_on_older_pages_the_sweep_sees_them(many: GitHubDesk, repo: Repo, world: GitHubWorld, closed: bool) -> None:
    """Also where the pull request was closed meanwhile; then all of them are known to be read again."""
    ids = sorted(repo.reviews.rows)
    repo.edit_review(ids[0], "Better.")
    repo.dismiss_review(ids[150])
    if closed:
        repo.close(1)
    world.advance(seconds=60)
    assert many.run().exit_code == 0
    assert many.one("SELECT count(*) FROM github.reviews") == 300  # nothing new stands at the end
    assert asked(many, sweep=True) == 4
    if closed:
        assert asked(many, sweep=True) == 0


def test_a_review_drafted_long_ago_is_seen_when_it_is_submitted(
    many: GitHubDesk, repo: Repo, world: GitHubWorld
) -> None:
    """Its id is old, so it takes its place far from the end; the pages behind it move, and the list is read whole."""
    draft = repo.review(1, "kofi", "PENDING", "I began this weeks ago.")
    for number in range(150):
        repo.review(1, "maya", "COMMENTED", f"later {number}")
    world.advance(seconds=60)
    asked(many)
    repo.submit_review(draft, "APPROVED")
    world.advance(seconds=60)
    assert asked(many) > 4


def test_drafts_of_ones_own_have_the_list_read_whole(many: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """They stand in the list for whoever wrote them, so their submission moves nothing."""
    login = "earshot"
    draft = repo.review(1, login, "PENDING", "Mine.")
    for number in range(150):
        repo.review(1, "maya", "COMMENTED", f"later {number}")
    world.advance(seconds=60)
    asked(many)
    repo.submit_review(draft, "APPROVED")
    world.advance(seconds=60)
    assert asked(many) > 4


def test_reviews_that_come_while_the_end_is_read_are_not_missed(
    many: GitHubDesk, repo: Repo, world: GitHubWorld
) -> None:
    """Also one that takes an older place between two of its pages."""
    draft = repo.review(1, "kofi", "PENDING", "Late.")
    for number in range(250):
        repo.review(1, "maya", "COMMENTED", f"new {number}")
    world.advance(seconds=60)
    pages = 0

    def meanwhile(request: Request) -> None:
        nonlocal pages
        pages += request.path.endswith("/reviews")
        if pages == 2 and repo.reviews.rows[draft].state == "PENDING":
            repo.submit_review(draft, "APPROVED")
            repo.review(1, "maya", "COMMENTED", "At the end.")

    many.app.switches.before = meanwhile
    many.run()
    many.app.switches.before = None
    world.advance(seconds=60)
    asked(many)


def test_what_was_remembered_by_others_is_not_believed(many: GitHubDesk) -> None:
    for saved in (
        None,
        {},
        {"rows": "many"},
        {"rows": -3, "full": "", "rest": "", "read_for": "", "is_whole": True},
        7,
    ):
        assert reviews.load(saved) is None


STEP = st.tuples(
    st.sampled_from(
        ["review", "review", "draft", "submit", "submit", "dismiss", "edit", "comment", "run", "run", "close"]
    ),
    st.integers(0, 1000),
)


@settings(max_examples=2000 if LONG else 80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=30), meanwhile=st.lists(STEP, max_size=10))
def test_no_review_is_ever_missed_and_after_a_sweep_each_is_as_it_is(
    monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]], meanwhile: list[tuple[str, int]]
) -> None:
    """Random histories with pages of four, also with what happens in mid-walk: a run misses no review that was submitted
    before it, and a sweep no edit and no dismissal.
    """
    monkeypatch.setattr(reviews, "PER_PAGE", 4)
    monkeypatch.setattr(reviews, "walk", lambda *a, **k: walk(*a, **{"size": 4, **k}))
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    repo.open_pull("benji", "Cache", "Now.")
    for number in range(12):
        repo.review(1, ("kofi", "maya")[number % 2], "PENDING" if number % 3 == 0 else "COMMENTED", f"{number}")
    app, memory, queue = GitHubApp(world, Switches(), public_url="http://api.test"), Memory(), list(meanwhile)

    def happens(what: str, pick: int) -> None:
        world.advance(seconds=1 + pick % 9)
        ids = sorted(repo.reviews.rows)
        drafts = [id_ for id_ in ids if repo.reviews.rows[id_].state == "PENDING"]
        said = [id_ for id_ in ids if id_ not in drafts]
        if what == "review":
            repo.review(1, "maya", "COMMENTED", f"{pick}")
        elif what == "draft":
            repo.review(1, ("kofi", "earshot")[pick % 2], "PENDING", f"draft {pick}")
        elif what == "submit" and drafts:
            repo.submit_review(drafts[pick % len(drafts)], "APPROVED")
        elif what == "dismiss" and said:
            repo.dismiss_review(said[pick % len(said)])
        elif what == "edit" and said:
            repo.edit_review(said[pick % len(said)], f"edited {pick}")
        elif what == "comment":
            repo.comment(1, "odile", f"{pick}")
        elif what == "close":
            repo.close(1)

    def between(request: Request) -> None:
        if queue and request.path.endswith("/reviews"):
            happens(*queue.pop())

    app.switches.before = between

    def run(**options: bool) -> None:
        assert read(app, memory, github(["lantern/lantern"]), **options).problems == []

    def ids(said: object) -> set[str]:
        return {id_ for kind, id_, *_ in said if kind == "review"}  # type: ignore[attr-defined]

    for step in steps:
        if step[0] == "run":
            run()
        else:
            happens(*step)
    queue.clear()
    world.advance(seconds=60)
    run()
    assert ids(exists(world)) <= ids(held(memory.rows))
    run(sweep=True)
    judge(world, memory.rows)
