"""Long texts in parts that a model can take in, parted at the borders of paragraphs."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["LONGEST", "MOST", "Chunk", "chunks"]

LONGEST = 900  # characters: some 200 tokens; the embedded model reads 256
MOST = 200  # of one document


@dataclass(frozen=True)
class Chunk:
    start: int  # in the body
    text: str


def chunks(title: str, body: str) -> list[Chunk]:
    """Paragraphs together as long as they fit. Every part begins with the title: it may name the subject alone."""
    found, start, end = list[Chunk](), 0, 0
    head = f"{title[:200]}\n\n" if title else ""
    for at, upto in _paragraphs(body):
        if end > start and upto - start > LONGEST:
            found.append(Chunk(start, head + body[start:end].strip()))
            start = at
            if len(found) == MOST:
                return found
        if end <= start:
            start = at
        end = upto
    if end > start or not found:
        found.append(Chunk(start, (head + body[start:end].strip()).strip()))
    return found


def _paragraphs(body: str) -> Iterator[tuple[int, int]]:
    """From and to of each, without the empty lines around; what is too long for one part is cut at a space."""
    at = 0
    while at < len(body):
        border = body.find("\n\n", at)
        upto = len(body) if border < 0 else border
        while upto - at > LONGEST:
            space = max(
                body.rfind(" ", at + LONGEST // 2, at + LONGEST), body.rfind("\n", at + LONGEST // 2, at + LONGEST)
            )
            cut = space if space > 0 else at + LONGEST
            yield at, cut
            at = cut
        if body[at:upto].strip():
            yield at, upto
        at = upto + 2 if border >= 0 else len(body)
