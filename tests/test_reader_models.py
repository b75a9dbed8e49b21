"""What readers filter by: `feedback.parents`, over rows by hand; and what runs record for `status`."""

from typing import Any

import duckdb
import pytest

from pipelines.models import build
from pipelines.state.mirror import mirror_cursors, prepare
from sources.core.http.client import RequestCounts
from sources.core.reading import Reading
from tests.test_models import NOW, TABLES, child, empty, issue, put

__all__ = ["empty"]  # the fixture

Connection = duckdb.DuckDBPyConnection


def parents(connection: Connection, columns: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT {columns} FROM feedback.parents ORDER BY source, kind, number").fetchall()


def gitlab(connection: Connection, table: str, load: str = "1", **values: Any) -> None:
    root = {} if "__" in table else {"_dlt_load_id": load}
    row = {**values, **root}
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO gitlab.{table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def merge_request(connection: Connection, number: int, **more: Any) -> None:
    row = {
        "id": number, "scope": "9", "project": "g/p", "number": number, "parent_key": f"gitlab:9:!{number}", "state": "opened",
        "title": "T", "author": "noor", "is_draft": False, "created_at": NOW, "updated_at": NOW, "seen_at": NOW,
    }  # fmt: skip
    gitlab(connection, "merge_requests", **{**row, **more})


def test_both_forges_speak_one_language(empty: Connection) -> None:
    """`opened` is `open`; locked stays what it is; lists are lists, empty ones too."""
    issue(empty, 1, milestone="1.0")
    for name in ("bug", "a, b"):
        child(empty, 1, "issues__labels", name=name)
    child(empty, 1, "issues__assignees", login="maya")
    issue(empty, 2, state="closed")
    merge_request(empty, 3, state="locked", is_draft=True, source_branch="s", target_branch="t", merge_user="noor")
    gitlab(empty, "merge_requests__labels", name="z", parent_key="gitlab:9:!3")
    gitlab(empty, "merge_requests__labels", name="a", parent_key="gitlab:9:!3")
    gitlab(empty, "merge_requests__reviewers", username="freja", parent_key="gitlab:9:!3")
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "kind, state, labels, assignees, reviewers, source_branch, merged_by, is_draft") == [
        ("issue", "open", ["a, b", "bug"], ["maya"], [], None, None, False),
        ("issue", "closed", [], [], [], None, None, False),
        ("merge_request", "locked", ["a", "z"], [], ["freja"], "s", "noor", True),
    ]


def test_reviewers_are_those_asked_and_those_who_did(empty: Connection) -> None:
    """GitHub forgets whom it asked once they answer; the author's own answers make no reviewer."""
    issue(empty, 1, is_pull_request=True, author="maya")
    put(empty, "pull_requests", id=1, scope="7", number=1, parent_key="github:7:1", state="open", is_draft=False,
        head_ref="topic", base_ref="main", created_at=NOW, updated_at=NOW)  # fmt: skip
    child(empty, 1, "pull_requests__requested_reviewers", login="benji")
    for id_, author in enumerate(("odile", "maya", "odile")):
        put(empty, "reviews", id=id_, version="v", event_key=f"r{id_}", scope="7", number=1, parent_key="github:7:1", state="APPROVED",
            body="", author=author, created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "kind, reviewers, source_branch, target_branch") == [
        ("pull_request", ["benji", "odile"], "topic", "main")
    ]


def test_what_is_deleted_is_gone_and_what_changes_changes(empty: Connection) -> None:
    """Kept by its key: a later load replaces the row, a deletion takes it out, others stay."""
    merge_request(empty, 1)
    merge_request(empty, 2)
    build.build(empty, TABLES, anew=False)
    empty.execute("UPDATE gitlab.merge_requests SET state = 'merged', _dlt_load_id = '2' WHERE number = 1")
    gitlab(
        empty, "deletions", load="2", parent_key="gitlab:9:!2", scope="9", is_deleted=True, noticed_at=NOW.add(days=1)
    )
    build.build(empty, TABLES, anew=False)
    assert parents(empty, "number, state") == [(1, "merged")]


def test_what_was_renamed_is_called_so_everywhere(empty: Connection) -> None:
    """Also what was not listed since."""
    issue(empty, 1)
    merge_request(empty, 2)
    put(empty, "repositories", id=7, scope="7", repo="a/new", seen_at=NOW)
    gitlab(empty, "projects", id=9, scope="9", project="g/new", seen_at=NOW)
    build.build(empty, TABLES, anew=False)
    for table in ("feedback.parents", "ops.completeness"):
        told = f"SELECT scope_name FROM {table} ORDER BY source"
        assert empty.execute(told).fetchall() == [("a/new",), ("g/new",)]


def test_gitlabs_bots_are_known_by_their_names_however_they_are_written(empty: Connection) -> None:
    names = {
        "project_9_bot_7f3a": True,
        "Renovate-Bot": True,
        "service_account_x": True,
        "abbot": False,
        "Robotina": False,
    }
    for number, name in enumerate(names, 1):
        merge_request(empty, number)
        gitlab(empty, "openers", event_key=f"o{number}", id=number, version="v", scope="9", project="g/p", number=number,
               parent_kind="merge_request", parent_key=f"gitlab:9:!{number}", title="T", body="B", author=name,
               created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip
        gitlab(empty, "note_versions", event_key=f"n{number}", id=number, version="v", scope="9", project="g/p", number=number,
               parent_kind="merge_request", parent_key=f"gitlab:9:!{number}", discussion_id="d", is_individual=True,
               is_system=False, is_internal=False, is_diff_note=False, body="B", author=name, created_at=NOW,
               updated_at=NOW, seen_at=NOW)  # fmt: skip
    build.build(empty, TABLES, anew=False)
    for kind in ("merge_request", "note"):
        found = f"SELECT author, is_bot FROM feedback.events WHERE kind = '{kind}'"
        assert dict(empty.execute(found).fetchall()) == names


def test_threads_follow_what_is_said_in_them(empty: Connection) -> None:
    """Kept by their parent: resolved later, with no new word, is resolved here."""
    merge_request(empty, 1)
    for id_, author in ((5, "freja"), (6, "noor")):
        said = {
            "parent_key": "gitlab:9:!1",
            "id": id_,
            "version": "v",
            "discussion_id": "d",
            "author": author,
            "body": "…",
        }
        gitlab(empty, "note_versions", **said, event_key=f"n{id_}", scope="9", project="g/p", parent_kind="merge_request",
               number=1, is_individual=False, is_system=False, is_internal=False, is_diff_note=False, created_at=NOW.add(hours=id_),
               updated_at=NOW, seen_at=NOW)  # fmt: skip
        gitlab(empty, "threads__discussions__notes", **said, is_system=False)
    gitlab(
        empty,
        "threads__discussions",
        parent_key="gitlab:9:!1",
        id="d",
        is_individual=False,
        is_resolvable=True,
        is_resolved=False,
    )
    build.build(empty, TABLES, anew=False)
    told = "SELECT opener, last_author, is_resolved, comment_count FROM feedback.threads"
    assert empty.execute(told).fetchall() == [("freja", "noor", False, 2)]
    empty.execute("UPDATE gitlab.threads__discussions SET is_resolved = true")
    gitlab(empty, "threads", load="2", parent_key="gitlab:9:!1", scope="9", number=1)
    build.build(empty, TABLES, anew=False)
    assert empty.execute(told).fetchall() == [("freja", "noor", True, 2)]


def test_a_suggestion_is_what_was_proposed_and_no_quote_of_it(empty: Connection) -> None:
    """Whole, also where it has fences of its own."""
    issue(empty, 1, is_pull_request=True)
    said = {
        1: "So?\r\n```suggestion\r\na\r\n```\r\nor\r\n```suggestion\r\nb\r\n```",
        2: "> ```suggestion\n> a\n> ```\n\nNo.",
        3: "````suggestion\n```sh\nmake\n```\n````",
        4: "```suggestion\na = `x```y`\n```",
        5: "```suggestion\nnever closed",
    }
    for id_, body in said.items():
        put(empty, "review_comments", id=id_, version="v", event_key=f"c{id_}", scope="7", number=1, parent_key="github:7:1",
            thread_id=id_, path="a", side="RIGHT", original_line=1, body=body, author="odile", created_at=NOW, updated_at=NOW,
            seen_at=NOW)  # fmt: skip
    build.build(empty, TABLES, anew=False)
    assert empty.execute("SELECT suggestion FROM feedback.diff_notes ORDER BY event_key").fetchall() == [
        ("a\r\n",), (None,), ("```sh\nmake\n```\n",), ("a = `x```y`\n",), (None,)
    ]  # fmt: skip


def test_cursors_bear_their_own_places_names() -> None:
    """Two services may use one id; a run of one source leaves the other's cursors; a lost name is remembered."""
    cursor = {"since": None, "newest": "2026-03-01T12:00:00Z", "complete": True}
    with duckdb.connect() as connection:
        prepare(connection, [])
        both = {"github": {"issues": {"7": cursor, "7/12": cursor}}, "gitlab": {"issues": {"7": cursor}}}
        mirror_cursors(connection, both, {"github": {"7": "a/b"}, "gitlab": {"7": "g/p"}})
        mirror_cursors(connection, {"github": {"issues": {"7": cursor}}}, {"github": {}})
        shown = connection.execute("SELECT source, scope, scope_name FROM ops.cursors ORDER BY ALL").fetchall()
        assert shown == [("github", "7", "a/b"), ("gitlab", "7", "g/p")]
        mirror_cursors(connection, {}, {})
        assert connection.execute("SELECT count(*) FROM ops.cursors").fetchone() == (2,)


@pytest.mark.parametrize(("saved", "expected"), [({"issues": {"7": {}}}, 30.0), ({}, None)])
def test_lag_is_the_age_of_the_newest_news(saved: dict[str, Any], expected: float | None) -> None:
    """When it was read; what was there before we came says nothing of our pace, nor does what has no time."""
    reading = Reading(api=None, saved=saved, tallies={("issues", "7"): RequestCounts()})  # type: ignore[arg-type]
    rows = [{"seen_at": NOW, "updated_at": NOW.subtract(seconds=age)} for age in (90, 30, 60)]
    reading._lags("issues", "7", [*rows, {"id": 1}], is_known="7" in saved.get("issues", {}))
    assert reading.tally("issues", "7").lag_seconds == expected
    reading._lags("issues", "7", [], is_known=True)
    assert reading.tally("issues", "7").lag_seconds == expected
