"""The DuckDB warehouse as a dlt destination of its own, found by its import path.

`dlt.attach("earshot_github").dataset()` and `dlt pipeline earshot_github info | drop | sync` make a destination of what
the pipeline's state says of it: with dlt's "duckdb" that would be a stray file in the current folder, and merges that
are no transactions. This one knows where the warehouse lies (beside the pipeline's working directory) and what it can
do, and keeps what a run keeps:

- `dataset()` reads what is published. It never waits for a run, and no run waits for it.
- Whatever writes (`drop`, or reads the state that it is about to write, like `sync`) takes the lock. dlt opens several
  clients for that, within each other and side by side: the first takes it, the last gives it back. A run holds it
  already, and says so.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dlt.common.configuration.container import Container
from dlt.common.pipeline import PipelineContext
from dlt.destinations.impl.duckdb.configuration import DuckDbCredentials
from dlt.destinations.impl.duckdb.duck import DuckDbClient
from dlt.destinations.impl.duckdb.factory import duckdb

from pipelines.warehouse.embedded.restore import restore_control
from pipelines.warehouse.files import Files

__all__ = ["earshot"]


class WarehouseClient(DuckDbClient):
    """Its SQL client alone is a reader's; whoever enters the client itself is about to write."""

    def __init__(self, schema: Any, config: Any, capabilities: Any) -> None:
        super().__init__(schema, config, capabilities)
        self.file = Path(config.credentials.database)
        Files(self.file.parent).refuse_another_version()
        self.sql_client.credentials = DuckDbCredentials(str(self.file.with_name("published.duckdb")), read_only=True)
        self.sql_client.credentials.resolve()
        self.entered = ExitStack()

    def __enter__(self) -> "WarehouseClient":
        with ExitStack() as entered:
            entered.enter_context(locked(self.file.parent))
            readers, self.sql_client.credentials = self.sql_client.credentials, self.config.credentials
            entered.callback(setattr, self.sql_client, "credentials", readers)
            super().__enter__()
            self.entered = entered.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        with self.entered:
            super().__exit__(*error)


class earshot(duckdb):
    """`path`: the data directory; else it is the one that the active pipeline lies in. `is_locked`: by a run,
    which only writes.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        is_locked: bool = False,
        destination_name: str | None = None,
        environment: str | None = None,
        **more: Any,
    ) -> None:
        able = {"supports_transactions": True, "preferred_loader_file_format": "parquet"}
        super().__init__(destination_name=destination_name, environment=environment, **{**more, **able})
        self.path, self.is_locked, self._known = path, is_locked, None

    @property
    def client_class(self) -> Any:
        return DuckDbClient if self.is_locked else WarehouseClient

    def configuration(self, initial_config: Any, accept_partial: bool = False) -> Any:
        """What it can do is asked twenty times a landing, and looked up in the environment each time: 40 ms."""
        self.config_params["credentials"] = str(self._folder() / "warehouse.duckdb")
        if not accept_partial:
            return super().configuration(initial_config)
        self._known = self._known or super().configuration(initial_config, accept_partial=True)
        return self._known

    def _folder(self) -> Path:
        return Path(self.path or Path(Container()[PipelineContext].pipeline().pipelines_dir).parent)


_holding = threading.RLock()
_held: dict[Path, tuple[int, ExitStack]] = {}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The data directory's lock, once for all of this process; `Locked` says who else holds it."""
    with _holding:
        users, lock = _held.get(folder, (0, ExitStack()))
        if users == 0:
            lock.enter_context(_lock(Files(folder)))
        _held[folder] = (users + 1, lock)
    try:
        yield
    finally:
        with _holding:
            users, lock = _held.pop(folder)
            if users > 1:
                _held[folder] = (users - 1, lock)
            else:
                lock.close()


@contextmanager
def _lock(files: Files) -> Iterator[None]:
    """As a run takes it, of the one destination that lies in files."""
    files.make()
    if not files.control.is_file():
        restore_control(files)
    with files.alone():
        yield
