"""Which discussion an address means: `?thread=` and a thread, an issue or change, an event key, or a short id."""

from dataclasses import dataclass

from pipelines.ask.format.answer import Refusal
from pipelines.ask.format.shown import first_words, line
from pipelines.ask.query import find
from pipelines.ask.query.published import Published
from pipelines.charts.questions import Nothing

__all__ = ["Found", "which"]

KNOWN = """
SELECT parent_key, thread_id FROM feedback.threads
WHERE parent_key = $id OR thread_id = $id ORDER BY opened_at LIMIT 1
"""
# also what was deleted since, which is in no thread
GONE = """
SELECT parent_key, thread_id FROM feedback.events
WHERE parent_key = $id OR thread_id = $id OR event_key = $id ORDER BY created_at LIMIT 1
"""
LONGEST = 1_000  # signs of a name
CHOOSE = Nothing("nothing chosen yet", "choose a discussion in the list")


@dataclass(frozen=True)
class Found:
    parent_key: str
    thread_id: str  # of several the one that was meant; else nothing


def which(warehouse: Published, typed: str | None) -> Found | Nothing:
    """A link may come from anywhere, and say anything."""
    typed = line((typed or "").encode(errors="replace").decode())
    if not typed:
        return CHOOSE
    if len(typed) > LONGEST:
        return Nothing(f"there is no thread {first_words(typed)}… here", "choose a discussion in the list")
    for query in (KNOWN, GONE):
        if rows := warehouse.rows(query, {"id": typed}):
            return _found(rows[0], typed)
    try:
        return _found(find.thread(warehouse, typed), typed)
    except Refusal as refusal:
        return Nothing(refusal.message, refusal.hint)


def _found(row: dict[str, str], typed: str) -> Found:
    parent, thread = row["parent_key"], row["thread_id"]
    is_whole = typed == parent or thread in (parent, f"{parent}:conversation")
    return Found(parent, "" if is_whole else thread)
