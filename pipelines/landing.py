"""Rows into the warehouse, with dlt: one pipeline per source, one load package per landing.

A package carries rows and the cursors that they make true. dlt loads table by table and can be killed in between, so
before anything else a half-loaded package is aborted: that rewinds its cursors, and the next reading lands it again
over what is there: every table merges by key, but one that is looked up and found empty, which is filled. Merges run in
transactions, which DuckDB's default would not do.
"""

import contextlib
import gc
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pendulum
import pyarrow as pa

from pipelines.memory import give_back, keep_little
from pipelines.pile import Pile
from pipelines.warehouse import QUICKLY, Home, LandingError
from sources.record import Json, Table, fingerprint

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")
os.environ.setdefault("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
os.environ.setdefault("LOAD__TRUNCATE_STAGING_DATASET", "true")  # else every publish copies the last package twice

import dlt
from dlt.pipeline.exceptions import PipelineStepFailed

__all__ = ["Landing"]

pa.set_memory_pool(pa.system_memory_pool())  # the default one keeps what it freed: 30 MB of peak memory
keep_little()
gc.freeze()  # what the libraries are made of is never garbage: to look through it takes 0.03 s each time

log = logging.getLogger("earshot.landing")

MANY = 5_000  # rows
DATA_TYPES = {"string": "text", "int64": "bigint", "bool": "bool", "timestamp[us, tz=UTC]": "timestamp"}


@dataclass
class Landing:
    source: str
    pipeline: Any
    tables: tuple[Table, ...]
    home: Home
    kept: dict[str, Mapping[str, object]] | None = None  # cursors, where they are kept beside the rows
    quick: bool = False

    @classmethod
    def open(cls, home: Home, source: str, tables: tuple[Table, ...], *, quick: bool = False) -> "Landing":
        """The source's pipeline, clean: no pending package, and its state as it was committed with the rows."""
        name = f"earshot_{source}{home.shard.suffix}"
        try:
            pipeline = _pipeline(home, name, source)
        except duckdb.IOException as error:
            raise LandingError(
                f"{home.destination.told(home)} cannot be reached: {home.destination.safe(str(error))}"
            ) from None
        except Exception as error:  # dlt raises whatever its torn files make json or its validators raise
            _set_aside(home.working / name, error)
            pipeline = _pipeline(home, name, source)
        kept = home.destination.cursors(home, source)
        return cls(source, pipeline, tables, home, None if kept is None else {**kept}, quick)

    @property
    def cursors(self) -> Mapping[str, Mapping[str, object]]:
        """surface → scope → cursor."""
        if self.kept is not None:
            return self.kept
        resources = self._resources()
        return {
            name: dict(state["scopes"]) for name, state in resources.items() if isinstance(state.get("scopes"), dict)
        }

    def is_shaped(self) -> bool:
        """Whether the warehouse has all tables as they are declared now."""
        told = self.home.destination.is_shaped(self.home, self.source, self.tables)
        if told is not None:
            return told
        known = self._resources()
        return all(_is_shaped(table, known) for table in self.tables)

    def land(self, pile: Pile, names: Mapping[str, str] | None = None) -> None:
        """One package: all that is on the pile. Its rows are gone from there: the loading has the room to itself."""
        cursors, shaped = pile.cursors, {table.name: rows for table, rows in pile.take()}
        beside = {} if self.kept is None else cursors
        within = cursors if self.kept is None else {}
        makes = self.kept is None  # else the tables are made already, with what that engine wants of them
        known = self._resources() if makes else {}
        due = [
            t for t in self.tables
            if t.name in shaped or within.get(t.name) or (makes and not _is_shaped(t, known))
        ]  # fmt: skip
        unsure = [name for name in shaped if not known.get(name, {}).get("holds")]
        empty = self.home.destination.empty(self.home, self.source, unsure) if unsure else set()
        with self.home.destination.landing(self.home, self.source, self.tables):
            if due:
                self._run([
                    _resource(t, shaped.get(t.name), within.get(t.name, {}), makes=makes, is_empty=t.name in empty)
                    for t in due
                ])  # fmt: skip
            if self.kept is not None:
                self.home.destination.keep_cursors(self.home, self.source, beside, names or {})
                for surface, told in beside.items():
                    self.kept[surface] = {**self.kept.get(surface, {}), **told}
        if pile.size > MANY:
            give_back()

    def forget(self, scopes: Iterable[str] | None = None) -> int:
        """Cursors away, of some scopes or of all, and how many: the next run reads as if for the first time."""
        named = None if scopes is None else set(scopes)
        gone = self.home.destination.forget_cursors(self.home, self.source, named)
        with self.pipeline.managed_state() as state:
            sources = state.get("sources", {})
            resources = sources.get(self.pipeline.dataset_name, {}).get("resources", {})
            for resource in resources.values():
                kept = {s: c for s, c in resource.get("scopes", {}).items() if named is not None and s not in named}
                gone += len(resource.get("scopes", {})) - len(kept)
                if "scopes" in resource:
                    resource["scopes"] = kept
        return gone

    def _run(self, resources: list[Any]) -> None:
        try:
            more = (QUICKLY,) if self.quick else ()
            with self.home.destination.held_open(self.home, {}, more):  # dlt opens and closes it thrice: 0.4 s
                loads = self.pipeline.run(_source(self.pipeline.dataset_name, resources)).loads_ids
            _marker(Path(self.pipeline.working_dir)).write_text(str(loads[-1]) if loads else "", encoding="utf-8")
        except PipelineStepFailed as failed:
            cause = failed.__cause__ or failed
            cause = getattr(cause, "client_exception", None) or cause  # a load job's own text is a traceback
            if self.pipeline.has_pending_data:
                self.pipeline.abort_packages()
            said = self.home.destination.safe(str(cause).splitlines()[0])
            error = LandingError(f"loading {self.source} failed: {said:.300}")
            error.is_torn = True
            raise error from None

    def _resources(self) -> dict[str, Any]:
        with self.pipeline.managed_state() as state:
            sources = state.get("sources", {})
        return sources.get(self.pipeline.dataset_name, {}).get("resources", {})  # type: ignore[no-any-return]


def _pipeline(home: Home, name: str, source: str) -> Any:
    fresh = not (home.working / name / "state.json").exists()
    pipeline = dlt.pipeline(
        name,
        pipelines_dir=str(home.working),
        dataset_name=source,
        destination=home.destination.for_dlt(home),
    )
    if pipeline.has_pending_data:
        log.warning("a killed run left a half-loaded package; it is aborted and read again")
        pipeline.abort_packages()
    is_there = home.destination.is_there(home)
    if fresh and is_there:
        pipeline.sync_destination()
    elif not fresh and not is_there:
        pipeline.drop()  # cursors without rows: the warehouse was removed, everything is read again
    elif not fresh and not _holds(home, source, _marker(home.working / name)):
        log.warning("the warehouse is older than what was last read (a restored copy?); reading goes on from its state")
        pipeline.drop()
        pipeline.sync_destination()
    pipeline._state_restored = True  # else every first landing of a process asks again: 0.15 s
    return pipeline


def _marker(working: Path) -> Path:
    return working / "landed"


def _holds(home: Home, source: str, marker: Path) -> bool:
    """Whether the warehouse has what was last landed: cursors ahead of its rows would lose what is in between."""
    load = marker.read_text(encoding="utf-8") if marker.exists() else ""
    return not load or home.destination.holds(home, source, load)


def _set_aside(folder: Path, error: Exception) -> None:
    """A torn working directory (power cut) would fail every later run; the state comes back from the warehouse."""
    aside = folder.with_name(f"{folder.name}.torn-{pendulum.now('UTC').format('YYYYMMDDHHmmss')}")
    log.warning("dlt's working directory is damaged (%s); moved to %s and rebuilt", type(error).__name__, aside)
    with contextlib.suppress(FileNotFoundError):
        shutil.move(folder, aside)


def _source(name: str, resources: list[Any]) -> Any:
    return dlt.source(lambda: resources, name=name, section=name)()


def _resource(table: Table, rows: Any, cursors: dict[str, Json], *, makes: bool, is_empty: bool) -> Any:

    def landed() -> Iterator[Any]:
        state = dlt.current.resource_state(table.name)
        if makes and state.get("shape") != _shape(table):
            state["shape"] = _shape(table)
            # creates the table: models are built over empty ones too
            yield dlt.mark.materialize_table_schema() if table.children else table.schema.empty_table()
        if rows is not None:
            if makes:
                state["holds"] = True  # nobody has to look again whether it is empty
            yield rows
        if cursors:
            state["scopes"] = {**state.get("scopes", {}), **cursors}

    strategy = {"disposition": "merge", "strategy": "insert-only" if table.keeps == "versions" else "delete-insert"}
    appends = is_empty and not table.children  # nothing to look for: a third of the work
    hints: dict[str, Any] = {"primary_key": table.key, "write_disposition": "append" if appends else strategy}
    if table.children:
        hints |= {"columns": _columns(table), "nested_hints": _nested(table)}
    return dlt.resource(landed, name=table.name, **hints)


def _columns(table: Table) -> dict[str, Any]:
    return {
        name: {"data_type": DATA_TYPES[str(kind)], "nullable": name not in table.key}
        for name, kind in table.columns.items()
    }


def _nested(table: Table, path: tuple[str, ...] = ()) -> dict[Any, Any]:
    found = {}
    for name, child in table.children.items():
        here = (*path, name)
        found[here if len(here) > 1 else name] = dlt.mark.make_nested_hints(columns=_columns(child))
        found |= _nested(child, here)
    return found


def _is_shaped(table: Table, known: dict[str, Any]) -> bool:
    """`known`: read once, a pipeline's state takes milliseconds."""
    return bool(known.get(table.name, {}).get("shape") == _shape(table))


def _shape(table: Table) -> str:
    return fingerprint(table.keeps, *((name, str(member.schema)) for name, member in table.family().items()))
