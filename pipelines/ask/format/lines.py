"""What one line of a list shows. Where it gets narrow, what can be done without gives way first."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipelines.ask.format.page import place
from pipelines.ask.format.shown import WIDE, Column, at, first_words, line, styled, table
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago, ago_short

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["commands", "diff_notes", "events", "parents", "posts", "threads"]

_DRAFT = re.compile(r"^\s*(\[?(draft|wip)\]?:?|\(draft\))\s+", re.I)  # the prefix says it already


def parents(console: "Console", rows: Sequence[Row]) -> None:
    """Branches only where the title does not pay for them; labels take no more than they need."""
    changes = any(row["source_branch"] for row in rows)
    more = [] if changes and console.width < WIDE else [_narrow(console, "branches" if changes else "labels", 14)]
    columns: list[Column] = ["", ("title", {"ratio": 1, "min_width": 16}), "state", _people(console), *more, "updated"]
    console.print(table(columns, (_parent(console, row, changes, bool(more)) for row in rows)))


def _parent(console: "Console", row: Row, changes: bool, has_more: bool) -> Sequence[Any]:
    title = f"{'[DRAFT] ' if row['is_draft'] else ''}{line(_DRAFT.sub('', row['title'] or ''))}"
    more = [_branches(row) if changes else line(", ".join(row["labels"]))] if has_more else []
    when = _when(console, row["updated_at"])
    return row["reference"], title, styled(row["state"]), at(row["author"]), *more, when


def threads(console: "Console", rows: Sequence[Row]) -> None:
    words = ("what was said last", {"ratio": 1, "min_width": 20})
    turn, where = _narrow(console, "turn", 9), _narrow(console, "", 16)
    columns: list[Column] = ["", where, words, _narrow(console, "by", 10), "n", turn, "last"]
    console.print(table(columns, (_thread(console, row) for row in rows)))


def _thread(console: "Console", row: Row) -> Sequence[Any]:
    said, n, when = first_words(row["last_words"]), f"{row['comment_count']:,}", _when(console, row["last_at"])
    turn = "resolved" if row["is_resolved"] else line(row["waiting_on"])
    return row["reference"], row["place"], said, at(row["last_author"]), n, turn, when


def diff_notes(console: "Console", rows: Sequence[Row]) -> None:
    """Two lines each: a path wants as much room as the words."""
    from rich.text import Text

    for row in rows:
        stands = "resolved" if row["is_resolved"] else "outdated" if row["is_outdated"] else ""
        when = _when(console, row["created_at"])
        about = ", ".join(each for each in (at(row["author"]), stands, when) if each)
        head = Text.assemble((row["reference"], "cyan"), f"  {row['place']}  {line(place(row))}  {about}")
        for each in (head, Text(f"    {first_words(row['body'])}")):
            each.truncate(console.width, overflow="ellipsis")
            console.print(each)


def posts(console: "Console", rows: Sequence[Row]) -> None:
    columns: list[Column] = ["", _people(console), "kind", ("words", {"ratio": 1, "min_width": 20}), "said"]
    console.print(table(columns, (_post(console, row) for row in rows)))


def _post(console: "Console", row: Row) -> Sequence[Any]:
    return row["reference"], at(row["author"]), row["kind"], first_words(row["body"]), _when(console, row["created_at"])


def events(console: "Console", rows: Sequence[Row]) -> None:
    """Two lines each: a key must never be cut, it is what `ack` takes."""
    from rich.text import Text

    for row in rows:
        console.print(Text(line(row["event_key"]), style="cyan"), soft_wrap=True)
        about = " ".join((at(row["author"]), row["place"], f"{_when(console, row['updated_at'])}:"))
        words = Text(f"    {about} {first_words(row['body'] or row['title'])}")
        words.truncate(console.width, overflow="ellipsis")
        console.print(words)


def commands(console: "Console", rows: Sequence[Row]) -> None:
    """As events: the key is what `reply` takes."""
    from rich.text import Text

    for row in rows:
        console.print(Text(line(row["command_key"]), style="cyan"), soft_wrap=True)
        told = [row["status"], "" if row["is_author_allowed"] else "not allowed", line(row["problem"])]
        about = " ".join((at(row["author"]), row["place"], f"{_when(console, row['updated_at'])},"))
        words = Text(f"    {about} {', '.join(word for word in told if word)}: {first_words(row['line'])}")
        words.truncate(console.width, overflow="ellipsis")
        console.print(words)


def _branches(row: Row) -> str:
    return f"{line(row['target_branch'])} <- {line(row['source_branch'])}"


def _people(console: "Console", name: str = "author") -> tuple[str, dict[str, Any]]:
    return _narrow(console, name, 12)


def _narrow(console: "Console", name: str, width: int) -> tuple[str, dict[str, Any]]:
    """A column that may be cut where there is little room."""
    return name, {"max_width": 40 if console.width >= WIDE else width}


def _when(console: "Console", moment: datetime) -> str:
    return ago(moment) if console.width >= WIDE else ago_short(moment)
