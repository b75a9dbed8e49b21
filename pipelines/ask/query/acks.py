"""Who has dealt with what: acknowledgements, beside the rows but not made of them, so that they outlive every rebuild;
on a destination that runners share, the same for all of them.

Exactly once: of all who acknowledge an event for a consumer, one is told that it was new, the others since when it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.ask.format.answer import Refusal
from pipelines.state import decisions
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import Unavailable

__all__ = ["Acked", "acknowledge", "acknowledged", "answered"]

ANSWERED = """
SELECT coalesce(command_key, said_key) AS value FROM answers
WHERE (status <> 'failed' OR is_unsure = 1) AND coalesce(command_key, said_key) IS NOT NULL
"""
TABLE = "acknowledgements"
NEW = f"INSERT INTO {TABLE} VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING event_key"


@dataclass(frozen=True)
class Acked:
    new: list[str]
    already: dict[str, str]  # event_key → processed_at


def acknowledge(home: DataDir, consumer: str, keys: Iterable[str]) -> Acked:
    """All of them in one transaction, each exactly once a consumer, also against others at the same moment.

    In the order of the keys: of two who wait for each other's, neither would ever be done.
    """
    now, asked = decisions.now(), list(dict.fromkeys(keys))
    already: dict[str, str] = {}
    try:
        with decisions.writing(home) as decided:
            for key in sorted(asked):
                if not decided.rows(NEW, [consumer, key, now]):
                    held = f"SELECT processed_at FROM {TABLE} WHERE consumer = ? AND event_key = ?"
                    already[key] = decided.rows(held, [consumer, key])[0][0]
    except Unavailable as error:
        raise Refusal("FAILED", str(error), "try again") from None
    return Acked([key for key in asked if key not in already], {key: already[key] for key in asked if key in already})


def acknowledged(home: DataDir, consumer: str) -> str:
    """The keys, as a JSON list that the database makes and DuckDB reads: Python need not look at each."""
    return _json_list(home, TABLE, f"SELECT event_key AS value FROM {TABLE} WHERE consumer = ?", consumer)


def answered(home: DataDir) -> str:
    """What our answers answer, likewise: commands, and utterances in their words."""
    return _json_list(home, "answers", ANSWERED)


def _json_list(home: DataDir, table: str, query: str, *values: str) -> str:
    try:
        with home.destination.control(home, writes=False) as decided:
            return decided.json_list(query, values) if decided and decided.has(table) else "[]"
    except Unavailable as error:
        raise Refusal("UNREADABLE", str(error), "try again") from None
