"""Other people's Markdown as a sentence: its words without its signs, and no backtick in any case."""

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipelines.ask.format.shown import first_words

__all__ = ["plain"]

LOOKED_AT = 2_000  # characters: a table shows a few dozen
COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
SPOKEN = {"text", "code_inline", "html_inline", "html_block", "fence", "code_block"}
APART = {"softbreak", "hardbreak", "image"}


def plain(text: str | None) -> str:
    """Tags are text, comments are not shown; of a picture its description, of a link its words."""
    said = "".join(_spoken(_parser().parse(COMMENT.sub(" ", (text or "")[:LOOKED_AT]))))
    return first_words(said.replace("`", ""))


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
