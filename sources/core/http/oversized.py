"""A record that is too large by itself: known by how its answer begins, read no further, quarantined by name."""

import re

from sources.core.http.response import TooLarge
from sources.core.values import Oversized

__all__ = ["id_of", "stand_in"]

PART = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def stand_in(why: TooLarge) -> Oversized:
    """What a list of one says of it instead. What does not tell who it is could not be named: its list fails."""
    id_ = id_of(why.begun) if why.begun.lstrip().startswith(b"[") else None
    if id_ is None or why.answer.headers.get("x-per-page", "1") != "1":
        raise why  # no list, or not of one
    return Oversized({"id": id_}, f"too large by itself: {why}")


def id_of(begun: bytes) -> int | str | None:
    """The record's own id: at its first level, and whole."""
    parts = PART.findall(begun.decode("utf-8", "replace"))
    depth = 0
    for part, colon, value, after in zip(parts, parts[1:], parts[2:], parts[3:], strict=False):
        depth += (part == "{") - (part == "}")
        if depth == 1 and (part, colon) == ('"id"', ":") and after in (",", "}"):
            if re.fullmatch("[0-9]{1,18}", value):
                return int(value)
            return value[1:-1] if re.fullmatch(r'"[^"\\]{1,200}"', value) else None
    return None
