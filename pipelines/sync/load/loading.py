"""dlt, and all that imports it: a pipeline opened and cleaned, a package loaded. For landing.py alone."""

import gc
import logging
import os
import shutil
from collections.abc import Iterator
from typing import Any

from pipelines.sync.load.landing import is_held, is_pending, mark, shape
from pipelines.warehouse.data_dir import DataDir, LandingError
from sources.core.values import Json, Table

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
DATA_TYPES = {
    "string": "text",
    "int64": "bigint",
    "bool": "bool",
    "timestamp[us, tz=UTC]": "timestamp",
    "double": "double",
}


def load(home: DataDir, pipeline: Any, parts: list[dict[str, Any]]) -> str:
    """One package; its name."""
    try:
        loads = pipeline.run(_source(pipeline.dataset_name, [_resource(**part) for part in parts])).loads_ids
    except PipelineStepFailed as failed:
        cause = failed.__cause__ or failed
        cause = getattr(cause, "client_exception", None) or cause  # a load job's own text is a traceback
        said = home.destination.safe(str(cause).splitlines()[0])
        error = LandingError(f"loading {pipeline.dataset_name} failed: {said:.300}")
        error.is_torn = True
        raise error from None
    for package in sorted((home.working / pipeline.pipeline_name / "load" / "loaded").iterdir())[:-PACKAGES]:
        shutil.rmtree(package, ignore_errors=True)  # it has landed, whatever becomes of this
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


def _source(name: str, resources: list[Any]) -> Any:
    return dlt.source(lambda: resources, name=name, section=name)()


def _resource(table: Table, rows: Any, cursors: dict[str, Json], *, makes: bool, is_empty: bool) -> Any:

    def landed() -> Iterator[Any]:
        state = dlt.current.resource_state(table.name)
        if makes and state.get("shape") != shape(table):
            state["shape"] = shape(table)
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
