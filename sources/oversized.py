"""A record that is too large by itself: known by how its answer begins, read no further, quarantined by name."""

import re

from sources.record import Oversized
from sources.response import TooLarge

__all__ = ["id_of", "stand_in"]

PART = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def stand_in(why: TooLarge) -> Oversized:
    """What a list of one says of it instead; where no record is to be seen, or not of one, the list fails."""
    id_ = id_of(why.begun)
    if id_ is None or not why.begun.lstrip().startswith(b"[") or why.answer.headers.get("x-per-page", "1") != "1":
        raise why
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
