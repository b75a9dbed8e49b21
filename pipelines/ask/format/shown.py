"""How things look: people, first words, tables. Everything said by others passes `safe` on its way."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.sync.output.summary import plural, safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

__all__ = ["NOUNS", "WIDE", "Column", "at", "counted", "first_words", "hang", "headline", "line", "styled", "table"]

Column = str | tuple[str, dict[str, Any]]

NOUNS = {  # what people type → what the models call it, one, many
    "mr": ("merge_request", "Merge Request", "Merge Requests"),
    "issue": ("issue", "Issue", "Issues"),
    "pr": ("pull_request", "Pull Request", "Pull Requests"),
}
STYLES = {
    "open": "green",
    "merged": "magenta",
    "closed": "red",
    "locked": "yellow",
    "done": "green",
    "partial": "yellow",
    "failed": "red",
    "killed": "red",
    "cancelled": "yellow",
    "running": "cyan",
}
FIRST_WORDS = 200
WIDE = 120  # columns; with fewer, times are told short and paths by their last part


def line(text: str | None) -> str:
    """On one line, whatever it was."""
    return safe(" ".join((text or "").split()))


def first_words(text: str | None) -> str:
    return line((text or "")[:FIRST_WORDS])


def counted(n: int, one: str) -> str:
    """`1 thread`, `2 threads`, `3 replies`."""
    return f"{n:,} {plural(one, n)}"


def at(name: str | None) -> str:
    return f"@{line(name)}" if name else ""


def styled(word: str | None) -> "Text":
    from rich.text import Text

    return Text(line(word), style=STYLES.get(word or "", ""))


def table(columns: Iterable[Column], rows: Iterable[Sequence[Any]]) -> "Table":
    """No box: rows that can be cut out and piped. Cells are cut with an ellipsis, never wrapped; of a column with a
    `ratio` before others.
    """
    from rich.table import Table

    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", show_header=True)
    for column in columns:
        name, options = (column, {}) if isinstance(column, str) else column
        found.add_column(name, **{"no_wrap": True, "overflow": "ellipsis", **options})
        found.expand = found.expand or "ratio" in options
    for row in rows:
        found.add_row(*row)
    return found


def hang(console: "Console", lead: "str | Text", words: "str | Text", style: str = "") -> None:
    """A lead, and words that stay beside it where they are too long for the line. An address is not broken: the
    terminal does what it can, and what is copied is the whole of it.
    """
    from rich.text import Text

    lead, words = (Text(each) if isinstance(each, str) else each for each in (lead, words))
    room = max(console.width - lead.cell_len, 20)
    for each in words.split("\n", allow_blank=True):
        for piece in each.wrap(console, room, overflow="ignore" if "://" in each.plain else "fold"):
            piece.rstrip()
            console.print(lead + piece, style=style, soft_wrap=True)
            lead = Text(" " * lead.cell_len)


def headline(console: "Console", name: str, shown: int, total: int) -> None:
    """`Merge Requests (showing 20 of 1,234)`."""
    from rich.text import Text

    count = f"showing {shown:,} of {total:,}" if shown < total else f"{total:,}"
    console.print(Text.assemble((name, "bold"), f" ({count})"), end="\n\n")
