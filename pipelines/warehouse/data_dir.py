"""Where the data lives, who may write it, and how readers get to see it.

DuckDB lets one process in at a time, and an open reader would keep the run out. So the run owns `warehouse.duckdb`, and
readers open `published.duckdb`, which is replaced whole and atomically: a reader that holds the old file keeps it. On
another destination (`pipelines/warehouse/postgres/`, `ducklake/`) the directory holds only what is this runner's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.warehouse.destination import Destination, Home
from pipelines.warehouse.embedded.destination import EMBEDDED
from pipelines.warehouse.errors import LandingError, Locked, PublishError
from pipelines.warehouse.files import copied, set_aside

if TYPE_CHECKING:
    import duckdb

__all__ = ["QUICKLY", "SPARING", "DataDir", "LandingError", "Locked", "PublishError", "as_dicts", "copied", "set_aside"]

# for few rows: text of all rows around them is written as it is, in half the time; runs over lists compress theirs
QUICKLY = "SET disabled_compression_methods = 'fsst'"
# every thread has buffers of its own; what does not fit is spilled to disk
SPARING: dict[str, Any] = {"threads": "1", "preserve_insertion_order": "false", "memory_limit": "128MiB"}


def as_dicts(result: "duckdb.DuckDBPyConnection", at_once: int = 0) -> Iterator[dict[str, Any]]:
    """The rows of a query by the names of its columns; all of them, or so many at a time."""
    names = [column[0] for column in result.description or ()]
    while rows := result.fetchmany(at_once) if at_once else result.fetchall():
        for row in rows:
            yield dict(zip(names, row, strict=True))


@dataclass(frozen=True)
class DataDir(Home):
    """The data directory, and the engine that rows and models live on: the file, unless another is named."""

    destination: Destination = EMBEDDED

    def create(self) -> None:
        """Before anything is written; what was decided is put back where it was lost."""
        self.make()
        self.destination.restore_control(self)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Single flight, on this machine and wherever others write to the same; rows are put back that were lost."""
        with self.lock_here(), self.destination.single_flight(self):
            self.destination.restore_rows(self)
            yield

    @contextmanager
    def lock_here(self) -> Iterator[None]:
        """Of what lies in this directory."""
        self.create()
        with self.alone():
            yield

    def publish(self) -> int | None:
        """Readers see from now on what was built; bytes copied for them, where any were."""
        return self.destination.publish(self)
