"""What GitHub's rows mean, over rows by hand: who is a machine, what is merged and by whom, who is asked."""

from typing import Any

import duckdb
import pytest

from pipelines.models import build
from tests.test_models import NOW, TABLES, child, comment, empty, issue, put
from tests.test_reader_models import parents

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
