"""What one line of a list shows. Where it gets narrow, what can be done without gives way first."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipelines.ask.published import Row
from pipelines.ask.shown import WIDE, at, first_words, line, reference, styled, table
from pipelines.ask.times import ago, ago_short

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["commands", "events", "parents", "posts", "threads"]

_DRAFT = re.compile(r"^\s*(\[?(draft|wip)\]?:?|\(draft\))\s+", re.I)  # the prefix says it already


def parents(console: "Console", rows: Sequence[Row]) -> None:
    changes = any(row["source_branch"] for row in rows)
    last = ("branches", {"ratio": 2, "min_width": 12}) if changes else ("labels", {"ratio": 1, "min_width": 6})
    _print(
        console,
        ["", ("title", {"ratio": 3, "min_width": 16}), "state", _people(console), last, "updated"],
        (
            (
                name,
                f"{'[DRAFT] ' if row['is_draft'] else ''}{line(_DRAFT.sub('', row['title'] or ''))}",
                styled(row["state"]),
                at(row["author"]),
                _branches(row) if changes else line(", ".join(row["labels"])),
                _when(console, row["updated_at"]),
            )
            for row, name in zip(rows, _references(rows), strict=True)
        ),
    )  # fmt: skip


def threads(console: "Console", rows: Sequence[Row]) -> None:
    words = ("what was said last", {"ratio": 1, "min_width": 20})
    turn = _narrow(console, "turn", 12)
    _print(
        console,
        [_narrow(console, "", 22), words, _people(console, "by"), "n", turn, "last"],
        (
            (
                name,
                first_words(row["last_words"]),
                at(row["last_author"]),
                f"{row['comment_count']:,}",
                "resolved" if row["is_resolved"] else line(row["waiting_on"]),
                _when(console, row["last_at"]),
            )
            for row, name in zip(rows, _references(rows), strict=True)
        ),
    )


def posts(console: "Console", rows: Sequence[Row]) -> None:
    _print(
        console,
        [_people(console), "kind", ("words", {"ratio": 1, "min_width": 20}), "said"],
        (
            (at(row["author"]), row["kind"], first_words(row["body"]), _when(console, row["created_at"]))
            for row in rows
        ),
    )  # fmt: skip


def events(console: "Console", rows: Sequence[Row]) -> None:
    """Two lines each: a key must never be cut, it is what `ack` takes."""
    from rich.text import Text

    for row, name in zip(rows, _references(rows), strict=True):
        console.print(Text(line(row["event_key"]), style="cyan"), soft_wrap=True)
        about = " ".join((at(row["author"]), name, f"{_when(console, row['updated_at'])}:"))
        words = Text(f"    {about} {first_words(row['body'] or row['title'])}")
        words.truncate(console.width, overflow="ellipsis")
        console.print(words)


def commands(console: "Console", rows: Sequence[Row]) -> None:
    """As events: the key is what `reply` takes."""
    from rich.text import Text

    for row, name in zip(rows, _references(rows), strict=True):
        console.print(Text(line(row["command_key"]), style="cyan"), soft_wrap=True)
        told = [row["status"], "" if row["is_author_allowed"] else "not allowed", line(row["problem"])]
        about = " ".join((at(row["author"]), name, f"{_when(console, row['updated_at'])},"))
        words = Text(f"    {about} {', '.join(word for word in told if word)}: {first_words(row['line'])}")
        words.truncate(console.width, overflow="ellipsis")
        console.print(words)


def _references(rows: Sequence[Row]) -> list[str]:
    """As short as they are still told apart; `-p` takes the last part of a path too."""
    paths = {row["scope_name"] for row in rows}
    tails = {path.rpartition("/")[2] for path in paths}
    brief = (
        [{**row, "scope_name": row["scope_name"].rpartition("/")[2]} for row in rows]
        if len(tails) == len(paths)
        else rows
    )
    return [reference(row, with_scope=len(paths) > 1) for row in brief]


def _branches(row: Row) -> str:
    return f"{line(row['target_branch'])} <- {line(row['source_branch'])}"


def _people(console: "Console", name: str = "author") -> tuple[str, dict[str, Any]]:
    return _narrow(console, name, 12)


def _narrow(console: "Console", name: str, width: int) -> tuple[str, dict[str, Any]]:
    """A column that may be cut where there is little room."""
    return name, {"max_width": 40 if console.width >= WIDE else width}


def _when(console: "Console", moment: datetime) -> str:
    return ago(moment) if console.width >= WIDE else ago_short(moment)


def _print(
    console: "Console", columns: Sequence[str | tuple[str, dict[str, Any]]], rows: Iterable[Sequence[Any]]
) -> None:
    shown = table(columns, rows)
    shown.expand = True
    console.print(shown)
