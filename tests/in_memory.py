"""A warehouse in an in-memory DuckDB, which takes rows as the sources yield them: a run in a fraction of the time.

Runs, resources, ledger, rechecks and models are the product's; only dlt's packages and files, the readers' copy, and
what columns mean (a third of a first build) are left out. It keeps what dlt keeps: rows by key, versions once, children
replaced with their root, the load that brought them. That it leaves the same rows as the real way is a test of its own
(test_in_memory.py). What is about files, locks, kills or dlt itself takes the real way.
"""

import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar
from unittest.mock import patch
from weakref import finalize

import duckdb
import pyarrow as pa
from dlt.common.configuration.container import Container
from dlt.common.configuration.specs.config_section_context import ConfigSectionContext
from dlt.common.pipeline import StateInjectableContext
from dlt.extract.pipe_iterator import ManagedPipeIterator
from dlt.extract.source import SourceInjectableContext, SourceSchemaInjectableContext

from pipelines.models import build
from pipelines.models.landed_tables import TYPES
from pipelines.sync.output.report import Report
from pipelines.sync.source.committed import Committed
from pipelines.sync.source.pipeline import SourcePipeline
from pipelines.sync.targets.outcomes import Surgery
from pipelines.warehouse.data_dir import DataDir, as_dicts
from pipelines.warehouse.embedded.destination import EMBEDDED, Embedded
from sources.core.surfaces import Fills, believed
from sources.core.targets import Target
from sources.core.values import Row, Table
from tests.synced import Desk

__all__ = ["InMemory", "found_in_memory", "in_memory", "kept_in_memory", "let_go", "opened", "snapshot"]

ROOT = ("_dlt_load_id", "_dlt_id")
CHILD = ("_dlt_root_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id")
LOADS = "(load_id VARCHAR, schema_name VARCHAR, status BIGINT, inserted_at TIMESTAMPTZ, schema_version_hash VARCHAR)"
D = TypeVar("D", bound=Desk)
INSTEAD_OF: dict[Path, "InMemory"] = {}  # the file that readers would open → where all in this process look instead
MADE: list["InMemory"] = []  # by the tests that are not over
BUILDING = threading.local()


@dataclass(frozen=True)
class InMemory(Embedded):
    """Where rows and models live. A snapshot of it can be taken, and gone on from."""

    db: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(config={"threads": 1}))
    states: dict[str, dict[str, Any]] = field(default_factory=dict)  # source → what dlt keeps of its resources
    loads: list[str] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)  # one at most: for snapshots, until it is used again

    def __post_init__(self) -> None:
        self.db.execute("PRAGMA disable_optimizer")  # of a few rows: to plan well takes longer than to ask badly
        MADE.append(self)

    def is_there(self, home: DataDir) -> bool:
        return bool(self.loads)

    def is_published(self, home: DataDir) -> bool:
        return bool(self.loads)

    @contextmanager
    def looking(self, home: DataDir) -> Iterator[duckdb.DuckDBPyConnection]:
        self.copies.clear()
        with self.db.cursor() as connection:
            yield connection

    @contextmanager
    def building(self, home: DataDir, config: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
        with self.looking(home) as connection:
            BUILDING.in_memory = True
            try:
                yield connection
            finally:
                BUILDING.in_memory = False

    def held_open(self, home: DataDir, config: Mapping[str, Any], settings: Iterable[str]) -> nullcontext[None]:
        return nullcontext()

    def published(self, home: DataDir) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return self.looking(home)

    def attach(self, connection: duckdb.DuckDBPyConnection, home: DataDir, name: str, *, read_only: bool) -> None:
        assert read_only
        connection.execute(f"ATTACH '{self.copy()}' AS {name} (READ_ONLY)")

    def checkpoint(self, home: DataDir, config: Mapping[str, Any]) -> None:
        """There is no file."""

    def publish(self, home: DataDir) -> int:
        return 1

    def copy(self) -> Path:
        """All that is in it, as a file."""
        if not self.copies:
            folder = Path(mkdtemp(prefix="earshot-base-"))
            finalize(self, shutil.rmtree, folder, ignore_errors=True)
            file = folder / "copy.duckdb"
            self.db.execute(f"ATTACH '{file}' AS copy; COPY FROM DATABASE memory TO copy; DETACH copy")
            self.copies.append(file)
        return self.copies[0]


@dataclass
class InMemoryPipeline:
    """As `pipelines.sync.source.pipeline.SourcePipeline`: one package of rows and cursors at a time, whole or not at all."""

    source: str
    tables: tuple[Table, ...]
    warehouse: InMemory
    fills: Fills
    kept: None = None
    packages: int = 0
    _state: dict[str, Any] = field(default_factory=dict)  # as it will be, once the rows are in
    _rows: dict[str, list[Row]] = field(default_factory=dict)

    @classmethod
    def open(cls, home: DataDir, source: str, tables: tuple[Table, ...], fills: Fills, **_: bool) -> "InMemoryPipeline":
        assert isinstance(home.destination, InMemory)
        opened = cls(source, tables, home.destination, fills)
        opened._state = deepcopy(opened._resources)
        return opened

    @property
    def _resources(self) -> dict[str, Any]:
        return self.warehouse.states.get(self.source, {})

    @property
    def cursors(self) -> Mapping[str, Mapping[str, object]]:
        return believed(self._resources, self.fills)

    @property
    def committed(self) -> Committed:
        return Committed(self.cursors, is_new=not self._resources, is_shaped=bool(self._resources))

    @property
    def is_pending(self) -> bool:
        return bool(self._rows) or self._state != self._resources

    def extract(self, declared: Any) -> None:
        """Through dlt's own pipes, to their end."""
        self._state = deepcopy(self._resources)
        sections = ConfigSectionContext(sections=("sources", self.source), source_state_key=self.source)
        state = StateInjectableContext(state={"sources": {self.source: {"resources": self._state}}})  # type: ignore[typeddict-item]
        within = [sections, state, SourceSchemaInjectableContext(declared.schema), SourceInjectableContext(declared)]
        with ExitStack() as contexts:
            for each in within:
                contexts.enter_context(Container().injectable_context(each))
            pipes = ManagedPipeIterator.from_pipes(declared.resources.selected_pipes)
        pipes.set_context(within)
        with pipes:
            for item in pipes:
                rows = item.item.to_pylist() if isinstance(item.item, pa.Table) else item.item
                if isinstance(rows, list):  # else an order to make the table
                    self._rows.setdefault(item.meta.table_name, []).extend(rows)

    def load(self, cursors: object, names: object) -> None:
        if not self.is_pending:
            return
        self.warehouse.copies.clear()
        with self.warehouse.db.cursor() as db:
            db.begin()
            if not self._resources:
                self._make(db)
            load = f"load-{len(self.warehouse.loads)}"
            for table in self.tables:
                rows = table.unique(self._rows.get(table.name, ()))  # in the order in which they were read
                _merge(db, self.source, table, list(rows.values()), load)
            db.execute(f"INSERT INTO {self.source}._dlt_loads VALUES (?, ?, 0, now(), '')", [load, self.source])
            db.commit()
        self._rows = {}
        self.packages += 1
        self.warehouse.loads.append(load)
        self.warehouse.states[self.source] = self._state

    def _make(self, db: duckdb.DuckDBPyConnection) -> None:
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {self.source}")
        db.execute(f"CREATE OR REPLACE TABLE {self.source}._dlt_loads {LOADS}")  # models make what was never landed
        for table in self.tables:
            for name, member in table.family().items():
                own = [f"{column} {TYPES[str(kind)]}" for column, kind in member.columns.items()]
                dlts = [
                    f"{c} {'BIGINT' if c == '_dlt_list_idx' else 'VARCHAR'}" for c in (CHILD if "__" in name else ROOT)
                ]
                db.execute(f"CREATE OR REPLACE TABLE {self.source}.{name} ({', '.join([*own, *dlts])})")


def _merge(db: duckdb.DuckDBPyConnection, schema: str, table: Table, rows: list[Row], load: str) -> None:
    """Rows in place of those with the same key, with all their children; of versions only those that are new."""
    if not rows:
        return
    keys, families = ", ".join(table.key), table.family()
    db.register("arriving", pa.table({part: [row[part] for row in rows] for part in table.key}))
    try:
        known = (
            f"({keys}) IN (SELECT ({keys}) FROM arriving)"
            if len(table.key) > 1
            else f"{keys} IN (SELECT {keys} FROM arriving)"
        )
        target = f"{schema}.{table.name}"
        if table.keeps == "versions":
            held = set(db.execute(f"SELECT {keys} FROM {target} WHERE {known}").fetchall())
            rows = [row for row in rows if tuple(row[part] for part in table.key) not in held]
        elif db.execute(f"SELECT 1 FROM {target} WHERE {known} LIMIT 1").fetchone():
            for name in families:
                if name != table.name:
                    db.execute(
                        f"DELETE FROM {schema}.{name} WHERE _dlt_root_id IN (SELECT _dlt_id FROM {target} WHERE {known})"
                    )
            db.execute(f"DELETE FROM {target} WHERE {known}")
    finally:
        db.unregister("arriving")
    found: dict[str, list[Row]] = {}
    for index, row in enumerate(rows):
        id_ = f"{load}-{table.name}-{index}"
        found.setdefault(table.name, []).append({**row, "_dlt_load_id": load, "_dlt_id": id_})
        _children(table, table.name, row, id_, id_, found)
    for name, some in found.items():
        _insert(db, schema, name, families[name], some)


def _children(table: Table, path: str, row: Row, root: str, parent: str, found: dict[str, list[Row]]) -> None:
    for name, child in table.children.items():
        inner: Any = row.get(name) or []
        for index, each in enumerate(inner):
            id_ = f"{parent}-{name}-{index}"
            told = {"_dlt_root_id": root, "_dlt_parent_id": parent, "_dlt_list_idx": index, "_dlt_id": id_}
            found.setdefault(f"{path}__{name}", []).append({**each, **told})
            _children(child, f"{path}__{name}", each, root, id_, found)


def _insert(db: duckdb.DuckDBPyConnection, schema: str, name: str, table: Table, rows: list[Row]) -> None:
    dlts = {c: pa.int64() if c == "_dlt_list_idx" else pa.string() for c in (CHILD if "__" in name else ROOT)}
    columns = {
        column: pa.array([row.get(column) for row in rows], kind) for column, kind in {**table.columns, **dlts}.items()
    }
    db.register("arrived", pa.table(columns))
    db.execute(f"INSERT INTO {schema}.{name} BY NAME SELECT * FROM arrived")
    db.unregister("arrived")


@contextmanager
def let_go() -> Iterator[None]:
    """What is made meanwhile is over with it: left to Python, a hundred warehouses would wait to be collected."""
    before, known = len(MADE), dict(INSTEAD_OF)
    yield
    for each in MADE[before:]:
        each.db.close()
    del MADE[before:]
    INSTEAD_OF.clear()
    INSTEAD_OF.update(known)


@contextmanager
def found_in_memory() -> Iterator[None]:
    """Whoever opens a data directory in this process, by its path, finds its rows in memory where they are there."""
    opened, made = SourcePipeline.open.__func__, DataDir.__init__  # type: ignore[attr-defined]

    def open_(cls: Any, home: DataDir, *args: Any, **more: Any) -> Any:
        found = InMemoryPipeline.open if isinstance(home.destination, InMemory) else partial(opened, cls)
        return found(home, *args, **more)

    def init(self: DataDir, path: Path, destination: Any = EMBEDDED, *more: Any, **named: Any) -> None:
        memory = INSTEAD_OF.get(path / "published.duckdb") if destination is EMBEDDED else None
        made(self, path, memory or destination, *more, **named)

    commented = build._comment

    def comment(connection: duckdb.DuckDBPyConnection, *said: Any) -> None:
        if not getattr(BUILDING, "in_memory", False):
            commented(connection, *said)

    with (
        patch.object(SourcePipeline, "open", classmethod(open_)),
        patch.object(DataDir, "__init__", init),
        patch.object(build, "_comment", comment),
    ):
        yield


def kept_in_memory(path: Path, base: InMemory | None = None) -> InMemory:
    """What is in this data directory from now on; from where `base` is, if that is given."""
    memory = INSTEAD_OF[path / "published.duckdb"] = InMemory() if base is None else snapshot(base)
    return memory


def in_memory(desk: D, base: D | None = None) -> D:
    """The same desk over a warehouse in memory; from where `base` is, if that is given."""
    held = base.home.destination if base else None
    assert held is None or isinstance(held, InMemory)
    home = DataDir(desk.home.path, kept_in_memory(desk.home.path, held))
    if base:
        shutil.copytree(base.home.path, home.path, dirs_exist_ok=True)  # ledger, payloads
    is_one = isinstance(desk, _Runs)
    kind: Any = type(desk) if is_one else type(f"InMemory{type(desk).__name__}", (_Runs, type(desk)), {})
    return kind(home, desk.world, desk.app, desk.source, desk.names)  # type: ignore[no-any-return]


class _Runs(Desk):
    def run(self, config: dict[str, Any] | None = None, **options: Any) -> Report:
        return super().run(config, **{"docs": False, **options})

    def operate(self, place: str, *targets: Target, options: dict[str, Any] | None = None, **more: Any) -> Surgery:
        return super().operate(place, *targets, options={"docs": False, **(options or {})}, **more)

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self.home.destination.looking(self.home) as connection:
            return connection.execute(query, list(values)).fetchall()

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.home.destination.looking(self.home) as connection:
            return list(as_dicts(connection.execute(f"FROM {table}")))


@contextmanager
def opened(published: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """What readers see, be it a file or in memory."""
    if published in INSTEAD_OF:
        with INSTEAD_OF[published].db.cursor() as connection:
            yield connection
        return
    with duckdb.connect(str(published), read_only=True) as connection:
        yield connection


def snapshot(held: InMemory) -> InMemory:
    """Another warehouse with the same in it, to go on from."""
    made = InMemory(states=deepcopy(held.states), loads=list(held.loads))
    made.db.execute(f"ATTACH '{held.copy()}' AS copy (READ_ONLY); COPY FROM DATABASE copy TO memory; DETACH copy")
    return made
