"""Readers of a shared destination while all is built again there: they find what stood there, and are not kept waiting."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo import demo_sources
from pipelines.search.documents import index_all
from pipelines.state import mirror
from pipelines.sync.run import Options, sync
from pipelines.sync.shards import Shard
from pipelines.warehouse.data_dir import DataDir
from tests.elsewhere import IN_CI, begun, place, same_place
from tests.servers import Cluster

pytestmark = pytest.mark.ci

COUNTS = ("feedback.events", "feedback.comments", "feedback.threads", "feedback.documents", "ops.completeness")


def run(home: DataDir, **options: Any) -> None:
    report = asyncio.run(sync(home, demo_sources(0), Options(**options)))
    assert report.exit_code == 0, report.error


@pytest.fixture(scope="module")
def read(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> DataDir:
    """By a first run."""
    home = place("postgres", server, tmp_path_factory.mktemp("read"))
    run(home)
    return home


@pytest.fixture(params=IN_CI)
def home(request: pytest.FixtureRequest, read: DataDir, server: Cluster, tmp_path: Path) -> DataDir:
    """The same, wherever it may be."""
    if request.param == "postgres":
        return begun(read, server, tmp_path)
    home = place(request.param, server, tmp_path)
    run(home)
    return home


def counted(home: DataDir) -> list[Any]:
    """By a reader of another process."""
    reader = same_place(home, Shard())
    with reader.destination.published(reader) as connection:
        assert connection is not None
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in COUNTS]


def while_building(patch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Everything is built, and nothing committed."""
    original = mirror.mirror_cursors

    def looked(*args: Any) -> None:
        original(*args)
        look()

    patch.setattr(mirror, "mirror_cursors", looked)


def test_who_reads_while_all_is_built_again_finds_what_stood_there(
    home: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another setting has all of it built again. Readers waited for the end of it, and then were told that there is
    nothing: on Postgres a table that was made after one's snapshot is empty.
    """
    seen = list[Any]()
    before = counted(home)
    assert all(row > (0,) for row in before)
    with ThreadPoolExecutor(1) as reader, monkeypatch.context() as patch:
        while_building(patch, lambda: seen.append(reader.submit(counted, home).result(15)))
        run(home, authors=["maya"])
    assert seen == [before] and counted(home) == before


def test_who_waits_for_a_table_of_another_shape_finds_its_rows(
    read: DataDir, server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade changes columns, for which Postgres has its readers wait."""
    home, waiting = begun(read, server, tmp_path), list[Future[Any]]()
    database = home.destination.address.database  # type: ignore[attr-defined]
    before = counted(home)
    with home.destination.building(home, {}) as connection:
        connection.execute("ALTER TABLE feedback.events ADD COLUMN of_old TEXT")
        connection.execute("ALTER TABLE feedback.events DROP COLUMN body CASCADE")
    tables = COUNTS[:1]
    monkeypatch.setattr("tests.test_rebuilds.COUNTS", tables)
    with ThreadPoolExecutor(1) as reader, monkeypatch.context() as patch:

        def wait() -> None:
            waiting.append(reader.submit(counted, home))
            deadline = time.monotonic() + 20
            while not server.ask(database, "SELECT 1 FROM pg_locks WHERE NOT granted") and time.monotonic() < deadline:
                time.sleep(0.05)

        while_building(patch, wait)
        run(home, authors=["maya"])
        assert [each.result(15) for each in waiting] == [before[:1]]
    monkeypatch.setattr("tests.test_rebuilds.COUNTS", (*tables, "feedback.comments"))
    assert counted(home) == before[:2]
    with home.destination.looking(home) as connection:
        columns = [row[0] for row in connection.execute("DESCRIBE feedback.events").fetchall()]
    assert "body" in columns and "of_old" not in columns


def test_documents_stay_until_they_are_made_again(home: DataDir, tmp_path: Path) -> None:
    """They are made after the rebuild was committed, or by a later run. Till then there were none, and `earshot index`
    emptied the full text.
    """
    before, reader = counted(home), DataDir(tmp_path / "reader", same_place(home, Shard()).destination)
    assert index_all(reader) > 100
    with home.destination.building(home, {}) as connection:
        connection.execute("UPDATE feedback.documents SET parent_key = 'of nobody' WHERE number = 1")
    run(home, authors=["maya"], docs=False)
    assert counted(home) == before and index_all(reader) == 0
    run(home)
    assert counted(home) == before
    with home.destination.looking(home) as connection:
        left = connection.execute("SELECT count(*) FROM feedback.documents WHERE parent_key = 'of nobody'").fetchone()
    assert left == (0,)
