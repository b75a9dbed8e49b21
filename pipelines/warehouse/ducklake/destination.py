"""DuckLake: rows and models as Parquet files in a directory or a bucket, with a Postgres database as their catalog.

DuckLake's writers do not wait for each other: of two that change one table, the later is refused at its commit. So
every landing and every build has the lake to itself, by a lock on the catalog's server; readers need none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import getLogger
from typing import TYPE_CHECKING, Any, cast

from pipelines.models.files import BUILT
from pipelines.warehouse.control import ASIDE
from pipelines.warehouse.destination import Home
from pipelines.warehouse.ducklake.instance import NAME, attach, cursor
from pipelines.warehouse.postgres.attached import in_memory, quoted
from pipelines.warehouse.postgres.on_server import OnServer
from pipelines.warehouse.postgres.server import Address, Server
from pipelines.warehouse.postgres.shared import forget_cursors, learn, learned, shaped
from pipelines.warehouse.version import refuse_models

if TYPE_CHECKING:
    import duckdb

    from sources.core.values import Table

__all__ = ["DuckLake"]

log = getLogger("earshot.ducklake")

SNAPSHOTS = 500  # changes of the lake after which it is compacted; a run that lands something makes a hundred
KEPT_HOURS = 24  # snapshots, so that a reader of yesterday's state still finds its files


@dataclass
class DuckLake(OnServer):
    catalog: Address
    storage: str
    server: Server = field(init=False)
    is_shared: bool = True
    made: set[str] = field(default_factory=set)  # sources whose tables stand as they are declared now

    def __post_init__(self) -> None:
        self.server = Server(self.catalog)

    def for_dlt(self, home: Home) -> Any:
        from pipelines.warehouse.ducklake.dlt_client import Lake, LakeCredentials

        cursor(self.catalog, self.storage).close()  # the instance that dlt's connections will be of
        credentials = LakeCredentials(NAME, catalog=str(self.catalog.url), storage=self.storage)
        return Lake(
            credentials=credentials,
            supports_transactions=True,
            preferred_loader_file_format="parquet",
            staging_dataset_name_layout=f"%s_staging{home.shard.suffix}",
        )

    @contextmanager
    def landing(self, home: Home, source: str, tables: Sequence["Table"]) -> Iterator[None]:
        with self.server.step(alone=True):
            if not self.is_shaped(home, source, tables):
                with self._open() as lake:
                    shaped(lake, source, tables, [])
            yield

    def forget_cursors(self, home: Home, source: str, scopes: Iterable[str] | None) -> int:
        with self.server.step(alone=True), self._open() as lake:
            return forget_cursors(lake, source, scopes)

    @contextmanager
    def looking(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection"]:
        with self._open() as lake:
            yield lake

    @contextmanager
    def building(self, home: Home, config: Mapping[str, Any]) -> Iterator["duckdb.DuckDBPyConnection"]:
        with self.server.step(alone=True), self._open() as lake:
            if "memory_limit" not in config:  # it was tried, and was too little
                lake.execute("RESET GLOBAL memory_limit")
            lake.begin()
            yield cast("duckdb.DuckDBPyConnection", _Whole(lake))
            self.server.confirm()
            lake.commit()

    def publish(self, home: Home) -> int:
        """Readers saw it when the build was committed. Every so often the landings' small files are put together.

        Two seconds, for which other runners wait: not after every run. That it failed harms nobody.
        """
        import duckdb

        with self.server.step(alone=True), self._open() as lake:
            try:
                upto = lake.execute(f"SELECT max(snapshot_id) FROM ducklake_snapshots('{NAME}')").fetchone()
                if upto and upto[0] - int(learned(lake, "compacted") or 0) >= SNAPSHOTS:
                    for age in ("expire_older_than", "delete_older_than"):
                        lake.execute(f"CALL {NAME}.set_option('{age}', '{KEPT_HOURS} hours')")
                    lake.execute("CHECKPOINT")
                    learn(lake, "compacted", str(upto[0]))
            except duckdb.Error as error:
                log.warning("%s could not be compacted: %s", self.storage, self.safe(str(error)))
        return 0

    @contextmanager
    def published(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection | None"]:
        with in_memory() as lake:
            if not self._is_attached(lake, home) or not lake.execute(BUILT).fetchone():
                yield None
                return
            refuse_models(lake, self.told(home), ASIDE)
            lake.execute(f"SET allowed_directories = [{quoted(self.storage)}]")
            lake.execute("SET enable_external_access = false")
            lake.begin()  # one moment, however many questions
            yield lake

    def _is_attached(self, lake: "duckdb.DuckDBPyConnection", home: Home) -> bool:
        """For readers; False where nobody has made a lake yet."""
        import duckdb

        try:
            self.attach(lake, home, NAME, read_only=True)
        except duckdb.InvalidInputException as error:
            if "does not exist" in str(error):
                return False
            raise
        lake.execute(f"USE {NAME}")
        return True

    def attach(self, connection: "duckdb.DuckDBPyConnection", home: Home, name: str, *, read_only: bool) -> None:
        attach(connection, self.catalog, self.storage, name, read_only=read_only)

    def told(self, home: Home) -> str:
        return f"{self.storage} (catalog {self.catalog})"

    def _has(self, table: str) -> bool:
        with self._open() as lake:
            found = "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
            return bool(lake.execute(found, table.split(".")).fetchone())

    @contextmanager
    def _open(self) -> Iterator["duckdb.DuckDBPyConnection"]:
        with cursor(self.catalog, self.storage) as lake:
            yield lake


class _Whole:
    """A connection within one transaction: what would begin or end another in it goes on in this one."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        self.connection = connection

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def execute(self, sql: str, *values: Any) -> Any:
        import duckdb

        try:
            return None if sql == "CHECKPOINT" else self.connection.execute(sql, *values)
        except duckdb.BinderException:
            if not sql.startswith("COMMENT ON COLUMN"):  # a lake has no room for what a view's columns say
                raise
            return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)
