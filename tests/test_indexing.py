"""The index is written beside: what breaks off in between leaves it as it was or is made up for, and nobody waits."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import models
from pipelines.demo.gitlab_project import Project
from pipelines.demo.gitlab_world import GitLabWorld
from pipelines.documents import begun, document
from pipelines.indexing import GIVEN, Indexing
from pipelines.warehouse import PublishError
from tests.small_gitlab import gitlab, project, world
from tests.synced import GitLabDesk
from tests.test_documents import found, indexed

__all__ = ["gitlab", "project", "world"]

SAID = {"source": "gitlab", "kind": "issue", "scope": "1", "participants": "||", "created_at": "", "updated_at": ""}


def row(key: str, body: str) -> tuple[Any, ...]:
    told = {**SAID, "document_key": key, "content_hash": body, "row_hash": body, "body": body}
    return tuple(told.get(name) for name in GIVEN)


def held(path: Path) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(
            "SELECT document_key, words.body FROM documents AS d JOIN words ON words.rowid = d.id ORDER BY 1"
        ).fetchall()


def test_batches_are_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with ThreadPoolExecutor(1) as thread:
        with Indexing(thread, path, compares=False) as first:
            first.put([row("a", "one"), row("b", "two")], [])
            first.put([row("c", "three")], [])
        assert first.finish() == 3
        with pytest.raises(RuntimeError), Indexing(thread, path, compares=True) as broken:
            assert broken.held == {"a": "one", "b": "two", "c": "three"}
            broken.put([row("a", "other")], ["b"])
            raise RuntimeError("the documents after these could not be made")
        assert held(path) == [("a", "one"), ("b", "two"), ("c", "three")]
        with Indexing(thread, path, compares=False) as last:
            last.put([row("a", "other")], ["b"])
        assert last.finish() == 1 and held(path) == [("a", "other"), ("c", "three")]


def test_a_first_one_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        with pytest.raises(RuntimeError), Indexing(thread, tmp_path / "search.sqlite", compares=False) as broken:
            broken.put([row("a", "one")], [])
            raise RuntimeError("cancelled")
    assert not list(tmp_path.iterdir())


def test_who_puts_is_not_left_waiting_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("pipelines.index.Index.replace", full)

    def puts_many() -> None:
        with ThreadPoolExecutor(1) as thread:
            with Indexing(thread, tmp_path / "search.sqlite", compares=False) as indexing:
                for number in range(10):
                    indexing.put([row(str(number), "words")], [])
            with pytest.raises(sqlite3.OperationalError):
                indexing.finish()

    puts = threading.Thread(target=puts_many, daemon=True)
    puts.start()
    puts.join(20)
    assert not puts.is_alive() and not list(tmp_path.iterdir())


def test_documents_made_before_memory_ran_out_are_found_too(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are committed and no longer due when the rest is made again with more room."""
    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.merge_requests[number], "maya", "the pangolin rolls")
    world.advance(seconds=300)
    gitlab.run(docs=False)
    monkeypatch.setattr(models, "AT_ONCE", 1)
    make, calls = models._regenerate_some, list[int]()

    def once(*args: Any, **more: Any) -> list[str]:
        calls.append(1)
        if len(calls) == 2:
            raise duckdb.OutOfMemoryException("something that cannot be spilled")
        return make(*args, **more)

    monkeypatch.setattr(models, "_regenerate_some", once)
    done = document(gitlab.home)
    assert len(calls) == 3 and len(done.touched) == 2
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]


def test_all_at_once_is_what_it_is_in_batches(gitlab: GitLabDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first time narrows nothing."""
    with duckdb.connect(str(gitlab.home.warehouse)) as connection:
        columns = [name for name, *_ in connection.execute("DESCRIBE feedback.documents").fetchall()]
        whole = f"SELECT {', '.join(columns)} FROM feedback.documents ORDER BY document_key"
        kept = connection.execute(whole).fetchall()
    was = indexed(gitlab.home)
    narrowed = list[str]()
    monkeypatch.setattr("pipelines.models.narrowed", lambda *a, **k: narrowed.append(a[1]) or narrow(*a, **k))
    from pipelines.narrowing import narrowed as narrow

    for at_once, is_narrowed in ((1, True), (models.AT_ONCE, False)):
        monkeypatch.setattr(models, "AT_ONCE", at_once)
        with duckdb.connect(str(gitlab.home.warehouse)) as connection:
            connection.execute("DELETE FROM feedback.documents")
            connection.execute("INSERT INTO ops.dirty_documents SELECT DISTINCT parent_key FROM feedback.events")
        gitlab.home.search.unlink()
        narrowed.clear()
        document(gitlab.home)
        assert bool(narrowed) == is_narrowed
        with duckdb.connect(str(gitlab.home.warehouse)) as connection:
            assert connection.execute(whole).fetchall() == kept
        assert indexed(gitlab.home) == was


def test_the_index_is_waited_for_when_publishing_fails(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run must not find it being written; and it makes up for what readers did not get."""
    world.advance(seconds=61)
    project.comment(project.merge_requests[1], "maya", "the pangolin rolls")
    world.advance(seconds=300)

    def refuses(*_: object) -> int:
        raise PublishError("no space left")

    monkeypatch.setattr("pipelines.warehouse.Home.publish", refuses)
    assert gitlab.run().error == "no space left"
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("index")]
    monkeypatch.undo()
    gitlab.run()
    assert [hit.number for hit in found(gitlab, "pangolin")] == [1]
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 1


def test_a_part_of_the_words_is_not_indexed(gitlab: GitLabDesk) -> None:
    from dataclasses import replace

    from pipelines.sharding import Shard

    was = indexed(gitlab.home)
    with ThreadPoolExecutor(1) as thread:
        done = begun(replace(gitlab.home, shard=Shard(1, 2)), thread, anew=True)
    assert done.indexing is None and done.is_complete and done.finish() is done and indexed(gitlab.home) == was
