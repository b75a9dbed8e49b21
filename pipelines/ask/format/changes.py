"""What changed between two versions of a text, and the piece of a diff that a comment is about. Pure."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

__all__ = ["Part", "changed", "hunk"]

Part = tuple[str, str]  # "same", "removed" or "added"; "left out" of what stayed the same; and the text
WORD = re.compile(r"\S+\s*|\s+")
MOST_WORDS = 5_000  # beyond, lines are compared: each pair of equal words costs time
KEPT = 80  # characters of what stayed the same, on either side of a change
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
BEFORE, MOST_LINES = 3, 24


def changed(before: str, after: str) -> list[Part]:
    """Word by word; a long text line by line. What stayed the same is cut to what stands around a change."""
    old, new = _pieces(before), _pieces(after)
    if max(len(old), len(new)) > MOST_WORDS:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found: list[Part] = []
    for what, from_, to, new_from, new_to in SequenceMatcher(None, old, new).get_opcodes():
        if what == "equal":
            found.append(("same", "".join(old[from_:to])))
            continue
        pairs = (("removed", "".join(old[from_:to])), ("added", "".join(new[new_from:new_to])))
        found += [pair for pair in pairs if pair[1]]
    last = len(found) - 1
    return [part for n, each in enumerate(found) for part in _shortened(each, n == 0, n == last)]


def _pieces(text: str) -> list[str]:
    return WORD.findall(text)


def _shortened(part: Part, is_first: bool, is_last: bool) -> Iterator[Part]:
    what, text = part
    head, tail = (0 if is_first else KEPT), (0 if is_last else KEPT)
    if what != "same" or len(text) <= head + tail + KEPT:
        yield part
        return
    yield from [("same", text[:head])] if head else []
    yield ("left out", "…")
    yield from [("same", text[-tail:])] if tail else []


def hunk(diff: str, side: str | None, start: int | None, end: int | None) -> list[tuple[str, int | None, str]]:
    """The lines commented on with a few before them, as (sign, number, text); of a place that is not found, the last.

    GitHub's diff ends where the comment stands, GitLab's is all that changed in the file.
    """
    rows = list(_numbered(diff))
    is_left = side == "LEFT"
    wanted = range(start or end or 0, (end or 0) + 1)
    places = [
        number
        for number, (sign, old, new, _) in enumerate(rows)
        if sign != ("+" if is_left else "-") and (old if is_left else new) in wanted
    ]
    first, after = (max(0, places[0] - BEFORE), places[-1] + 1) if places else (len(rows) - 2 * BEFORE, len(rows))
    shown = rows[max(0, first, after - MOST_LINES) : after]
    return [(sign, old if sign == "-" else new, text) for sign, old, new, text in shown]


def _numbered(diff: str) -> Iterator[tuple[str, int, int, str]]:
    old = new = 0
    for line in diff.split("\n"):
        if found := HUNK.match(line):
            old, new = int(found[1]), int(found[2])
        elif line[:1] in ("+", "-", " ") and (old or new):
            yield line[0], old, new, line[1:]
            old, new = old + (line[0] != "+"), new + (line[0] != "-")
