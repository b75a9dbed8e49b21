"""Other people's Markdown as a sentence: its words without its signs, and no backtick in any case."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipelines.ask.published import Row
from pipelines.ask.shown import SIGNS, first_words

__all__ = ["discussion", "discussions", "plain"]

LOOKED_AT = 2_000  # characters: a table shows a few dozen
COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
ABOUT = ("parent_kind", "parent_number", "title", "opening_words")  # and scope_name, in whose place it stands
SPOKEN = {"text", "code_inline", "html_inline", "html_block", "fence", "code_block"}
APART = {"softbreak", "hardbreak", "image"}


def plain(text: str | None) -> str:
    """Tags are text, comments are not shown; of a picture its description, of a link its words."""
    said = "".join(_spoken(_parser().parse(COMMENT.sub(" ", (text or "")[:LOOKED_AT]))))
    return first_words(said.replace("`", ""))


def discussion(row: Mapping[str, Any]) -> str:
    """`lantern#2 Thundering herd …`; of what has no number, how it began."""
    number, place = row["parent_number"], row["scope_name"].rpartition("/")[2]
    known = "" if number is None else f"{place}{SIGNS.get(row['parent_kind'], '#')}{number}"
    return f"{known} {plain(row['title'] or row['opening_words'])}".strip()


def discussions(rows: Iterable[Row]) -> list[Row]:
    """Rows with one column for what tells a discussion from others, where the first of these columns was."""
    told = []
    for row in rows:
        shown = {name: discussion(row) if name == "scope_name" else value for name, value in row.items()}
        told.append({"discussion" if name == "scope_name" else name: shown[name] for name in row if name not in ABOUT})
    return told


def _spoken(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children:
            yield from _spoken(token.children)
        elif token.type in SPOKEN:
            yield token.content
        if token.type in APART or (token.block and token.nesting < 1):
            yield " "


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
