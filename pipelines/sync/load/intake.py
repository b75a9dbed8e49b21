"""Batches of one source on their way into the warehouse: collected, landed a few thousand rows at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.state.ledger import Ledger
from pipelines.state.payloads import Payloads
from pipelines.state.quarantine import Quarantine
from pipelines.sync.load.pile import Pile
from sources.core.reading import Batch, Reading

if TYPE_CHECKING:
    from pipelines.sync.load.landing import Landing

__all__ = ["Intake"]


@dataclass
class Intake:
    """Batches of one source on their way into the warehouse."""

    landing: "Landing"
    ledger: Ledger
    run_id: int
    chunk_rows: int
    work: Callable[..., Awaitable[Any]]  # runs a job in the one thread that may touch dlt and DuckDB
    landed: Callable[[int], None]  # told how many rows are in so far
    payloads: Payloads | None = None
    reading: Reading | None = None
    rows: dict[str, int] = field(default_factory=dict)
    packages: int = 0
    _pile: Pile = field(init=False)
    _kept: set[str] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._pile = Pile(self.landing.tables)

    @property
    def is_owing(self) -> bool:
        """There are rows that have not landed."""
        return self._pile.size > 0

    async def take(self, batch: Batch) -> None:
        """Readers that are too fast wait here while a full chunk is landed."""
        await self._keep(batch)
        self._pile.add(batch)
        if self._pile.size >= self.chunk_rows:
            async with self._turn:
                if self._pile.size >= self.chunk_rows:
                    await self._land()

    async def land(self) -> None:
        """Lands what is left. Cursors that differ by an ETag alone wait for company: else every run would write."""
        async with self._turn:
            if not self.landing.is_shaped() or self._pile.is_news(self.landing.cursors):
                await self._land()
            else:
                self._pile = Pile(self.landing.tables)
                await self._write()

    def keep_raw(self) -> None:
        """What could not be parsed, before any cursor passes it; once a run, however many landings it has."""
        assert self.reading is not None
        news = {key: record for key, record in self.reading.quarantined.items() if key not in self._kept}
        Quarantine(self.ledger, self.landing.source).keep(news.values())
        if news.keys() - self.reading.unread.keys():
            self.ledger.state.is_unpublished = True
        self._kept |= news.keys()

    async def _keep(self, batch: Batch) -> None:
        """Raw records at once: they are larger than the rows made of them, and would wait for a chunk to fill."""
        if self.payloads and batch.payloads:
            async with self._writing:
                await asyncio.to_thread(self.payloads.keep, self.landing.source, list(batch.payloads))
        batch.payloads.clear()

    async def _write(self) -> None:
        """What was kept of rows that land now, or landed before, is on the disk."""
        if self.payloads:
            async with self._writing:
                await asyncio.to_thread(self.payloads.write, self.landing.source)

    async def _land(self) -> None:
        pile, self._pile = self._pile, Pile(self.landing.tables)
        await self._write()
        assert self.reading is not None
        self.keep_raw()
        if pile.size:  # cursors alone show readers nothing new
            self.ledger.state.is_unpublished = True
        self.ledger.source_state(self.landing.source).nothing_due_by = None  # until the suspects were looked at
        await self.work(self.landing.land, pile, dict(self.reading.names))
        self.packages += 1
        for table, count in pile.new.items():
            self.rows[table] = self.rows.get(table, 0) + count
        self.landed(sum(self.rows.values()))
