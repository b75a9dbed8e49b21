"""What a page finds: by the search index, as `earshot search` does, the best first."""

from datetime import datetime
from typing import Any

from pipelines.ask.published import Row
from pipelines.index import Unreadable, reading
from pipelines.look.plain import discussion
from pipelines.look.questions import home
from pipelines.search import Hit, Only, search_index

__all__ = ["find"]

MOST = 25


def find(text: str, **only: Any) -> tuple[list[Row], str]:
    """Discussions in which it was said, within the page's filters; and what to say where there are none."""
    place = home()
    if not place.search.exists():
        return [], "There is no search index here yet: the next run makes it, or earshot index does."
    try:
        with reading(place.search) as index:
            hits = search_index(index, place, text, Only(**only), limit=MOST)
    except Unreadable as error:
        return [], f"The search index cannot be read ({error}): the next run makes it anew."
    return [_row(hit) for hit in hits], "Nobody said that."


def _row(hit: Hit) -> Row:
    about = {"scope_name": hit.scope_name, "parent_kind": hit.kind, "parent_number": hit.number, "title": hit.title}
    return {
        "last": datetime.fromisoformat(hit.updated_at), "by": hit.author,
        "discussion": discussion({**about, "opening_words": f"@{hit.author}"}), "found": hit.snippet, "url": hit.url,
    }  # fmt: skip
