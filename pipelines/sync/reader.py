"""One source of one run: extracted, what could not be read kept raw, loaded; and again, if it stopped for its budget.

Everything that must not be lost with a kill is written before the package is loaded: records as they were sent, what
could not be parsed, and that readers are owed a publish.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pipelines.state.ledger import Ledger
from pipelines.state.payloads import Payloads
from pipelines.state.quarantine import Quarantine
from pipelines.sync.load import SourcePipeline
from sources.core.reading import Payload, Reading, Walk
from sources.core.source import Source
from sources.extraction import RECHECKS, Extraction

__all__ = ["SourceReader"]


@dataclass
class SourceReader:
    source: Source
    pipeline: SourcePipeline
    extraction: Extraction
    ledger: Ledger
    run_id: int
    work: Callable[..., Awaitable[Any]]  # runs a job in the one thread that may touch DuckDB
    landed: Callable[[int], None]  # told how many rows are in so far
    payloads: Payloads | None = None
    _declared: Any = None
    _kept: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.extraction.keep = self._keep
        self._declared = self.source.declared(self.extraction)

    @property
    def rows(self) -> dict[str, int]:
        """By table, those that are new."""
        return self.extraction.new

    async def read(self, resources: Iterable[str]) -> Reading:
        """All that is new in these lists; and tables are made, if they are not there."""
        await self._go_on(*resources, RECHECKS)
        return self.extraction.reading

    async def read_by_itself(self, walks: Iterable[Walk]) -> None:
        self.extraction.walks = iter(walks)
        await self._go_on(RECHECKS)

    async def _go_on(self, *resources: str) -> None:
        while True:
            before = self.extraction.handed
            await self._extract(self._declared.with_resources(*resources))
            await self._load(has_rows=self.extraction.handed > before)
            if not self.extraction.is_spent:
                return

    async def _extract(self, declared: Any) -> None:
        """In a thread of its own, which whoever cancels the run waits for."""
        running = asyncio.get_running_loop().run_in_executor(None, self.pipeline.extract, declared)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self.extraction.cancel()
            await asyncio.wait([running])
            running.exception()
            raise

    async def _load(self, *, has_rows: bool) -> None:
        if self.payloads:
            await asyncio.to_thread(self.payloads.write, self.source.name)
        self.keep_raw()
        if has_rows:  # cursors alone show readers nothing new
            self.ledger.learn("unpublished", str(self.run_id))
        if has_rows or self.pipeline.is_pending:
            self.ledger.learn(f"due {self.source.name}", "unknown")  # until the suspects were looked at
        cursors, self.extraction.moved = self.extraction.moved, {}
        await self.work(self.pipeline.load, cursors, dict(self.extraction.reading.names))
        self.landed(sum(self.rows.values()))

    def keep_raw(self) -> None:
        """What could not be parsed, before any cursor passes it; once a run, however many packages it has."""
        reading = self.extraction.reading
        news = {key: record for key, record in reading.quarantined.items() if key not in self._kept}
        Quarantine(self.ledger, self.source.name).keep(news.values())
        if news.keys() - reading.unread.keys():
            self.ledger.learn("unpublished", str(self.run_id))
        self._kept |= news.keys()

    async def _keep(self, payloads: list[Payload]) -> None:
        """Raw records, in dlt's own loop."""
        if self.payloads:
            await asyncio.to_thread(self.payloads.keep, self.source.name, payloads)
