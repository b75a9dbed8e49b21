"""Suggested changes as diffs: what stands there, taken from the diff that was commented on, and what is proposed."""

import re
from collections.abc import Iterator

__all__ = ["diffed", "new_side"]

FENCE = re.compile(r"^```suggestion(?::-(\d{1,4})\+(\d{1,4}))?[^\n]*\n(.*?)^```[ \t]*\r?$", re.M | re.S)
HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diffed(body: str, diff: str | None, start: int | None, end: int | None) -> Iterator[tuple[str, str]]:
    """The body in parts: ("said", text), and for each suggestion its ("removed", line)s and ("added", line)s.

    GitHub suggests for the lines commented on, GitLab for so many above and below the last of them.
    """
    stands, position = new_side(diff or ""), 0
    for found in FENCE.finditer(body):
        yield "said", body[position : found.start()].strip("\n")
        above, below, proposed = found.groups()
        if end is not None:
            first, last = (end - int(above), end + int(below)) if above is not None else (start or end, end)
            numbers = range(first, last + 1)
            if all(number in stands for number in numbers):  # half of what stands there would be a lie
                yield from (("removed", stands[number]) for number in numbers)
        yield from (("added", line) for line in proposed.splitlines())
        position = found.end()
    yield "said", body[position:].strip("\n")


def new_side(diff: str) -> dict[int, str]:
    """A unified diff's lines as they are after it, by number."""
    lines, number = dict[int, str](), 0
    for line in diff.split("\n"):
        if hunk := HUNK.match(line):
            number = int(hunk[1])
        elif number and line[:1] in ("+", " "):
            lines[number] = line[1:]
            number += 1
    return lines
