"""The readers' file, open for as long as one question takes. Values are bound, never spliced into SQL."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import duckdb

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.sync.output.summary import shown_path
from pipelines.warehouse.configured import its_home
from pipelines.warehouse.data_dir import DataDir, as_dicts
from pipelines.warehouse.version import OtherVersion

__all__ = ["Published", "Row", "Where", "home", "published"]

Row = dict[str, Any]


def home() -> DataDir:
    found = its_home(Path.cwd())
    found.refuse_another_version()
    return found


@dataclass
class Where:
    """Conditions with their values. What was not asked for (None, nothing) adds none."""

    conditions: list[str]
    values: list[Any]

    @classmethod
    def all(cls) -> "Where":
        return cls(["true"], [])

    def given(self, value: object, condition: str, times: int = 1) -> "Where":
        if value is not None and value != "":
            self.conditions.append(condition)
            self.values += [value] * times
        return self

    def flag(self, asked: bool, condition: str) -> "Where":
        self.conditions += [condition] if asked else []
        return self

    @property
    def sql(self) -> str:
        return " AND ".join(f"({condition})" for condition in self.conditions)


@dataclass(frozen=True)
class Published:
    connection: duckdb.DuckDBPyConnection

    def rows(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
        return list(as_dicts(self.connection.execute(query, values)))

    def hold(self, name: str, keys: str) -> None:
        """Keys, a JSON list, as a table `name` of this connection alone. Bound one by one, 100,000 take six seconds."""
        unpack = f"CREATE TEMP TABLE {name} AS SELECT unnest(from_json(?, '[\"VARCHAR\"]')) AS key"
        self.connection.execute(unpack, [keys])

    def hold_each(self, name: str, keys: Iterable[str]) -> None:
        import orjson

        self.hold(name, orjson.dumps(list(dict.fromkeys(keys))).decode())

    def row(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> Row:
        return self.rows(query, values)[0]


@contextmanager
def published(where: DataDir | None = None) -> Iterator[Published]:
    """Nothing of this machine is within a query's reach: neither files nor extensions."""
    place = where or home()
    where_told, again = place.destination.told(place), place.destination.remedy(place)
    with ExitStack() as open_:
        try:
            connection = open_.enter_context(place.destination.published(place))
        except duckdb.Error as error:
            raise Refusal("UNREADABLE", f"{where_told} cannot be read: {_first(error)}", again) from None
        except OtherVersion as error:
            raise Refusal("CONFIG", str(error), exit_code=USAGE) from None
        if connection is None:
            raise _nothing_yet(place)
        try:
            yield Published(connection)
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise Refusal("OUTDATED", f"{where_told} was made by another version: {_first(error)}", again) from None
        except (duckdb.IOException, duckdb.InternalException, duckdb.SerializationException) as error:
            raise Refusal("UNREADABLE", f"{where_told} cannot be read: {_first(error)}", again) from None


def _nothing_yet(place: DataDir) -> Refusal:
    if place.control.exists():
        return Refusal(
            "NOTHING_YET", f"no run has published anything in {place.path} yet", "`earshot status` says how far it is"
        )
    return Refusal(
        "NOTHING_YET",
        f"no warehouse in {place.path} yet",
        "`earshot init` asks what to read; or try it: `earshot sync --demo`, then"
        f" `export EARSHOT_DATA={quote(shown_path(place.path / 'demo'))}`",
    )


def _first(error: Exception) -> str:
    return str(error).splitlines()[0][:300]
