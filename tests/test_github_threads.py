"""Which review threads are resolved, and which issues a pull request closes: asked of GraphQL, and only when due."""

from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request, Response
from sources.core.config import Secret
from sources.core.targets import Target
from sources.core.values import Unreadable
from sources.github.surfaces.review_thread_rows import thread_row
from sources.github.surfaces.review_threads import Due, graphql_url
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


def test_what_was_resolved_silently_is_seen_by_the_sweep(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """It moves no `updated_at`: a run sees nothing, the next sweep does, also that one was opened again. When it was
    nobody tells; known is when we saw it. What is resolved asks for nothing any more.
    """
    open_one, resolved = (repo.threads(number)[0].comments[0] for number in (3, 2))
    waits = "SELECT waiting_on FROM feedback.threads WHERE parent_number = 3 AND is_resolvable"
    acts = "SELECT count(*) FROM feedback.events WHERE parent_number = 3 AND kind = 'review_comment' AND is_actionable"
    assert read.one(waits) is not None and read.one(acts) == 2
    repo.resolve(open_one, "kofi")
    repo.unresolve(resolved)
    world.advance(seconds=600)
    assert read.run().exit_code == 0 and queries(read) == 0
    assert read.one("SELECT is_resolved FROM feedback.threads WHERE parent_number = 3 AND is_resolvable") is False
    assert read.run(sweep=True).exit_code == 0 and queries(read) == 2
    judge(read)
    told = "SELECT is_resolved, resolved_by, seen_resolved_at, resolved_at FROM feedback.threads WHERE is_resolvable"
    assert read.sql(f"{told} AND parent_number = 3") == [(True, "kofi", world.second, None)]
    assert read.sql(f"{told} AND parent_number = 2") == [(False, None, None, None)]
    assert read.sql(f"{told} AND parent_number = 5") == [(True, "maya", None, None)], "it was so when it was first seen"
    assert read.one(waits) is None and read.one(acts) == 0
    world.advance(seconds=600)
    landed = read.sql("SELECT DISTINCT _dlt_load_id FROM github.review_threads")
    assert read.run(sweep=True).exit_code == 0 and queries(read) == 2
    assert read.sql("SELECT DISTINCT _dlt_load_id FROM github.review_threads") == landed, "it says nothing new"
    judge(read)
    assert (
        read.one("SELECT seen_resolved_at FROM feedback.threads WHERE parent_number = 3 AND is_resolvable") < world.now
    )


def test_one_that_is_not_told_fails_alone_by_name(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """Data and errors in one answer: what was read lands, what failed stays due, and what is held of it stands."""
    for number in (4, 5, 6):
        repo.resolve(repo.threads(number)[0].comments[0], "kofi")
        repo.comment(number, "kofi", "Done.")
    repo.hide(5, 60 * 15, listed=True)
    world.advance(seconds=600)
    ended = read.run()
    assert ended.exit_code == 3
    failed = {p.surface: p.code for source in ended.sources for p in source.problems}
    assert failed == {"reviews of #5": "NOT_FOUND", "threads of #5": "NOT_FOUND"}
    held = "SELECT parent_number FROM feedback.threads WHERE resolved_by = 'kofi' ORDER BY 1"
    assert read.sql(held) == [(4,), (6,)]
    world.advance(seconds=600)
    assert read.run().exit_code == 0 and queries(read) == 1, "it is back, with all that hangs on it"
    judge(read)


def test_a_query_that_is_too_much_is_halved(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """One pull request at which the service gives up keeps no other from being read."""
    for number in range(2, 8):
        repo.comment(number, "kofi", "Done.")
    world.advance(seconds=600)

    def fault(request: Request) -> Response | None:
        too_much = request.path == "/graphql" and b"pullRequest(number: 4)" in request.body
        return Response(502, {"message": "Something went wrong while executing your query."}) if too_much else None

    read.app.switches.fault = fault
    ended = read.run()
    assert [p.surface for source in ended.sources for p in source.problems] == ["threads of #4"]
    assert queries(read) <= 7
    due = "SELECT number FROM github.pull_requests JOIN github.review_threads AS r USING (parent_key, number)"
    assert read.sql(f"{due} WHERE r.read_for_updated_at <> updated_at") == [(4,)]
    read.app.switches.fault = None
    assert read.run().exit_code == 0 and queries(read) == 1
    judge(read)


@pytest.mark.parametrize("kind", ["points", "secondary"])
def test_its_limit_stops_nobody_else_and_the_next_run_goes_on(
    tmp_path: Path, world: GitHubWorld, repo: Repo, kind: str
) -> None:
    """The points are spent after the first query: what was read has landed, REST was read whole, the rest is due."""
    made = in_memory(desk(tmp_path / "data", world))
    if kind == "points":
        made.app.access.points = 20  # the first query costs 25
    else:
        refusal = Response(403, {"message": "You have exceeded a secondary rate limit."}, {"retry-after": "3600"})
        made.app.switches.fault = lambda request: refusal if request.path == "/graphql" else None
    ended = made.run()
    (problem,) = [p for source in ended.sources for p in source.problems]
    assert ended.exit_code == 3 and problem.code == "RATE_LIMITED" and problem.until is not None
    made.judge()
    assert made.one("SELECT count(*) FROM github.review_threads") == (25 if kind == "points" else 0)
    assert queries(made) in ((2,) if kind == "points" else (1, 2)), "two lots may be under way"
    made.app.access.points, made.app.switches.fault = 5000, None
    world.advance(seconds=600)
    assert made.run().exit_code == 0
    judge(made)


def test_without_a_token_it_is_said_once_and_everything_else_goes_on(
    tmp_path: Path, world: GitHubWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no failure: `status` says what is left out, and with a token it is caught up."""
    caplog.set_level("INFO", "earshot.accounts")
    made = in_memory(desk(tmp_path / "data", world))
    made.app.access.anonymous_quota = 5000
    for turn in range(3):
        ended = made.run({"token": Secret("")})
        assert ended.exit_code == 0 and queries(made) == 0
        assert ended.sources[0].skipped.keys() == {"review threads"}
        assert (
            sum("review threads" in record.getMessage() for record in caplog.records if record.levelname == "INFO") == 1
        )
        assert sum(source.packages for source in ended.sources) == 0 or turn == 0
    made.judge()
    assert made.sql("SELECT DISTINCT is_resolved FROM feedback.threads WHERE is_resolvable") == [(None,)]
    assert made.run().exit_code == 0 and queries(made) == 2
    judge(made)


def test_a_full_run_asks_for_all_again(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """Also of what is closed, where no sweep looks."""
    repo.close(4)
    world.advance(seconds=600)
    read.run()
    repo.resolve(repo.threads(4)[0].comments[0], "kofi")
    assert read.run(sweep=True).exit_code == 0 and queries(read) == 2
    assert read.run(full=True).exit_code == 0 and queries(read) == 2
    judge(read)
    assert read.run().exit_code == 0 and queries(read) == 0


@pytest.mark.on_disk
@pytest.mark.parametrize("settings", [{"fetch_review_threads": False}, {"token": Secret("")}], ids=["off", "no token"])
def test_left_out_nothing_is_asked_and_a_real_warehouse_takes_the_rest(
    tmp_path: Path, world: GitHubWorld, settings: dict[str, Any]
) -> None:
    """Its tables are made all the same; what is switched off is not told of."""
    made = desk(tmp_path / "data", world)
    made.app.access.anonymous_quota = 5000
    ended = made.run(settings, docs=False)
    assert ended.exit_code == 0 and queries(made) == 0 and made.one("SELECT count(*) FROM github.review_threads") == 0
    assert len(ended.sources[0].skipped) == ("token" in settings)
    made.judge()
    assert made.run(settings, docs=False).exit_code == 0 and sum(call.status != 304 for call in made.app.log) == 0


def test_all_pages_of_what_has_many(tmp_path: Path, world: GitHubWorld, repo: Repo) -> None:
    """Threads by the hundred, and more issues than a page has."""
    for _ in range(60):
        repo.open_issue("pete-q", "Again", "")
    body = " ".join(f"Closes #{number}." for number in range(32, 92))
    many = repo.open_pull("benji", "All of it", body)
    for number in range(230):
        comment = repo.review_comment(many, "maya", "cache.go", f"{number}", 1 + number)
        if number % 7 == 0:
            repo.resolve(comment, "maya")
    world.advance(seconds=600)
    made = in_memory(desk(tmp_path / "data", world))
    assert made.run().exit_code == 0 and queries(made) == 4
    judge(made)


def test_oddities_of_people_and_of_comments(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """Who resolved has no account any more; a thread's first comment is gone, its diff was pushed to, it is on a file;
    a draft of the token's owner is in the answer, and nowhere else.
    """
    first = repo.threads(2)[0].comments[0]
    repo.resolve(repo.threads(3)[0].comments[0], "old-otter")
    repo.delete_review_comment(first)
    repo.push(4, outdates=("cache.go",))
    repo.review_comment(6, "kofi", "cache.go", "Licence?", None, subject_type="file")
    draft = repo.review(6, "earshot", "PENDING", "Not said yet.")
    repo.review_comment(6, "earshot", "cache.go", "Mine.", 3, review_id=draft)
    for number in (2, 3):
        repo.comment(number, "kofi", "Hm.")
    world.delete_user("old-otter")
    world.advance(seconds=600)
    assert read.run().exit_code == 0
    found = {row["first_comment_id"]: row for row in read.rows("github.review_threads__threads")}
    assert first not in found
    told = (
        "SELECT is_resolved, resolved_by, is_outdated FROM feedback.threads WHERE is_resolvable AND parent_number = ?"
    )
    assert read.sql(told, 2) == [(True, "maya", False)], "by the reply that is left"
    assert read.sql(told, 3) == [(True, None, False)]
    assert read.sql(told, 4) == [(False, None, True)]
    assert sorted(read.sql(told, 6)) == [(False, None, False), (False, None, False)]


def test_which_change_closes_which_issue(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    """By the service's own word, replaced with it."""
    told = "SELECT parent_number, issue_scope_name, issue_number, issue_title FROM feedback.closes ORDER BY 1"
    assert read.sql(told) == [(5, "lantern/lantern", 1, "Does it cache POST?")]
    repo.edit_issue(5, body="Nothing.")
    repo.edit_issue(7, body="Fixes #1.")
    world.advance(seconds=600)
    read.run()
    assert read.sql(told) == [(7, "lantern/lantern", 1, "Does it cache POST?")]


def test_one_by_its_number_comes_with_its_threads(read: GitHubDesk, repo: Repo, world: GitHubWorld) -> None:
    repo.resolve(repo.threads(3)[0].comments[0], "kofi")
    world.advance(seconds=600)
    read.operate("lantern/lantern", Target("pr", 3))
    assert queries(read) == 1
    judge(read)
    read.run()
    assert queries(read) == 0


def test_what_was_read_in_the_very_second_of_a_change_is_read_again(
    read: GitHubDesk, repo: Repo, world: GitHubWorld
) -> None:
    """A thread that is begun within that second shows under no other time."""
    world.advance(seconds=600)
    repo.comment(7, "kofi", "Look:")
    read.run()
    assert queries(read) == 1
    repo.resolve(repo.threads(7)[0].comments[0], "kofi")
    world.advance(seconds=60)
    read.run()
    assert queries(read) == 1
    judge(read)
    read.run()
    assert queries(read) == 0


@pytest.mark.parametrize(("api", "asked"), [
    ("https://api.github.com", "https://api.github.com/graphql"),
    ("https://git.example/api/v3", "https://git.example/api/graphql"),
    ("https://git.example/api/v3/", "https://git.example/api/graphql"),
    ("http://127.0.0.1:8080", "http://127.0.0.1:8080/graphql"),
])  # fmt: skip
def test_where_graphql_is(api: str, asked: str) -> None:
    assert graphql_url(api) == asked


THREAD: dict[str, Any] = {
    "id": "PRRT_1", "isResolved": True, "isOutdated": False, "isCollapsed": True, "resolvedBy": {"login": "maya"},
    "comments": {"nodes": [{"fullDatabaseId": "3000000001"}]},
}  # fmt: skip


@pytest.mark.parametrize(("change", "column", "value"), [
    ({}, "first_comment_id", 3_000_000_001), ({"comments": {"nodes": []}}, "first_comment_id", None),
    ({"comments": {"nodes": [None]}}, "first_comment_id", None), ({"comments": None}, "first_comment_id", None),
    ({"comments": {"nodes": [{"fullDatabaseId": None}]}}, "first_comment_id", None),
    ({"resolvedBy": None}, "resolved_by", None), ({"isCollapsed": None}, "is_collapsed", False),
])  # fmt: skip
def test_what_may_be_missing(change: dict[str, Any], column: str, value: object) -> None:
    assert thread_row({**THREAD, **change}, "github:7:1", {}, NOW)[column] == value


@pytest.mark.parametrize("change", [
    {"id": None}, {"isResolved": None}, {"isResolved": "yes"}, {"isOutdated": None}, {"resolvedBy": "maya"},
    {"comments": {"nodes": [{"fullDatabaseId": 7}]}}, {"comments": {"nodes": [{"fullDatabaseId": "x"}]}},
])  # fmt: skip
def test_what_must_be_there(change: dict[str, Any]) -> None:
    """A thread that is not told to be resolved or not is not held to be open."""
    with pytest.raises(Unreadable):
        thread_row({**THREAD, **change}, "github:7:1", {}, NOW)


@pytest.mark.parametrize("told", [
    None, {}, {"reviewThreads": None, "closingIssuesReferences": None},
    {"reviewThreads": {"nodes": None, "pageInfo": {"hasNextPage": False}}},
    {"reviewThreads": {"nodes": [], "pageInfo": {}}}, {"reviewThreads": {"nodes": [], "pageInfo": {"hasNextPage": True}}},
])  # fmt: skip
def test_a_page_that_is_none_is_not_an_empty_one(told: object) -> None:
    with pytest.raises(Unreadable):
        Due(1, NOW).take(told)


@pytest.mark.on_disk
def test_a_real_warehouse_has_them_from_the_first_run_on(tmp_path: Path, world: GitHubWorld, repo: Repo) -> None:
    """dlt makes a child table with its first row: until then nothing is held, and nothing is left out for that."""
    made = desk(tmp_path / "data", world)
    assert made.run(docs=False).exit_code == 0 and queries(made) == 2
    judge(made)
    made.run(docs=False)
    assert queries(made) == 0
    repo.resolve(repo.threads(3)[0].comments[0], "kofi")
    world.advance(seconds=600)
    assert made.run(docs=False, sweep=True).exit_code == 0 and queries(made) == 2
    judge(made)
