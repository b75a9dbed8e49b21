"""Rows into the warehouse, with dlt: one pipeline per source, one load package per landing.

A package carries rows and the cursors that they make true. dlt loads table by table and can be killed in between, so
before anything else a half-loaded package is thrown away together with dlt's own state, which knows its cursors
already; the state comes back from the warehouse, as the last whole package left it. The next reading lands the rows
again over what is there: every table merges by key, but one that is looked up and found empty, which is filled. Merges
run in transactions, which DuckDB's default would not do.

Importing dlt takes longer than to ask a whole repository whether anything is new. So it is imported when there is
something to land; until then dlt's own file tells the cursors, if it is whole, no package hangs in the air, and the
warehouse has what was last landed. Where any of this is otherwise dlt is asked at once.
"""

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa

from pipelines.sync.load.memory import give_back, keep_little
from pipelines.sync.load.pile import Pile
from pipelines.warehouse.data_dir import QUICKLY, DataDir, LandingError, set_aside
from sources.core.surfaces import Fills, believed, forget_lost, made, unmade
from sources.core.values import Json, Table

__all__ = ["Landing", "Package"]

pa.set_memory_pool(pa.system_memory_pool())  # the default one keeps what it freed: 30 MB of peak memory
keep_little()

log = logging.getLogger("earshot.landing")

MANY = 5_000  # rows
STATE_VERSION = 4  # of dlt's file; another one is dlt's to read
PENDING = ("normalize/extracted", "load/normalized")  # where dlt keeps packages that are under way
Resources = dict[str, Any]  # what dlt keeps of each table: its shape, its cursors


@dataclass(frozen=True)
class Package:
    """What lands together: rows of some tables, the cursors that they make true, and tables that are to be made."""

    tables: tuple[Table, ...]
    fills: Fills
    rows: Mapping[str, Any] = field(default_factory=dict)
    cursors: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    makes: frozenset[str] = frozenset()


@dataclass
class Landing:
    source: str
    tables: tuple[Table, ...]
    home: DataDir
    fills: Fills = field(default_factory=dict)
    kept: dict[str, Mapping[str, object]] | None = None  # cursors, where they are kept beside the rows
    quick: bool = False
    _left: Resources | None = None  # by the last landing, as long as dlt was not asked
    _opened: Any = field(default=None, repr=False)

    @classmethod
    def open(
        cls, home: DataDir, source: str, tables: tuple[Table, ...], fills: Fills | None = None, *, quick: bool = False
    ) -> "Landing":
        landing = cls(source, tables, home, fills or {}, quick=quick)
        try:
            kept = home.destination.cursors(home, source)
            landing._left = None if kept is not None else _left(home, landing.name, source)
        except duckdb.IOException as error:
            raise landing._unreachable(error) from None
        if kept is not None:
            landing.kept = {**kept}
        elif landing._left is None:  # a first run too: it has something to land
            landing.prepare()
        return landing

    @property
    def name(self) -> str:
        return f"earshot_{self.source}{self.home.shard.suffix}"

    @property
    def cursors(self) -> Mapping[str, Mapping[str, object]]:
        """surface → scope → cursor."""
        if self.kept is not None:
            return self.kept
        return believed(self._resources(), self.fills)

    def is_shaped(self) -> bool:
        """Whether the warehouse has all tables as they are declared now."""
        told = self.home.destination.is_shaped(self.home, self.source, self.tables)
        return not unmade(self._resources(), self.tables) if told is None else told

    @property
    def was_dropped(self) -> bool:
        """Somebody has dropped some of the tables."""
        if self.kept is not None:
            return False
        there, marker = made(self._resources()), _marker(self.home, self.name)
        was_landed = bool(there) or (marker.exists() and marker.stat().st_size > 0)
        return was_landed and any(table.name not in there for table in self.tables)

    def prepare(self) -> Any:
        """The source's pipeline, clean: no pending package, and its state as it was committed with the rows."""
        from pipelines.sync.load import loading

        if self._opened is None:
            try:
                self._opened = loading.opened(self.home, self.name, self.source)
            except duckdb.IOException as error:
                raise self._unreachable(error) from None
            except Exception as error:  # dlt raises whatever its torn files make json or its validators raise
                _set_aside(self.home.working / self.name, error)
                self._opened = loading.opened(self.home, self.name, self.source)
        return self._opened

    def land(self, pile: Pile, names: Mapping[str, str] | None = None) -> None:
        """One package: all that is on the pile. Its rows are gone from there: the loading has the room to itself."""
        cursors, rows = pile.cursors, {table.name: rows for table, rows in pile.take()}
        pipeline = self.prepare()
        changed = unmade(self._resources(), self.tables) if self.kept is None else self.tables
        with self.home.destination.landing(self.home, self.source, changed):
            if self.kept is None:
                with pipeline.managed_state() as state:
                    forget_lost(state.get("sources", {}).get(self.source, {}).get("resources", {}), self.fills)
                self._run(Package(self.tables, self.fills, rows, cursors, frozenset(t.name for t in changed)))
            else:  # tables are made already, with what that engine wants of them, and cursors written after their rows
                if rows:
                    self._run(Package(self.tables, self.fills, rows))
                self.home.destination.keep_cursors(self.home, self.source, cursors, names or {})
                for surface, told in cursors.items():
                    self.kept[surface] = {**self.kept.get(surface, {}), **told}
        if pile.size > MANY:
            give_back()

    def forget(self, scopes: Iterable[str] | None = None) -> int:
        """Cursors away, of some scopes or of all, and how many: the next run reads as if for the first time."""
        named = None if scopes is None else set(scopes)
        gone = self.home.destination.forget_cursors(self.home, self.source, named)
        pipeline = self.prepare()
        with pipeline.managed_state() as state:
            sources = state.get("sources", {})
            resources = sources.get(pipeline.dataset_name, {}).get("resources", {})
            for resource in resources.values():
                kept = {s: c for s, c in resource.get("scopes", {}).items() if named is not None and s not in named}
                gone += len(resource.get("scopes", {})) - len(kept)
                if "scopes" in resource:
                    resource["scopes"] = kept
        if gone and self.kept is None:
            self._run(Package(self.tables, self.fills))  # or the state that comes back after a kill would know them
        return gone

    def _run(self, package: "Package") -> None:
        from pipelines.sync.load import loading

        # a second thread's buffers are 30 MB, and its core is at work on the reading
        more = ("SET threads = 1", *((QUICKLY,) if self.quick else ()))
        with self.home.destination.held_open(self.home, {}, more):  # dlt opens and closes it thrice: 0.4 s
            load = loading.load(self.home, self._opened, package)
            self.home.destination.forget_states(self.home, self.source, self.name)
        mark(self.home, self.name, load)

    def _resources(self) -> Resources:
        if self._opened is None and self._left is not None:
            return self._left
        with self.prepare().managed_state() as state:
            sources = state.get("sources", {})
        return sources.get(self.source, {}).get("resources", {})  # type: ignore[no-any-return]

    def _unreachable(self, error: Exception) -> LandingError:
        return LandingError(self.home.destination.unreachable(self.home, str(error)))


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
    """What the last landing left; None where only dlt can tell."""
    try:
        state = orjson.loads((home.working / name / "state.json").read_bytes())
        resources = state.get("sources", {}).get(source, {}).get("resources", {})
        is_sound = state["_state_engine_version"] == STATE_VERSION and all(
            isinstance(r, dict) for r in resources.values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    is_whole = is_sound and not is_pending(home, name) and home.destination.is_there(home)
    return resources if is_whole and is_held(home, name, source) else None


def _marker(home: DataDir, name: str) -> Path:
    return home.working / name / "landed"


def _set_aside(folder: Path, error: Exception) -> None:
    """A torn working directory (power cut) would fail every later run; the state comes back from the warehouse."""
    with contextlib.suppress(FileNotFoundError):
        aside = set_aside(folder)
        log.warning("dlt's working directory is damaged (%s); moved to %s and rebuilt", type(error).__name__, aside)
