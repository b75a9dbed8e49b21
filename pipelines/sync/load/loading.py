"""dlt, and all that imports it: a pipeline opened and cleaned, a package loaded. For landing.py alone."""

import gc
import logging
import os
import shutil
from collections.abc import Iterator
from typing import Any

from pipelines.sync.load.landing import Package, is_held, is_pending, mark
from pipelines.warehouse.data_dir import DataDir, LandingError
from sources.core.surfaces import owners, shape
from sources.core.values import Table
from sources.declared import declared

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")
os.environ.setdefault("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
os.environ.setdefault("LOAD__TRUNCATE_STAGING_DATASET", "true")  # else every publish copies the last package twice
os.environ.setdefault("LOAD__DELETE_COMPLETED_JOBS", "true")  # what they said may be deleted upstream by now

import dlt
from dlt.pipeline.exceptions import PipelineStepFailed

__all__ = ["load", "opened"]

gc.freeze()  # what the libraries are made of is never garbage: to look through it takes 0.03 s each time

log = logging.getLogger("earshot.landing")

PACKAGES = 3  # that are over, for `dlt pipeline NAME load-package`; dlt keeps what is left of each for ever


def load(home: DataDir, pipeline: Any, package: Package) -> str:
    """One package; its name."""
    try:
        loads = pipeline.run(_source(pipeline.dataset_name, package)).loads_ids
    except PipelineStepFailed as failed:
        cause = failed.__cause__ or failed
        cause = getattr(cause, "client_exception", None) or cause  # a load job's own text is a traceback
        said = home.destination.safe(str(cause).splitlines()[0])
        error = LandingError(f"loading {pipeline.dataset_name} failed: {said:.300}")
        error.is_torn = True
        raise error from None
    for over in sorted((home.working / pipeline.pipeline_name / "load" / "loaded").iterdir())[:-PACKAGES]:
        shutil.rmtree(over, ignore_errors=True)  # it has landed, whatever becomes of this
    return str(loads[-1]) if loads else ""


def opened(home: DataDir, name: str, source: str) -> Any:
    state = home.working / name / "state.json"
    is_known = state.exists()
    pipeline = dlt.pipeline(
        name,
        pipelines_dir=str(home.working),
        dataset_name=source,
        destination=home.destination.for_dlt(home),
    )
    is_there = home.destination.is_there(home)
    if why := _why_unsound(home, name, source, is_known=is_known, is_there=is_there):
        log.warning("%s", why)
        state.unlink(missing_ok=True)  # first: without its package it would be believed
        pipeline.drop()
        is_known = False
    if is_there and not is_known:
        pipeline.sync_destination()
        mark(home, name, "")
    pipeline._state_restored = True  # else every first landing of a process asks again: 0.15 s
    return pipeline


def _why_unsound(home: DataDir, name: str, source: str, *, is_known: bool, is_there: bool) -> str:
    if is_pending(home, name):
        return "a killed run left a half-loaded package; it is thrown away and read again"
    if is_known and not is_there:
        return "the warehouse is gone; everything is read again"
    if is_known and not is_held(home, name, source):
        return "the warehouse is older than what was last read (a restored copy?); reading goes on from its state"
    return ""


def _source(name: str, package: Package) -> Any:
    """The resources that have something in the package, each with the tables that are its own."""
    owner = owners(package.fills, package.tables)
    own: dict[str, list[Table]] = {}
    for table in sorted(package.tables, key=lambda table: table.name != owner[table.name]):
        own.setdefault(owner[table.name], []).append(table)
    cursors: dict[str, dict[str, Any]] = {}
    for surface, scopes in package.cursors.items():
        cursors.setdefault(owner.get(surface, surface), {})[surface] = scopes
    due = [
        _resource(resource, tables, package, cursors.get(resource, {})) for resource, tables in own.items()
        if cursors.get(resource) or any(t.name in package.rows or t.name in package.makes for t in tables)
    ]  # fmt: skip
    return dlt.source(lambda: due, name=name, section=name)()


def _resource(name: str, tables: list[Table], package: Package, cursors: dict[str, Any]) -> Any:

    def landed() -> Iterator[Any]:
        state = dlt.current.resource_state(name)
        for table in tables:
            if table.name in package.makes:  # models are built over empty ones too
                state["tables"] = {**state.get("tables", {}), table.name: shape(table)}
                empty = dlt.mark.materialize_table_schema() if table.children else table.schema.empty_table()
                yield dlt.mark.with_table_name(empty, table.name)
            if table.name in package.rows:
                yield dlt.mark.with_table_name(package.rows[table.name], table.name)
        for surface, scopes in cursors.items():
            kept = dlt.current.resource_state(surface)
            kept["scopes"] = {**kept.get("scopes", {}), **scopes}

    made = dlt.resource(landed, name=name)
    return declared(made, tables, dict.fromkeys((table.name for table in tables), name), ordered=False)
