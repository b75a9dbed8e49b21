"""What people and programs decide: acknowledgements, answers, what is watched, links. Beside the rows but not made of
them, so that it outlives every rebuild; with the embedded file in control.sqlite, on a destination that runners share
the same for all of them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pendulum

from pipelines.warehouse.control import Control
from pipelines.warehouse.data_dir import DataDir

__all__ = ["TABLES", "UNHEARD", "dicts", "now", "writing"]

UNHEARD = 900  # seconds after which an answer of ours should have been read again

TABLES = {
    "acknowledgements": "consumer TEXT NOT NULL, event_key TEXT NOT NULL, processed_at TEXT NOT NULL,"
    " PRIMARY KEY (consumer, event_key)",
    "answers": "token TEXT PRIMARY KEY, source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL,"
    " parent_key TEXT NOT NULL, parent_kind TEXT NOT NULL, parent_number INTEGER NOT NULL, thread TEXT, event_key TEXT,"
    " said_key TEXT, command_key TEXT, body TEXT NOT NULL, resolves INTEGER NOT NULL, status TEXT NOT NULL,"
    " attempts INTEGER NOT NULL, is_unsure INTEGER NOT NULL, unsure_from TEXT, is_over INTEGER NOT NULL, code TEXT,"
    " error TEXT, planned_at TEXT NOT NULL, attempted_at TEXT, posted_at TEXT, observed_at TEXT, resolved_at TEXT,"
    " remote_id TEXT, url TEXT, author TEXT,"
    " observed_key TEXT",
    "lifecycle": "parent_key TEXT PRIMARY KEY, state TEXT NOT NULL, since_at TEXT NOT NULL, actionable_from TEXT,"
    " revision BIGINT NOT NULL",
    "links": "issue_key TEXT PRIMARY KEY, change_key TEXT NOT NULL, linked_at TEXT NOT NULL",
    # all of these came back from a copy that may not know what was decided since `as_of`
    "restorations": "restored_at TEXT PRIMARY KEY, as_of TEXT NOT NULL",
}


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
