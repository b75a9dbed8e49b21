"""A record that is too large by itself: known by how its answer begins, read no further, quarantined by name."""

import re

from sources.record import Json, Oversized
from sources.response import TooLarge

__all__ = ["id_of", "stand_in"]

PART = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def stand_in(why: TooLarge, position: int) -> Oversized:
    """What a list of one says of it instead. Without an id it is known by where it stood."""
    if not why.begun.lstrip().startswith(b"[") or why.answer.headers.get("x-per-page", "1") != "1":
        raise why  # no list, or not of one
    id_ = id_of(why.begun)
    known: Json = {"position": position} if id_ is None else {"id": id_}
    return Oversized(known, f"too large by itself: {why}")


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
