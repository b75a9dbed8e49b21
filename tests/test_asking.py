"""What has landed is opened once for many questions, and is nobody's while a run writes or is over."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

from pipelines.sync.shared import Shared
from pipelines.sync.source.recheck import look
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.embedded.destination import Embedded
from sources.core.values import Row


@dataclass(frozen=True)
class Counting(Embedded):
    opened: list[str] = field(default_factory=list)

    @contextmanager
    def looking(self, home: Any) -> Iterator[duckdb.DuckDBPyConnection]:
        with super().looking(home) as connection:
            self.opened.append("opened")
            yield connection
        self.opened.append("closed")


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    home = DataDir(tmp_path / "data", Counting())
    home.create()
    with ThreadPoolExecutor(1) as worker:
        yield Shared(home, cast(Any, None), 1, cast(Any, None), worker, cast(Any, None))


def opened(shared: Shared) -> list[str]:
    return cast(Counting, shared.home.destination).opened


def write(shared: Shared) -> None:
    """As a load does: refused while this process looks at the file."""
    with duckdb.connect(str(shared.home.warehouse)) as connection:
        connection.execute("CREATE OR REPLACE TABLE said AS SELECT 1 AS id")


def test_questions_share_what_they_opened_up_to_the_next_job(shared: Shared) -> None:
    async def run() -> None:
        assert await shared.ask(look, "FROM said", {}) == [], "nothing is there yet"
        await shared.work(write, shared)
        for _ in range(2):
            assert await shared.ask(look, "FROM said", {}) == [{"id": 1}]
            assert await shared.ask(look, "FROM nobodys.table", {}) == []
        assert opened(shared) == ["opened"]
        await shared.work(write, shared)
        assert opened(shared) == ["opened", "closed"]
        async with shared.asking():
            assert await shared.ask(look, "FROM said", {}) == [{"id": 1}]
        assert opened(shared) == ["opened", "closed"] * 2
        write(shared)

    asyncio.run(run())


def test_what_a_wide_question_has_read_does_not_stay(shared: Shared) -> None:
    async def run() -> None:
        await shared.work(write, shared)
        assert await shared.ask(look, "FROM said", {}) == [{"id": 1}]
        assert await shared.ask(look, "FROM said", {}, is_wide=True) == [{"id": 1}]
        assert opened(shared) == ["opened", "closed"]

    asyncio.run(run())


def test_the_end_waits_for_who_has_asked_and_nobody_asks_after_it(shared: Shared) -> None:
    """One part of a run is cancelled, the others have not heard of it: one is being answered, one waits for its turn."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: duckdb.DuckDBPyConnection) -> list[Row]:
        begun.set()
        go_on.wait(10)
        return look(connection, "FROM said", {})

    async def run() -> None:
        await shared.work(write, shared)
        asked = []
        with pytest.raises(asyncio.CancelledError):
            async with shared.asking():
                asked += [asyncio.create_task(shared.ask(slow)), asyncio.create_task(shared.ask(look, "FROM said", {}))]
                while not begun.is_set():
                    await asyncio.sleep(0.001)
                asyncio.get_running_loop().call_later(0.05, go_on.set)
                raise asyncio.CancelledError
        assert opened(shared) == ["opened", "closed"]
        write(shared)
        with pytest.raises(asyncio.CancelledError):
            await shared.ask(look, "FROM said", {})
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert told[0] == [{"id": 1}] and isinstance(told[1], asyncio.CancelledError)
        assert opened(shared) == ["opened", "closed"]

    asyncio.run(run())


def test_a_question_that_fails_costs_the_next_one_nothing(shared: Shared) -> None:
    async def run() -> None:
        await shared.work(write, shared)
        with pytest.raises(duckdb.Error):
            await shared.ask(look, "SELECT 1 / 'x' FROM said", {})
        assert opened(shared) == ["opened", "closed"]
        async with shared.asking():
            assert await shared.ask(look, "FROM said", {}) == [{"id": 1}]

    asyncio.run(run())
