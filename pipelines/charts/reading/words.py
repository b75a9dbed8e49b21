"""Other people's words, whole: text as it was typed, code in its own letters, suggestions as diffs. Nothing of theirs
is markup here, no address of theirs is loaded or linked.
"""

import re
from collections.abc import Iterable
from html import escape
from itertools import groupby

from pipelines.ask.format.changes import changed, hunk
from pipelines.ask.format.suggestion import diffed
from pipelines.ask.query.published import Row
from pipelines.sync.output.summary import safe

__all__ = ["around", "inert", "text", "what_changed", "words"]

FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n`]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
# comments, which no service shows, and code: whichever begins first
SIGNED = re.compile(
    r"<!--.*?-->|^ {0,3}<!--.*\Z|(?<!`)(?P<ticks>`+)(?!`)(?P<code>[^\n]+?)(?<!`)(?P=ticks)(?!`)", re.M | re.S
)
ACTIVE = re.compile(r"[^\w ]|_")
SIGNS = {"removed": "-", "added": "+"}
TAGS = {"removed": "del", "added": "ins", "same": "span", "left out": "small"}


def text(said: str | None) -> str:
    """Their text in HTML of ours."""
    return escape(safe(said or ""))


def inert(said: str | None) -> str:
    """Where Markdown would be made of it first: each sign by its number means itself, there and in HTML."""
    return ACTIVE.sub(lambda sign: f"&#{ord(sign[0])};", safe(said or ""))


def words(row: Row) -> str:
    """What was said, with a suggestion as the change that it proposes."""
    parts = diffed(row["body"], row.get("diff_hunk"), row.get("start_line"), row.get("line"))
    told = []
    for is_change, each in groupby(parts, key=lambda part: part[0] != "said"):
        if is_change:
            told.append(lines((SIGNS[kind], None, line) for kind, line in each))
        else:
            told += [_prose(said) for _, said in each if said.strip()]
    return "".join(told)


def around(row: Row) -> str:
    """The lines that a comment is about, where the service told the diff."""
    shown = hunk(row.get("diff_hunk") or "", row.get("side"), row.get("start_line"), row.get("line"))
    return f'<div data-earshot="hunk">{lines(shown)}</div>' if shown else ""


def lines(shown: Iterable[tuple[str, int | None, str]]) -> str:
    """Of a diff: sign, number, text."""
    told = "".join(
        f'<div class="{ {"-": "gone", "+": "new"}.get(sign, "kept") }">'
        f"<i>{'' if number is None else number}</i><b>{sign}</b>{text(line).expandtabs(4)}\n</div>"
        for sign, number, line in shown
    )
    return f'<div class="diff">{told}</div>'


def what_changed(before: str, after: str) -> str:
    """Both in one, with what went and what came."""
    if before == after:
        return '<div class="facts">The words stayed the same.</div>'
    told = "".join(f"<{TAGS[kind]}>{text(part)}</{TAGS[kind]}>" for kind, part in changed(before, after))
    return f'<div class="words changes">{told}</div>'


def _prose(said: str) -> str:
    """Code apart from the words around it."""
    told, position = [], 0
    for fence in FENCE.finditer(said):
        told += [_spoken(said[position : fence.start()]), f'<div class="code">{text(fence[2].rstrip())}</div>']
        position = fence.end()
    return "".join([*told, _spoken(said[position:])])


def _spoken(said: str) -> str:
    told, position = [], 0
    for found in SIGNED.finditer(said):
        told += [
            text(said[position : found.start()]),
            f"<code>{text(found['code'].strip())}</code>" if found["code"] else "",
        ]
        position = found.end()
    shown = "".join([*told, text(said[position:])]).strip()
    return f'<div class="words">{shown}</div>' if shown else ""
