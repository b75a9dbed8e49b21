"""Names that can be typed and copied as they stand: `console/12` of what has a number, `3f9a1c2` of threads and posts.

No shell makes anything of a slash or of hex digits; of `console!12` and ` #12` it does.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import md5
from typing import TYPE_CHECKING, Any

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.ask.format.shown import line

if TYPE_CHECKING:
    from pipelines.ask.query.published import Published

__all__ = ["Names", "names", "place", "reference", "short_id", "shortened", "with_short_id"]

Names = Mapping[tuple[str, str], str]  # (source, scope_name) → what stands before the slash
SHORT = 7
DIGITS = re.compile(r"[0-9a-f]{4,32}")
LISTED = 5

# what is configured and was read has cursors, also before anything is in it
NUMBERED = """
SELECT source, scope_name FROM feedback.parents
UNION
SELECT source, scope_name FROM ops.cursors WHERE source IN (SELECT source FROM feedback.parents)
"""


def names(warehouse: "Published") -> Names:
    return shortened((row["source"], row["scope_name"]) for row in warehouse.rows(NUMBERED))


def shortened(projects: Iterable[tuple[str, str]]) -> Names:
    """As short as they are still told apart: nothing, where there is one project; the last part of its path; the path;
    with its service before it, where another has the same.
    """
    known = list(dict.fromkeys(projects))
    paths = Counter(path.lower() for _, path in known)
    tails = Counter(path.lower().rpartition("/")[2] for _, path in known)

    def short(source: str, path: str) -> str:
        tail = path.rpartition("/")[2]
        if len(known) == 1:
            return ""
        if tails[tail.lower()] == 1:
            return tail
        return path if paths[path.lower()] == 1 else f"{source}:{path}"

    return {(source, path): short(source, path) for source, path in known}


def reference(row: Mapping[str, Any], known: Names) -> str:
    """What `show` takes, of a row with a number; else whose feed it is."""
    if row["parent_number"] is None:
        return line(row["scope_name"])
    project = known.get((row["source"], row["scope_name"]), row["scope_name"])
    return line(f"{project}/{row['parent_number']}" if project else str(row["parent_number"]))


def place(row: Mapping[str, Any], number: str = "parent_number") -> str:
    """In full, for a message: `lantern/console/12`."""
    return line(f"{row['scope_name']}/{row[number]}")


def short_id(name: str) -> str:
    return md5(name.encode(), usedforsecurity=False).hexdigest()[:SHORT]


def with_short_id(warehouse: "Published", table: str, column: str, typed: str) -> str | None:
    """The one of which that is the short id; more than one are a question back."""
    if not DIGITS.fullmatch(typed):
        return None
    found = warehouse.rows(
        f"SELECT DISTINCT {column} AS name, md5({column}) AS digits FROM {table}"
        f" WHERE starts_with(md5({column}), ?) ORDER BY digits LIMIT {LISTED}",
        [typed],
    )
    if len(found) > 1:
        digits = [row["digits"] for row in found]
        length = next(n for n in range(SHORT, 33) if len({each[:n] for each in digits}) == len(digits))
        longer = ", ".join(each[:length] for each in digits)
        raise Refusal("AMBIGUOUS", f"{typed} is short for {len(found)} threads or posts", f"say which: {longer}", USAGE)
    return str(found[0]["name"]) if found else None
