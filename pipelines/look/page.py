"""HTML of our own around other people's words, which are text and nothing else: no markup, no picture, no control sign.

marimo's own table would load an address that somebody wrote if it ends like a picture's.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape

from pipelines.ask.published import Row
from pipelines.ask.shown import first_words
from pipelines.ask.times import ago_short
from pipelines.look.questions import Nothing

__all__ = ["as_of", "cards", "nothing", "table", "title"]

WEB = re.compile(r"https?://", re.I)
LINE = "1px solid rgba(128, 128, 128, .25)"
BOX = f"border: {LINE}; border-radius: .6rem"
BLUE = "#2482c9"  # legible on white and on black
GREY = "opacity: .68"
NAME = f"text-align: left; padding: .3rem .6rem; font-weight: normal; white-space: nowrap; {GREY}"
CELL = f"border-top: {LINE}; padding: .35rem .6rem; white-space: nowrap; vertical-align: top"
REST = "; width: 100%; max-width: 0; min-width: 12rem; overflow: hidden; text-overflow: ellipsis"  # what room is left


def title(words: str) -> str:
    return f'<h1 style="font-size: 1.6rem; font-weight: 650; margin: 0">{escape(words)}</h1>'


def as_of(moment: datetime) -> str:
    return f'<div style="margin-top: -1.2rem; {GREY}">Last news {moment:%A, %-d %B %Y, %H:%M} UTC</div>'


def nothing(why: Nothing) -> str:
    words = why.message[:1].upper() + why.message[1:]
    return (
        f'<div data-earshot="nothing" style="{BOX}; padding: 2.5rem; margin-top: 1rem; text-align: center">'
        f'<div style="font-size: 1.2rem; font-weight: 650">{escape(words)}</div>'
        f'<p style="margin: .5rem 0 0; {GREY}">{escape(why.hint)}</p></div>'
    )


def cards(told: Mapping[str, object]) -> str:
    """The few numbers that come before every picture."""
    each = "".join(
        f'<div style="flex: 1 1 8rem; {BOX}; padding: .7rem 1rem">'
        f'<div style="font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums">{_cell(value)}</div>'
        f'<div style="font-size: .8rem; {GREY}">{escape(name)}</div></div>'
        for name, value in told.items()
    )
    return f'<div data-earshot="cards" style="display: flex; flex-wrap: wrap; gap: .7rem">{each}</div>'


def table(title: str, rows: Sequence[Row], link: str = "", otherwise: str = "Nothing here.") -> str:
    """Columns are called as the query calls them; the last has what room is left; `link` leads to the row's url."""
    names = [name for name in (rows[0] if rows else ()) if name != "url"]
    lines = "".join(f"<tr>{''.join(_td(row, name, names, link) for name in names)}</tr>" for row in rows)
    heads = "".join(f'<th style="{NAME}{_right(rows[0][name])}">{escape(name)}</th>' for name in names)
    body = f'<table style="width: 100%; font-size: .82rem"><tr>{heads}</tr>{lines}</table>'
    none = f'<p style="{GREY}">{escape(otherwise)}</p>'
    return (
        f'<div data-earshot="table" style="overflow-x: auto"><div style="font-weight: 600; margin-bottom: .4rem">'
        f"{escape(title)}</div>{body if rows else none}</div>"
    )


def _td(row: Row, name: str, names: Sequence[str], link: str) -> str:
    words, url = _cell(row[name]), row.get("url") or ""
    if name == link and WEB.match(url):
        words = f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer" style="color: {BLUE}">{words}</a>'
    rest = REST if name == names[-1] and isinstance(row[name], str) else _right(row[name])
    return f'<td style="{CELL}{rest}">{words}</td>'


def _right(value: object) -> str:
    return "; text-align: right" if isinstance(value, int | float | Decimal) else ""


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return f'<span title="{value:%Y-%m-%d %H:%M} UTC">{ago_short(value)}</span>'
        case float() | int() | Decimal():
            return f"{value:,}"
    return escape(first_words(str(value)))
