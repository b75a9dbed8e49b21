"""What the last run left of one source, told without dlt, whose import takes longer than to ask a whole repository.

dlt's own file tells the cursors, if it is whole, no package hangs in the air, and the warehouse has what was last
loaded. Where any of this is otherwise dlt is asked.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson

from pipelines.warehouse.data_dir import DataDir, LandingError
from sources.core.surfaces import Fills, believed, made, unmade
from sources.core.values import Table

__all__ = ["Committed", "committed", "is_held", "is_pending", "mark", "name_of", "of_resources"]

STATE_VERSION = 4  # of dlt's file; another one is dlt's to read
PENDING = ("normalize/extracted", "load/normalized")  # where dlt keeps packages that are under way
Resources = Mapping[str, Mapping[str, Any]]  # what dlt keeps of each: the shapes of its tables, its cursors


@dataclass(frozen=True)
class Committed:
    cursors: Mapping[str, Mapping[str, object]]  # surface → scope → cursor
    is_new: bool  # nothing of this source was ever landed, not even in part
    is_shaped: bool  # the warehouse has all tables as they are declared now
    was_dropped: bool = False  # somebody has dropped some of the tables
    is_beside: bool = False  # cursors are kept beside the rows, not in dlt's state


def committed(home: DataDir, source: str, tables: tuple[Table, ...], fills: Fills) -> Committed | None:
    """None where only dlt can tell; also before a first run, which has something to load."""
    try:
        kept = home.destination.cursors(home, source)
        if kept is not None:
            is_shaped = bool(home.destination.is_shaped(home, source, tables))
            return Committed(kept, is_new=not (kept or is_shaped), is_shaped=is_shaped, is_beside=True)
        resources = _left(home, name_of(home, source), source)
    except duckdb.IOException as error:
        raise LandingError(home.destination.unreachable(home, str(error))) from None
    return None if resources is None else of_resources(home, source, tables, fills, resources)


def of_resources(home: DataDir, source: str, tables: Iterable[Table], fills: Fills, resources: Resources) -> Committed:
    there, marker = made(resources), _marker(home, name_of(home, source))
    was_landed = bool(there) or (marker.exists() and marker.stat().st_size > 0)
    return Committed(
        believed(resources, fills),
        is_new=not there,
        is_shaped=not unmade(resources, tables),
        was_dropped=was_landed and any(table.name not in there for table in tables),
    )


def name_of(home: DataDir, source: str) -> str:
    """Of its pipeline."""
    return f"earshot_{source}{home.shard.suffix}"


def is_pending(home: DataDir, name: str) -> bool:
    """Whether a package is under way that nobody goes on with: its cursors are in dlt's file already."""
    return any(any(folder.iterdir()) for part in PENDING if (folder := home.working / name / part).is_dir())


def is_held(home: DataDir, name: str, source: str) -> bool:
    """Whether the warehouse has what was last landed: cursors ahead of its rows would lose what is in between."""
    try:
        load = _marker(home, name).read_text(encoding="utf-8")
    except FileNotFoundError:  # whatever dlt's file says, what made it so was killed
        return False
    return not load or home.destination.holds(home, source, load)


def mark(home: DataDir, name: str, load: str) -> None:
    """Remembers what was last landed; nothing: all that dlt's file says came from the warehouse."""
    marker = _marker(home, name)
    marker.with_suffix(".new").write_text(load, encoding="utf-8")
    os.replace(marker.with_suffix(".new"), marker)


def _left(home: DataDir, name: str, source: str) -> Resources | None:
    try:
        state = orjson.loads((home.working / name / "state.json").read_bytes())
        resources = state.get("sources", {}).get(source, {}).get("resources", {})
        is_sound = state["_state_engine_version"] == STATE_VERSION and all(
            isinstance(told, dict) for told in resources.values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    is_whole = is_sound and not is_pending(home, name) and home.destination.is_there(home)
    return resources if is_whole and is_held(home, name, source) else None


def _marker(home: DataDir, name: str) -> Path:
    return home.working / name / "landed"
