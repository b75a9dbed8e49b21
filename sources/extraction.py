"""What the resources of a source share while dlt extracts it: a reading, its budget, how rows and cursors pass.

A batch is one item: rows of its first table as row dicts, so that `add_map` and `add_filter` see what they expect;
rows of other tables, and the cursors that are right once all have landed, travel beside them (`Told`). The last step of
the pipe (`Land`) moves the cursors, and hands all on, flat tables as Arrow. What could break it:

- A limit that falls between rows and cursor. So a batch is one item, and `Land` stands behind dlt's own `LimitItem`:
  what a limit holds back moves nothing.
- A kill. dlt's state lies in the package with the rows; what was extracted in part is nothing.
- A table that somebody dropped, while the cursor of its walk stands in the state of another resource. A cursor counts
  only where all tables that its walk fills are known to be there.
- One row twice in one package, an older state of it and a newer one. dlt keeps any of the two, unless it is told in
  which order they were read (`read_order`); of versions, each is handed on once.
- A scope that fails. It is recorded and logged, and told in the extraction's metrics; raised, it would take everybody's
  rows with it. Its cursor stands where its last whole batch left it.
- `max_rows`, `max_seconds`: a walk stops behind a batch whose cursor says where to go on, never before it; and further
  on than the last extraction stopped, or a list that tells only at its end how far it was read would never end.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import dlt
from dlt.extract.items import DataItemWithMeta, TableNameMeta

from sources.core.cursor import differs
from sources.core.http.client import Api
from sources.core.reading import Batch, Payload, Reading, Walk
from sources.core.scope import Found
from sources.core.surfaces import Fills, believed, forget_lost, made, owners, shape, unmade
from sources.core.values import ORDER, Json, Row, Table
from sources.declared import QUARANTINE, quarantine_row
from sources.steps import Steps

__all__ = ["RECHECKS", "Extraction", "Told", "without_rechecks"]

log = logging.getLogger("earshot")

TOGETHER = 1_000  # rows of an item: an Arrow item costs dlt a few milliseconds, however few rows it has
RECHECKS = "rechecks"  # the resource of what is read by itself
Cursors = Mapping[str, Mapping[str, object]]  # surface → scope → cursor


def without_rechecks(fills: Fills) -> Fills:
    """What is filled where nobody asks the warehouse what does not add up."""
    return {name: tables for name, tables in fills.items() if name != RECHECKS}


class Told(TableNameMeta):
    """What goes with rows of a surface's first table: rows of others, and the cursors that all of them make true."""

    __slots__ = ("beside", "cursors", "makes")

    def __init__(
        self, table: str, beside: Mapping[str, list[Row]], cursors: Mapping[tuple[str, str], Json], *, makes: bool
    ) -> None:
        super().__init__(table)
        self.beside, self.cursors, self.makes = beside, cursors, makes


@dataclass
class Item:
    """Batches that are handed on together."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    cursors: dict[tuple[str, str], Json] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        for table, some in batch.rows.items():
            self.rows.setdefault(table, []).extend(some)
        if batch.cursor is not None:
            self.cursors[batch.surface, batch.scope] = batch.cursor

    @property
    def is_full(self) -> bool:
        return any(len(some) >= TOGETHER for some in self.rows.values())


@dataclass
class Extraction:
    """What the resources of one source share. A run has one for all of its packages; whoever writes a pipeline of their
    own gets one with the source, and a new reading with each extraction.
    """

    connect: Callable[[], AbstractAsyncContextManager[Api]]
    fills: Fills
    max_rows: int | None = None
    max_seconds: float | None = None
    begun: Callable[[Api, Cursors, bool], Reading] | None = None  # a run's reading, to go on with
    saved: Cursors | None = None  # cursors that are kept elsewhere than in dlt's state
    keep: Callable[[list[Payload]], Awaitable[None]] | None = None  # records as they were sent
    walks: Iterator[Walk] = field(default_factory=lambda: iter(()))  # what is to be read by itself
    at_once: int = 10  # of these
    is_runs: bool = False  # a run throws half-loaded packages away, and keeps quarantine itself
    moved: dict[str, dict[str, Json]] = field(default_factory=dict)  # cursors that are to be kept elsewhere
    handed: int = 0  # rows
    new: dict[str, int] = field(default_factory=dict)  # table → rows, without those that came again to be safe
    found: dict[str, Found | None] = field(default_factory=dict)  # in this reading: name → its place
    steps: Steps = field(default_factory=Steps)
    _reading: Reading | None = None
    _client: AbstractAsyncContextManager[Api] | None = None
    _opening: "asyncio.Task[Reading] | None" = None
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _order: Iterator[int] = field(default_factory=itertools.count)
    _rows: int = 0
    _until: float = float("inf")
    _seen: dict[str, set[int]] = field(default_factory=dict)  # of versions, the hashes of those that were handed on
    _waiting: dict[tuple[str, str], Json] = field(default_factory=dict)  # cursors that differ by an ETag alone
    _has_company: bool = False
    _kept: set[str] = field(default_factory=set)  # in quarantine
    unmade: set[str] = field(default_factory=set)  # surfaces whose tables are not as they are declared

    async def open(self) -> Reading:
        """The reading of this extraction; each has an event loop of its own."""
        if self._opening is None or self._opening.get_loop() is not asyncio.get_running_loop():
            self._opening = self.steps.begun(asyncio.create_task(self._open()))
        return await asyncio.shield(self._opening)

    async def _open(self) -> Reading:
        """Its client lives as long as dlt's event loop, which closes it: who of those that share it is the last is told
        by nobody, since a limit ends a resource without a word.
        """
        self._client = self.connect()
        self._gate, self._room = asyncio.Semaphore(self.at_once), asyncio.Semaphore(2)
        api = await self._client.__aenter__()
        states = dlt.current.source_state().get("resources", {})
        if self.saved is None:
            forget_lost(states, self.fills)
            self.unmade = {name for name, tables in self.fills.items() if unmade(states, tables)}
        if self.is_runs:
            self.unmade = {RECHECKS} if self.unmade else set()
        saved = believed(states, self.fills) if self.saved is None else self.saved
        begun = self.begun or self._anew
        self._reading = begun(api, saved, not made(states))
        self._reading.stops = lambda: self.is_spent
        self._seen, self._waiting, self._has_company, self._rows = {}, {}, False, 0
        self._until = time.monotonic() + self.max_seconds if self.max_seconds else float("inf")
        return self._reading

    def _anew(self, api: Api, saved: Cursors, is_new: bool) -> Reading:
        self._kept, self.found = set(), {}
        return Reading(api, saved, is_new=is_new)

    @cached_property
    def owners(self) -> dict[str, str]:
        """table → the resource whose it is."""
        return owners(self.fills, [*chain.from_iterable(self.fills.values()), QUARANTINE])

    @property
    def reading(self) -> Reading:
        assert self._reading is not None, "surfaces hang on names, whose extraction opens it"
        return self._reading

    @property
    def is_spent(self) -> bool:
        return (self.max_rows is not None and self._rows >= self.max_rows) or time.monotonic() >= self._until

    def tables(self, name: str) -> tuple[Table, ...]:
        """Those that a resource may write to; its own first."""
        others = chain.from_iterable(self.fills.values()) if name == RECHECKS else ()
        quarantine = () if self.is_runs else (QUARANTINE,)
        return tuple({table.name: table for table in (*self.fills[name], *others, *quarantine)}.values())

    async def items(self, name: str, walk: Walk) -> AsyncIterator[DataItemWithMeta]:
        """The batches of one walk as items, a thousand rows or so at a time."""
        if (walk.scope, walk.surface) in self.reading.ended:
            return
        item = Item()
        async for batch in self._batches(walk):
            item.add(batch)
            stops = self._stops_behind(name, batch)
            if stops or item.is_full:
                yield self._handed(name, item)
                item = Item()
            if stops:
                log.info("%s of %s stops here (max_rows, max_seconds): run it again", name, walk.scope)
                break
        if item.rows or item.cursors or name in self.unmade:
            yield self._handed(name, item)

    async def room(self) -> bool:
        """For one more lot of short walks: two are under way at most, or a budget would end none of them."""
        await self._room.acquire()
        if self.is_spent:
            self._room.release()
            return False
        return True

    async def together(self, name: str, walks: Iterable[Walk]) -> AsyncIterator[DataItemWithMeta]:
        """Many short walks as one item; they had `room`."""
        item = Item()

        async def one(walk: Walk) -> None:
            async with self._gate:
                async for batch in self._batches(walk):
                    item.add(batch)

        under_way = [asyncio.create_task(one(walk)) for walk in walks]
        try:
            await asyncio.gather(*under_way)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            self._room.release()
        if item.rows or item.cursors or name in self.unmade:
            yield self._handed(name, item)

    async def _batches(self, walk: Walk) -> AsyncIterator[Batch]:
        walked = self.reading.walked(walk.surface, walk.scope, walk.batches) if walk.surface else walk.batches
        async with aclosing(walked) as batches:  # type: ignore[type-var]
            async for batch in batches:
                if batch.payloads and self.keep:
                    await self.keep(batch.payloads)
                for table, some in batch.rows.items():
                    new = len(some) - batch.replayed.get(table, 0)  # or a replay would never come to its end
                    self._rows += new
                    self.new[table] = self.new.get(table, 0) + new
                yield batch

    def _stops_behind(self, name: str, batch: Batch) -> bool:
        """A sweep reads a list from its beginning each time: it is never stopped within. Nor is a list whose cursor
        was not believed: the next may not be, either, where a clock was put back, and there would be no end.
        """
        known = self.reading.saved.get(name, {}).get(batch.scope)
        is_resumable = batch.surface == name and batch.cursor is not None and differs(batch.cursor, known)
        is_read_whole = self.reading.sweep or (name, batch.scope) in self.reading.resets
        return self.is_spent and is_resumable and not is_read_whole

    def _handed(self, name: str, item: Item) -> DataItemWithMeta:
        first = self.tables(name)[0].name
        told = Told(first, item.rows, item.cursors, makes=name in self.unmade)
        self.unmade.discard(name)
        return DataItemWithMeta(told, item.rows.pop(first, []))

    def land(self, name: str, told: Told, rows: list[Row]) -> Iterator[Any]:
        """Cursors into dlt's state, rows to dlt."""
        batch = {told.table_name: rows, **told.beside}
        self._commit(told, has_rows=any(batch.values()))
        for table in self.tables(name):
            if told.makes:
                dlt.current.resource_state(self.owners[table.name]).setdefault("tables", {})[table.name] = shape(table)
                empty = dlt.mark.materialize_table_schema() if table.children else table.arrow([], 0)
                yield DataItemWithMeta(TableNameMeta(table.name), empty)
            found = batch.get(table.name, []) if table is not QUARANTINE else self._quarantined()
            if fresh := self._fresh(table, found):
                self.handed += len(fresh)
                yield DataItemWithMeta(TableNameMeta(table.name), self._shaped(table, fresh))

    def _commit(self, told: Told, *, has_rows: bool) -> None:
        """ETags that alone have changed wait for company: else every run would write."""
        saved, self._waiting = self.reading.saved, {**self._waiting, **told.cursors}
        moved = (differs(cursor, saved.get(at, {}).get(of)) for (at, of), cursor in told.cursors.items())
        self._has_company = self._has_company or has_rows or told.makes or any(moved)
        if not self._has_company:
            return
        for (surface, scope), cursor in self._waiting.items():
            self.reading.moved.add((surface, scope))
            if self.saved is None:
                dlt.current.resource_state(surface).setdefault("scopes", {})[scope] = cursor
            else:
                self.moved.setdefault(surface, {})[scope] = cursor
        self._waiting = {}

    def _fresh(self, table: Table, rows: list[Row]) -> list[Row]:
        found = table.unique(rows)
        if table.keeps == "versions":  # insert-only finds no doubles within a package
            seen = self._seen.setdefault(table.name, set())
            found = {key: row for key, row in found.items() if hash(key) not in seen}
            seen.update(map(hash, found))
        return list(found.values())

    def _shaped(self, table: Table, rows: list[Row]) -> Any:
        nth = next(self._order)
        if table.children:
            return [{**row, ORDER: nth} for row in rows]
        return table.arrow(rows, nth)

    def _quarantined(self) -> list[Row]:
        news = [record for key, record in self.reading.quarantined.items() if key not in self._kept]
        self._kept.update(record.key for record in news)
        return [quarantine_row(record, self.reading.api.now) for record in news]
