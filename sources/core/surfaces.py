"""Which tables the walk of a surface fills, and what dlt's state may be believed of it.

A table that one surface alone fills belongs to that surface's resource, all others to one of their own: so whoever
drops a resource drops what it brought, and a table never changes hands.

State lies per resource: `scopes` (cursors) and `tables` (their shapes, once they are made). Resources can be dropped
one by one, and with them some of the tables that a walk fills whose cursor lies elsewhere. A cursor therefore counts
only where all tables that its walk fills are known to be there.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from sources.core.values import Table, fingerprint

__all__ = ["Fills", "Surface", "believed", "forget_lost", "lost", "made", "owners", "shape", "unmade"]


@dataclass(frozen=True)
class Surface:
    """One list of a place: what it is called, the tables that it fills, its own first, and how it is walked."""

    name: str
    fills: tuple[Table, ...]
    walk: Callable[[Any, Any], AsyncIterator[Any]]  # of a place and the source's configuration


Fills = Mapping[str, tuple[Table, ...]]  # surface → the tables that its walk fills, its own first
States = Mapping[str, Mapping[str, Any]]  # resource → what dlt keeps of it


def owners(fills: Fills, tables: Iterable[Table]) -> dict[str, str]:
    """table → the resource that it belongs to."""
    found = {}
    for table in tables:
        surfaces = [surface for surface, filled in fills.items() if table in filled]
        found[table.name] = surfaces[0] if len(surfaces) == 1 else table.name
    return found


def shape(table: Table) -> str:
    return fingerprint(table.keeps, *((name, str(member.schema)) for name, member in table.family().items()))


def made(states: States) -> dict[str, str]:
    """table → its shape, of those that are known to be there."""
    return {name: told for state in states.values() for name, told in dict(state.get("tables", {})).items()}


def unmade(states: States, tables: Iterable[Table]) -> list[Table]:
    """Those that are not there as they are declared now."""
    there = made(states)
    return [table for table in tables if there.get(table.name) != shape(table)]


def lost(states: States, fills: Fills) -> set[str]:
    """Surfaces whose cursors count no more. What a walk remembers of one of its tables (reviews) goes with its own."""
    there = made(states)
    found = {surface for surface, filled in fills.items() if any(table.name not in there for table in filled)}
    return found | {table.name for surface in found for table in fills[surface]}


def believed(states: States, fills: Fills) -> dict[str, dict[str, object]]:
    """surface → scope → cursor."""
    gone = lost(states, fills)
    scopes = {name: state.get("scopes") for name, state in states.items() if name not in gone}
    return {name: dict(told) for name, told in scopes.items() if isinstance(told, dict)}


def forget_lost(states: Mapping[str, MutableMapping[str, Any]], fills: Fills) -> None:
    """Before the tables are made again: then nothing would tell any more that these cursors are not theirs."""
    for surface in lost(states, fills):
        if surface in states:
            states[surface].pop("scopes", None)
