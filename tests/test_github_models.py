"""What GitHub's rows mean, over rows by hand: who is a machine, what is merged and by whom, who is asked."""

from typing import Any

import duckdb
import pytest

from pipelines.models import build
from tests.test_models import NOW, TABLES, child, comment, empty, issue, put
from tests.test_reader_models import gitlab, merge_request, parents

__all__ = ["empty"]  # the fixture

Connection = duckdb.DuckDBPyConnection
WRITERS = {
    "odile": ("User", "pocket", False), "ci[bot]": ("Bot", None, True), "renovate[bot]": ("User", None, True),
    "nightly": ("Bot", None, True), "ghost": (None, None, False), "pete-q": ("User", None, False),
}  # fmt: skip


def pull(connection: Connection, number: int, **more: Any) -> None:
    values = {
        "id": number, "scope": "7", "repo": "a/b", "number": number, "parent_key": f"github:7:{number}", "state": "open",
        "is_draft": False, "title": "T", "author": "maya", "created_at": NOW, "updated_at": NOW, "seen_at": NOW,
    }  # fmt: skip
    put(connection, "pull_requests", **{**values, **more})


@pytest.mark.parametrize("table", ["issue_comments", "review_comments", "openers", "reviews"])
def test_who_writes_with_an_app_is_a_person(empty: Connection, table: str) -> None:
    """A machine says so of itself, by its type or its name; what somebody wrote with does not make them one."""
    for id_, (author, (type_, app, _)) in enumerate(WRITERS.items()):
        more = {"openers": {"kind": "issue", "title": "T"}, "review_comments": {"thread_id": id_, "path": "a.py"},
                "reviews": {"state": "APPROVED"}}.get(table, {})  # fmt: skip
        put(empty, table, id=id_, version="v", event_key=f"k{id_}", scope="7", repo="a/b", number=1, parent_key="github:7:1",
            body="B", author=author, author_type=type_, app=app, created_at=NOW, updated_at=NOW, seen_at=NOW, **more)  # fmt: skip
    build.build(empty, TABLES, anew=False)
    told = dict(empty.execute("SELECT author, is_bot FROM feedback.events").fetchall())
    assert told == {author: is_bot for author, (_, _, is_bot) in WRITERS.items()}


def test_merged_is_what_either_answer_says(empty: Connection) -> None:
    """`merged_at` of an issue's pull request is optional; what closed a pull request by merging is who merged it."""
    told = [
        {"state": "closed", "closed_by": "odile"},  # by its pull request alone
        {"state": "merged", "closed_by": "odile"},
        {"state": "closed", "closed_by": "odile"},
        {"state": "closed", "closed_by": None},
    ]
    of_pulls: list[dict[str, Any]] = [
        {"state": "merged", "merged_at": NOW, "merged_by": "maya"}, {"state": "merged", "merged_at": NOW},
        {"state": "closed"}, {"state": "merged", "merged_at": NOW},
    ]  # fmt: skip
    for number, (by_issue, by_pull) in enumerate(zip(told, of_pulls, strict=True), 1):
        issue(empty, number, is_pull_request=True, **by_issue)
        pull(empty, number, **by_pull)
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "state, merged_by") == [
        ("merged", "maya"), ("merged", "odile"), ("closed", None), ("merged", None),
    ]  # fmt: skip


def test_teams_that_are_asked_stand_beside_the_people(empty: Connection) -> None:
    """A place without any, and one of another service, has an empty list."""
    issue(empty, 1, is_pull_request=True)
    issue(empty, 2)
    pull(empty, 1)
    child(empty, 1, "pull_requests__requested_reviewers", login="benji")
    for slug in ("docs", "cache"):
        child(empty, 1, "pull_requests__requested_teams", slug=slug)
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "reviewers, requested_teams") == [([], []), (["benji"], ["cache", "docs"])]


def test_what_cannot_be_read_is_open_as_far_as_anybody_knows(empty: Connection) -> None:
    """In the word that all others use."""
    comment(empty, 10, 3, "on an issue that is in quarantine")
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "number, state, requested_teams") == [(3, "open", [])]


def test_what_is_said_of_a_thread_is_said_of_all_that_is_in_it(empty: Connection) -> None:
    """By whichever comment of it is the first that is left. A resolved one is nobody's turn; one that nobody tells of,
    without a token, is neither; and a change of it alone makes its events anew.
    """
    issue(empty, 1, is_pull_request=True)
    pull(empty, 1)
    for id_, thread in ((11, 11), (12, 11), (22, 21), (31, 31)):  # 21 was deleted
        put(empty, "review_comments", id=id_, version="v", event_key=f"k{id_}", scope="7", repo="a/b", number=1,
            parent_key="github:7:1", body="B", author="odile", author_type="User", path="a.py", thread_id=thread,
            created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
    for first, is_resolved, by in ((11, True, "maya"), (22, False, None), (None, True, None), (99, True, None)):
        child(empty, 1, "review_threads__threads", id=f"T{first}", first_comment_id=first, is_resolved=is_resolved,
              resolved_by=by, is_outdated=first == 22, seen_resolved_at=NOW if by else None)  # fmt: skip
    build.build(empty, TABLES, anew=False)
    told = "SELECT is_resolved, resolved_by, is_outdated, seen_resolved_at IS NOT NULL, waiting_on IS NULL, resolved_at"
    assert empty.execute(f"{told} FROM feedback.threads WHERE is_resolvable ORDER BY thread_id").fetchall() == [
        (True, "maya", False, True, True, None), (False, None, True, False, False, None),
        (None, None, None, False, False, None),
    ]  # fmt: skip
    acts = "SELECT id, is_actionable FROM feedback.events WHERE kind = 'review_comment' ORDER BY 1"
    assert empty.execute(acts).fetchall() == [("11", False), ("12", False), ("22", True), ("31", True)]
    empty.execute("UPDATE github.review_threads__threads SET is_resolved = NOT is_resolved WHERE first_comment_id < 30")
    put(empty, "review_threads", load="2", parent_key="github:7:1", scope="7", number=1)
    build.build(empty, TABLES, anew=False)
    assert empty.execute(acts).fetchall() == [("11", True), ("12", True), ("22", False), ("31", True)]


def test_which_change_closes_which_issue_is_one_table_for_both_forges(empty: Connection) -> None:
    """An issue in another tracker has no key; a change that is not held closes nothing."""
    issue(empty, 1, is_pull_request=True)
    pull(empty, 1)
    merge_request(empty, 5)
    child(empty, 1, "review_threads__closes", issue_key="github:8:2", issue_number=2, issue_repo="a/c", title="Two")
    child(empty, 9, "review_threads__closes", issue_key="github:8:3", issue_number=3, issue_repo="a/c", title="Three")
    for key, number in (("gitlab:9:#4", 4), (None, None)):
        gitlab(
            empty, "closes_issues__issues", parent_key="gitlab:9:!5", issue_key=key, issue_number=number, title="Four"
        )
    build.build(empty, TABLES, anew=False)
    told = "SELECT source, parent_kind, parent_number, issue_key, issue_scope_name, issue_number, issue_title"
    assert empty.execute(f"{told} FROM feedback.closes ORDER BY source").fetchall() == [
        ("github", "pull_request", 1, "github:8:2", "a/c", 2, "Two"),
        ("gitlab", "merge_request", 5, "gitlab:9:#4", None, 4, "Four"),
    ]
