"""Where rows and models live. The seam between a run, its readers and an engine: one value per engine, no names asked.

`embedded` is the DuckDB file: the run's own, copied for readers. The others are shared: several runners write them at
once, each its own scopes, and readers look into the same tables. What must hold there is that readers never see half
of a build (it is one transaction), that no build sees half of a landing (a lock on the server that the catalog or the
tables lie on), and that a cursor is never ahead of its rows (it is written after them, beside them).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.sync.shards import Shard
from pipelines.warehouse.files import Files

if TYPE_CHECKING:
    import duckdb

    from pipelines.state.ledger import Ledger
    from pipelines.warehouse.control import Control
    from sources.core.values import Table

__all__ = ["Cursors", "Destination", "Home"]

Cursors = Mapping[str, Mapping[str, object]]  # surface → scope → cursor


@dataclass(frozen=True)
class Home(Files):
    """A runner's directory, and where its rows live."""

    destination: "Destination"
    shard: Shard = Shard()


class Destination(Protocol):
    """What a run and its readers ask of an engine."""

    @property
    def is_shared(self) -> bool:
        """Others write here too, and readers read where runs write."""

    def single_flight(self, home: Home) -> AbstractContextManager[None]:
        """Beyond this machine's own lock: nobody else runs this shard. Raises `Locked`."""

    def restore_control(self, home: Home) -> None:
        """What was decided, if its file is missing in this directory and another here knows it."""

    def restore_rows(self, home: Home) -> None:
        """Rows, likewise; the lock is held."""

    # landing

    def for_dlt(self, home: Home) -> Any:
        """dlt's destination, configured so that its merges are transactions."""

    def is_there(self, home: Home) -> bool: ...

    def holds(self, home: Home, source: str, load: str) -> bool:
        """Whether this load is in: a restored copy may be older than what was last read."""

    def is_shaped(self, home: Home, source: str, tables: Sequence["Table"]) -> bool | None:
        """Whether all landed tables are there as they are declared now; None where dlt makes them, and remembers it."""

    def landing(self, home: Home, source: str, tables: Sequence["Table"]) -> AbstractContextManager[None]:
        """Around the loading of one package. These tables may not be as they are declared: makes of them what dlt does
        not make.
        """

    def forget_states(self, home: Home, source: str, pipeline: str) -> None:
        """dlt's state of this pipeline, but for the last: it writes the whole of it with each package, and never
        removes any.
        """

    def cursors(self, home: Home, source: str) -> Cursors | None:
        """As they were written after their rows; None where dlt's own state, in the same package, is enough."""

    def keep_cursors(self, home: Home, source: str, cursors: Cursors, names: Mapping[str, str]) -> None: ...

    def forget_cursors(self, home: Home, source: str, scopes: Iterable[str] | None) -> int: ...

    # what is made of the rows

    def looking(self, home: Home) -> AbstractContextManager["duckdb.DuckDBPyConnection"]:
        """Everything that has landed and was made of it, to be read by the run."""

    def building(self, home: Home, config: Mapping[str, Any]) -> AbstractContextManager["duckdb.DuckDBPyConnection"]:
        """To write models: alone, and in shared ones all or nothing. It is spoken to as DuckDB is."""

    def held_open(self, home: Home, config: Mapping[str, Any], settings: Sequence[str]) -> AbstractContextManager[None]:
        """So that what opens it again and again finds it open, where opening costs something; and set so."""

    def unbounded(self, home: Home, config: Mapping[str, Any]) -> AbstractContextManager[Mapping[str, Any]]:
        """Without a limit of memory, for what cannot be spilled; how `building` is then to be asked."""

    def checkpoint(self, home: Home, config: Mapping[str, Any]) -> None:
        """All that was committed is where `publish` takes it from. Raises `PublishError` where that is less than what
        readers have.
        """

    def made_with(self, home: Home, ledger: "Ledger") -> str | None:
        """The fingerprint of the models and settings that everything here was built with."""

    def remember_made(self, connection: "duckdb.DuckDBPyConnection", settings: str) -> None: ...

    # readers

    def is_published(self, home: Home) -> bool: ...

    def publish(self, home: Home) -> int:
        """Bytes copied for readers: none where they see it anyway."""

    def published(self, home: Home) -> AbstractContextManager["duckdb.DuckDBPyConnection | None"]:
        """What readers may see, of one moment, and nothing else of this machine within a query's reach; None before
        anything was published.
        """

    def control(self, home: Home, *, writes: bool) -> AbstractContextManager["Control | None"]:
        """Where people and consumers write between runs, the same for all of them; one transaction."""

    def claim(self, home: Home, name: str) -> AbstractContextManager[bool]:
        """Whether this machine alone is at work on something of this name, for as long as the block lasts."""

    def attach(self, connection: "duckdb.DuckDBPyConnection", home: Home, name: str, *, read_only: bool) -> None:
        """All of it as the database `name` of a DuckDB connection."""

    def told(self, home: Home) -> str:
        """Where readers look, for people; never with a password."""

    def remedy(self, home: Home) -> str:
        """What to do when it cannot be read."""

    def unreachable(self, home: Home, error: str) -> str:
        """For whoever runs: that rows cannot be read or written, why, and what mends it."""

    def safe(self, text: str) -> str:
        """Somebody else's error message, without our password in it."""
