"""One named thing of a source (an issue, a merge request, a pull request), read by itself for a surgical run.

The same rows by the same functions as the bulk path makes; only the way there is another: by number, and no list's
cursor has any part in it.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pendulum import DateTime

from sources.core.reading import Batch, Reading
from sources.core.scope import Scope
from sources.core.source import Source
from sources.core.values import Row

__all__ = ["Dependent", "Fetched", "Held", "Target", "Targeted", "moment"]


@dataclass(frozen=True, order=True)
class Target:
    kind: str  # as the command line says: issue, mr, pr
    number: int

    def __str__(self) -> str:
        return f"{'!' if self.kind == 'mr' else '#'}{self.number}"


Held = Row  # what the warehouse holds of a target: updated_at, seen_at, and what its dependents must know
Dependent = Callable[[Held], AsyncIterator[Batch]]


@dataclass
class Fetched:
    """A target as it is now, and how the rest of it is read once it is sure that it will be landed."""

    target: Target
    key: str  # its parent_key
    updated_at: DateTime
    seen_at: DateTime  # the server's clock
    batch: Batch
    dependents: Mapping[str, Dependent] = field(default_factory=dict)


class Targeted(Source, Protocol):
    """A source whose things can be named."""

    target_kinds: tuple[str, ...]
    default_place: str  # where targets are looked for if nothing else is said
    held: str  # SQL: one row per parent_key in $keys, as `Held`

    async def place(self, reading: Reading, name: str, scope: str | None) -> Scope:
        """The repository or project; `scope`, its id, where it is known, so that it need not be asked for."""
        ...

    async def fetch(self, place: Scope, target: Target) -> Fetched: ...


def moment(row: Row) -> DateTime:
    """When the row's thing last changed, as its service tells."""
    at = row["updated_at"]
    assert isinstance(at, DateTime)
    return at
