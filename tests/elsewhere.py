"""Homes on the shared destinations, and what is in two homes compared row by row."""

import shutil
from pathlib import Path
from typing import Any

import duckdb

from pipelines.sync.shards import Shard
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.ducklake.destination import DuckLake
from pipelines.warehouse.postgres.destination import Postgres
from tests.long import LONG
from tests.servers import Cluster

ENGINES = ("postgres", "ducklake")
IN_CI = ENGINES if LONG else ("postgres",)  # a lake takes twice the time
COMPARED = ("feedback.events", "feedback.comments", "feedback.threads", "feedback.diff_notes", "feedback.parents",
            "feedback.documents", "feedback.links", "ops.completeness", "ops.accounts")  # fmt: skip
OWN_CLOCK = ("seen_at", "checked_at", "last_polled_at", "last_new_at")  # of the run, not of what was said


def place(engine: str, server: Cluster, folder: Path, database: str = "", shard: Shard = Shard()) -> DataDir:
    address = server.address(database or server.database())
    where: Any = Postgres(address) if engine == "postgres" else DuckLake(address, f"{folder / 'lake'}/")
    return DataDir(folder / f"data{shard.suffix}", where, shard)


def begun(base: DataDir, server: Cluster, folder: Path) -> DataDir:
    """A copy of who has read something into Postgres, to go on from: its own database and directory."""
    there = base.destination
    assert isinstance(there, Postgres)
    home = place("postgres", server, folder, server.database(like=there.address.database))
    shutil.copytree(base.path, home.path)
    return home


def same_place(home: DataDir, shard: Shard) -> DataDir:
    """Another runner's: its own directory and connections, the same tables."""
    there = home.destination
    where: Any = Postgres(there.address) if isinstance(there, Postgres) else DuckLake(there.catalog, there.storage)  # type: ignore[attr-defined]
    return DataDir(home.path.parent / f"data{shard.suffix}", where, shard)


def differences(ours: DataDir, theirs: DataDir, tables: tuple[str, ...] = COMPARED) -> dict[str, list[Any]]:
    """Rows that only one of them has, by table; instants are compared as instants, the run's own clock is not."""
    found: dict[str, list[Any]] = {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        ours.destination.attach(connection, ours, "ours", read_only=True)
        theirs.destination.attach(connection, theirs, "theirs", read_only=True)
        for table in tables:
            names = [
                row[0] for row in connection.execute(f"DESCRIBE ours.{table}").fetchall() if row[0] not in OWN_CLOCK
            ]
            columns = ", ".join(f'"{name}"' for name in names)
            for one, other in (("ours", "theirs"), ("theirs", "ours")):
                only = f"SELECT {columns} FROM {one}.{table} EXCEPT ALL SELECT {columns} FROM {other}.{table}"
                found.setdefault(table, []).extend((one, row) for row in connection.execute(only).fetchall())
            assert connection.execute(f"SELECT count(*) > 0 FROM ours.{table}").fetchone() == (True,), (
                f"{table} is empty"
            )
    return {table: rows for table, rows in found.items() if rows}
