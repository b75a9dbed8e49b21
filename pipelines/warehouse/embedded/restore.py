"""What was lost of a data directory, put back from what is left of it.

The published file is a whole copy of the warehouse, and holds old versions and tombstones that no service shows any
more; and with the run's bookkeeping it holds all that was decided. So a missing `warehouse.duckdb` is copied from it,
and a missing `control.sqlite` is made of it, before anything reads or writes. Only what is missing, or holds nothing at
all, is put back: rows that somebody dropped (`dlt pipeline … drop`) were dropped on purpose. To begin anew, the copy
has to go too.

What can come in between, and why nothing is lost or doubled by it:

- *Killed in the middle*: copies are made beside and put in place whole, last of all. Until then the file is missing,
  and the next run begins again. What is to be remembered with it (sweeps are due) is written before.
- *A published file of before the last landing*: dlt's working files are ahead of its rows, so they are not believed
  any more, also those that came from the warehouse themselves (`landed` is empty then): cursors come back with the
  rows that they vouch for. What a sweep found in between is found by another, and what was not looked at is.
- *A log of the lost file* beside it (`.wal`) would be replayed into the copy: it goes first.
- *Killed amid a write of DuckDB's*: a block fails its checksum ever after (seen once; half of it was written, as it
  seems). The log beside it shows that nobody closed the file: it is kept aside, and is as good as missing. Damage
  without a log has other causes, and what becomes of that file is not ours to say.
- *Two at once*: the warehouse is put back under the run's lock, `control.sqlite` under one on the directory, where the
  later finds what the earlier made.
- *What was decided after the last publish* is not in the copy: `restorations` remembers since when. An answer that was
  sent then is unknown here, so `reply` looks before it speaks, whatever is asked for; acknowledgements of then are
  gone, and their events are shown once more.
- *Records that were kept raw after the last publish* are not asked for by name any more; the sweep that is due compares
  counts.
- *Both are missing*: both come from the published file. *Nothing is left*: everything is read anew.
- *A warehouse that was taken away during a run*, or that is older than what was published: nobody may overwrite the
  copy then, see `lacks`.
- *Shared destinations* keep rows and decisions on their server. Only a runner's own ledger is lost there: it begins
  anew, as on a new machine.
"""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pendulum

from pipelines.models.control_tables import DECIDED, DECISIONS
from pipelines.settings import SOURCES
from pipelines.state.ledger import MIRRORED, Ledger
from pipelines.sync.shards import ALONE
from pipelines.warehouse.errors import LandingError, Unavailable
from pipelines.warehouse.files import Files, copied, set_aside
from pipelines.warehouse.version import OtherVersion, refuse_models

__all__ = ["as_published", "lacks", "restore_control", "restore_warehouse"]

log = logging.getLogger("earshot")

EMPTY = 100_000  # bytes; a DuckDB file without a table has 12,288
TORN = "Corrupt database file"
AT_ONCE = 10_000
# SQLite keeps instants as pendulum writes them
INSTANT = """strftime({0} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S')
    || CASE WHEN date_part('microseconds', {0}) % 1000000 = 0 THEN '' ELSE strftime({0}, '.%f') END || 'Z'"""
COLUMNS = "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'ops' AND table_name = ?"
LAST_RUN = f"""
SELECT {INSTANT.format("max(started_at)")} FROM ops.runs WHERE shard = '{ALONE}' AND started_at <= now()
"""
LONG_AGO = "1970-01-01T00:00:00Z"
READ = "SELECT DISTINCT source FROM ops.cursors"
ENDED = """
UPDATE runs SET finished_at = coalesce(heartbeat_at, started_at) WHERE finished_at IS NULL AND status <> 'running'
"""  # the run that published was still at work when it was copied
MADE = "SELECT schema_name FROM duckdb_tables() WHERE table_name = '_dlt_loads'"
REMEDY = "put a backup of either in its place; or move {0} away, and what services still show is read anew"


def restore_warehouse(home: Files) -> None:
    """From what was published, if it is missing, or torn. The run holds the lock."""
    file, published = home.warehouse, home.published
    log_of_it = file.with_name(f"{file.name}.wal")
    if log_of_it.exists() and (why := _torn(file)):
        log.warning("%s was torn as a run was killed (%.200s); it is kept as %s", file, why, set_aside(file).name)
    if not _is_lost(file):
        return
    if not _is_there(published):
        log_of_it.unlink(missing_ok=True)
        return
    try:
        as_of = _as_of(published)
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        remedy = REMEDY.format(published.name)
        raise LandingError(f"{file} is missing, and {published} cannot be read ({said:.200}): {remedy}") from None
    with Ledger.open(home.control) as ledger:
        ledger.look_again()
    for stale in (log_of_it, *home.working.glob("*/landed")):
        stale.unlink(missing_ok=True)
    try:
        copied(published, file)
    except OSError as error:
        raise LandingError(f"{file} is missing and could not be restored: {error.strerror or error}") from None
    log.warning("%s was missing: restored from %s, as of %s; what came since is read again", file, published, as_of)


def restore_control(home: Files) -> None:
    """From what was published, else from the warehouse, if it is missing."""
    file = home.control
    if _is_there(file) or not (held := _copies(home)):
        return
    folder = os.open(home.path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if _is_there(file):
            return
        partial = file.with_suffix(".partial")
        for stale in (partial, *(f.with_name(f.name + tail) for f in (partial, file) for tail in ("-wal", "-shm"))):
            stale.unlink(missing_ok=True)  # they would be replayed into what is put there
        with Ledger.open(partial) as ledger:
            as_of = _build(ledger, home, held)
        os.replace(partial, file)
        os.fsync(folder)
    finally:
        os.close(folder)
    log.warning("%s was missing: restored as of %s; what was decided since is lost, replies look first", file, as_of)


@contextmanager
def as_published(home: Files) -> Iterator[sqlite3.Connection | None]:
    """For who only looks while `control.sqlite` is missing: what it would be, in memory. None: there is no copy."""
    _is_there(home.control)
    held = _copies(home)
    if not held:
        yield None
        return
    with Ledger.open(Path(":memory:")) as ledger:
        _build(ledger, home, held)
        yield ledger.connection


def lacks(warehouse: duckdb.DuckDBPyConnection, home: Files) -> bool:
    """Whether what is published holds rows of loads that the warehouse has not: it was taken away during a run, or it
    is older. What cannot be read holds nothing.
    """
    if not home.published.is_file():
        return False
    try:
        with duckdb.connect(str(home.published), read_only=True, config={"threads": 1}) as published:
            theirs = _loads(published)
    except duckdb.Error:
        return False
    return not theirs <= _loads(warehouse)


def _loads(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    made = {name for (name,) in connection.execute(MADE).fetchall()}.intersection(SOURCES)
    loads = " UNION ".join(f"SELECT '{source}', load_id FROM {source}._dlt_loads" for source in sorted(made))
    return set(connection.execute(loads).fetchall()) if loads else set()


def _is_there(file: Path) -> bool:
    """What is refused has lost nothing: a disk that is not mounted, the directory that a container makes instead."""
    if file.is_symlink() and not file.exists():
        raise Unavailable(f"{file} is a link to {os.readlink(file)}, which is not there: mount it, or remove the link")
    if file.is_dir():
        raise Unavailable(f"{file} is a directory: put the file, or its backup, in its place; or remove the directory")
    return file.exists()


def _torn(file: Path) -> str:
    """Why what a killed run left cannot be opened, with its log played into it: a block that is half written."""
    try:
        duckdb.connect(str(file), read_only=True).close()
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        return said if TORN in said else ""
    return ""


def _is_lost(file: Path) -> bool:
    """Missing, or without a single table."""
    if not _is_there(file):
        return True
    size = file.stat().st_size
    if size > EMPTY:
        return False
    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            return not connection.execute("SELECT 1 FROM duckdb_tables() LIMIT 1").fetchone()
    except duckdb.Error:
        return size == 0


def _copies(home: Files) -> list[Path]:
    return [file for file in (home.published, home.warehouse) if _is_there(file) and not _is_lost(file)]


def _as_of(file: Path) -> str:
    """The last run that it knows of: whatever was decided after its start may be missing. A clock that was ahead then
    tells nothing.
    """
    with duckdb.connect(str(file), read_only=True) as connection:
        refuse_models(connection, file.parent)
        (last,) = connection.execute(LAST_RUN).fetchone() or (None,)
    return str(last or LONG_AGO)


def _build(ledger: Ledger, home: Files, copies: list[Path]) -> str:
    """The ledger and the decisions as the first of the copies knows them that can be read; as of when."""
    errors = list[str]()
    for copy in copies:
        try:
            with duckdb.connect(str(copy), read_only=True) as connection, ledger.transaction():
                if not refuse_models(connection, home.path):
                    raise OtherVersion(home.path)  # or a first run's that was killed: nobody knows whose
                for table, columns in DECISIONS.items():
                    ledger.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
                for table in MIRRORED:
                    _copy(connection, ledger.connection, table, f"WHERE shard = '{ALONE}'")
                for table in DECIDED:
                    _copy(connection, ledger.connection, table)
                ledger.connection.execute(ENDED)
                (last,) = connection.execute(LAST_RUN).fetchone() or (None,)
                as_of = str(last or LONG_AGO)
                ledger.connection.execute(
                    "INSERT INTO restorations VALUES (?, ?)", (pendulum.now("UTC").to_iso8601_string(), as_of)
                )
                ledger.look_again([row[0] for row in connection.execute(READ).fetchall()])
                ledger.state.is_unpublished = True  # perhaps
            return as_of
        except duckdb.Error as error:
            errors.append(f"{copy.name}: {str(error).splitlines()[0]:.150}")
    raise Unavailable(
        f"{home.control} is missing, and what it held cannot be read from its copies ({'; '.join(errors)}):"
        " try again when no run is at work, put backups in their place, or move them away and begin anew"
    )


def _copy(warehouse: duckdb.DuckDBPyConnection, ledger: sqlite3.Connection, table: str, where: str = "") -> None:
    """What both know by name: what a table has gained since, the copy does not have."""
    held = dict(warehouse.execute(COLUMNS, [table]).fetchall())
    if not held:
        return
    names, values = list[str](), list[str]()
    for _, name, kind, is_needed, default, is_key in ledger.execute(f"PRAGMA table_info({table})").fetchall():
        if name in held:
            names.append(name)
            values.append(INSTANT.format(name) if held[name].startswith("TIMESTAMP") else name)
        elif (is_needed or is_key) and default is None:
            names.append(name)
            values.append("''" if kind == "TEXT" else "0")
    marks = ", ".join("?" * len(names))
    found = warehouse.execute(f"SELECT {', '.join(values)} FROM ops.{table} {where}")
    while rows := found.fetchmany(AT_ONCE):
        ledger.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)
