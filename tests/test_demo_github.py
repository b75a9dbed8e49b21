"""The demo GitHub keeps the facts that Earshot must survive: what it says. Each test states the fact.

How it says it, pages, limits and refusals, is in test_demo_github_http.py.
"""

from collections.abc import Callable
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from pipelines.demo.github.api.access import Access
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.repo import Repo
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.web import Request
from tests.demo_client import BASE, NOW, TOKEN, ask, get, ids, next_link, said, walk


@pytest.fixture
def world() -> GitHubWorld:
    return GitHubWorld(NOW)


@pytest.fixture
def repo(world: GitHubWorld) -> Repo:
    return world.add_repo("lantern/lantern")


@pytest.fixture
def app(world: GitHubWorld) -> GitHubApp:
    return GitHubApp(world)


# Time and its order


def test_times_are_whole_seconds_of_the_worlds_clock(app: GitHubApp, repo: Repo) -> None:
    """GitHub's instants have no fraction."""
    row = get(app, f"{BASE}/issues/{repo.open_issue('maya', 'Lost', 'rows')}").json()
    assert row["created_at"] == row["updated_at"] == "2025-06-02T09:30:15Z"


def test_date_header_tells_the_servers_time(app: GitHubApp, repo: Repo) -> None:
    """Time comes from the server's `Date`, which may differ from any other clock."""
    assert get(app, BASE).headers["date"] == "Mon, 02 Jun 2025 09:30:15 GMT"
    app.switches.date_skew = timedelta(minutes=-5)
    told = parsedate_to_datetime(get(app, BASE).headers["date"])
    assert told == NOW.subtract(minutes=5).replace(microsecond=0)


def test_offset_pages_over_a_moving_order_lose_a_row(app: GitHubApp, repo: Repo) -> None:
    """A row edited while page 1 is read moves to the end: page 2 begins one row too late."""
    made = said(repo, 250)
    calls = iter(range(99))

    def edit_before_page_two(_: Request) -> None:
        if next(calls) == 1:
            repo.world.advance(seconds=1)
            repo.edit_comment(made[5], "changed while you read")

    app.switches.before = edit_before_page_two
    query = {"sort": "updated", "direction": "asc", "per_page": 100}
    found = walk(app, f"{BASE}/issues/comments", next_link, **query)
    assert set(made) - set(found) == {made[100]}
    assert found.count(made[5]) == 2


def test_since_is_inclusive_to_the_second(app: GitHubApp, repo: Repo) -> None:
    """`since` compares `updated_at` and includes its own second, whatever fraction is sent."""
    made = said(repo, 5)
    third = repo.comments.rows[made[2]].updated_at
    for text in (third.strftime("%Y-%m-%dT%H:%M:%SZ"), third.strftime("%Y-%m-%dT%H:%M:%S.900Z")):
        assert ids(get(app, f"{BASE}/issues/comments", since=text, sort="updated", direction="asc")) == made[2:]
    assert ids(get(app, f"{BASE}/issues/1/comments", since=third.isoformat())) == made[2:]
    after_all = third.add(days=1).isoformat()
    assert ids(get(app, f"{BASE}/issues/comments", since=after_all)) == []


def test_since_the_epoch_finds_nothing(app: GitHubApp, repo: Repo) -> None:
    """`since=1970-01-01T00:00:00Z` is answered with an empty list, not with everything."""
    said(repo, 3)
    for path in ("/issues", "/issues/comments", "/issues/1/comments"):
        assert get(app, BASE + path, since="1970-01-01T00:00:00Z").json() == []
        assert get(app, BASE + path, since="1970-01-01T00:00:01Z").json() != []


def test_pull_list_ignores_since(app: GitHubApp, repo: Repo) -> None:
    """`/pulls` has no `since`: it lists all the same."""
    repo.open_pull("maya", "One", "")
    assert len(get(app, f"{BASE}/pulls", since="2030-01-01T00:00:00Z").json()) == 1


def test_repo_wide_lists_ascend_by_id_unless_sorted(app: GitHubApp, repo: Repo) -> None:
    """`direction` is ignored without `sort`; an edit moves a row only under sort=updated."""
    a, b, c = said(repo, 3)
    repo.world.advance(seconds=5)
    repo.edit_comment(a, "again")
    path = f"{BASE}/issues/comments"
    assert ids(get(app, path, direction="desc")) == [a, b, c]
    assert ids(get(app, path, sort="created")) == [c, b, a]
    assert ids(get(app, path, sort="updated", direction="asc")) == [b, c, a]


def test_lists_have_githubs_defaults(app: GitHubApp, repo: Repo) -> None:
    """Issues: open only, newest first. Pulls sorted by update come oldest first unless told otherwise."""
    one, two = (repo.open_pull("maya", title, "") for title in ("One", "Two"))
    three = repo.open_issue("odile", "Three", "")
    repo.close(three)
    assert [row["number"] for row in get(app, f"{BASE}/issues").json()] == [two, one]
    assert [row["number"] for row in get(app, f"{BASE}/issues", state="all", direction="asc").json()] == [1, 2, 3]
    repo.world.advance(seconds=1)
    repo.label(one, "bug")
    assert [row["number"] for row in get(app, f"{BASE}/pulls", sort="updated").json()] == [two, one]
    assert [row["number"] for row in get(app, f"{BASE}/pulls").json()] == [two, one]
    repo.comment(one, "odile", "…")
    assert [row["number"] for row in get(app, f"{BASE}/issues", sort="comments").json()] == [one, two]


# What moves, what stays


def test_words_move_their_parent_and_deletions_do_not(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """New and edited comments and reviews move `updated_at`; a deleted comment only lowers the count."""
    number = repo.open_pull("maya", "One", "")
    steps: list[Callable[[], Any]] = [
        lambda: repo.comment(number, "odile", "a"),
        lambda: repo.edit_comment(1001, "b"),
        lambda: repo.review(number, "odile", "APPROVED", "fine"),
        lambda: repo.edit_review(1001, "very fine"),
        lambda: repo.review_comment(number, "odile", "a.py", "c", 3),
        lambda: repo.edit_review_comment(1001, "d"),
        lambda: repo.push(number),
    ]
    for step in steps:
        world.advance(seconds=7)
        step()
        assert get(app, f"{BASE}/pulls/{number}").json()["updated_at"] == f"{world.second:%Y-%m-%dT%H:%M:%SZ}"
    before = get(app, f"{BASE}/issues").json()[0]
    world.advance(seconds=7)
    repo.delete_comment(1001)
    after = get(app, f"{BASE}/issues").json()[0]
    assert after == before | {"comments": 0} and before["comments"] == 1
    assert get(app, f"{BASE}/issues/comments/1001").status_code == 404


def test_deleting_can_be_made_to_move_the_parent(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """Whether a deletion touches is not documented: both are possible here."""
    (comment,) = said(repo, 1)
    world.deletions_move_parent = True
    world.advance(seconds=60)
    repo.delete_comment(comment)
    assert get(app, f"{BASE}/issues/1").json()["updated_at"] == "2025-06-02T09:31:16Z"


def test_push_outdates_places_but_not_times(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """After a push `line` is null and `commit_id` follows; `original_*` and the comment's times stay."""
    number = repo.open_pull("maya", "One", "")
    gone = repo.review_comment(number, "odile", "a.py", "why?", 12, start_line=9, diff_hunk="@@ -1 +1 @@")
    kept = repo.review_comment(number, "odile", "b.py", "and?", 4)
    before = get(app, f"{BASE}/pulls/comments/{gone}").json()
    world.advance(seconds=30)
    sha = repo.push(number, outdates=("a.py",))
    after = get(app, f"{BASE}/pulls/comments/{gone}").json()
    moved = {"line": None, "start_line": None, "position": None, "commit_id": sha}
    assert after == before | moved
    assert (after["original_line"], after["original_start_line"]) == (12, 9)
    assert after["original_commit_id"] != sha
    assert get(app, f"{BASE}/pulls/comments/{kept}").json()["line"] == 4
    assert get(app, f"{BASE}/pulls/{number}").json()["head"]["sha"] == sha


def test_replies_name_the_threads_first_comment(app: GitHubApp, repo: Repo) -> None:
    """An answer to an answer still says `in_reply_to_id` = the opener; the opener has no such key."""
    number = repo.open_pull("maya", "One", "")
    first = repo.review_comment(number, "odile", "a.py", "why?", 12)
    second = repo.review_comment(number, "maya", "a.py", "because", 12, in_reply_to=first)
    third = repo.review_comment(number, "odile", "a.py", "ah", 12, in_reply_to=second)
    rows = get(app, f"{BASE}/pulls/{number}/comments").json()
    assert [row.get("in_reply_to_id") for row in rows] == [None, first, first]
    assert "in_reply_to_id" not in rows[0]
    assert rows[2]["id"] == third


def test_file_level_comments_have_no_line(app: GitHubApp, repo: Repo) -> None:
    """`line: null` is not always outdated: `subject_type` tells."""
    number = repo.open_pull("maya", "One", "")
    made = repo.review_comment(number, "odile", "a.py", "licence?", None, subject_type="file")
    row = get(app, f"{BASE}/pulls/comments/{made}").json()
    assert (row["line"], row["original_line"], row["subject_type"]) == (None, None, "file")


def test_pending_reviews_are_their_authors_own(world: GitHubWorld, repo: Repo) -> None:
    """Pending: no `submitted_at`, nothing moves. Its comments appear at submission, created earlier, with low ids."""
    app = GitHubApp(world, access=Access(tokens={"a": "odile", "b": "maya"}))
    number = repo.open_pull("maya", "One", "")
    opened = world.second
    world.advance(seconds=60)
    pending = repo.review(number, "odile", "PENDING")
    draft = repo.review_comment(number, "odile", "a.py", "hm", 3, review_id=pending)
    path = f"{BASE}/pulls/{number}/reviews"
    mine, yours = (get(app, path, {"authorization": f"token {token}"}).json() for token in "ab")
    assert [row["state"] for row in mine] == ["PENDING"] and "submitted_at" not in mine[0] and yours == []
    assert get(app, f"{BASE}/pulls/comments", {}).json() == []
    assert repo.issues.ordered("x", lambda i: i.id, bool)[0].updated_at == opened

    world.advance(seconds=3600)
    other = repo.review_comment(number, "maya", "a.py", "later", 3)
    world.advance(seconds=60)
    repo.submit_review(pending, "CHANGES_REQUESTED")
    rows = get(app, f"{BASE}/pulls/comments", {}, sort="updated", direction="asc").json()
    assert [row["id"] for row in rows] == [other, draft] and draft < other
    assert rows[1]["created_at"] < rows[0]["created_at"]
    assert get(app, path, {}).json()[0]["submitted_at"] == rows[1]["updated_at"]


def test_reviews_carry_no_updated_at_and_single_comments_make_one(app: GitHubApp, repo: Repo) -> None:
    """A comment outside any review comes with an empty COMMENTED review; a dismissal changes only the state."""
    number = repo.open_pull("maya", "One", "")
    approved = repo.review(number, "odile", "APPROVED", "lovely")
    repo.review_comment(number, "odile", "a.py", "why?", 12)
    repo.dismiss_review(approved)
    rows = get(app, f"{BASE}/pulls/{number}/reviews").json()
    assert [(row["state"], row["body"]) for row in rows] == [("DISMISSED", "lovely"), ("COMMENTED", "")]
    assert not any("updated_at" in row for row in rows)


# Shapes


def test_issue_list_has_pulls_with_counts_and_pull_list_has_none(app: GitHubApp, repo: Repo) -> None:
    """A PR is an issue with a `pull_request` key and a second id; only the single PR counts review comments."""
    number = repo.open_pull("maya", "One", "", draft=True, labels=("bug",))
    repo.comment(number, "odile", "a")
    repo.review_comment(number, "odile", "a.py", "b", 1)
    (as_issue,) = get(app, f"{BASE}/issues").json()
    (as_pull,) = get(app, f"{BASE}/pulls").json()
    single = get(app, f"{BASE}/pulls/{number}").json()
    assert as_issue["pull_request"]["merged_at"] is None and as_issue["comments"] == 1
    assert "comments" not in as_pull and "review_comments" not in as_pull
    assert (single["comments"], single["review_comments"], single["draft"]) == (1, 1, True)
    assert "pull_request" not in single and as_pull["id"] == repo.world.truth().pull_requests[single["id"]]["id"]


def test_gone_people_and_machines_show(world: GitHubWorld, app: GitHubApp, repo: Repo) -> None:
    """`user` is null for a deleted account, without any `updated_at` moving; bots and apps are marked."""
    number = repo.open_issue("ghostly", "Help", "")
    first = repo.comment(number, "ghostly", "boo")
    repo.comment(number, "ci[bot]", "green", app="github-actions")
    etag = get(app, f"{BASE}/issues/comments").headers["etag"]
    before = get(app, f"{BASE}/issues/comments/{first}").json()
    world.advance(seconds=60)
    world.delete_user("ghostly")
    answer = get(app, f"{BASE}/issues/comments", TOKEN | {"if-none-match": etag})
    assert answer.status_code == 200
    assert answer.json()[0] == before | {"user": None, "author_association": "NONE"}
    assert answer.json()[1]["user"]["type"] == "Bot"
    assert answer.json()[1]["performed_via_github_app"]["slug"] == "github-actions"
    assert world.truth().issue_comments[first]["author"] is None


def test_ids_of_different_kinds_collide(app: GitHubApp, repo: Repo) -> None:
    """An issue comment and a review comment may have one number."""
    number = repo.open_pull("maya", "One", "")
    assert repo.comment(number, "odile", "a") == repo.review_comment(number, "odile", "a.py", "b", 1)


def test_merged_and_closed_pulls_are_closed(app: GitHubApp, repo: Repo) -> None:
    """`state` knows open and closed only; `merged_at` tells a merge."""
    one, two = (repo.open_pull("maya", title, "") for title in ("One", "Two"))
    repo.merge(one, "odile")
    repo.close(two)
    rows = get(app, f"{BASE}/pulls", state="closed", direction="asc").json()
    assert [(row["state"], row["merged_at"] is None) for row in rows] == [("closed", False), ("closed", True)]


def test_locked_and_archived_places_refuse_words(app: GitHubApp, repo: Repo) -> None:
    """A locked conversation takes them from who belongs to the repository, an archived repository from nobody."""
    number, path = repo.open_issue("maya", "Heated", ""), f"{BASE}/issues/1/comments"
    repo.lock(number, "too heated")
    refused = ask(app, "POST", path, json={"body": "and another thing"})
    assert refused.status_code == 403 and "locked" in refused.json()["message"]
    repo.collaborators.add("earshot")
    assert ask(app, "POST", path, json={"body": "the last word"}).status_code == 201
    repo.archive()
    assert get(app, BASE).json()["archived"] is True and len(get(app, path).json()) == 1
    refused = ask(app, "POST", path, json={"body": "or not"})
    assert refused.status_code == 403 and "archived" in refused.json()["message"]


# The oracle itself


def test_truth_and_history_tell_everything(world: GitHubWorld, repo: Repo) -> None:
    """Truth is what exists; history has each version, same-second edits too, and ends with deletions."""
    (comment,) = said(repo, 1)
    repo.edit_comment(comment, "second thoughts")
    repo.edit_comment(comment, "third thoughts")
    assert world.truth().issue_comments[comment]["body"] == "third thoughts"
    repo.delete_comment(comment)
    assert world.truth().issue_comments == {}
    versions = [v for v in world.history if v.kind == "issue_comment"]
    assert [v.body for v in versions] == ["remark 0", "second thoughts", "third thoughts", "third thoughts"]
    assert [v.is_deleted for v in versions] == [False, False, False, True]
    assert len({v.updated_at for v in versions}) == 1


def test_a_filled_world_is_the_same_every_time(app: GitHubApp, repo: Repo) -> None:
    """Bulk worlds are deterministic, past, as large as asked, and can put many comments into one second."""
    amounts = {"pulls": 10, "issues": 5, "comments": 300, "review_comments": 50, "reviews": 9, "burst_second": 120}
    repo.world.fill(repo, **amounts)
    twin = GitHubWorld(NOW)
    twin.fill(twin.add_repo("lantern/lantern"), **amounts)
    assert repo.world.history == twin.history and repo.world.now == NOW
    truth = repo.world.truth()
    counted = (len(truth.pull_requests), len(truth.issues), len(truth.issue_comments), len(truth.review_comments))
    assert counted == (10, 5, 300, 50)
    times = [row["updated_at"] for row in truth.issue_comments.values()]
    assert max(times.count(time) for time in times) >= 120 and max(times) <= NOW
    assert all(200 <= len(row["body"]) <= 3000 for row in truth.issue_comments.values())
