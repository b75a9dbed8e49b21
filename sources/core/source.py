"""What a service must bring to be read by a run; pipelines/ knows nothing else of it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from sources.core.reading import Batch, Reading, Walk
from sources.core.surfaces import Fills
from sources.core.unread import Unread
from sources.core.values import Row, Table

__all__ = ["Enough", "Source", "read_all", "side_by_side"]

AT_ONCE = 20


class Source(Protocol):
    """What a service must bring; and in `sources/<name>/pipes.py`, `declared`, the same as a dlt source."""

    name: str
    tables: tuple[Table, ...]
    fills: Fills  # which of them each walk fills
    suspects: str  # SQL over the landed tables: what does not add up and must be read again, by `scope`
    types: Mapping[str, frozenset[str]]  # what can be read alone, as people name it → surfaces
    surfaces: frozenset[str]  # those that are read; all, if nothing else was asked for

    @property
    def resources(self) -> tuple[str, ...]:
        """Those that a run reads."""

    @property
    def at_once(self) -> int:
        """So many things by themselves, side by side."""

    def scopes(self) -> list[str]: ...

    def readings(self, reading: Reading) -> Iterable[Callable[[], Awaitable[list[Walk]]]]:
        """All lists, place by place: who asks for one finds the place first."""

    def suspect_values(self, reading: Reading) -> dict[str, object] | None:
        """What that SQL is to be asked with; None: this reading leaves nothing to suspect."""

    def beside(self, reading: Reading) -> Iterable[Walk]:
        """What is read by itself, and not along a list."""

    def retries(self, reading: Reading, due: list[Unread]) -> Iterable[Walk]:
        """What could not be read, asked for again by itself."""

    def rechecks(self, reading: Reading, suspects: list[Row]) -> Iterable[Walk]:
        """What does not add up, read again by itself."""


class Enough(Exception):
    """Whoever takes what is read wants no more of this walk."""


@contextmanager
def enough() -> Iterator[None]:
    """Ends a walk there, wherever in it that was said."""
    try:
        yield
    except Enough:
        return
    except BaseExceptionGroup as several:
        if several.split(Enough)[1] is not None:
            raise


async def read_all(source: Source, reading: Reading, take: Callable[[Batch], Awaitable[None]]) -> None:
    """What a run would read, without dlt."""

    async def one(walk: Walk) -> None:
        walked = reading.walked(walk.surface, walk.scope, walk.batches) if walk.surface else walk.batches
        with enough():
            async for batch in walked:
                await take(batch)

    async def place(walks: Callable[[], Awaitable[list[Walk]]]) -> None:
        with enough():
            await side_by_side((one(walk) for walk in await walks()), AT_ONCE)

    await side_by_side((place(walks) for walks in source.readings(reading)), AT_ONCE)
    await side_by_side((one(walk) for walk in source.beside(reading)), source.at_once)


async def side_by_side(jobs: Iterable[Coroutine[object, object, object]], width: int) -> None:
    """All jobs, `width` at a time; the first error that is not recorded as a problem stops them all.

    A job is begun when it is its turn: hundred thousand that wait would be half a gigabyte.
    """
    left = iter(jobs)

    async def one_after_the_other() -> None:
        for job in left:
            await job

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(one_after_the_other())
        for job in left:  # a task that was cancelled by nobody else ends without a word
            job.close()
            raise RuntimeError("jobs were left undone: those before them were cancelled")
    finally:
        for job in left:
            job.close()  # stopped before its turn
