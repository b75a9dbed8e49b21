"""What shared destinations keep beside the rows, in the same tables on every engine: cursors, and how all was made.

Cursors are written after their rows, so they can be behind (a kill in between: the rows are read again, merges make
that harmless) and never ahead. Whoever owns a scope reads on from there, on whatever machine.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import orjson

from pipelines.models.control_tables import TABLES
from pipelines.state import mirror
from pipelines.warehouse.destination import Cursors
from sources.core.values import fingerprint

if TYPE_CHECKING:
    import duckdb

    from sources.core.values import Table

__all__ = [
    "SETTINGS",
    "forget_cursors",
    "keep_cursors",
    "kept_cursors",
    "learn",
    "learned",
    "shape_of",
    "shaped",
]

SETTINGS = "settings"
MADE = "CREATE TABLE IF NOT EXISTS ops.made (name VARCHAR, value VARCHAR)"


class _Told(Mapping[str, object]):
    """Cursors as text until somebody asks for one: of a hundred thousand scopes a shard needs its own alone."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def __getitem__(self, scope: str) -> object:
        return orjson.loads(self.texts[scope])

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def kept_cursors(connection: "duckdb.DuckDBPyConnection", source: str) -> Cursors:
    import duckdb

    texts: dict[str, dict[str, str]] = {}
    try:
        found = connection.execute("SELECT surface, scope, state FROM ops.cursors WHERE source = ?", [source])
    except duckdb.CatalogException:  # nothing has landed yet
        return {}
    for surface, scope, state in found.fetchall():
        texts.setdefault(surface, {})[scope] = state
    return {surface: _Told(scopes) for surface, scopes in texts.items()}


def keep_cursors(
    connection: "duckdb.DuckDBPyConnection", source: str, cursors: Cursors, names: Mapping[str, str]
) -> None:
    connection.begin()
    mirror.put_cursors(connection, source, cursors, names)
    connection.commit()


def forget_cursors(connection: "duckdb.DuckDBPyConnection", source: str, scopes: Iterable[str] | None) -> int:
    held = {scope for told in kept_cursors(connection, source).values() for scope in told}
    gone = held if scopes is None else held & set(scopes)
    found = 0
    for scope in gone:
        row = connection.execute(
            "SELECT count(*) FROM ops.cursors WHERE source = ? AND scope = ?", [source, scope]
        ).fetchone()
        found += row[0] if row else 0
        connection.execute("DELETE FROM ops.cursors WHERE source = ? AND scope = ?", [source, scope])
    return found


def learned(connection: "duckdb.DuckDBPyConnection", name: str) -> str | None:
    """What whoever wrote here last remembered under this name, e.g. the fingerprint of the models."""
    import duckdb

    try:
        row = connection.execute("SELECT value FROM ops.made WHERE name = ?", [name]).fetchone()
    except duckdb.CatalogException:
        return None
    return str(row[0]) if row else None


def learn(connection: "duckdb.DuckDBPyConnection", name: str, value: str) -> None:
    connection.execute(MADE)  # where a first landing broke off, nobody has made it
    connection.execute("DELETE FROM ops.made WHERE name = ?", [name])
    connection.execute("INSERT INTO ops.made VALUES (?, ?)", [name, value])


def shape_of(tables: Iterable["Table"]) -> str:
    return fingerprint([(root.name, root.key, str(t.schema)) for root in tables for t in root.family().values()])


def shaped(
    connection: "duckdb.DuckDBPyConnection", source: str, tables: Iterable["Table"], more: Iterable[str]
) -> None:
    """Makes the landed tables as they are declared now, and `more` of what the engine wants; in one transaction."""
    from pipelines.models.landed_tables import TYPES, landed_table

    connection.begin()
    for schema in (source, "ops"):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    connection.execute(MADE)
    connection.execute(f"CREATE TABLE IF NOT EXISTS ops.cursors ({TABLES['cursors']})")
    is_older = learned(connection, f"shape {source}") is not None
    for root in tables:
        for name, table in root.family().items():
            connection.execute(landed_table(f"{source}.{name}", table))
            for column, kind in table.columns.items() if is_older else ():
                connection.execute(f"ALTER TABLE {source}.{name} ADD COLUMN IF NOT EXISTS {column} {TYPES[str(kind)]}")
    for statement in more:
        connection.execute(statement)
    learn(connection, f"shape {source}", shape_of(tables))
    connection.commit()
