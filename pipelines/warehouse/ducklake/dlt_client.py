"""dlt's DuckLake destination, over the one DuckDB instance that the process has for the lake."""

from typing import Any, ClassVar

import duckdb
from dlt.common.configuration import configspec
from dlt.destinations import ducklake
from dlt.destinations.impl.duckdb.configuration import DuckDbConnectionPool
from dlt.destinations.impl.ducklake.configuration import DuckLakeClientConfiguration, DuckLakeCredentials

from pipelines.warehouse.ducklake.instance import instance_of

__all__ = ["Lake", "LakeCredentials"]

STANDING = ("ATTACH ", "USE ")  # the lake is attached and in use for as long as the process lives


class _Attached:
    """A connection that dlt may attach and detach as it likes: others of the instance are in the lake."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def execute(self, sql: str, *values: Any, **named: Any) -> Any:
        return self.connection if sql.startswith(STANDING) else self.connection.execute(sql, *values, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


class _Pool(DuckDbConnectionPool):
    """Connections are used again: each new one would ask the catalog for everything anew."""

    def borrow_conn(self, global_config: Any = None, local_config: Any = None, pragmas: Any = None) -> Any:
        with self._conn_lock:
            idle: list[_Attached] = self.__dict__.setdefault("idle", [])
            if idle:
                return idle.pop()
        catalog = self.credentials.catalog
        borrowed = instance_of(catalog.query.get("host") or catalog.host, catalog.port or 5432, catalog.database)
        self._apply_local_config(borrowed, local_config, pragmas)
        return _Attached(borrowed)

    def return_conn(self, borrowed_conn: Any) -> int:
        with self._conn_lock:
            self.__dict__.setdefault("idle", []).append(borrowed_conn)
        return 1  # the instance stays


@configspec(init=False)
class LakeCredentials(DuckLakeCredentials):
    __config_gen_annotations__: ClassVar[list[str]] = []

    def on_resolved(self) -> None:
        self.conn_pool = _Pool(self)


@configspec
class _Configuration(DuckLakeClientConfiguration):
    credentials: LakeCredentials = None  # type: ignore[assignment]


class Lake(ducklake):
    @classmethod
    def adjust_capabilities(cls, caps: Any, config: Any, naming: Any) -> Any:
        """One table after the other: side by side they wait for the catalog, and for each other's snapshots."""
        adjusted = super().adjust_capabilities(caps, config, naming)
        adjusted.loader_parallelism_strategy = "sequential"
        return adjusted

    @property
    def spec(self) -> type:
        return _Configuration
