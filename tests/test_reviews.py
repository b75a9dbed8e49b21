"""`feedback.reviews`: verdicts on either forge, over rows by hand."""

import duckdb

from pipelines.models import build
from tests.test_models import NOW, TABLES, empty, issue, put
from tests.test_reader_models import gitlab, merge_request

__all__ = ["empty"]  # the fixture

Connection = duckdb.DuckDBPyConnection


def review(connection: Connection, id_: int, author: str, state: str, body: str = "", hours: int = 0) -> None:
    put(connection, "reviews", id=id_, version=f"v{state}", event_key=f"r{id_}{state}", scope="7", number=1, body=body,
        parent_key="github:7:1", state=state, author=author, commit_id=f"sha{id_}", created_at=NOW.add(hours=hours),
        updated_at=NOW.add(hours=hours), seen_at=NOW)  # fmt: skip


def note(connection: Connection, id_: int, author: str, body: str, *, is_system: bool = True) -> None:
    at = {"created_at": NOW.add(hours=id_), "updated_at": NOW.add(hours=id_)}
    gitlab(
        connection,
        "threads__discussions__notes",
        id=id_,
        version="v",
        parent_key="gitlab:9:!2",
        discussion_id=f"d{id_}",
    )
    gitlab(connection, "note_versions", event_key=f"n{id_}", id=id_, version="v", scope="9", project="g/p", number=2,
           parent_kind="merge_request", parent_key="gitlab:9:!2", discussion_id=f"d{id_}", is_individual=True, body=body,
           is_system=is_system, is_internal=False, is_diff_note=False, author=author, seen_at=NOW, **at)  # fmt: skip


def test_verdicts_are_told_with_and_without_words(empty: Connection) -> None:
    """One row a review, of both forges in one language; which of a reviewer's verdicts stands."""
    issue(empty, 1, is_pull_request=True, author="odile")
    review(empty, 1, "maya", "CHANGES_REQUESTED", "Please test it.")
    review(empty, 2, "maya", "COMMENTED", "Looking again.", hours=1)
    review(empty, 3, "noor", "APPROVED", hours=2)
    review(empty, 4, "noor", "COMMENTED", hours=3)  # GitHub's own wrapper of comments in the diff
    review(empty, 5, "pete", "DISMISSED", "Was: no.", hours=4)
    merge_request(empty, 2)
    note(empty, 1, "noor", "requested changes")
    note(empty, 2, "noor", "approved this merge request")
    note(empty, 3, "kofi", "approved this merge request")
    note(empty, 4, "kofi", "unapproved this merge request")
    note(empty, 5, "kofi", "approved this merge request", is_system=False)  # somebody says so
    note(empty, 6, "kofi", "added 1 commit")
    build.build(empty, TABLES, anew=False)
    told = "SELECT author, verdict, has_words, is_standing FROM feedback.reviews ORDER BY source, created_at"
    assert empty.execute(told).fetchall() == [
        ("maya", "changes_requested", True, True),
        ("maya", "commented", True, False),
        ("noor", "approved", False, True),
        ("pete", "dismissed", True, True),
        ("noor", "changes_requested", False, False),
        ("noor", "approved", False, True),
        ("kofi", "approved", False, False),
        ("kofi", "unapproved", False, True),
    ]
    assert empty.execute("SELECT commit_sha FROM feedback.reviews WHERE author = 'pete'").fetchall() == [("sha5",)]


def test_a_verdict_that_changed_is_told_once(empty: Connection) -> None:
    """A dismissal is a version of its review."""
    issue(empty, 1, is_pull_request=True, author="odile")
    review(empty, 1, "maya", "APPROVED")
    review(empty, 1, "maya", "DISMISSED", hours=1)
    put(empty, "latest_versions", kind="review", id=1, version="vDISMISSED", parent_key="github:7:1")
    build.build(empty, TABLES, anew=False)
    assert empty.execute("SELECT verdict, is_standing FROM feedback.reviews").fetchall() == [("dismissed", True)]
