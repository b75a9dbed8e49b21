"""Rows of one source on their way into one package, as Arrow soon after they came.

As Python objects they take many times their bytes, and what outlives them (cursors, accounts) lies scattered among
them: memory that held a chunk of rows could not be given back for the sake of a few. A thousand at a time reuse the
same memory.

A row that Arrow refuses stays where it is: whoever takes the pile then fails, and rows and cursors go together. Were it
dropped, another list that fills the pile could land a cursor without its rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from sources.core.cursor import differs
from sources.core.reading import Batch
from sources.core.values import Json, Row, Table

__all__ = ["Pile"]

TOGETHER = 1_000  # rows of a table; in smaller parts their columns' own overhead shows


@dataclass
class Pile:
    """What was collected of some tables: rows, and the last cursor of each surface and scope."""

    tables: tuple[Table, ...]
    size: int = 0  # what it costs, in plain rows
    new: dict[str, int] = field(default_factory=dict)  # by table
    cursors: dict[str, dict[str, Json]] = field(default_factory=dict)
    _fresh: dict[str, list[Row]] = field(default_factory=dict)
    _shaped: dict[str, list[pa.Table]] = field(default_factory=dict)
    _keys: dict[str, set[int]] = field(default_factory=dict)  # hashes of those in `_shaped`
    _doubled: set[str] = field(default_factory=set)  # tables with a key in several parts, or so it seems

    def add(self, batch: Batch) -> None:
        self.size += batch.size
        for name, rows in batch.rows.items():
            self._fresh.setdefault(name, []).extend(rows)
            self.new[name] = self.new.get(name, 0) + len(rows) - batch.replayed.get(name, 0)
        if batch.cursor is not None:
            self.cursors.setdefault(batch.surface, {})[batch.scope] = batch.cursor
        for table in self.tables:
            if not table.children and len(self._fresh.get(table.name, ())) >= TOGETHER:
                self._shape(table)

    def is_news(self, saved: Mapping[str, Mapping[str, object]]) -> bool:
        """Rows, or cursors that differ by more than an ETag."""
        return self.size > 0 or any(
            differs(cursor, saved.get(surface, {}).get(scope))
            for surface, scopes in self.cursors.items()
            for scope, cursor in scopes.items()
        )

    def take(self) -> Iterator[tuple[Table, pa.Table | list[Row]]]:
        """The rows of each table that has some, each key once; they are gone from here.

        Flat tables go as Arrow, several times faster; those with children as dicts, which dlt takes apart.
        """
        for table in self.tables:
            if table.children and self._fresh.get(table.name):
                yield table, list(table.unique(self._fresh.pop(table.name)).values())
            elif self._fresh.get(table.name) or table.name in self._shaped:
                self._shape(table)
                whole = pa.concat_tables(self._shaped.pop(table.name))
                yield table, _unique(table, whole) if table.name in self._doubled else whole

    def _shape(self, table: Table) -> None:
        rows = table.unique(self._fresh.get(table.name, ()))
        if not rows:
            return
        shaped, keys, known = table.arrow(rows.values()), set(map(hash, rows)), self._keys.setdefault(table.name, set())
        if not known.isdisjoint(keys):
            self._doubled.add(table.name)
        known |= keys
        self._shaped.setdefault(table.name, []).append(shaped)
        del self._fresh[table.name]


def _unique(table: Table, rows: pa.Table) -> pa.Table:
    """As `Table.unique`, over all parts. Arrow's engine for it is 20 MB, so it is asked only where it may be needed."""
    numbered = rows.select(list(table.key)).append_column("nth", pa.array(range(len(rows)), pa.int64()))
    return rows.take(numbered.group_by(list(table.key), use_threads=False).aggregate([("nth", "max")])["nth_max"])
