"""One DuckDB a process, with the lake attached to it: every connection to the lake is one of its cursors.

An instance of its own for each question (or, as dlt does it, for each table) verifies two extensions and asks the
catalog for everything again: 0.2 s each, half a minute in a first run.
"""

import atexit
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import RLock
from typing import TYPE_CHECKING

from pipelines.warehouse.postgres.attached import load_extension, postgres_secret, quoted, spilling
from pipelines.warehouse.postgres.server import Address

if TYPE_CHECKING:
    import duckdb

__all__ = ["EXTENSIONS", "NAME", "attach", "cursor", "instance_of", "opened"]

NAME = "earshot"  # of the lake, and of its schema in the catalog
EXTENSIONS = ("postgres_scanner", "ducklake")
MAKING = 0x65617277  # an advisory lock
SPARING = {"memory_limit": "384MiB", "threads": "2", "preserve_insertion_order": "false"}
_INSTANCES: "dict[str, duckdb.DuckDBPyConnection]" = {}
_ALONE = RLock()


def cursor(catalog: Address, storage: str) -> "duckdb.DuckDBPyConnection":
    with _ALONE:
        key = f"{catalog.host}:{catalog.port}/{catalog.database}"
        if key not in _INSTANCES:
            _INSTANCES[key] = opened(catalog, storage)
        return _using(_INSTANCES[key].cursor())


def instance_of(host: str, port: int, database: str) -> "duckdb.DuckDBPyConnection":
    """The one that `cursor` opened before."""
    with _ALONE:
        return _using(_INSTANCES[f"{host}:{port}/{database}"].cursor())


def attach(
    connection: "duckdb.DuckDBPyConnection", catalog: Address, storage: str, name: str, *, read_only: bool
) -> None:
    for extension in EXTENSIONS:
        load_extension(connection, extension)
    secret = postgres_secret(connection, catalog)
    parameters = f"MAP {{'TYPE': 'postgres', 'SECRET': '{secret}'}}"
    connection.execute(
        f"CREATE OR REPLACE SECRET earshot_lake (TYPE ducklake, METADATA_PATH {quoted(catalog.more)},"
        f" DATA_PATH {quoted(storage)}, METADATA_SCHEMA '{NAME}', METADATA_PARAMETERS {parameters})"
    )
    attached = f"ATTACH 'ducklake:earshot_lake' AS {name}{' (READ_ONLY)' if read_only else ''}"
    with nullcontext() if read_only else _one_maker(catalog):
        connection.execute(attached)


@contextmanager
def _one_maker(catalog: Address) -> Iterator[None]:
    """A lake is made by whoever attaches it first. Two that both find none would make it twice, and the later one be
    told by its catalog that the tables are there: it waits instead, and finds them. Its lock goes with the connection.
    """
    import duckdb
    import psycopg2

    try:
        connection = catalog.connect("earshot lake")
    except psycopg2.Error as error:
        raise duckdb.IOException(f"{catalog}: {catalog.safe(str(error).strip())}") from None
    try:
        with connection.cursor() as asking:
            asking.execute("SELECT to_regclass(%s)", (f"{NAME}.ducklake_metadata",))
            if asking.fetchone()[0] is None:
                asking.execute("SELECT pg_advisory_lock(%s)", (MAKING,))
        yield
    finally:
        connection.close()


def opened(catalog: Address, storage: str) -> "duckdb.DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(config={"temp_directory": spilling(), **SPARING})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    attach(connection, catalog, storage, NAME, read_only=False)
    return connection


def _using(connection: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
    connection.execute(f"USE {NAME}")
    return connection


@atexit.register
def _close() -> None:
    for connection in _INSTANCES.values():
        with suppress(Exception):  # the process ends; a server that is gone needs no farewell
            connection.close()
