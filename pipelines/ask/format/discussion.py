"""What was said about one thing, as discussions: what people answered each other, and what they said by itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pipelines.ask.query.published import Published, Row

__all__ = ["Discussion", "discussions", "notes", "with_media"]

SAID = """
SELECT said.*, place.path, place.start_line, place.line, place.side, place.is_outdated, place.diff_hunk,
    place.image_x, place.image_y, place.image_width, place.image_height
FROM feedback.comments AS said
LEFT JOIN (SELECT * FROM feedback.diff_notes WHERE parent_key = $parent) AS place ON place.event_key = said.event_key
WHERE said.parent_key = $parent
ORDER BY said.created_at, said.id, said.event_key
"""
MEDIA = """
SELECT said.event_key, media.kind, media.alt FROM feedback.comments AS said
INNER JOIN bluesky.post_images AS media
    ON media.uri = said.id AND right(said.event_key, length(media.cid)) = media.cid
WHERE said.parent_key = $parent AND media.parent_key = $parent
ORDER BY said.event_key, media.position
"""


@dataclass(frozen=True)
class Discussion:
    thread_id: str
    is_resolved: bool | None
    waiting_on: str | None
    notes: list[Row]

    def json(self) -> dict[str, Any]:
        return {
            "thread_id": self.thread_id,
            "is_resolved": self.is_resolved,
            "waiting_on": self.waiting_on,
            "notes": self.notes,
        }


def notes(warehouse: Published, parent_key: str) -> list[Row]:
    """All that is said there, in order, each with its place in a diff."""
    return with_media(warehouse, parent_key, warehouse.rows(SAID, {"parent": parent_key}))


def with_media(warehouse: Published, parent_key: str, said: list[Row]) -> list[Row]:
    """With the pictures and videos of posts, as their authors describe them."""
    if any(row["parent_kind"] == "post" for row in said):
        media: dict[str, list[Row]] = {}
        for row in warehouse.rows(MEDIA, {"parent": parent_key}):
            media.setdefault(row["event_key"], []).append({"kind": row["kind"], "alt": row["alt"]})
        said = [{**row, "media": media.get(row["event_key"], [])} for row in said]
    return said


def discussions(warehouse: Published, parent_key: str, said: Iterable[Row]) -> list[Discussion]:
    """In the order they began. What nobody can answer in place (`…:conversation`) stands by itself."""
    threads = {
        row["thread_id"]: row
        for row in warehouse.rows(
            "SELECT thread_id, is_resolved, waiting_on FROM feedback.threads WHERE parent_key = ?", [parent_key]
        )
    }
    found: dict[str, Discussion] = {}
    for note in said:
        alone = note["thread_id"] == f"{parent_key}:conversation"
        thread = threads.get(note["thread_id"], {})
        key = note["event_key"] if alone else note["thread_id"]
        beginning = Discussion(
            note["thread_id"], thread.get("is_resolved"), None if alone else thread.get("waiting_on"), []
        )
        found.setdefault(key, beginning).notes.append(note)
    return list(found.values())
