"""One source's pipeline of dlt: opened clean, extracted, loaded, a package at a time.

A package carries rows and the cursors that they make true. dlt loads table by table and can be killed in between, so
before anything else a half-loaded package is thrown away together with dlt's own state, which knows its cursors
already; the state comes back from the warehouse, as the last whole package left it. The next reading lands the rows
again over what is there: every table merges by key, in transactions, which DuckDB's default would not do.

On a shared destination cursors are kept beside the rows, and written after them: dlt's state there knows of none.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")
os.environ.setdefault("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
os.environ.setdefault("LOAD__TRUNCATE_STAGING_DATASET", "true")  # else every publish copies the last package twice
os.environ.setdefault("LOAD__DELETE_COMPLETED_JOBS", "true")  # what they said may be deleted upstream by now

import dlt
import duckdb
from dlt.pipeline.exceptions import PipelineStepFailed

from pipelines.sync.source.committed import Committed, is_held, is_pending, mark, name_of, of_resources
from pipelines.warehouse.data_dir import QUICKLY, DataDir, LandingError, set_aside
from sources.core.surfaces import Fills, believed, unmade
from sources.core.values import Json, Table

__all__ = ["SourcePipeline"]

log = logging.getLogger("earshot.landing")

PACKAGES = 3  # that are over, for `dlt pipeline NAME load-package`; dlt keeps what is left of each for ever
Cursors = dict[str, Mapping[str, object]]  # surface → scope → cursor


@dataclass
class SourcePipeline:
    source: str
    tables: tuple[Table, ...]
    home: DataDir
    fills: Fills = field(default_factory=dict)
    quick: bool = False
    is_sound: bool = False  # somebody has looked: the warehouse has what was last landed
    kept: Cursors | None = None  # where they are kept beside the rows
    packages: int = 0
    _changed: list[Table] = field(default_factory=list)  # tables that are not as they are declared now

    @classmethod
    def open(
        cls,
        home: DataDir,
        source: str,
        tables: tuple[Table, ...],
        fills: Fills,
        *,
        quick: bool = False,
        is_sound: bool = False,
    ) -> "SourcePipeline":
        """No package is pending, and its state is as it was committed with the rows."""
        opened = cls(source, tables, home, fills, quick, is_sound)
        try:
            kept = home.destination.cursors(home, source)
            opened.kept = None if kept is None else {**kept}
            _ = opened.pipeline
        except duckdb.IOException as error:
            raise LandingError(home.destination.unreachable(home, str(error))) from None
        return opened

    @property
    def name(self) -> str:
        return name_of(self.home, self.source)

    @property
    def cursors(self) -> Mapping[str, Mapping[str, object]]:
        return believed(self._resources, self.fills) if self.kept is None else self.kept

    @property
    def committed(self) -> Committed:
        """As dlt tells it; of a shared destination nobody needs dlt to know."""
        return of_resources(self.home, self.source, self.tables, self.fills, self._resources)

    @property
    def is_pending(self) -> bool:
        """Something was extracted, and is not loaded."""
        return bool(self.pipeline.has_pending_data)

    @cached_property
    def pipeline(self) -> Any:
        try:
            return self._opened()
        except duckdb.IOException:
            raise
        except Exception as error:  # dlt raises whatever its torn files make json or its validators raise
            _set_aside(self.home.working / self.name, error)
            return self._opened()

    def extract(self, declared: Any) -> None:
        """Rows and cursors into a package. In a thread of its own: others extract, or load, meanwhile."""
        self._changed = unmade(self._resources, self.tables) if self.kept is None else list(self.tables)
        try:
            self.pipeline.extract(declared)
        except PipelineStepFailed as failed:
            raise _cause(failed) from failed

    def load(self, cursors: Mapping[str, Mapping[str, Json]], names: Mapping[str, str]) -> None:
        """What was extracted, if anything was; then the cursors that are kept beside the rows."""
        pipeline, destination = self.pipeline, self.home.destination
        more = ("SET threads = 1", *((QUICKLY,) if self.quick else ()))  # a second thread's buffers are 30 MB
        try:
            with destination.landing(self.home, self.source, self._changed):
                pipeline.normalize()
                if pipeline.has_pending_data:
                    with destination.held_open(self.home, {}, more):  # dlt opens and closes it thrice: 0.4 s
                        self._load()
                if self.kept is not None:
                    destination.keep_cursors(self.home, self.source, cursors, names)
                    for surface, told in cursors.items():
                        self.kept[surface] = {**self.kept.get(surface, {}), **told}
        except PipelineStepFailed as failed:
            cause = _cause(failed)
            cause = getattr(cause, "client_exception", None) or cause  # a load job's own text is a traceback
            said = destination.safe(str(cause).splitlines()[0])
            error = LandingError(f"loading {self.source} failed: {said:.300}")
            error.is_torn = True
            raise error from None

    def forget(self, scopes: Iterable[str] | None = None) -> int:
        """Cursors away, of some scopes or of all, and how many: the next run reads as if for the first time."""
        named = None if scopes is None else set(scopes)
        gone = self.home.destination.forget_cursors(self.home, self.source, named)

        def forgotten() -> Iterator[Any]:
            nonlocal gone
            for resource in dlt.current.source_state().get("resources", {}).values():
                held = resource.get("scopes", {})
                kept = {scope: told for scope, told in held.items() if named is not None and scope not in named}
                gone += len(held) - len(kept)
                if len(kept) < len(held):
                    resource["scopes"] = kept
            yield from ()

        if self.kept is None:  # in a package, or the state that comes back after a kill would know them
            self.extract(dlt.source(lambda: [dlt.resource(forgotten)], name=self.source, section=self.source)())
            self.load({}, {})
        return gone

    @property
    def _resources(self) -> dict[str, Any]:
        """What dlt keeps of each resource: the shapes of its tables, its cursors."""
        sources = self.pipeline.state.get("sources", {})
        return sources.get(self.source, {}).get("resources", {})  # type: ignore[no-any-return]

    def _load(self) -> None:
        loads = self.pipeline.load().loads_ids
        self.home.destination.forget_states(self.home, self.source, self.name)
        mark(self.home, self.name, str(loads[-1]) if loads else "")
        self.packages += 1
        loaded = self.home.working / self.name / "load" / "loaded"
        for over in sorted(loaded.iterdir())[:-PACKAGES]:
            shutil.rmtree(over, ignore_errors=True)  # it has landed, whatever becomes of this

    def _opened(self) -> Any:
        home, folder = self.home, self.home.working / self.name
        is_known, is_there = (folder / "state.json").exists(), home.destination.is_there(home)
        _clear(folder)
        pipeline = dlt.pipeline(
            self.name,
            pipelines_dir=str(home.working),
            dataset_name=self.source,
            destination=home.destination.for_dlt(home),
        )
        if why := self._why_unsound(is_known=is_known, is_there=is_there):
            log.warning("%s", why)
            (folder / "state.json").unlink(missing_ok=True)  # first: without its package it would be believed
            pipeline.drop()
            is_known = False
        if is_there and not is_known:
            pipeline.sync_destination()
            mark(home, self.name, "")
        return pipeline

    def _why_unsound(self, *, is_known: bool, is_there: bool) -> str:
        if is_pending(self.home, self.name):
            return "a killed run left a half-loaded package; it is thrown away and read again"
        if is_known and not is_there:
            return "the warehouse is gone; everything is read again"
        if is_known and not self.is_sound and not is_held(self.home, self.name, self.source):
            return "the warehouse is older than what was last read (a restored copy?); reading goes on from its state"
        return ""


def _cause(failed: PipelineStepFailed) -> BaseException:
    """What dlt has wrapped, as often as it did."""
    cause: BaseException = failed
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return cause


def _clear(folder: Path) -> None:
    """What a killed extraction left: dlt begins each in a folder of its own, and never looks there again."""
    for left in (folder / "normalize").glob("*/new"):
        shutil.rmtree(left.parent, ignore_errors=True)


def _set_aside(folder: Path, error: Exception) -> None:
    """A torn working directory (power cut) would fail every later run; the state comes back from the warehouse."""
    with contextlib.suppress(FileNotFoundError):
        aside = set_aside(folder)
        log.warning("dlt's working directory is damaged (%s); moved to %s and rebuilt", type(error).__name__, aside)
