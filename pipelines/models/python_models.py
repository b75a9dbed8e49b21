"""Models whose rows Python reads out of what their SQL selects: for what SQL cannot parse, on any engine."""

import duckdb
import pyarrow as pa

from pipelines.models import slash_commands

__all__ = ["create", "insert"]

PARSERS = {"marks": slash_commands}  # a parser has COLUMNS, and `rows` of one selected row with what is GIVEN
AT_ONCE = 4_000  # texts


def create(connection: duckdb.DuckDBPyConnection, name: str, sql: str, parser: str | None) -> None:
    """The table `name`, new, of what the SQL selects or a parser makes of that."""
    if parser is None:
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS {sql}")
        return
    connection.execute(f"CREATE OR REPLACE TABLE {name} ({PARSERS[parser].COLUMNS})")
    insert(connection, name, sql, parser)


def insert(connection: duckdb.DuckDBPyConnection, name: str, sql: str, parser: str | None) -> None:
    if parser is None:
        connection.execute(f"INSERT INTO {name} BY NAME {sql}")
        return
    numbered = f"SELECT row_number() OVER () AS number, texts.* FROM ({sql}) AS texts"  # there may be many
    connection.execute(f"CREATE OR REPLACE TEMP TABLE texts AS {numbered}")
    given = ", ".join(PARSERS[parser].GIVEN)
    some, first = f"SELECT {given} FROM texts WHERE number BETWEEN ? AND ?", 1
    while texts := connection.execute(some, [first, first + AT_ONCE - 1]).fetchall():
        first += AT_ONCE
        rows = [row for text in texts for row in PARSERS[parser].rows(*text)]
        if rows:
            names = [column.split()[0] for column in PARSERS[parser].COLUMNS.split(", ")]
            connection.register("made", pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))
            connection.execute(f"INSERT INTO {name} SELECT {', '.join(names)} FROM made")
            connection.unregister("made")
    connection.execute("DROP TABLE texts")
