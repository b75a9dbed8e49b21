"""Which version of Earshot keeps its tables here. Another one's are neither read nor written: nothing converts them, so
that no warehouse is half of one and half of the other.

A number stands in control.sqlite (`user_version`), with the models (`ops.settings`) and on a shared server
(`control.version`). Tables where no number is were made by 0.1.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sources.core.config import ConfigError

if TYPE_CHECKING:
    import duckdb

__all__ = ["VERSION", "OtherVersion", "as_it_lies", "refuse_another", "refuse_control", "refuse_models", "stamp"]

VERSION = 2
HELD = "SELECT version FROM ops.settings"


class OtherVersion(ConfigError):
    """What to do, in one line."""

    def __init__(self, where: object, aside: str = "move it aside") -> None:
        super().__init__(f"{where} was made by Earshot 0.1: {aside}, and the next run reads everything anew")


def refuse_control(file: Path) -> None:
    """As it lies there: who opens it as usual makes files beside it. Raises `OtherVersion`.

    Never by opening it ourselves: closing a file takes away all locks that this process holds on it, also those of
    SQLite's own connections to it. Another process would think itself alone, take the log away from under us, and what
    we commit then is in no file that others read, or in both halves of one.
    """
    if not file.is_file() or not file.stat().st_size:
        return
    with suppress(sqlite3.DatabaseError), closing(as_it_lies(file)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise OtherVersion(file.parent)


def as_it_lies(file: Path) -> sqlite3.Connection:
    """To be read as if nobody wrote: nothing is locked, no file is made beside it, its log is not looked at."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)


def stamp(connection: sqlite3.Connection, file: Path) -> None:
    """Before anything is written: a new file is of this version, another's is refused."""
    refuse_control(file)
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        connection.execute(f"PRAGMA user_version = {VERSION}")


def refuse_models(connection: "duckdb.DuckDBPyConnection", where: object, aside: str = "move it aside") -> bool:
    """Whether models were built there, by this version. Raises `OtherVersion`."""
    import duckdb

    try:
        found = connection.execute(HELD).fetchone()
    except duckdb.CatalogException:
        return False
    except duckdb.BinderException:
        found = (None,)
    if found and found[0] != VERSION:
        raise OtherVersion(where, aside)
    return True


def refuse_another(control: Path, copies: Iterable[Path]) -> None:
    """A data directory, by its control.sqlite, or where that is missing, by what was published. Damaged files are for
    whoever opens them.
    """
    refuse_control(control)
    for copy in copies:
        if copy.is_file() and not control.is_file():
            import duckdb

            with suppress(duckdb.Error), duckdb.connect(str(copy), read_only=True) as warehouse:
                refuse_models(warehouse, copy.parent)
