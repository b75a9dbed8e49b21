"""Search, for notebooks and for the command line: documents by their words, by their meaning, or by both.

from pipelines.search.query import search
search("token rotation", source="gitlab")
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.search.hits import KINDS, Hit, NoMeaning, Only
from pipelines.search.index import CLOSE, OPEN, Index, reading
from pipelines.search.search_query import wanted
from pipelines.settings import data_dir, load
from pipelines.warehouse.data_dir import DataDir

if TYPE_CHECKING:
    from pipelines.search.embedders import Embedder

__all__ = ["KINDS", "MODES", "Hit", "NoMeaning", "Only", "search", "search_index"]

MODES = ("keyword", "semantic", "hybrid")
FEW = 5  # documents with all words; with fewer, those with some are told too
FUSED = 60  # the lists of both modes count by rank: 1 / (60 + rank)


def search(
    text: str,
    *,
    mode: str = "keyword",
    limit: int = 20,
    source: str | None = None,
    scope: str | None = None,
    author: str | None = None,
    since: datetime | None = None,
    kind: str | None = None,
    data: Path | str | None = None,
) -> list[Hit]:
    """The best first. `data`: the data directory, if it is not the configured one."""
    home = DataDir(Path(data).expanduser().resolve() if data else data_dir(Path.cwd()))
    home.refuse_another_version()
    embedder = None
    if mode != "keyword":
        from pipelines.search.embedders import configured_embedder

        embedder = configured_embedder(load(Path.cwd())[1].embed)
    with reading(home.search) as index:
        return search_index(index, home, text, Only(source, scope, author, since, kind), mode, limit, embedder)


def search_index(
    index: Index,
    home: DataDir,
    text: str,
    only: Only,
    mode: str = "keyword",
    limit: int = 20,
    embedder: "Embedder | None" = None,
) -> list[Hit]:
    if mode == "keyword":
        return _by_words(index, text, only, limit)
    from pipelines.search.meaning import by_meaning

    near = by_meaning(index, home, embedder, text, only, limit)
    return near if mode == "semantic" else _fused([_by_words(index, text, only, limit), near])[:limit]


def _by_words(index: Index, text: str, only: Only, limit: int) -> list[Hit]:
    asked = wanted(text)
    return [_hit(row) for row in index.find_all(asked, *only.condition, limit, FEW)] if asked else []


def _hit(row: dict[str, Any]) -> Hit:
    snippet, highlights = _unmarked(row["snippet"] or "")
    title, title_highlights = _unmarked(row["shown_title"] or "")
    found: dict[str, Any] = {"highlights": highlights, "title": title or None, "title_highlights": title_highlights}
    return Hit.of(row, row["score"], snippet, has_all_words=row["has_all"], **found)


def _unmarked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without marks, and where they were."""
    plain, found, start = "", list[tuple[int, int]](), 0
    for part in text.replace(OPEN, f"\x00{OPEN}").replace(CLOSE, f"\x00{CLOSE}").split("\x00"):
        if part.startswith(OPEN):
            start, part = len(plain), part[1:]
        elif part.startswith(CLOSE):
            found.append((start, len(plain)))
            part = part[1:]
        plain += part
    return plain, found


def _fused(lists: Sequence[list[Hit]]) -> list[Hit]:
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for found in lists:
        for rank, hit in enumerate(found, 1):
            scores[hit.document_key] = scores.get(hit.document_key, 0.0) + 1 / (FUSED + rank)
            hits.setdefault(hit.document_key, hit)
    for key, hit in hits.items():
        hit.score = round(scores[key], 5)
    return sorted(hits.values(), key=lambda hit: -hit.score)
