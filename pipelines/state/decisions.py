"""What people and programs decide: acknowledgements, answers, what is watched, links. Beside the rows but not made of
them, so that it outlives every rebuild; with the embedded file in control.sqlite, on a destination that runners share
the same for all of them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pendulum

from pipelines.models.control_tables import DECISIONS as TABLES
from pipelines.warehouse.control import Control
from pipelines.warehouse.data_dir import DataDir

__all__ = ["TABLES", "UNHEARD", "dicts", "now", "writing"]

UNHEARD = 900  # seconds after which an answer of ours should have been read again


@contextmanager
def writing(home: DataDir) -> Iterator[Control]:
    """A transaction, safe when the block has ended; nothing of it happened if the block raises."""
    home.create()
    with home.destination.control(home, writes=True) as decided:
        assert decided is not None
        for table, columns in TABLES.items():
            decided.need(table, columns)
        yield decided


def dicts(decided: Control, table: str, where: str = "", values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Rows of one of the tables, by the names of its columns."""
    names = re.findall(r"(\w+) (?:TEXT|INTEGER|BIGINT)", TABLES[table])
    found = decided.rows(f"SELECT {', '.join(names)} FROM {table} {where}", values)
    return [dict(zip(names, row, strict=True)) for row in found]


def now() -> str:
    return pendulum.now("UTC").to_iso8601_string()
