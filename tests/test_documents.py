"""Documents and their index: what is in them, that they follow what is said, and that they are made anew when lost."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.models import build
from pipelines.search.documents import document
from pipelines.search.query import Hit, search
from pipelines.state.ledger import Ledger
from tests.small_gitlab import gitlab, project, world
from tests.synced import GitLabDesk
from tests.test_models import NOW, TABLES, child, comment, empty, issue, put

__all__ = ["empty", "gitlab", "project", "world"]


def found(gitlab: GitLabDesk, text: str, **more: Any) -> list[Hit]:
    return [hit for hit in search(text, data=gitlab.home.path, **more) if hit.has_all_words]


def indexed(home: Any) -> list[Any]:
    """All that the index holds, without the numbers of its rows."""
    with sqlite3.connect(home.search) as connection:
        return connection.execute(
            "SELECT d.document_key, d.content_hash, d.row_hash, d.scope_name, d.updated_at, w.title, w.body"
            " FROM documents AS d JOIN words AS w ON w.rowid = d.id ORDER BY d.document_key"
        ).fetchall()


def texts(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    build.build(connection, TABLES, anew=False)
    build.regenerate(connection, TABLES)
    return dict(connection.execute("SELECT document_key, body FROM feedback.documents").fetchall())


def opener(connection: duckdb.DuckDBPyConnection, number: int, body: str) -> None:
    put(connection, "openers", id=number, event_key=f"o{number}", version="v", kind="issue", parent_key=f"github:7:{number}",
        scope="7", number=number, title="T", body=body, author="maya", created_at=NOW, updated_at=NOW, seen_at=NOW)  # fmt: skip


def test_a_document_is_description_labels_and_what_was_said_in_order(empty: duckdb.DuckDBPyConnection) -> None:
    """Threads by when they began, each in a piece; who, when, and where in the diff."""
    issue(empty, 1)
    for name in ("cache", "bug"):
        child(empty, 1, "issues__labels", name=name)
    opener(empty, 1, "It **breaks**.\r\n\r\nOften.")
    comment(empty, 1, 1, "second", created_at=NOW.add(hours=2))
    comment(empty, 2, 1, "first", created_at=NOW.add(hours=1))
    comment(empty, 3, 1, "old words", created_at=NOW.add(hours=3), version="a")
    comment(empty, 3, 1, "new words", created_at=NOW.add(hours=3), updated_at=NOW.add(hours=4), version="b")
    for id_, hours, body in ((11, 1.5, "Why?"), (12, 9, "Because.")):
        put(empty, "review_comments", id=id_, event_key=f"r{id_}", version="v", scope="7", repo="a/b", number=1,
            parent_key="github:7:1", thread_id=11, in_reply_to_id=11 if id_ > 11 else None, body=body, author="noor", path="a.py", original_line=7, created_at=NOW.add(minutes=int(hours * 60)), updated_at=NOW, seen_at=NOW)  # fmt: skip
    assert texts(empty)["github:7:1"] == (
        "It **breaks**.\n\nOften.\n\nLabels: bug, cache\n\n@odile (2026-03-01):\nfirst\n\n"
        "@noor (2026-03-01) [a.py:7]:\nWhy?\n\n@noor (2026-03-01) [a.py:7]:\nBecause.\n\n"
        "@odile (2026-03-01):\nsecond\n\n@odile (2026-03-01):\nnew words"
    )
    assert empty.execute("SELECT title, author, participants FROM feedback.documents").fetchall() == [
        ("T", "maya", ["maya", "noor", "odile"])
    ]


def test_deleted_and_system_words_are_in_no_document(empty: duckdb.DuckDBPyConnection) -> None:
    issue(empty, 1)
    opener(empty, 1, "Text")
    comment(empty, 1, 1, "gone")
    put(
        empty,
        "deletions",
        kind="issue_comment",
        id=1,
        scope="7",
        parent_key="github:7:1",
        is_deleted=True,
        noticed_at=NOW,
    )
    assert texts(empty) == {"github:7:1": "Text"}


def test_who_asks_not_to_be_shown_is_in_no_document(empty: duckdb.DuckDBPyConnection) -> None:
    """A thread of posts is a document, without their words; where all of it is theirs there is none."""

    def post(uri: str, did: str, text: str, root: str) -> None:
        values = {"did": did, "uri": uri, "cid": f"c{uri}", "parent_key": f"bluesky:{root}", "event_key": f"e{uri}",
                  "scope": did, "handle": f"{did}.example", "kind": "post" if uri == root else "reply", "post_uri": uri, "author_did": did,
                  "text": text, "created_at": NOW, "indexed_at": NOW, "said_at": NOW, "seen_at": NOW, "_dlt_load_id": "1"}  # fmt: skip
        empty.execute(f"INSERT INTO bluesky.posts ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", list(values.values()))  # fmt: skip

    for did, hidden in (("anna", False), ("bert", True)):
        empty.execute("INSERT INTO bluesky.actors (did, scope, handle, is_unlisted, _dlt_load_id) VALUES (?, ?, ?, ?, '1')",
                      [did, did, f"{did}.example", hidden])  # fmt: skip
    post("at://1", "anna", "open words", "at://1")
    post("at://2", "bert", "hidden words", "at://1")
    post("at://3", "bert", "hidden thread", "at://3")
    assert texts(empty) == {"bluesky:at://1": "@anna.example (2026-03-01):\nopen words"}
    assert empty.execute("SELECT is_unlisted, participants FROM feedback.documents").fetchall() == [
        (True, ["anna.example"])
    ]


def test_regenerating_some_leaves_the_others_as_due_as_they_were(empty: duckdb.DuckDBPyConnection) -> None:
    for number in (1, 2):
        issue(empty, number)
        opener(empty, number, f"text {number}")
    build.build(empty, TABLES, anew=False)
    assert build.regenerate(empty, TABLES, ["github:7:2"]) == ["github:7:2"]
    assert empty.execute("SELECT document_key FROM feedback.documents").fetchall() == [("github:7:2",)]
    assert empty.execute("FROM ops.dirty_documents").fetchall() == [("github:7:1",)]
    assert build.regenerate(empty, TABLES) == ["github:7:1"] and build.regenerate(empty, TABLES) == []
    whole = empty.execute("FROM feedback.documents ORDER BY ALL").fetchall()
    build.build(empty, TABLES, anew=True)
    build.regenerate(empty, TABLES)
    assert empty.execute("FROM feedback.documents ORDER BY ALL").fetchall() == whole


def test_search_finds_what_was_edited_and_not_what_was_deleted(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    """Right after the run that read it."""
    world.advance(seconds=61)
    mr = project.merge_requests[1]
    note = project.comment(mr, "maya", "the zebrafish swims")
    world.advance(seconds=300)
    gitlab.run()
    assert [hit.number for hit in found(gitlab, "zebrafish")] == [1]
    project.edit_note(note, "the axolotl swims")
    world.advance(seconds=300)
    gitlab.run(sweep=True)
    assert not found(gitlab, "zebrafish") and [hit.number for hit in found(gitlab, "axolotl")] == [1]
    project.delete_note(note)
    world.advance(seconds=300)
    gitlab.run(sweep=True)
    assert not found(gitlab, "axolotl")


@pytest.mark.ci
def test_an_index_kept_up_to_date_is_the_index_made_anew(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    for n in range(3):
        world.advance(seconds=61)
        project.comment(project.merge_requests[1 + n], "maya", f"word{n} said")
        project.edit(project.issues[1], "maya", title=f"Title {n}")
        world.advance(seconds=300)
        report = gitlab.run()
        assert len(report.documents) == 2, "an issue and a merge request were touched"
    kept = indexed(gitlab.home)
    gitlab.home.search.unlink()
    gitlab.run()
    assert indexed(gitlab.home) == kept and len(kept) == 7


def test_an_unchanged_run_leaves_the_index_alone(gitlab: GitLabDesk) -> None:
    gitlab.run()
    before = (gitlab.home.search.stat().st_mtime_ns, gitlab.home.published.stat().st_mtime_ns)
    report = gitlab.run()
    assert (gitlab.home.search.stat().st_mtime_ns, gitlab.home.published.stat().st_mtime_ns) == before
    assert report.stages["docs_regenerated"] == 0 and "docs" not in report.timings_ms


@pytest.mark.parametrize("harm", ["lost", "no database", "torn", "another version"])
def test_a_lost_or_damaged_index_is_made_anew(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, harm: str
) -> None:
    """By the next run, whether it has something to say or not; a torn one by the next that writes into it."""
    whole, path = indexed(gitlab.home), gitlab.home.search
    if harm == "lost":
        path.unlink()
    elif harm == "no database":
        path.write_bytes(b"not a database, but long enough to be looked at " * 100)
    elif harm == "torn":
        data = path.read_bytes()
        path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
    if harm == "torn":
        world.advance(seconds=61)
        project.edit(project.issues[1], "maya", title="Another")
        world.advance(seconds=300)
    gitlab.run()
    assert [row[0] for row in indexed(gitlab.home)] == [row[0] for row in whole]
    assert harm != "torn" or found(gitlab, "Another")


def test_an_update_that_is_broken_off_is_made_up_for(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old index stays whole, the run says so, the next one finishes it although nothing is new."""
    before = indexed(gitlab.home)
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "the pangolin rolls")
    world.advance(seconds=300)
    put_ = "pipelines.search.index.Index._put"
    monkeypatch.setattr(put_, _disk_full)
    report = gitlab.run()
    assert report.exit_code == 3 and "disk is full" in str(report.stage_problem) and indexed(gitlab.home) == before
    monkeypatch.undo()
    gitlab.run()
    assert [hit.number for hit in found(gitlab, "pangolin")] == [1]
    with Ledger.open(gitlab.home.control) as ledger:
        assert ledger.open_failures("docs") == []


def _disk_full(*_: object) -> bool:
    raise sqlite3.OperationalError("database or disk is full")


def test_without_docs_they_are_left_for_a_later_run(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    """And that one has them all, in the index and in the published file, though it finds nothing new."""
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "the pangolin rolls")
    world.advance(seconds=300)
    report = gitlab.run(docs=False)
    assert report.published_bytes and not found(gitlab, "pangolin")
    assert gitlab.run().stages["docs_regenerated"] == 1 and found(gitlab, "pangolin")
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 1
    assert gitlab.run().published_bytes is None


def test_a_document_of_five_megabytes(gitlab: GitLabDesk, world: GitLabWorld, project: Project) -> None:
    world.advance(seconds=61)
    project.edit(project.issues[1], "maya", title="Long")
    world.advance(seconds=300)
    gitlab.run()
    with duckdb.connect(str(gitlab.home.warehouse)) as connection:
        connection.execute("UPDATE feedback.documents SET body = repeat('many words here ', 330000) || 'quokka', content_hash = 'x'"
                           " WHERE title = 'Long'")  # fmt: skip
    document(gitlab.home, compare=True)
    [hit] = found(gitlab, "quokka")
    assert hit.title == "Long" and len(hit.snippet) < 500 and hit.highlights


@pytest.fixture
def home_copy(gitlab: GitLabDesk, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "copy"
    shutil.copytree(gitlab.home.path, copy)
    yield copy


def test_readers_of_an_index_that_is_not_there_or_damaged_are_told(home_copy: Path) -> None:
    from click.testing import CliRunner

    from pipelines.cli import main

    def ask() -> str:
        return CliRunner().invoke(main, ["search", "x", "--json"], env={"EARSHOT_DATA": str(home_copy)}).stdout

    assert '"ok":true' in ask()
    (home_copy / "search.sqlite").write_bytes(b"nothing of the kind" * 50)
    assert "UNREADABLE" in ask()
    (home_copy / "search.sqlite").unlink()
    assert "NOTHING_YET" in ask()
