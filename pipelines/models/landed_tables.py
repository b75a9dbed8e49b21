"""The landed tables as SQL has them: empty where nothing ever landed, and with the columns that they have by now."""

from collections.abc import Mapping

import duckdb

from sources.core.values import Table

__all__ = ["TYPES", "ensure", "landed_table", "widen"]

DLT_ROOT = "_dlt_load_id VARCHAR, _dlt_id VARCHAR"
DLT_CHILD = "_dlt_root_id VARCHAR, _dlt_parent_id VARCHAR, _dlt_list_idx BIGINT, _dlt_id VARCHAR"
HELD_COLUMNS = """
SELECT table_schema || '.' || table_name, column_name FROM information_schema.columns
WHERE table_catalog = current_database()
"""
TYPES = {
    "string": "VARCHAR",
    "int64": "BIGINT",
    "bool": "BOOLEAN",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
    "double": "DOUBLE",
}


def ensure(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """Tables of sources that never landed anything stand there empty; dlt fills them when it comes to that."""
    held = _held(connection)
    missing = {name: table for name, table in tables.items() if name not in held}
    for schema in sorted({name.partition(".")[0] for name in missing}):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for name, table in missing.items():
        connection.execute(landed_table(name, table))
    _widen(connection, tables, held)


def landed_table(name: str, table: Table) -> str:
    columns = ", ".join(f"{column} {TYPES[str(kind)]}" for column, kind in table.columns.items())
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}, {DLT_CHILD if '__' in name else DLT_ROOT})"


def widen(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """What tables have gained since they were made. dlt adds a column to a nested table only if the first package
    after the change has rows of it, and never again; a source that is not read lands nothing, though models ask for it.
    """
    _widen(connection, tables, _held(connection))


def _widen(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], held: Mapping[str, set[str]]) -> None:
    for name, table in tables.items():
        for column, kind in table.columns.items():
            if name in held and column not in held[name]:
                connection.execute(f"ALTER TABLE {name} ADD COLUMN {column} {TYPES[str(kind)]}")


def _held(connection: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    held: dict[str, set[str]] = {}
    for name, column in connection.execute(HELD_COLUMNS).fetchall():
        held.setdefault(name, set()).add(column)
    return held
