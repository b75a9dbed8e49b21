"""From a core walk to a dlt resource: rows and the cursor that they make true pass together, or not at all.

    names → places → surfaces        resources that dlt runs side by side, twenty at a time, in one event loop

`names` and `places` keep no state: whoever leaves a surface out moves nothing of it. A surface is one walk of one
place; it yields lists of row dicts of its first table, so that `add_map` and `add_filter` see what they expect. What
belongs to them (rows of other tables, the cursors that are right once all have landed) travels beside them (`Told`);
the last step of the pipe (`Land`) moves the cursors, and hands all on, flat tables as Arrow. What could break it:

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

import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import dlt
import pyarrow as pa
from dlt.extract.items import DataItemWithMeta, TableNameMeta
from dlt.extract.items_transform import BaseItemTransform, ItemTransform
from dlt.extract.resource import DltResource

from sources.core.cursor import differs
from sources.core.http.client import Api, Failure
from sources.core.reading import Batch, Reading
from sources.core.scope import Scope, ScopeType, look_up
from sources.core.surfaces import Fills, believed, forget_lost, made, owners, shape, unmade
from sources.core.values import COUNT, Json, Row, Table, json_bytes
from sources.declared import ORDER, QUARANTINE, Owned, declared, hints

__all__ = ["Extraction", "Found", "places", "shared", "surface"]

log = logging.getLogger("earshot")

TOGETHER = 1_000  # rows of an item: an Arrow item costs dlt a few milliseconds, however few rows it has
Walk = Callable[[Any], AsyncIterator[Batch]]


@dataclass(frozen=True)
class Found:
    """A place as a name led to it, and what is to be landed of itself."""

    place: Scope
    news: Batch | None

    @property
    def scope(self) -> str:
        return self.place.scope

    async def batches(self) -> AsyncIterator[Batch]:
        if self.news:
            yield self.news


class Told(TableNameMeta):
    """What goes with rows of a surface's first table: rows of others, and the cursors that all of them make true."""

    __slots__ = ("beside", "cursors", "makes")

    def __init__(
        self, table: str, beside: Mapping[str, list[Row]], cursors: Mapping[tuple[str, str], Json], *, makes: bool
    ) -> None:
        super().__init__(table)
        self.beside, self.cursors, self.makes = beside, cursors, makes


@dataclass
class Extraction:
    """What the resources of one source share while dlt extracts it."""

    connect: Callable[[], AbstractAsyncContextManager[Api]]
    fills: Fills
    max_rows: int | None = None
    max_seconds: float | None = None
    _reading: Reading | None = None
    _client: AbstractAsyncContextManager[Api] | None = None
    _order: Iterator[int] = field(default_factory=itertools.count)
    _rows: int = 0
    _until: float = float("inf")
    _seen: dict[str, set[int]] = field(default_factory=dict)  # of versions, the hashes of those that were handed on
    _kept: set[str] = field(default_factory=set)  # in quarantine
    _unmade: set[str] = field(default_factory=set)  # surfaces whose tables are not as they are declared

    async def open(self) -> Reading:
        """A new reading, as each extraction begins. Its client lives as long as dlt's event loop, which closes it: who
        of those that share it is the last is told by nobody, since a limit ends a resource without a word."""
        self._client = self.connect()
        api = await self._client.__aenter__()
        states = dlt.current.source_state().get("resources", {})
        forget_lost(states, self.fills)
        self._unmade = {name for name, tables in self.fills.items() if unmade(states, tables)}
        self._reading = Reading(
            api, _nowhere, believed(states, self.fills), is_new=not made(states), stops=lambda: self.is_spent
        )
        self._seen, self._kept, self._rows = {}, set(), 0
        self._until = time.monotonic() + self.max_seconds if self.max_seconds else float("inf")
        return self._reading

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

    async def items(self, name: str, scope: str, walk: AsyncIterator[Batch]) -> AsyncIterator[DataItemWithMeta]:
        """The batches of a walk as items, a thousand rows or so at a time."""
        first = self.fills[name][0].name
        rows, cursors = dict[str, list[Row]](), dict[tuple[str, str], Json]()

        def item() -> DataItemWithMeta:
            told = Told(first, rows, cursors, makes=name in self._unmade)
            self._unmade.discard(name)
            return DataItemWithMeta(told, rows.pop(first, []))

        async with aclosing(self.reading.walked(name, scope, walk)) as batches:  # type: ignore[type-var]
            async for batch in batches if not self.is_spent else _none():
                for table, some in batch.rows.items():
                    rows.setdefault(table, []).extend(some)
                    self._rows += len(some) - batch.replayed.get(table, 0)  # or a replay would never come to its end
                if batch.cursor is not None:
                    cursors[batch.surface, batch.scope] = batch.cursor
                known = self.reading.saved.get(name, {}).get(batch.scope)
                is_resumable = batch.surface == name and batch.cursor is not None and differs(batch.cursor, known)
                if (self.is_spent and is_resumable) or any(len(some) >= TOGETHER for some in rows.values()):
                    yield item()
                    rows, cursors = {}, {}
                if self.is_spent and is_resumable:
                    log.info("%s of %s stops here (max_rows, max_seconds): run it again", name, scope)
                    break
        if rows or cursors or name in self._unmade:
            yield item()

    def land(self, name: str, told: Told, rows: list[Row]) -> Iterator[Any]:
        """Cursors into dlt's state, rows to dlt."""
        batch = {told.table_name: rows, **told.beside}
        self._commit(told, has_rows=any(batch.values()))
        for table in (*self.fills[name], QUARANTINE) if told.makes else ():
            dlt.current.resource_state(self.owners[table.name]).setdefault("tables", {})[table.name] = shape(table)
            empty = dlt.mark.materialize_table_schema() if table.children else _arrow(table, [], 0)
            yield DataItemWithMeta(TableNameMeta(table.name), empty)
        for table in self.fills[name]:
            if fresh := self._fresh(table, batch.get(table.name, [])):
                yield DataItemWithMeta(TableNameMeta(table.name), self._shaped(table, fresh))
        if kept := self._quarantined():
            yield DataItemWithMeta(TableNameMeta(QUARANTINE.name), self._shaped(QUARANTINE, kept))

    def _commit(self, told: Told, *, has_rows: bool) -> None:
        """An ETag that alone has changed is not kept: else every run would write."""
        for (surface, scope), cursor in told.cursors.items():
            known = self.reading.saved.get(surface, {}).get(scope)
            if has_rows or told.makes or differs(cursor, known):
                dlt.current.resource_state(surface).setdefault("scopes", {})[scope] = cursor

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
        return _arrow(table, rows, nth)

    def _quarantined(self) -> list[Row]:
        news = [record for key, record in self.reading.quarantined.items() if key not in self._kept]
        self._kept.update(record.key for record in news)
        return [
            {"key": each.key, "scope": each.scope, "surface": each.surface, "reason": each.reason,
             "raw": json_bytes(each.raw).decode(), "parent_key": each.parent_key, "met_at": self.reading.api.now}
            for each in news
        ]  # fmt: skip

    def told(self) -> dict[str, Any]:
        """For dlt's trace: what it cost, and what could not be read."""
        tallies = self.reading.tallies.values()
        return {
            "requests": sum(t.requests for t in tallies), "not_modified": sum(t.not_modified for t in tallies),
            "failures": [f"{self.reading.names.get(p.scope, p.scope)} {p.surface}: {p.message}"
                         for p in self.reading.problems],
        }  # fmt: skip


class Land(ItemTransform[Any, Any]):
    """The last step of a surface's pipe, behind `add_limit` (1.1)."""

    placement_affinity: ClassVar[float] = 1.2

    def __init__(self, extraction: Extraction, name: str) -> None:
        BaseItemTransform.__init__(self)
        self.extraction, self.name = extraction, name

    def __call__(self, item: Any, meta: Any = None) -> Any:
        if not isinstance(meta, Told):
            return item
        self._custom_metrics = self.extraction.told()
        return self.extraction.land(self.name, meta, item if isinstance(item, list) else [item])


def places(extraction: Extraction, names: Iterable[str], kind: ScopeType, key: Callable[[str], str]) -> DltResource:
    """The repositories or projects that the names mean, looked up side by side. One that cannot be is recorded."""

    async def named() -> AsyncIterator[str]:
        await extraction.open()
        for name in names:
            yield name

    async def found(name: str) -> Found | None:
        reading = extraction.reading
        try:
            return Found(*await look_up(reading, kind, name, key(name)))
        except Failure as failure:
            reading.fail(key(name), kind.noun, failure)
            return None

    source = dlt.resource(named, name="names", selected=False)
    return dlt.transformer(found, data_from=source, name="places", selected=False)


def surface(extraction: Extraction, places: Any, name: str, walk: Walk) -> DltResource:
    """One list of a service: its first table has its name, the others are filled beside it."""

    async def rows(place: Any) -> AsyncIterator[DataItemWithMeta]:
        async for item in extraction.items(name, place.scope, walk(place)):
            yield item

    made = dlt.transformer(rows, data_from=places, name=name, _impl_cls=Owned)
    return declared(made, (*extraction.fills[name], QUARANTINE), extraction.owners).add_step(Land(extraction, name))


def shared(extraction: Extraction) -> list[DltResource]:
    """Tables that several surfaces fill, each a resource of its own."""
    filled = {table.name: table for tables in extraction.fills.values() for table in (*tables, QUARANTINE)}
    own = [table for name, table in filled.items() if name not in extraction.fills and extraction.owners[name] == name]
    return [dlt.resource([], name=table.name, **hints(table)) for table in own]


def _arrow(table: Table, rows: list[Row], nth: int) -> pa.Table:
    """As it is declared; and what somebody's `add_map` has put beside it."""
    arrays = [pa.array([row.get(name) for row in rows], kind) for name, kind in table.columns.items()]
    fields = list(table.schema)
    if table.keeps == "rows":
        arrays.append(pa.array([nth] * len(rows), COUNT))
        fields.append(pa.field(ORDER, COUNT))
    for name in dict.fromkeys(chain.from_iterable(rows)):
        if name not in table.columns:
            arrays.append(pa.array([row.get(name) for row in rows]))
            fields.append(pa.field(name, arrays[-1].type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


async def _none() -> AsyncIterator[Batch]:
    return
    yield


async def _nowhere(batch: Batch) -> None:
    raise AssertionError("a walk yields its batches")
