"""Who has dealt with what: acknowledgements, in control.sqlite, so that they outlive every rebuild of the warehouse.

Exactly once: of all who acknowledge an event for a consumer, one is told that it was new, the others since when it is.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines import control
from pipelines.ask.answer import Refusal
from pipelines.warehouse import Home

__all__ = ["Acked", "acknowledge", "acknowledged"]

PATIENCE = 10.0  # seconds; a run writes its ledger in moments


@dataclass(frozen=True)
class Acked:
    new: list[str]
    already: dict[str, str]  # event_key → processed_at


def acknowledge(home: Home, consumer: str, keys: Iterable[str]) -> Acked:
    """All of them in one transaction, each exactly once a consumer, also against others at the same moment."""
    now, new, already = control.now(), list[str](), dict[str, str]()
    with _writing(home) as connection:
        for key in dict.fromkeys(keys):
            found = connection.execute(
                "INSERT OR IGNORE INTO acknowledgements VALUES (?, ?, ?) RETURNING event_key", (consumer, key, now)
            ).fetchone()
            if found:
                new.append(key)
                continue
            held = "SELECT processed_at FROM acknowledgements WHERE consumer = ? AND event_key = ?"
            already[key] = connection.execute(held, (consumer, key)).fetchone()[0]
    return Acked(new, already)


def acknowledged(home: Home, consumer: str) -> str:
    """The keys, as a JSON list that SQLite makes and DuckDB reads: Python need not look at each."""
    if not home.control.exists():
        return "[]"
    connection = sqlite3.connect(f"{home.control.as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'acknowledgements'").fetchone():
            return "[]"
        keys = "SELECT json_group_array(event_key) FROM acknowledgements WHERE consumer = ?"
        return str(connection.execute(keys, (consumer,)).fetchone()[0])
    except sqlite3.Error as error:
        raise Refusal("UNREADABLE", f"{home.control} cannot be read: {error}", "try again") from None
    finally:
        connection.close()


@contextmanager
def _writing(home: Home) -> Iterator[sqlite3.Connection]:
    try:
        with control.writing(home) as connection:
            yield connection
    except sqlite3.Error as error:
        raise Refusal("FAILED", f"{home.control} cannot be written: {error}", "try again") from None
