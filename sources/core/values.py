"""What every landed row has in common: strict values, event keys, columns, quarantine.

Values are parsed strictly: a timestamp without a zone or an id that is text is somebody's bug, and guessing would hide
it. A record that cannot be parsed raises `Unreadable`; the reader keeps it raw in quarantine and goes on.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Literal, TypeVar
from urllib.parse import quote

import orjson
import pendulum
import pyarrow as pa
from pendulum import DateTime

__all__ = [
    "COUNT",
    "FLAG",
    "INSTANT",
    "NUMBER",
    "ORDER",
    "TEXT",
    "Json",
    "Oversized",
    "Row",
    "Table",
    "Unreadable",
    "event_key",
    "fingerprint",
    "flag",
    "has_passed",
    "held_instant",
    "instant",
    "integer",
    "json_bytes",
    "json_record",
    "json_text",
    "json_value",
    "maybe",
    "need",
    "number",
    "stamp",
    "text",
    "version",
]

Json = dict[str, object]
Row = dict[str, object]
V = TypeVar("V")

TEXT, COUNT, FLAG, INSTANT = pa.string(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")
NUMBER = pa.float64()
ORDER = "read_order"  # of landed rows with one key in one package, the last is right

CLOCKS = timedelta(minutes=1)  # by which they are set right all the time

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)")
_PLAIN = re.compile(r"[A-Za-z0-9\-._~/@+:]*")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # Postgres refuses NUL, Arrow refuses lone surrogates


class Unreadable(Exception):
    """A record that is not what the service promises; the message names the field."""


@dataclass(frozen=True)
class Table:
    """One landed table. `versions` keeps every version ever seen (insert-only); `rows` keeps the latest (merge).

    `children` are sets that belong to a row and are replaced with it, in one transaction: what has left the set is gone
    from its table `name__child`. Such a row may therefore vouch for its children, e.g. with a watermark.
    """

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, pa.DataType]
    keeps: Literal["versions", "rows"] = "rows"
    children: Mapping[str, "Table"] = field(default_factory=dict)
    shown: tuple[str, ...] = ()  # of a scope's own row: what shows in every event of the scope, e.g. its name

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, kind, nullable=name not in self.key) for name, kind in self.columns.items()])

    def unique(self, rows: Iterable[Row]) -> dict[tuple[object, ...], Row]:
        """One key comes once: insert-only does not dedupe within a package. Of equal keys the last wins."""
        return {tuple([row[part] for part in self.key]): row for row in rows}

    def arrow(self, rows: Sequence[Row], nth: int) -> pa.Table:
        """As it is declared, the `nth` to be read; and what somebody's `add_map` has put beside it."""
        arrays = [pa.array([row.get(name) for row in rows], kind) for name, kind in self.columns.items()]
        fields = list(self.schema)
        if self.keeps == "rows":
            arrays.append(pa.array([nth] * len(rows), COUNT))
            fields.append(pa.field(ORDER, COUNT))
        for name in dict.fromkeys(chain.from_iterable(rows)):
            if name not in self.columns:
                arrays.append(pa.array([row.get(name) for row in rows]))
                fields.append(pa.field(name, arrays[-1].type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def family(self) -> dict[str, "Table"]:
        """This table and its children's, as they are in the warehouse."""
        order = {ORDER: COUNT} if self.keeps == "rows" and self.key else {}  # children have no key
        found = {self.name: replace(self, columns={**self.columns, **order})}
        for name, child in self.children.items():
            found |= {f"{self.name}__{inner}": table for inner, table in replace(child, name=name).family().items()}
        return found


class Oversized(Json):
    """What is known of a record that is too large by itself: its id. Whoever reads more of it is told why."""

    def __init__(self, known: Json, reason: str) -> None:
        super().__init__(known)
        self.reason = reason


def need(record: Json, field: str) -> object:
    if record.get(field) is None:
        raise Unreadable(record.reason if isinstance(record, Oversized) else f"{field} is missing")
    return record[field]


def integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise Unreadable(f"not a whole number: {value!r:.60}")
    return value


def number(value: object) -> float:
    """Whole or not: a point on a picture may lie between its pixels."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -(2**53) <= value <= 2**53:
        raise Unreadable(f"not a number: {value!r:.60}")
    return float(value)


def held_instant(value: object) -> DateTime | None:
    """As the warehouse gives one back."""
    return instant(value.isoformat()) if isinstance(value, datetime) else None


def flag(value: object) -> bool:
    if not isinstance(value, bool | None):
        raise Unreadable(f"not true or false: {value!r:.60}")
    return bool(value)


def text(value: object) -> str:
    """Text as it can be stored anywhere: without NUL bytes and lone surrogates."""
    if not isinstance(value, str):
        raise Unreadable(f"not text: {value!r:.60}")
    if value.isascii() and "\x00" not in value:
        return value
    return _UNSTORABLE.sub(lambda bad: "" if bad[0] == "\x00" else "\ufffd", value)


def instant(value: object) -> DateTime:
    """An instant in UTC. Without a zone it is not an instant."""
    if not isinstance(value, str):
        raise Unreadable(f"not an instant with a zone: {value!r:.60}")
    return _instant(value)


@lru_cache(4096)  # a record tells the same instant several times, and is looked at several times
def _instant(value: str) -> DateTime:
    if not _RFC3339.fullmatch(value):
        raise Unreadable(f"not an instant with a zone: {value!r:.60}")
    try:
        at = datetime.fromisoformat(value.upper()).astimezone(UTC)  # nine times faster than pendulum's parser
        return DateTime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, tzinfo=pendulum.UTC)
    except (ValueError, OverflowError):
        raise Unreadable(f"no such instant: {value!r:.60}") from None


def has_passed(last: DateTime, period: timedelta, now: DateTime) -> bool:
    """Whether so long ago that it is due. What is told to lie in the future was told by a wrong clock, and is due too:
    else one run with that clock would put it off for years.
    """
    return not -CLOCKS <= now - last < period


def maybe(parse: Callable[[object], V], value: object) -> V | None:
    return None if value is None else parse(value)


def json_value(sent: bytes | str) -> object:
    """orjson, and for what it refuses but JSON allows (lone surrogates), the standard library."""
    try:
        return orjson.loads(sent)
    except orjson.JSONDecodeError:
        return json.loads(sent)


def json_bytes(value: object) -> bytes:
    """The way back: whatever a service sent can be kept."""
    try:
        return orjson.dumps(value, default=str)
    except TypeError:
        return json.dumps(value, default=str).encode()


def json_record(kept: bytes | str) -> Json:
    found = json_value(kept)
    if not isinstance(found, dict):
        raise Unreadable("not an object")
    return found


def json_text(value: object) -> str:
    return text(json_bytes(value).decode())


def fingerprint(*parts: object) -> str:
    """Ten hex digits that change when any part does."""
    return blake2b(json_bytes(parts), digest_size=5).hexdigest()


def stamp(moment: DateTime) -> str:
    """An instant inside a key: no colons, microseconds only where there are any."""
    return moment.strftime("%Y%m%dT%H%M%S.%fZ" if moment.microsecond else "%Y%m%dT%H%M%SZ")


def version(moment: DateTime | None, *said: object) -> str:
    """`updated_at` (if it has one) and a hash of the text: two edits in one second are two versions."""
    return f"{stamp(moment)}-{fingerprint(*said)}" if moment else fingerprint(*said)


def event_key(source: str, kind: str, scope: str, id_: object, version_: str) -> str:
    return f"{_key_of_kind(source, kind, scope)}:{_quoted(str(id_))}:{_quoted(version_)}"


@lru_cache(4096)  # mostly those of the key before
def _key_of_kind(source: str, kind: str, scope: str) -> str:
    return f"{_quoted(source)}:{_quoted(kind)}:{_quoted(scope)}"


def _quoted(part: str) -> str:
    """Colons and whatever is no plain character percent-encoded. Most parts hold nothing worse than colons."""
    return part.replace(":", "%3A") if _PLAIN.fullmatch(part) else quote(part, safe="-._~/@+")
