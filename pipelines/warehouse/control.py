"""The one place for what people and consumers write between runs: acknowledgements, and whatever else must be the same
for all runners and readers of a destination.

With the embedded file that is control.sqlite, which is writable while DuckDB is locked; where a server is shared, the
schema `control` on it (of a lake: in its catalog's database). The SQL is the part that SQLite and Postgres have in
common, with `?` for values: `INSERT … ON CONFLICT DO NOTHING RETURNING` tells each of two at the same moment its own
truth on both.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pipelines.warehouse.errors import Unavailable
from pipelines.warehouse.postgres.server import Address
from pipelines.warehouse.version import VERSION, OtherVersion, as_it_lies, refuse_control, stamp

__all__ = ["ASIDE", "Control", "in_copy", "in_sqlite", "on_server", "to_be_read"]

PATIENCE = 10.0  # seconds; a run writes its ledger in moments
MAKING = 0x65617275  # an advisory lock: two that make one table at once would both be told that it is there


# what runs leave on a server that they share, where it is not known by number
OF_0_1 = ("control.runners", "control.acknowledgements", "control.answers", "ops.made")
ASIDE = "name an empty database, or move its schemas aside"


class Control(Protocol):
    """One transaction."""

    def need(self, table: str, columns: str) -> None:
        """Makes the table where it is missing."""

    def has(self, table: str) -> bool: ...

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def json_list(self, query: str, values: Sequence[Any] = ()) -> str:
        """The one column that `query` calls `value`, as a JSON list which the database makes itself."""


class _Sqlite:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def need(self, table: str, columns: str) -> None:
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")

    def has(self, table: str) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = ?", [table]))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, tuple(values)).fetchall()

    def json_list(self, query: str, values: Sequence[Any] = ()) -> str:
        return str(self.rows(f"SELECT json_group_array(value) FROM ({query})", values)[0][0])


class _Server:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def need(self, table: str, columns: str) -> None:
        if not self.has(table):
            self.rows("SELECT pg_advisory_xact_lock(?)", [MAKING])
            self._say("CREATE SCHEMA IF NOT EXISTS control")
            self._say(f"CREATE TABLE IF NOT EXISTS control.{table} ({columns})")

    def of_this_version(self, address: Address, *, writes: bool) -> None:
        """What nobody has written to becomes it, before it is. Raises `OtherVersion`."""
        if self.has("version"):
            is_right = self.rows("SELECT version FROM version") == [(VERSION,)]
        else:
            is_right = not any(self._is_there(table) for table in OF_0_1)
            if is_right and writes:
                self.need("version", "version INTEGER PRIMARY KEY")
                self.rows("INSERT INTO version VALUES (?) ON CONFLICT DO NOTHING", [VERSION])
        if not is_right:
            raise OtherVersion(address, ASIDE)

    def has(self, table: str) -> bool:
        return self._is_there(f"control.{table}")

    def _is_there(self, table: str) -> bool:
        return bool(self.rows("SELECT CAST(to_regclass(?) AS TEXT)", [table])[0][0])

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(query.replace("%", "%%").replace("?", "%s"), tuple(values))
            return list(cursor.fetchall()) if cursor.description else []

    def json_list(self, query: str, values: Sequence[Any] = ()) -> str:
        found = self.rows(f"SELECT CAST(coalesce(json_agg(value), '[]') AS TEXT) FROM ({query}) AS asked", values)
        return str(found[0][0])

    def _say(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)


def to_be_read(file: Path) -> sqlite3.Connection:
    """A database that somebody may be writing. To read it, too, SQLite makes a file beside it: where there is no room
    for that or no right to it, and nothing is being written, it is read as it lies there.
    """
    refuse_control(file)
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = file.with_name(f"{file.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return as_it_lies(file)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def in_sqlite(file: Path, *, writes: bool) -> Iterator[Control]:
    try:
        connection = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None) if writes else to_be_read(file)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            if writes:
                stamp(connection, file)
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            yield _Sqlite(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise Unavailable(f"{file} cannot be {'written' if writes else 'read'}: {error}") from None


def in_copy(connection: sqlite3.Connection) -> Control:
    """What is left of a file that is missing, to be read."""
    connection.row_factory = None
    return _Sqlite(connection)


@contextmanager
def on_server(address: Address, *, writes: bool) -> Iterator[Control]:
    import psycopg2

    try:
        connection = address.connect("earshot control")
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET search_path TO control")
            control = _Server(connection)
            control.of_this_version(address, writes=writes)
            yield control
            connection.commit()
        finally:
            connection.close()
    except psycopg2.Error as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Unavailable(f"{address}: {address.safe(said)[:300]}") from None
