"""dlt, and all that imports it: a pipeline opened and cleaned, a package loaded. For landing.py alone."""

import gc
import logging
import os
from collections.abc import Iterator
from typing import Any

from pipelines.landing import is_held, shape
from pipelines.warehouse import Home, LandingError
from sources.record import Json, Table

os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ.setdefault("RUNTIME__LOG_LEVEL", "CRITICAL")
os.environ.setdefault("NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID", "true")
os.environ.setdefault("LOAD__TRUNCATE_STAGING_DATASET", "true")  # else every publish copies the last package twice

import dlt
from dlt.pipeline.exceptions import PipelineStepFailed

__all__ = ["load", "opened"]

gc.freeze()  # what the libraries are made of is never garbage: to look through it takes 0.03 s each time

log = logging.getLogger("earshot.landing")

DATA_TYPES = {"string": "text", "int64": "bigint", "bool": "bool", "timestamp[us, tz=UTC]": "timestamp"}


def load(home: Home, pipeline: Any, parts: list[dict[str, Any]]) -> str:
    """One package; its name."""
    try:
        loads = pipeline.run(_source(pipeline.dataset_name, [_resource(**part) for part in parts])).loads_ids
    except PipelineStepFailed as failed:
        cause = failed.__cause__ or failed
        cause = getattr(cause, "client_exception", None) or cause  # a load job's own text is a traceback
        if pipeline.has_pending_data:
            pipeline.abort_packages()
        said = home.destination.safe(str(cause).splitlines()[0])
        error = LandingError(f"loading {pipeline.dataset_name} failed: {said:.300}")
        error.is_torn = True
        raise error from None
    return str(loads[-1]) if loads else ""


def opened(home: Home, name: str, source: str) -> Any:
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
    elif not fresh and not is_held(home, name, source):
        log.warning("the warehouse is older than what was last read (a restored copy?); reading goes on from its state")
        pipeline.drop()
        pipeline.sync_destination()
    pipeline._state_restored = True  # else every first landing of a process asks again: 0.15 s
    return pipeline


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
