"""What dlt is told of a source: its settings, and the keys, dispositions and columns of its tables."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import dlt
from dlt.common.configuration.exceptions import ConfigurationValueError
from dlt.extract.resource import DltResource
from pendulum import DateTime

from sources.core.config import ConfigError, section
from sources.core.unread import Quarantined
from sources.core.values import INSTANT, ORDER, TEXT, Row, Table, json_bytes

__all__ = ["QUARANTINE", "Owned", "declared", "hints", "needs", "quarantine_row", "settings"]

T = TypeVar("T")

TYPES = {"string": "text", "int64": "bigint", "bool": "bool", "timestamp[us, tz=UTC]": "timestamp", "double": "double"}
QUARANTINE = Table(
    "quarantine",
    ("key",),
    {
        "key": TEXT,
        "scope": TEXT,
        "surface": TEXT,
        "reason": TEXT,
        "raw": TEXT,
        "parent_key": TEXT,
        "met_at": INSTANT,
    },
)


def settings(shape: type[T], name: str, **given: object) -> T:
    """What the caller gave, else what dlt's providers hold as `sources.<name>.<key>`, and nowhere else: dlt's own
    injection also takes bare `TOKEN` and `API_URL` from the environment, and somebody's would be sent our token."""
    found = {key: value for key, value in given.items() if value is not None}
    for key in {each.name for each in dataclasses.fields(shape)} - found.keys():  # type: ignore[arg-type]
        if (value := dlt.config.get(f"sources.{name}.{key}")) is not None:
            found[key] = value
    try:
        return section({"sources": {name: found}}, f"sources.{name}", shape)
    except ConfigError as error:
        raise ConfigurationValueError(str(error)) from None


def needs(name: str, key: str, value: object) -> None:
    """Refuses, as dlt does, what nobody has said."""
    if not value:
        told = f"{key} is missing: pass it, or set sources.{name}.{key} (SOURCES__{name.upper()}__{key.upper()})"
        raise ConfigurationValueError(told)


class Owned(DltResource):
    """A resource that may write into a table that another of its source owns: a table whose owner changed with every
    run would be dropped with the wrong one, and move the schema's version each time."""

    def compute_table_schema(self, item: Any = None, meta: Any = None) -> Any:
        table: Any = super().compute_table_schema(item, meta)
        table["resource"] = table.get("x-owner", table["resource"])
        return table


def declared(
    made: DltResource, tables: Sequence[Table], owners: Mapping[str, str], *, is_runs: bool = False
) -> DltResource:
    """The resource with all that dlt must know of the tables that it writes to."""
    its_own = {table.name: table for table in tables}.get(made.name)
    for table in tables:  # before its own: a variant begins as a copy of the resource's own hints, columns and all
        if table is not its_own:
            owner, told = {"x-owner": owners[table.name]}, hints(table, is_runs=is_runs)
            made.apply_hints(table_name=table.name, create_table_variant=True, additional_table_hints=owner, **told)
    if its_own:
        made.apply_hints(table_name=its_own.name, **hints(its_own, is_runs=is_runs))
    return made


def hints(table: Table, *, is_runs: bool = False) -> dict[str, Any]:
    """One key may come twice, as it is read. Only a run throws half-loaded packages away. Elsewhere dlt goes on with
    one, and stages a file again that was staged just before the kill: insert-only would keep both.
    """
    is_new = table.keeps == "versions" and is_runs
    strategy = {"disposition": "merge", "strategy": "insert-only" if is_new else "delete-insert"}
    order = {ORDER: {"data_type": "bigint", "nullable": True, "dedup_sort": "desc"}} if table.keeps == "rows" else {}
    found: dict[str, Any] = {
        "primary_key": table.key,
        "write_disposition": strategy,
        "columns": {**columns(table), **order},
    }
    if table.children:
        found["nested_hints"] = _nested(table)
    return found


def quarantine_row(record: Quarantined, met_at: DateTime) -> Row:
    return {
        "key": record.key,
        "scope": record.scope,
        "surface": record.surface,
        "reason": record.reason,
        "raw": json_bytes(record.raw).decode(),
        "parent_key": record.parent_key,
        "met_at": met_at,
    }


def columns(table: Table) -> dict[str, Any]:
    return {
        name: {"data_type": TYPES[str(kind)], "nullable": name not in table.key} for name, kind in table.columns.items()
    }


def _nested(table: Table, path: tuple[str, ...] = ()) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for name, child in table.children.items():
        here = (*path, name)
        found[here if len(here) > 1 else name] = dlt.mark.make_nested_hints(columns=columns(child))
        found |= _nested(child, here)
    return found
