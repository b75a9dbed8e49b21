"""The index is written beside: what breaks off in between leaves it as it was or is made up for, and nobody waits."""

import asyncio
import pkgutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.models import build
from pipelines.search import documents
from pipelines.search.documents import begun, document
from pipelines.search.indexing import GIVEN, Indexing
from pipelines.sync.run import Options, sync
from pipelines.sync.targets.choice import targets
from pipelines.sync.targets.outcomes import Order
from pipelines.sync.targets.run import operate
from pipelines.warehouse.data_dir import Locked, PublishError
from tests.small_gitlab import gitlab, project, world
from tests.synced import GitLabDesk, Reached
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

    monkeypatch.setattr("pipelines.search.index.Index.replace", full)

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
    monkeypatch.setattr(build, "AT_ONCE", 1)
    make, calls = build._regenerate_some, list[int]()

    def once(*args: Any, **more: Any) -> list[str]:
        calls.append(1)
        if len(calls) == 2:
            raise duckdb.OutOfMemoryException("something that cannot be spilled")
        return make(*args, **more)

    monkeypatch.setattr(build, "_regenerate_some", once)
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
    monkeypatch.setattr("pipelines.models.build.narrowed", lambda *a, **k: narrowed.append(a[1]) or narrow(*a, **k))
    from pipelines.models.narrowing import narrowed as narrow

    for at_once, is_narrowed in ((1, True), (build.AT_ONCE, False)):
        monkeypatch.setattr(build, "AT_ONCE", at_once)
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

    monkeypatch.setattr("pipelines.warehouse.data_dir.DataDir.publish", refuses)
    assert gitlab.run().error == "no space left"
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("index")]
    monkeypatch.undo()
    gitlab.run()
    assert [hit.number for hit in found(gitlab, "pangolin")] == [1]
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 1


def test_a_part_of_the_words_is_not_indexed(gitlab: GitLabDesk) -> None:
    from dataclasses import replace

    from pipelines.sync.shards import Shard

    was = indexed(gitlab.home)
    with ThreadPoolExecutor(1) as thread:
        done = begun(replace(gitlab.home, shard=Shard(1, 2)), thread, anew=True)
    assert done.indexing is None and done.is_complete and done.finish() is done and indexed(gitlab.home) == was


def news(world: GitLabWorld, project: Project) -> None:
    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.merge_requests[number], "maya", "the pangolin rolls")
    world.advance(seconds=300)


def out_of_memory(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    put, calls = documents._put, list[int]()

    def once(*args: Any) -> dict[str, str]:
        calls.append(1)
        if len(calls) == at:
            raise duckdb.OutOfMemoryException("something that cannot be spilled")
        return put(*args)

    monkeypatch.setattr(documents, "_put", once)


def test_what_could_not_be_handed_over_in_little_memory_is_handed_over_in_more(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made and no longer due by then."""
    news(world, project)
    out_of_memory(monkeypatch, at=1)
    report = gitlab.run()
    assert report.exit_code == 0 and len(report.documents) == 2
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]


def test_a_new_index_is_filled_in_more_memory_where_little_was_not_enough(
    gitlab: GitLabDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = indexed(gitlab.home)
    gitlab.home.search.unlink()
    monkeypatch.setattr(documents, "AT_ONCE", 2)
    out_of_memory(monkeypatch, at=2)
    assert gitlab.run().exit_code == 0 and indexed(gitlab.home) == was


def test_documents_are_made_and_published_though_the_index_cannot_be_opened(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project
) -> None:
    news(world, project)
    gitlab.home.search.unlink()
    blocked = gitlab.home.search.with_suffix(".partial")
    blocked.mkdir()
    report = gitlab.run()
    assert report.exit_code == 3 and "could not be written" in str(report.stage_problem)
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 2
    blocked.rmdir()
    assert gitlab.run().exit_code == 0
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]


@pytest.mark.parametrize("stage", ["docs", "publish"])
@pytest.mark.parametrize("mode", ["bulk", "surgical"])
def test_a_cancelled_run_keeps_the_lock_until_it_writes_no_more(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch, stage: str, mode: str
) -> None:
    news(world, project)
    where = {"docs": "pipelines.search.documents.begun", "publish": "pipelines.warehouse.data_dir.DataDir.publish"}[
        stage
    ]
    job, began, heard = pkgutil.resolve_name(where.replace(".begun", ":begun").replace(".DataDir", ":DataDir")), [0], []

    def slow(*args: Any, **more: Any) -> Any:
        began[0] = 1
        time.sleep(0.5)
        made = job(*args, **more)
        with pytest.raises(Locked), gitlab.home.lock():
            heard.append("somebody else could write too")
        heard.append("done")
        return made

    monkeypatch.setattr(where, slow)

    async def cancelled() -> None:
        connected = Reached(gitlab.source(gitlab.names), gitlab.app)
        order = Order(connected, "lantern/console", targets((), (1,), ()), 60.0, False)
        run = (
            operate(gitlab.home, order, Options()) if mode == "surgical" else sync(gitlab.home, [connected], Options())
        )
        task = asyncio.create_task(run)
        while not began[0]:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert heard == ["done"]
    monkeypatch.undo()
    gitlab.run()
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]
