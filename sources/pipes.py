"""A source as resources that dlt runs side by side, twenty at a time, in one event loop.

    names → places → surfaces        and beside them what is read by itself

`names` and `places` keep no state: whoever leaves a surface out moves nothing of it. A surface is one walk of one
place (extraction.py says what it yields, and what could break that).
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import islice
from typing import Any, ClassVar, TypeVar

import dlt
from dlt.extract.items import DataItemWithMeta
from dlt.extract.items_transform import BaseItemTransform, ItemTransform
from dlt.extract.resource import DltResource

from sources.core.reading import Batch, Reading, Walk
from sources.core.scope import Found, ScopeType, find
from sources.declared import Owned, declared, hints
from sources.extraction import RECHECKS, Extraction, Told

__all__ = ["places", "rest", "stoppable", "surface", "together"]

T = TypeVar("T")
TOGETHER = 20  # things that are read by themselves


class Land(ItemTransform[Any, Any]):
    """The last step of a surface's pipe, behind `add_limit` (1.1)."""

    placement_affinity: ClassVar[float] = 1.2

    def __init__(self, extraction: Extraction, name: str) -> None:
        BaseItemTransform.__init__(self)
        self.extraction, self.name = extraction, name

    def __call__(self, item: Any, meta: Any = None) -> Any:
        if not isinstance(meta, Told):
            return item
        self._custom_metrics = _cost(self.extraction.reading)
        return self.extraction.land(self.name, meta, item if isinstance(item, list) else [item])


def stoppable(extraction: Extraction) -> Callable[[Callable[..., AsyncIterator[T]]], Callable[..., AsyncIterator[T]]]:
    """A generator that dlt may run beside others: steps.py says why each of its steps is taken there."""

    def decorated(generate: Callable[..., AsyncIterator[T]]) -> Callable[..., AsyncIterator[T]]:
        @wraps(generate)
        async def generated(*args: Any) -> AsyncIterator[T]:
            items = generate(*args)
            with suppress(StopAsyncIteration):
                while True:
                    yield await extraction.steps.take(anext(items))

        return generated

    return decorated


def places(
    extraction: Extraction,
    names: Iterable[str],
    kind: ScopeType,
    key: Callable[[str], str],
    found: Callable[[Found], Iterable[Found]],
) -> DltResource:
    """The repositories or projects that the names mean, looked up side by side, and what is to be read of each as the
    service says when it is `found`. One that cannot be looked up is recorded.
    """

    @stoppable(extraction)
    async def named() -> AsyncIterator[str]:
        await extraction.open()
        for name in names:
            yield name

    @stoppable(extraction)
    async def looked_up(name: str) -> AsyncIterator[Found]:
        known, reading = extraction.found, extraction.reading
        if name not in known:
            first = await find(reading, kind, name, key(name))
            known[name] = first and replace(first, news=None)
        else:
            first = _later(known[name], reading)
        for each in found(first) if first else ():
            yield each

    source = dlt.resource(named, name="names", selected=False)
    return dlt.transformer(looked_up, data_from=source, name="places", selected=False)


def _later(found: Found | None, reading: Reading) -> Found | None:
    """A place that an earlier package has looked up, by the service's clock now: by that of the beginning, a cursor of
    what was said since would lie in the future, and its list begin again with each package.
    """
    return found and replace(found, place=replace(found.place, now=reading.api.now))


def surface(
    extraction: Extraction,
    places: Any,
    name: str,
    walk: Callable[[Found], AsyncIterator[Batch]],
    *,
    is_list: bool = True,
) -> DltResource:
    """One list of a service: its first table has its name, the others are filled beside it."""

    @stoppable(extraction)
    async def rows(found: Found) -> AsyncIterator[DataItemWithMeta]:
        if found.has_lists or not is_list:
            async for item in extraction.items(name, Walk(name if is_list else "", found.scope, walk(found))):
                yield item

    return _writing(extraction, name, dlt.transformer(rows, data_from=places, name=name, _impl_cls=Owned))


def together(extraction: Extraction, walks: Any, name: str) -> DltResource:
    """Many short walks: `walks` yields lists of them."""

    @stoppable(extraction)
    async def rows(some: list[Walk]) -> AsyncIterator[DataItemWithMeta]:
        async for item in extraction.together(name, some):
            yield item

    return _writing(extraction, name, dlt.transformer(rows, data_from=walks, name=name, _impl_cls=Owned))


def rechecks(extraction: Extraction) -> DltResource:
    """What is read by itself, of whatever tables: the walks that a run asks for."""

    @stoppable(extraction)
    async def due() -> AsyncIterator[list[Walk]]:
        await extraction.open()
        if RECHECKS in extraction.unmade and await extraction.room():
            yield []
        while await extraction.room():
            some = list(islice(extraction.walks, TOGETHER))
            yield some
            if not some:
                return

    return together(extraction, dlt.resource(due, name="due", selected=False), RECHECKS)


def rest(extraction: Extraction) -> list[DltResource]:
    """What is read by itself, where a run asks for it; and tables that several surfaces fill, each a resource."""
    filled = {table.name: table for name in extraction.fills for table in extraction.tables(name)}
    own = [table for name, table in filled.items() if extraction.owners[name] == name and name not in extraction.fills]
    shared = [dlt.resource([], name=each.name, **hints(each, is_runs=extraction.is_runs)) for each in own]
    return [rechecks(extraction), *shared] if RECHECKS in extraction.fills else shared


def _writing(extraction: Extraction, name: str, made: DltResource) -> DltResource:
    declared(made, extraction.tables(name), extraction.owners, is_runs=extraction.is_runs)
    return made.add_step(Land(extraction, name))


def _cost(reading: Reading) -> dict[str, Any]:
    """For dlt's trace: what was asked, and what could not be read."""
    tallies, names = list(reading.tallies.values()), reading.names
    return {
        "requests": sum(tally.requests for tally in tallies),
        "not_modified": sum(tally.not_modified for tally in tallies),
        "failures": [f"{names.get(p.scope, p.scope)} {p.surface}: {p.message}" for p in reading.problems],
    }
