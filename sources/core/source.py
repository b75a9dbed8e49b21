"""What a service must bring to be read by a run; pipelines/ knows nothing else of it."""

from collections.abc import Mapping
from typing import Protocol

from sources.core.reading import Reading
from sources.core.surfaces import Fills
from sources.core.unread import Unread
from sources.core.values import Row, Table

__all__ = ["Source"]


class Source(Protocol):
    """What a service must bring; pipelines/ knows nothing else of it."""

    name: str
    tables: tuple[Table, ...]
    fills: Fills  # which of them each walk fills
    suspects: str  # SQL over the landed tables: what does not add up and must be read again, by `scope`
    types: Mapping[str, frozenset[str]]  # what can be read alone, as people name it → surfaces
    surfaces: frozenset[str]  # those that are read; all, if nothing else was asked for

    def suspect_values(self, reading: Reading) -> dict[str, object] | None:
        """What that SQL is to be asked with; None: this reading leaves nothing to suspect."""

    def scopes(self) -> list[str]: ...

    async def read(self, reading: Reading) -> None: ...

    async def retry(self, reading: Reading, due: list[Unread]) -> None: ...

    async def settle(self, reading: Reading, suspects: list[Row]) -> None: ...
