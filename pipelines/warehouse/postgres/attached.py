"""Other databases as part of a DuckDB connection: how readers ask every engine in one dialect.

DuckDB reaches them with extensions. They come from a package where one is installed (offline), else from where DuckDB
itself keeps them.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pipelines.warehouse.postgres.server import Address

if TYPE_CHECKING:
    import duckdb

__all__ = ["extension_file", "in_memory", "load_extension", "postgres_secret", "quoted", "spilling"]

SECRET = "earshot_server"


@lru_cache
def extension_file(name: str) -> str | None:
    """Of the package `duckdb-extension-NAME`, for this version of DuckDB."""
    import duckdb

    found = find_spec(f"duckdb_extension_{name}")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(next(iter(found.submodule_search_locations))) / "extensions" / f"v{duckdb.__version__}"
    file = folder / f"{name}.duckdb_extension"
    return str(file) if file.is_file() else None


def load_extension(connection: "duckdb.DuckDBPyConnection", name: str) -> None:
    file = extension_file(name)
    if file:
        connection.execute(f"LOAD {quoted(file)}")
    else:
        connection.execute(f"INSTALL {name}")
        connection.execute(f"LOAD {name}")


@contextmanager
def in_memory() -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB of nothing, to attach others to. No `temp_directory`: readers may reach all that is in it."""
    import duckdb

    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        yield connection


def postgres_secret(connection: "duckdb.DuckDBPyConnection", address: Address) -> str:
    """The name under which this connection knows the address: a password in a statement would end up in errors."""
    known = {
        "HOST": address.host,
        "PORT": str(address.port),
        "DATABASE": address.database,
        "USER": address.user,
        "PASSWORD": address.password,
    }
    parts = ", ".join(f"{name} {quoted(value)}" for name, value in known.items() if value)
    connection.execute(f"CREATE OR REPLACE SECRET {SECRET} (TYPE postgres, {parts})")
    return SECRET


def spilling() -> str:
    """Where one instance puts what has no room; DuckDB makes the directory, and removes it. What lies in it is always
    called the same: two runners that spill into one read each other's rows.
    """
    return str(Path(tempfile.gettempdir()) / f"earshot-{uuid4().hex}")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
