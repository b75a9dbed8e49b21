"""Discussions as a page calls them, by number and title; and those that the search index finds."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pipelines.ask.query.names import Names, reference
from pipelines.ask.query.published import Row
from pipelines.charts.plain import plain
from pipelines.charts.questions import home, known_places
from pipelines.search.index import Unreadable, reading
from pipelines.search.query import Hit, Only, search_index

__all__ = ["discussion", "discussions", "find", "hits_of"]

ABOUT = ("source", "parent_number", "title", "opening_words")  # and scope_name, in whose place it stands
MOST = 25


def discussions(rows: Iterable[Row]) -> list[Row]:
    """Rows with one column for what tells a discussion from others, where the name of its place was."""
    known = known_places()
    return [
        {
            "discussion" if name == "scope_name" else name: discussion(row, known)
            if name == "scope_name"
            else row[name]
            for name in row
            if name not in ABOUT
        }
        for row in rows
    ]


def discussion(row: Mapping[str, Any], known: Names) -> str:
    """`lantern/2 Thundering herd …`; of what has no number, how it began."""
    number = "" if row["parent_number"] is None else reference(row, known)
    return f"{number} {plain(row['title'] or row['opening_words'])}".strip()


def find(text: str, **only: Any) -> tuple[list[Row], str]:
    """Discussions in which it was said, within the page's filters; and what to say where there are none."""
    hits, otherwise = hits_of(text, MOST, **only)
    known = known_places()
    return [_row(hit, known) for hit in hits], otherwise


def hits_of(text: str, most: int, **only: Any) -> tuple[list[Hit], str]:
    """The best first, as the index finds them."""
    place = home()
    if not place.search.exists():
        return [], "There is no search index here yet: the next run makes it, or earshot index does."
    try:
        with reading(place.search) as index:
            return search_index(index, place, text, Only(**only), limit=most), "Nobody said that."
    except Unreadable as error:
        return [], f"The search index cannot be read ({error}): the next run makes it anew."


def _row(hit: Hit, known: Names) -> Row:
    about = {"source": hit.source, "scope_name": hit.scope_name, "parent_number": hit.number, "title": hit.title}
    return {
        "last": datetime.fromisoformat(hit.updated_at),
        "by": hit.author,
        "discussion": discussion({**about, "opening_words": f"@{hit.author}"}, known),
        "found": hit.snippet,
        "url": hit.url,
    }
