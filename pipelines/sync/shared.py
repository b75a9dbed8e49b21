"""What all parts of one run share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.state.ledger import Ledger
from pipelines.sync.after_load import Options
from pipelines.sync.output.report import Watch
from pipelines.warehouse.data_dir import DataDir
from sources.core.values import Row

if TYPE_CHECKING:
    import duckdb

__all__ = ["Shared"]


@dataclass
class Shared:
    home: DataDir
    ledger: Ledger
    run_id: int
    options: Options
    worker: ThreadPoolExecutor
    watch: Watch
    _asked: "duckdb.DuckDBPyConnection | None" = None  # until the next job
    _open: ExitStack = field(default_factory=ExitStack)
    _is_over: bool = False

    async def work(self, job: Callable[..., Any], *args: Any) -> Any:
        """A job in the one thread that may touch DuckDB. Cancelled, it is waited for: it may be writing."""
        return await self._in_turn(self._alone, job, *args)

    async def ask(self, question: Callable[..., list[Row]], *args: Any, is_wide: bool = False) -> list[Row]:
        """What has landed says; nothing, where there is none. What was opened for it is kept for the next question, up
        to the next job, which may write: opening takes 20 ms, and every thread that is read asks what is held of it.
        Not after a wide question: what that has read would stay in memory.
        """
        found: list[Row] = await self._in_turn(self._answered_alone if is_wide else self._answer, question, *args)
        return found

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """At its end all questions are answered, and what they opened is closed; whoever asks later is cancelled. Who
        lets go of the lock ends it first, also amid a Ctrl-C that others have not heard of yet, or another run finds
        the file in use.
        """
        try:
            yield
        finally:
            self._is_over = True
            await self._in_turn(self._let_go)

    async def _in_turn(self, job: Callable[..., Any], *args: Any) -> Any:
        running = asyncio.get_running_loop().run_in_executor(self.worker, job, *args)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    def _let_go(self) -> None:
        self._asked = None
        self._open.close()

    def _alone(self, job: Callable[..., Any], *args: Any) -> Any:
        self._let_go()
        return job(*args)

    def _answered_alone(self, question: Callable[..., list[Row]], *args: Any) -> list[Row]:
        try:
            return self._answer(question, *args)
        finally:
            self._let_go()

    def _answer(self, question: Callable[..., list[Row]], *args: Any) -> list[Row]:
        destination = self.home.destination
        if self._is_over:
            raise asyncio.CancelledError
        if self._asked is None:
            if not destination.is_there(self.home):
                return []
            self._asked = self._open.enter_context(destination.looking(self.home))
        try:
            return question(self._asked, *args)
        except BaseException:  # perhaps it is the connection's fault: the next question has a new one
            self._let_go()
            raise
