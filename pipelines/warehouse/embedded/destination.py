"""The DuckDB file, the default: `warehouse.duckdb` is the run's own, readers get a copy of it, whole and atomically."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.warehouse.destination import Cursors, Home
from pipelines.warehouse.version import refuse_models

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from pipelines.state.ledger import Ledger
    from pipelines.warehouse.control import Control
    from sources.core.values import Table

__all__ = ["EMBEDDED", "Embedded"]

STAGING = """
SELECT schema_name FROM duckdb_schemas()
WHERE database_name = current_database() AND ends_with(schema_name, '_staging')
"""

FORGET = """
DELETE FROM {0}._dlt_pipeline_state WHERE pipeline_name = ? AND _dlt_load_id < (
    SELECT max(state._dlt_load_id) FROM {0}._dlt_pipeline_state AS state
    INNER JOIN {0}._dlt_loads AS load ON load.load_id = state._dlt_load_id
    WHERE state.pipeline_name = ? AND load.status = 0
)
"""


@dataclass(frozen=True)
class Embedded:
    is_shared: bool = False

    def single_flight(self, home: Home) -> nullcontext[None]:
        return nullcontext()  # the file is this machine's, and so is the lock beside it

    def restore_control(self, home: Home) -> None:
        if not home.control.is_file():
            from pipelines.warehouse.embedded.restore import restore_control

            restore_control(home)

    def restore_rows(self, home: Home) -> None:
        from pipelines.warehouse.embedded.restore import restore_warehouse

        restore_warehouse(home)

    def for_dlt(self, home: Home) -> Any:
        from pipelines.warehouse.for_dlt.destination import earshot

        return earshot(str(home.path), is_locked=True)

    def is_there(self, home: Home) -> bool:
        return home.warehouse.exists()

    def holds(self, home: Home, source: str, load: str) -> bool:
        import duckdb

        with self.looking(home) as connection:
            try:
                return bool(
                    connection.execute(f"SELECT 1 FROM {source}._dlt_loads WHERE load_id = ?", [load]).fetchone()
                )
            except duckdb.CatalogException:
                return False

    def is_shaped(self, home: Home, source: str, tables: Sequence["Table"]) -> None:
        return None

    def forget_states(self, home: Home, source: str, pipeline: str) -> None:
        """Before the next package, so that a publish copies one. By the rule that dlt restores by: the last load that
        was finished, in the order of their names.
        """
        with self.building(home, {}) as connection:
            connection.execute(FORGET.format(source), [pipeline, pipeline])

    @contextmanager
    def landing(self, home: Home, source: str, tables: Sequence["Table"]) -> Iterator[None]:
        """dlt makes the tables, and adds most columns; what it makes with their first row only is there, too."""
        families = {f"{source}.{name}": table for root in tables for name, table in root.family().items()}
        if families and home.warehouse.exists():
            from pipelines.models.landed_tables import widen

            with self.building(home, {}) as connection:
                widen(connection, families)
        yield
        if families:
            from pipelines.models.landed_tables import ensure

            with self.building(home, {}) as connection:
                ensure(connection, families)

    def cursors(self, home: Home, source: str) -> None:
        return None

    def keep_cursors(self, home: Home, source: str, cursors: Cursors, names: Mapping[str, str]) -> None:
        """They went with the package."""

    def forget_cursors(self, home: Home, source: str, scopes: Iterable[str] | None) -> int:
        return 0

    @contextmanager
    def looking(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection"]:
        import duckdb

        with duckdb.connect(str(home.warehouse), read_only=True) as connection:
            refuse_models(connection, home.path)
            yield connection

    @contextmanager
    def building(self, home: Home, config: Mapping[str, Any]) -> Iterator["duckdb.DuckDBPyConnection"]:
        import duckdb

        with duckdb.connect(str(home.warehouse), config=dict(config)) as connection:
            refuse_models(connection, home.path)
            yield connection

    @contextmanager
    def held_open(self, home: Home, config: Mapping[str, Any], settings: Sequence[str]) -> Iterator[None]:
        """Closing it writes its log into it, and opening it reads that again: 0.1 s each time."""
        import duckdb

        with duckdb.connect(str(home.warehouse), config=dict(config)) as connection:
            for setting in settings:
                connection.execute(setting)
            yield

    @contextmanager
    def unbounded(self, home: Home, config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        import duckdb

        with duckdb.connect() as any_, self.building(home, config) as connection:
            usual = any_.execute("SELECT current_setting('memory_limit')").fetchone()
            limit = usual[0] if usual else "1GiB"
            connection.execute(f"SET memory_limit = '{limit}'")  # RESET does not reach the buffers
            yield config

    def checkpoint(self, home: Home, config: Mapping[str, Any]) -> None:
        from pipelines.warehouse.embedded.restore import lacks
        from pipelines.warehouse.errors import PublishError

        with self.building(home, config) as connection:
            if lacks(connection, home):
                raise PublishError(
                    f"not published: {home.published} holds what {home.warehouse.name} lacks, and keeps it. Remove"
                    f" {home.warehouse.name} to go on from there; or {home.published.name}, to go on without that"
                )
            connection.execute("CHECKPOINT")

    def made_with(self, home: Home, ledger: "Ledger") -> str | None:
        return ledger.state.made_with

    def remember_made(self, connection: "duckdb.DuckDBPyConnection", settings: str) -> None:
        """Remembered in the ledger, once it is published."""

    def is_published(self, home: Home) -> bool:
        return home.published.exists()

    def publish(self, home: Home) -> int:
        import duckdb

        from pipelines.warehouse.errors import PublishError
        from pipelines.warehouse.files import copied

        try:
            return copied(home.warehouse, home.published, _without_staging)
        except (OSError, duckdb.Error) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
            told = f"could not publish {home.published}: {why}; readers keep the last state"
            raise PublishError(told) from None

    @contextmanager
    def published(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection | None"]:
        import duckdb

        if not home.published.exists():
            yield None
            return
        with duckdb.connect(
            str(home.published), read_only=True, config={"enable_external_access": "false"}
        ) as connection:
            refuse_models(connection, home.path)
            yield connection

    @contextmanager
    def control(self, home: Home, *, writes: bool) -> "Iterator[Control | None]":
        from pipelines.warehouse.control import in_copy, in_sqlite

        if writes or home.control.is_file():
            with in_sqlite(home.control, writes=writes) as control:
                yield control
            return
        from pipelines.warehouse.embedded.restore import as_published

        with as_published(home) as copy:
            yield in_copy(copy) if copy else None

    def claim(self, home: Home, name: str) -> nullcontext[bool]:
        return nullcontext(True)  # the file is this machine's

    def attach(self, connection: "duckdb.DuckDBPyConnection", home: Home, name: str, *, read_only: bool) -> None:
        file = home.published if read_only else home.warehouse
        quoted = str(file).replace("'", "''")  # ATTACH takes no parameters
        connection.execute(f"ATTACH '{quoted}' AS {name}{' (READ_ONLY)' if read_only else ''}")

    def told(self, home: Home) -> str:
        return str(home.published)

    def remedy(self, home: Home) -> str:
        if home.warehouse.exists():
            return f"delete {home.published} and run `earshot sync`: it is made again from the warehouse"
        return f"put a backup in its place: there is no {home.warehouse} that it could be made of"

    def unreachable(self, home: Home, error: str) -> str:
        first = f"{home.warehouse} cannot be opened: {error.splitlines()[0]}"
        if "lock" in error:
            return f"{first}; close what else has opened it: readers open {home.published.name}"
        source = f"the next run makes it of {home.published.name}" if home.published.is_file() else "all is read anew"
        return f"{first}; if it is damaged, put a backup in its place, or move it away: {source}"

    def safe(self, text: str) -> str:
        return text


def _without_staging(copy: "Path") -> None:
    """What dlt merges from is its own. In the warehouse it stays: made again for every load it would take 0.2 s."""
    import duckdb

    with duckdb.connect(str(copy), config={"threads": "1"}) as connection:
        for (schema,) in connection.execute(STAGING).fetchall():
            connection.execute(f'DROP SCHEMA "{schema}" CASCADE')


EMBEDDED = Embedded()
