"""Whether the floor did the same work: its tables against ours, row by row and column by column.

python -m bench.same floor.duckdb warehouse.duckdb SCHEMA    prints the tables that differ, as JSON
"""

import json
import sys

import duckdb


def differing(floor: str, ours: str, schema: str) -> list[str]:
    """Tables whose rows are not the same on both sides; when a row was seen may differ."""
    connection = duckdb.connect()
    for name, file in (("floor", floor), ("ours", ours)):
        connection.execute(f"ATTACH {_quoted(file)} AS {name} (READ_ONLY)")
    tables = connection.execute(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns()"
        " WHERE database_name = 'floor' GROUP BY table_name ORDER BY table_name"
    ).fetchall()
    return [table for table, columns in tables if not _same(connection, table, columns, schema)]


def _same(connection: duckdb.DuckDBPyConnection, table: str, columns: list[str], schema: str) -> bool:
    shown = ", ".join(column for column in columns if column != "seen_at")
    mine, theirs = (f"(SELECT {shown} FROM {where}.{table})" for where in ("floor.main", f"ours.{schema}"))
    either = f"({mine} EXCEPT ALL {theirs}) UNION ALL ({theirs} EXCEPT ALL {mine}) LIMIT 1"
    try:
        return not connection.execute(either).fetchall()
    except duckdb.Error:  # a table or a column that only one side knows
        return False


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    print(json.dumps(differing(*sys.argv[1:])))
