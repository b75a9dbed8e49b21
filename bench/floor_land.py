"""The second half of every floor: rows into DuckDB, merged by key, as a program must that will run again."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

__all__ = ["land"]


def land(
    file: str,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    schemas: Mapping[str, pa.Schema],
    keys: Mapping[str, Sequence[str]],
) -> int:
    landed = 0
    with duckdb.connect(file) as connection:
        for name, rows in tables.items():
            schema = schemas[name]
            found = pa.table({column: [row[column] for row in rows] for column in schema.names}, schema=schema)
            key = " AND ".join(f"{name}.{part} = found.{part}" for part in keys[name])
            connection.execute(f"CREATE TABLE IF NOT EXISTS {name} AS FROM found LIMIT 0")
            connection.execute("BEGIN")
            connection.execute(f"DELETE FROM {name} USING found WHERE {key}")
            connection.execute(f"INSERT INTO {name} BY NAME FROM found")
            connection.execute("COMMIT")
            landed += found.num_rows
    return landed
