"""What dlt is told of a source: its settings, and the keys, dispositions and columns of its tables."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import dlt
from dlt.common.configuration.exceptions import ConfigurationValueError
from dlt.extract.resource import DltResource

from sources.core.config import ConfigError, section
from sources.core.values import INSTANT, TEXT, Table

__all__ = ["ORDER", "QUARANTINE", "Owned", "declared", "hints", "needs", "settings"]

T = TypeVar("T")

ORDER = "read_order"  # of rows with one key in one package, the last is right
TYPES = {"string": "text", "int64": "bigint", "bool": "bool", "timestamp[us, tz=UTC]": "timestamp", "double": "double"}
QUARANTINE = Table("quarantine", ("key",), {
    "key": TEXT, "scope": TEXT, "surface": TEXT, "reason": TEXT, "raw": TEXT, "parent_key": TEXT, "met_at": INSTANT,
})  # fmt: skip


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
    made: DltResource, tables: Sequence[Table], owners: Mapping[str, str], *, ordered: bool = True
) -> DltResource:
    """The resource with all that dlt must know of its tables; the first has its name."""
    for table in tables[1:]:  # before its own: a variant begins as a copy of the resource's own hints, columns and all
        made.apply_hints(
            table_name=table.name, create_table_variant=True,
            additional_table_hints={"x-owner": owners[table.name]}, **hints(table, ordered=ordered),
        )  # fmt: skip
    made.apply_hints(table_name=tables[0].name, **hints(tables[0], ordered=ordered))
    return made


def hints(table: Table, *, ordered: bool = True) -> dict[str, Any]:
    """`ordered`: its rows come as they are read, one key perhaps twice, and perhaps nobody throws a half-loaded package
    away. dlt goes on with that one, and stages a file again that was staged just before the kill: insert-only would
    keep both.
    """
    is_new = table.keeps == "versions" and not ordered
    strategy = {"disposition": "merge", "strategy": "insert-only" if is_new else "delete-insert"}
    order = {ORDER: {"data_type": "bigint", "nullable": True, "dedup_sort": "desc"}}
    order = order if ordered and table.keeps == "rows" else {}
    found: dict[str, Any] = {
        "primary_key": table.key, "write_disposition": strategy, "columns": {**columns(table), **order},
    }  # fmt: skip
    if table.children:
        found["nested_hints"] = _nested(table)
    return found


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
