"""The index is written behind the documents: what breaks off in between leaves it as it was and is made up for."""

import asyncio
import pkgutil
import sqlite3
import time
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.models import build
from pipelines.search import documents
from pipelines.search.documents import document
from pipelines.search.index import Index
from pipelines.sync.run import Options, sync
from pipelines.sync.shards import Shard
from pipelines.sync.targets.choice import targets
from pipelines.sync.targets.outcomes import Order
from pipelines.sync.targets.run import operate
from pipelines.warehouse.data_dir import Locked, PublishError
from tests.small_gitlab import gitlab, project, world
from tests.synced import GitLabDesk, Reached
from tests.test_documents import found, indexed

__all__ = ["gitlab", "project", "world"]


def breaks_off(monkeypatch: pytest.MonkeyPatch, at: int, error: Exception) -> None:
    """While so many batches are in the index, and the rest is not."""
    monkeypatch.setattr(documents, "AT_ONCE", 1)
    replace, calls = Index.replace, list[int]()

    def once(*args: Any) -> int:
        calls.append(1)
        if len(calls) == at:
            raise error
        return replace(*args)

    monkeypatch.setattr(Index, "replace", once)


@pytest.mark.parametrize("is_first", [True, False])
def test_batches_are_one_transaction(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """Of an index that breaks off nothing is there; documents are published all the same, and the next run makes up."""
    was = indexed(gitlab.home)
    news(world, project)
    if is_first:
        gitlab.home.search.unlink()
    breaks_off(monkeypatch, 2, sqlite3.OperationalError("database or disk is full"))
    report = gitlab.run()
    assert report.exit_code == 3 and "disk is full" in str(report.stage_problem)
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 2
    if is_first:
        assert not gitlab.home.search.exists() and not gitlab.home.search.with_suffix(".partial").exists()
    else:
        assert indexed(gitlab.home) == was
    monkeypatch.undo()
    assert gitlab.run().exit_code == 0
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]


def test_one_that_turns_out_damaged_is_made_anew(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, in the same run."""
    was = indexed(gitlab.home)
    news(world, project)
    breaks_off(monkeypatch, 2, sqlite3.DatabaseError("database disk image is malformed"))
    assert gitlab.run().exit_code == 0
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]
    assert len(indexed(gitlab.home)) == len(was)


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


def test_what_was_indexed_and_not_published_is_published_next(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    news(world, project)

    def refuses(*_: object) -> int:
        raise PublishError("no space left")

    monkeypatch.setattr("pipelines.warehouse.data_dir.DataDir.publish", refuses)
    assert gitlab.run().error == "no space left"
    monkeypatch.undo()
    gitlab.run()
    assert sorted(hit.number or 0 for hit in found(gitlab, "pangolin")) == [1, 2]
    assert gitlab.one("SELECT count(*) FROM feedback.documents WHERE body LIKE '%pangolin%'") == 2


def test_a_part_of_the_words_is_not_indexed(gitlab: GitLabDesk) -> None:
    was = indexed(gitlab.home)
    done = document(replace(gitlab.home, shard=Shard(1, 2)), anew=True)
    assert done.indexed == 0 and done.is_complete and indexed(gitlab.home) == was


def news(world: GitLabWorld, project: Project) -> None:
    world.advance(seconds=61)
    for number in (1, 2):
        project.comment(project.merge_requests[number], "maya", "the pangolin rolls")
    world.advance(seconds=300)


def out_of_memory(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    these, calls = documents._these, list[int]()

    def once(*args: Any) -> str:
        calls.append(1)
        if len(calls) == at:
            raise duckdb.OutOfMemoryException("something that cannot be spilled")
        return these(*args)

    monkeypatch.setattr(documents, "_these", once)


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
    out_of_memory(monkeypatch, at=3)
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


@pytest.mark.ci
@pytest.mark.parametrize("stage", ["docs", "publish"])
@pytest.mark.parametrize("mode", ["bulk", "surgical"])
def test_a_cancelled_run_keeps_the_lock_until_it_writes_no_more(
    gitlab: GitLabDesk, world: GitLabWorld, project: Project, monkeypatch: pytest.MonkeyPatch, stage: str, mode: str
) -> None:
    news(world, project)
    where = {"docs": "pipelines.search.documents.document", "publish": "pipelines.warehouse.data_dir.DataDir.publish"}[
        stage
    ]
    job, began, heard = (
        pkgutil.resolve_name(where.replace(".document", ":document", 1).replace(".DataDir", ":DataDir")),
        [0],
        [],
    )

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
