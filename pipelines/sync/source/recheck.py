"""What does not add up in the landed tables and must be read again: the source's own question, asked of the warehouse.

It is asked over what this run has read: other shards' scopes are theirs, and nobody asks for what is configured no
more. Beside the landed tables it finds, as tables of this run alone: `read` (scope); what a sweep read to its end,
`swept` (surface, scope) and `sighted` (surface, scope, id); `unread`, what lies in quarantine; and `this_run` (id,
since), its number, and that of the first of the three runs before it.
"""

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.warehouse.data_dir import as_dicts
from sources.core.reading import Reading
from sources.core.source import Source
from sources.core.values import Row, fingerprint

__all__ = ["look", "readings_owed", "rule", "scopes_read", "suspects"]


def rule(source: Source, reading: Reading) -> str:
    """By what suspects are found: with another setting, or elsewhere, there may be some where there were none."""
    return fingerprint(source.suspects, source.suspect_values(reading), scopes_read(reading))


def scopes_read(reading: Reading) -> list[str]:
    return sorted({scope for _, scope in reading.tallies})


def suspects(landed: duckdb.DuckDBPyConnection, source: Source, reading: Reading) -> list[Row]:
    """In their order; while something fails, each run begins at another: what stays broken, and is not asked for any
    more after some in a row, shall not keep all behind it from being read.
    """
    values = source.suspect_values(reading)
    if values is None:
        return []
    ours = f"SELECT * FROM ({source.suspects}) AS suspects WHERE scope IN (SELECT scope FROM read)"
    for name, rows in _told(reading).items():
        landed.register(name, rows)
    found = list(as_dicts(landed.execute(ours, values)))
    first = int(reading.turn * 0.618 % 1 * len(found)) if reading.open_failures else 0
    return [*found[first:], *found[:first]]


def look(landed: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]) -> list[Row]:
    """What the warehouse holds; nothing, where it has no such table yet."""
    try:
        return list(as_dicts(landed.execute(query, dict(values))))
    except duckdb.CatalogException:
        return []


def _told(reading: Reading) -> dict[str, pa.Table]:
    text, number, flag = pa.string(), pa.int64(), pa.bool_()
    sighted = [(surface, scope, id_) for (surface, scope), ids in reading.sightings.items() for id_ in ids]
    over = reading.over  # nothing hangs on it any more
    left = [each for key, each in reading.unread.items() if key not in over]
    unread = [(u.surface, u.scope, u.parent_key, _number(u.key), u.is_let_be, u.is_due) for u in left]
    kept = {"surface": text, "scope": text, "parent_key": text, "id": number, "is_let_be": flag, "is_due": flag}
    return {
        "sighted": _table({"surface": text, "scope": text, "id": number}, sighted),
        "swept": _table({"surface": text, "scope": text}, list(reading.sightings)),
        "read": _table({"scope": text}, [(scope,) for scope in scopes_read(reading)]),
        "unread": _table(kept, unread),
        "this_run": _table({"id": number, "since": number}, [(reading.run, reading.since_run)]),
    }


def readings_owed(suspect: Row) -> int:
    """How many readings it wants: of a merge request its notes, events and diffs may be due, each by itself."""
    return max(1, sum(bool(value) for name, value in suspect.items() if name.endswith("_due")))


def _table(columns: dict[str, pa.DataType], rows: list[tuple[Any, ...]]) -> pa.Table:
    told: list[Any] = list(zip(*rows, strict=True)) or [[] for _ in columns]
    return pa.table({name: pa.array(list(t), kind) for (name, kind), t in zip(columns.items(), told, strict=True)})


def _number(key: str) -> int | None:
    """The record's own, where it is known by one."""
    last = key.rpartition(":")[2]
    return int(last) if last.isdecimal() and len(last) < 19 else None
