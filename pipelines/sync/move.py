"""`earshot move --to postgres`: what a warehouse file holds, on a destination that several runners share.

Rows go as they are, so what was first seen stays first seen, and with them how far every list was read: the first run
over there asks for what is new since, and for nothing else. All of it is one transaction: a move that is killed has
moved nothing and can be begun again. The file stays where it is.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import Answer, Refusal, answering
from pipelines.settings import EarshotConfig, landed_fills, landed_tables, load
from pipelines.state import decisions
from pipelines.warehouse.choice import DEFAULT, destination
from pipelines.warehouse.configured import home_of
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import LandingError, Unavailable
from sources.core.config import ConfigError
from sources.core.values import Table

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

__all__ = ["Moved", "NotEmpty", "move", "moved"]

LOADS = (
    "load_id VARCHAR NOT NULL, schema_name VARCHAR, status BIGINT NOT NULL, inserted_at TIMESTAMPTZ NOT NULL,"
    " schema_version_hash VARCHAR"
)
ROOT, CHILD = ("_dlt_load_id", "_dlt_id"), ("_dlt_root_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id")

COLUMNS = """
SELECT column_name FROM duckdb_columns() WHERE database_name = 'ours' AND schema_name || '.' || table_name = ?
"""


class NotEmpty(Exception):
    """There is something over there already; two pasts are not to be mixed."""


@dataclass
class Moved:
    rows: dict[str, int] = field(default_factory=dict)  # by landed table
    cursors: int = 0
    decisions: int = 0
    events: int = 0


@click.command()
@click.option("--to", "name", required=True, metavar="NAME", help="postgres or ducklake, as configured.")
@answering
def move(name: str) -> Answer:
    """Copy the warehouse file to another destination.

    With how far everything was read and what was decided. Then set `[earshot] destination`; the
    file stays as it is, for as long as you want it.
    """
    import duckdb

    settings, config = load(Path.cwd())
    ours = home_of(Path.cwd(), settings, replace(config, shard=""), named=DEFAULT)
    if name == DEFAULT or not ours.warehouse.exists():
        raise ConfigError(f"there is no {ours.warehouse} to be moved" if name != DEFAULT else "it is there already")
    theirs = replace(ours, destination=destination(name, settings, Path.cwd()))
    try:
        told = moved(ours, theirs, config)
    except (LandingError, NotEmpty, Unavailable) as error:
        raise Refusal("FAILED", str(error)) from None
    except duckdb.Error as error:
        said = theirs.destination.safe(str(error).splitlines()[0])
        raise Refusal("FAILED", f"not moved: {said:.300}", "begin it again; the file is as it was") from None

    def show(console: "Console") -> None:
        rows = f"{sum(told.rows.values()):,} rows of {len(told.rows)} tables, {told.cursors:,} cursors"
        console.print(f"{rows}, {told.decisions:,} decisions; {told.events:,} events are there now.", soft_wrap=True)
        console.print(f'Go on there:  [earshot] destination = "{name}" in .dlt/config.toml', soft_wrap=True)

    return Answer(asdict(told), show)


def moved(ours: DataDir, theirs: DataDir, config: EarshotConfig) -> Moved:
    """Both are ours alone while it lasts."""
    told = Moved()
    with ExitStack() as held:
        held.enter_context(ours.lock())
        held.enter_context(theirs.destination.single_flight(theirs))
        if theirs.destination.is_published(theirs):
            raise NotEmpty(f"{theirs.destination.told(theirs)} holds a warehouse already; move into an empty one")
        _rows(ours, theirs, told)
        _cursors(ours, theirs, told)
        _decisions(ours, theirs, told)
        _build(theirs, told, config)
    return told


def _rows(ours: DataDir, theirs: DataDir, told: Moved) -> None:
    import duckdb

    for source, tables in landed_tables().items():
        with theirs.destination.landing(theirs, source, tables):
            pass  # makes the tables
    with duckdb.connect() as connection:
        quoted = str(ours.warehouse).replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS ours (READ_ONLY)")
        theirs.destination.attach(connection, theirs, "theirs", read_only=False)
        connection.begin()
        for source in landed_tables():
            _loads(connection, source)
        for name, table in _landed():
            held = {row[0] for row in connection.execute(COLUMNS, [name]).fetchall()}
            if not held:  # a first run was ended
                continue
            columns = ", ".join(c for c in [*table.columns, *(CHILD if "__" in name else ROOT)] if c in held)
            connection.execute(f"DELETE FROM theirs.{name}")  # of a move that got this far and no further
            connection.execute(f"INSERT INTO theirs.{name} ({columns}) SELECT {columns} FROM ours.{name}")
            count = connection.execute(f"SELECT count(*) FROM ours.{name}").fetchone()
            told.rows[name] = int(count[0]) if count else 0
        connection.commit()


def _loads(connection: "duckdb.DuckDBPyConnection", source: str) -> None:
    """Which packages were finished: rows of any other vouch for nothing, and would all be asked for again. dlt makes
    the table where it is missing, and so do we: as it does.
    """
    if not connection.execute(COLUMNS, [f"{source}._dlt_loads"]).fetchall():
        return
    connection.execute(f"CREATE TABLE IF NOT EXISTS theirs.{source}._dlt_loads ({LOADS})")
    connection.execute(f"DELETE FROM theirs.{source}._dlt_loads")
    names = ", ".join(column.split()[0] for column in LOADS.split(", "))
    connection.execute(f"INSERT INTO theirs.{source}._dlt_loads ({names}) SELECT {names} FROM ours.{source}._dlt_loads")


def _landed() -> Iterator[tuple[str, Table]]:
    for source, tables in landed_tables().items():
        for root in tables:
            for name, table in root.family().items():
                yield f"{source}.{name}", table


def _cursors(ours: DataDir, theirs: DataDir, told: Moved) -> None:
    """After their rows."""
    from pipelines.state.ledger import Ledger
    from pipelines.sync.source.pipeline import SourcePipeline

    with Ledger.open(ours.control) as ledger:
        for source, tables in landed_tables().items():
            cursors = SourcePipeline.open(ours, source, tables, landed_fills()[source]).cursors
            theirs.destination.keep_cursors(theirs, source, cursors, ledger.scopes(source))
            told.cursors += sum(map(len, cursors.values()))


def _decisions(ours: DataDir, theirs: DataDir, told: Moved) -> None:
    """Acknowledgements, answers, what is watched, links: all that people and programs decided."""
    with ours.destination.control(ours, writes=False) as here:
        held = {t: decisions.dicts(here, t) for t in decisions.TABLES if here is not None and here.has(t)}
    with decisions.writing(theirs) as there:
        for table, rows in held.items():
            for row in rows:
                columns, marks = ", ".join(row), ", ".join("?" * len(row))
                there.rows(f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", [*row.values()])
            told.decisions += len(rows)


def _build(theirs: DataDir, told: Moved, config: EarshotConfig) -> None:
    """So that readers find all of it at once, by the settings and decisions that hold. The next run builds it again
    only if its settings are others.
    """
    from pipelines.models import build
    from pipelines.state import mirror
    from pipelines.sync.after_load import made_of

    with theirs.destination.building(theirs, {}) as connection:
        mirror.prepare(connection, config.authors, config.command_prefix, config.team)
        mirror.mirror_decisions(connection, theirs)
        build.build(connection, landed_tables(), anew=True, is_shared=theirs.destination.is_shared)
        build.regenerate(connection, landed_tables(), is_shared=theirs.destination.is_shared)
        count = connection.execute("SELECT count(*) FROM feedback.events").fetchone()
        told.events = int(count[0]) if count else 0
        theirs.destination.remember_made(connection, made_of(config.authors, config.command_prefix, config.team))
