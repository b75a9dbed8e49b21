"""What is the same wherever a server keeps the locks, and cursors lie beside the rows: Postgres, and lakes on one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from pipelines.warehouse.control import Control, on_server
from pipelines.warehouse.destination import Cursors, Home
from pipelines.warehouse.postgres.server import Server
from pipelines.warehouse.postgres.shared import SETTINGS, keep_cursors, kept_cursors, learn, learned, shape_of

if TYPE_CHECKING:
    import duckdb

    from pipelines.state.ledger import Ledger
    from sources.core.values import Table

__all__ = ["OnServer"]


class OnServer:
    """An engine adds how it is opened, how rows get in, and how models and readers find them."""

    is_shared: bool
    server: Server
    made: set[str]  # sources whose tables stand as they are declared now

    def _open(self) -> "AbstractContextManager[duckdb.DuckDBPyConnection]":
        """A connection that is spoken to as DuckDB is."""
        raise NotImplementedError

    def _has(self, table: str) -> bool:
        raise NotImplementedError

    @contextmanager
    def single_flight(self, home: Home) -> Iterator[None]:
        with self.server.single_flight(home.shard):
            with on_server(self.server.address, writes=True):
                """Nothing of another version is there, and from now on it is known to be of this one."""
            yield

    def restore_control(self, home: Home) -> None:
        """Decisions lie on the server. The ledger of a runner that lost its own begins anew."""

    def restore_rows(self, home: Home) -> None:
        """They lie on the server."""

    def is_there(self, home: Home) -> bool:
        return self._has("ops.cursors")

    def is_published(self, home: Home) -> bool:
        return self._has("feedback.events")

    def holds(self, home: Home, source: str, load: str) -> bool:
        import duckdb

        with self._open() as connection:
            try:
                found = connection.execute(f"SELECT 1 FROM {source}._dlt_loads WHERE load_id = ?", [load])
                return bool(found.fetchone())
            except duckdb.CatalogException:
                return False

    def is_shaped(self, home: Home, source: str, tables: Sequence["Table"]) -> bool:
        if source not in self.made:
            with self._open() as connection:
                if learned(connection, f"shape {source}") == shape_of(tables):
                    self.made.add(source)
        return source in self.made

    def forget_states(self, home: Home, source: str, pipeline: str) -> None:
        """Cursors are not in it here: it is written once."""

    def cursors(self, home: Home, source: str) -> Cursors:
        with self._open() as connection:
            return kept_cursors(connection, source)

    def keep_cursors(self, home: Home, source: str, cursors: Cursors, names: Mapping[str, str]) -> None:
        with self._open() as connection:
            keep_cursors(connection, source, cursors, names)

    def held_open(self, home: Home, config: Mapping[str, Any], settings: Sequence[str]) -> nullcontext[None]:
        return nullcontext()

    def unbounded(self, home: Home, config: Mapping[str, Any]) -> nullcontext[Mapping[str, Any]]:
        return nullcontext({name: value for name, value in config.items() if name != "memory_limit"})

    def checkpoint(self, home: Home, config: Mapping[str, Any]) -> None:
        """What was committed is there."""

    def made_with(self, home: Home, ledger: "Ledger") -> str | None:
        with self._open() as connection:
            return learned(connection, SETTINGS)

    def remember_made(self, connection: "duckdb.DuckDBPyConnection", settings: str) -> None:
        learn(connection, SETTINGS, settings)

    def control(self, home: Home, *, writes: bool) -> AbstractContextManager[Control | None]:
        return on_server(self.server.address, writes=writes)

    def claim(self, home: Home, name: str) -> AbstractContextManager[bool]:
        return self.server.claim(name)

    def remedy(self, home: Home) -> str:
        return "see that its server is up and the credentials are right; the next run makes a table that is missing"

    def unreachable(self, home: Home, error: str) -> str:
        return f"{self.told(home)} cannot be reached: {self.safe(error)}"

    def told(self, home: Home) -> str:
        raise NotImplementedError

    def safe(self, text: str) -> str:
        return self.server.address.safe(text)
