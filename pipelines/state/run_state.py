"""What a runner remembers from one run to the next, beside the rows of its ledger.

A field is read when it is asked for, since other processes set it, too, and is kept at once when it is set: after a
kill between two of them the first is there. What was never set has its default.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

import orjson
import pendulum
from pendulum import DateTime

from sources.core.http.limits import Quota

__all__ = ["LONG_AGO", "SCHEMA", "Folded", "QuotaLeft", "RunState", "SourceState", "quotas", "sources"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS run_state (
    source TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (source, field)
) WITHOUT ROWID;
"""
LONG_AGO = pendulum.datetime(1970, 1, 1)
WHOLE_RUN = ""  # in place of a source's name

Lists = frozenset[tuple[str, str]]  # scope, surface
Counts = Mapping[str, Mapping[str, int]]  # source → scope → how many
T = TypeVar("T")


def _instant(told: str) -> DateTime:
    return DateTime.fromisoformat(told).in_timezone("UTC")


@dataclass(frozen=True)
class Folded:
    """How far the ledger was folded: the first run that is kept in full, and when that was looked for."""

    first_run: int
    looked_at: DateTime

    @classmethod
    def load(cls, kept: dict[str, Any]) -> "Folded":
        return cls(kept["first_run"], _instant(kept["looked_at"]))


class QuotaLeft(TypedDict):
    """What a service last said is left; told to readers as it stands."""

    remaining: int | None
    limit: int | None
    reset_at: str | None
    told_at: str


class Kept(Generic[T]):
    """One field, as JSON in its row of `run_state`."""

    def __init__(self, default: T, load: Callable[[Any], T] | None = None) -> None:
        self.default, self.load = default, load

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, state: "_State", owner: type) -> T:
        query = "SELECT value FROM run_state WHERE source = ? AND field = ?"
        row = state.connection.execute(query, (state.source, self.name)).fetchone()
        if row is None:
            return self.default
        value = orjson.loads(row[0])
        return value if self.load is None or value is None else self.load(value)

    def __set__(self, state: "_State", value: T) -> None:
        kept = orjson.dumps(value, default=_plain, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()
        values = (state.source, self.name, kept)
        state.connection.execute("INSERT OR REPLACE INTO run_state VALUES (?, ?, ?)", values)


class _State:
    __slots__ = ("connection", "source")  # what is not a field cannot be set

    def __init__(self, connection: sqlite3.Connection, source: str) -> None:
        self.connection, self.source = connection, source


class RunState(_State):
    """Of the run as a whole."""

    __slots__ = ()

    is_unpublished = Kept(False)  # readers' file lacks something
    is_undocumented = Kept(False)  # the search index may differ from the documents
    is_unembedded = Kept(False)
    made_with = Kept[str | None](None)  # models and settings, as a fingerprint
    decided = Kept[str | None](None)  # what people had decided, as a fingerprint of what is published
    embedded_with = Kept[str | None](None)  # the model
    held = Kept[Counts]({})  # issues, pull and merge requests
    folded = Kept[Folded | None](None, Folded.load)

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, WHOLE_RUN)


class SourceState(_State):
    """Of one source."""

    __slots__ = ()

    turn = Kept(0)  # how many runs over all that is configured there were
    swept_at = Kept[DateTime | None](None, _instant)
    met_sweeping = Kept[Lists](frozenset(), lambda kept: frozenset((scope, surface) for scope, surface in kept))
    nothing_due_by = Kept[str | None](None)  # the rule by which the last look found nothing to read again
    clock_ahead = Kept(0.0)  # seconds that this machine's clock was ahead of the service's
    quota = Kept[QuotaLeft | None](None)

    def keep_quota(self, told: Quota) -> None:
        """For whoever asks between runs."""
        until, now = _text(told.reset_at) if told.reset_at else None, _text(pendulum.now("UTC"))
        self.quota = {"remaining": told.remaining, "limit": told.limit, "reset_at": until, "told_at": now}


def sources(connection: sqlite3.Connection) -> list[str]:
    """Of which something is remembered."""
    query = "SELECT DISTINCT source FROM run_state WHERE source <> ? ORDER BY source"
    return [name for (name,) in connection.execute(query, (WHOLE_RUN,))]


def quotas(connection: sqlite3.Connection) -> dict[str, QuotaLeft]:
    """Source → what it last said is left."""
    found = {name: SourceState(connection, name).quota for name in sources(connection)}
    return {name: quota for name, quota in found.items() if quota is not None}


def _plain(value: object) -> object:
    if isinstance(value, DateTime):
        return _text(value)
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"not to be remembered: {value!r:.60}")


def _text(moment: Any) -> str:
    return str(moment.to_iso8601_string())
