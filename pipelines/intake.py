"""Batches of one source on their way into the warehouse: collected, landed a few thousand rows at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.ledger import Ledger
from pipelines.payloads import Payloads
from sources.reading import Batch, Reading

if TYPE_CHECKING:
    from pipelines.landing import Landing

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
    pending: list[Batch] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    packages: int = 0
    _waiting: int = 0  # rows
    _kept: set[str] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self, batch: Batch) -> None:
        """Readers that are too fast wait here while a full chunk is landed."""
        await self._keep(batch)
        self.pending.append(batch)
        self._waiting += batch.size
        if self._waiting >= self.chunk_rows:
            async with self._turn:
                if self._waiting >= self.chunk_rows:
                    await self._land()

    async def land(self) -> None:
        """Lands what is left. Cursors that differ by an ETag alone wait for company: else every run would write."""
        async with self._turn:
            saved = self.landing.cursors
            if not self.landing.is_shaped() or any(_is_news(batch, saved) for batch in self.pending):
                await self._land()
            self.pending.clear()
            self._waiting = 0

    def keep_raw(self) -> None:
        """What could not be parsed, before any cursor passes it; once a run, however many landings it has."""
        assert self.reading is not None
        news = {key: record for key, record in self.reading.quarantined.items() if key not in self._kept}
        self.ledger.keep_raw(self.landing.source, news.values())
        self._kept |= news.keys()

    async def _keep(self, batch: Batch) -> None:
        """Raw records at once: they are larger than the rows made of them, and would wait for a chunk to fill."""
        if self.payloads and batch.payloads:
            async with self._writing:
                await asyncio.to_thread(self.payloads.keep, self.landing.source, list(batch.payloads))
        batch.payloads.clear()

    async def _land(self) -> None:
        batches, self.pending, self._waiting = self.pending, [], 0
        assert self.reading is not None
        self.keep_raw()
        if any(batch.size for batch in batches):  # cursors alone show readers nothing new
            self.ledger.learn("unpublished", str(self.run_id))
        self.ledger.learn(f"due {self.landing.source}", "unknown")  # until the suspects were looked at
        news = [(t, len(found) - b.replayed.get(t, 0)) for b in batches for t, found in b.rows.items()]
        await self.work(self.landing.land, batches, dict(self.reading.names))
        self.packages += 1
        for table, count in news:
            self.rows[table] = self.rows.get(table, 0) + count
        self.landed(sum(self.rows.values()))


def _is_news(batch: Batch, saved: Mapping[str, Mapping[str, object]]) -> bool:
    if batch.size:
        return True
    known = saved.get(batch.surface, {}).get(batch.scope)
    if batch.cursor is None or not isinstance(known, dict):
        return batch.cursor is not None
    return {**batch.cursor, "etag": None} != {**known, "etag": None}
