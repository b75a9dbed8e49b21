"""Postgres: rows and models in one database, for many runners and readers.

Landed tables are made here before dlt fills them: text that compares by its bytes, a unique key that no two runners
can get past, and the indexes that keep a run's cost at what changed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pipelines.models.files import BUILT
from pipelines.warehouse.control import ASIDE
from pipelines.warehouse.destination import Home
from pipelines.warehouse.postgres.attached import in_memory, load_extension, postgres_secret, quoted, spilling
from pipelines.warehouse.postgres.on_server import OnServer
from pipelines.warehouse.postgres.server import Address, Server
from pipelines.warehouse.postgres.shared import forget_cursors, shaped
from pipelines.warehouse.version import refuse_models

if TYPE_CHECKING:
    import duckdb

    from sources.core.values import Table

__all__ = ["Postgres"]


@dataclass
class Postgres(OnServer):
    address: Address
    server: Server = field(init=False)
    is_shared: bool = True
    made: set[str] = field(default_factory=set)  # sources whose tables stand as they are declared now

    def __post_init__(self) -> None:
        self.server = Server(self.address)

    def for_dlt(self, home: Home) -> Any:
        """By Arrow over ADBC: dlt's CSV would turn empty text into null. Every shard stages by itself."""
        from dlt.destinations import postgres

        return postgres(
            str(self.address.url),
            supports_transactions=True,
            preferred_loader_file_format="parquet",
            loader_parallelism_strategy="sequential",  # side by side is no faster, and takes more memory
            staging_dataset_name_layout=f"%s_staging{home.shard.suffix}",
        )

    @contextmanager
    def landing(self, home: Home, source: str, tables: Sequence["Table"]) -> Iterator[None]:
        if not self.is_shaped(home, source, tables):
            with self.server.step(alone=True), self._open() as session:
                shaped(session, source, tables, _indexes(source, tables))
        is_first = not self._has(f"{source}._dlt_pipeline_state")  # dlt's own tables, which it makes as it goes:
        with self.server.step(alone=is_first):  # two at it at once would be told that somebody has made them
            yield

    def forget_cursors(self, home: Home, source: str, scopes: Iterable[str] | None) -> int:
        with self._open() as session:
            return forget_cursors(session, source, scopes)

    @contextmanager
    def looking(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection"]:
        with self._attached(home) as connection:
            connection.execute("SET threads = 1")  # beside a run that holds rows: every thread has buffers of its own
            connection.execute("SET memory_limit = '128MiB'")
            connection.execute(f"SET temp_directory = {quoted(spilling())}")
            connection.execute("SET preserve_insertion_order = false")
            yield connection

    @contextmanager
    def _attached(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection"]:
        with in_memory() as connection:
            self.attach(connection, home, "earshot", read_only=True)
            connection.execute("USE earshot")
            yield connection

    @contextmanager
    def building(self, home: Home, config: Mapping[str, Any]) -> Iterator["duckdb.DuckDBPyConnection"]:
        """Memory is the server's affair, and so is `config`."""
        with self.server.step(alone=True), self._open() as session:
            session.begin()
            yield session
            for statement in _model_indexes():
                session.execute(statement)
            self.server.confirm()
            session.commit()

    def publish(self, home: Home) -> int:
        """Readers saw it when the build was committed."""
        return 0

    @contextmanager
    def published(self, home: Home) -> Iterator["duckdb.DuckDBPyConnection | None"]:
        with self._attached(home) as connection:
            if not connection.execute(BUILT).fetchone():
                yield None
                return
            refuse_models(connection, self.address, ASIDE)
            connection.execute("SET enable_external_access = false")
            connection.begin()  # one moment, however many questions
            yield connection

    def attach(self, connection: "duckdb.DuckDBPyConnection", home: Home, name: str, *, read_only: bool) -> None:
        load_extension(connection, "postgres_scanner")
        secret = postgres_secret(connection, self.address)
        mode = ", READ_ONLY" if read_only else ""
        connection.execute(f"ATTACH {quoted(self.address.more)} AS {name} (TYPE postgres, SECRET {secret}{mode})")

    def told(self, home: Home) -> str:
        return str(self.address)

    def _has(self, table: str) -> bool:
        with self._open() as session:
            found = session.execute("SELECT CAST(to_regclass(?) AS VARCHAR)", [table]).fetchone()
        return bool(found and found[0])

    @contextmanager
    def _open(self) -> Iterator["duckdb.DuckDBPyConnection"]:
        """A session has the methods that runs use, and speaks the dialect."""
        from pipelines.warehouse.postgres.session import PostgresSession, speaking_duckdb

        with speaking_duckdb():
            connection = self.address.connect()
        try:
            yield cast("duckdb.DuckDBPyConnection", PostgresSession(connection))
        finally:
            connection.close()  # what was not committed is not there


def _indexes(source: str, tables: Iterable["Table"]) -> Iterator[str]:
    yield "CREATE UNIQUE INDEX IF NOT EXISTS cursors_key ON ops.cursors (source, surface, scope)"
    for root in tables:
        for name, table in root.family().items():
            if name == root.name:
                yield f"CREATE UNIQUE INDEX IF NOT EXISTS {name}_key ON {source}.{name} ({', '.join(table.key)})"
            for column in ("parent_key", "_dlt_load_id" if name == root.name else "_dlt_root_id"):
                if column in table.columns or column.startswith("_dlt"):
                    yield f"CREATE INDEX IF NOT EXISTS {name}_{column.strip('_')} ON {source}.{name} ({column})"


def _model_indexes() -> Iterator[str]:
    """Of tables that models are kept in: by what they are narrowed to, and by what readers look them up with."""
    from pipelines.models.build import read_models

    for model in read_models(is_shared=True):
        if model.kept_by:
            table = model.name.partition(".")[2]
            for column in dict.fromkeys([model.kept_by, model.key[0]]):
                yield f"CREATE INDEX IF NOT EXISTS {table}_{column} ON {model.name} ({column})"
