"""HTML of our own around other people's words, which are text and nothing else: no markup, no picture, no control sign.

marimo's own table would load an address that somebody wrote if it ends like a picture's.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape

from pendulum import instance

from pipelines.ask.format.shown import first_words
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago, ago_short, now
from pipelines.charts.drawn import FONT
from pipelines.charts.plain import plain
from pipelines.charts.questions import Nothing

__all__ = ["as_of", "cards", "nothing", "table", "title"]

WEB = re.compile(r"https?://", re.I)
COMMAND = re.compile("`([^`]+)`")
LINE = "1px solid rgba(128, 128, 128, .25)"
BOX = f"border: {LINE}; border-radius: .6rem"
BLUE = "#2482c9"  # legible on white and on black
AMBER = "#d9902f"
GREY = "opacity: .68"
CUT = "overflow: hidden; text-overflow: ellipsis; white-space: nowrap"
PADDED = f"padding: .35rem clamp(.2rem, 1cqi, .6rem); {CUT}"
NAME = f"text-align: left; {PADDED}; font-weight: normal; {GREY}"
CELL = f"border-top: {LINE}; {PADDED}; vertical-align: top"
# hundredths of the place that a table has (cqi), so that it fits in wide places and in narrow ones
NUMBER, SENTENCE, LAST, NAMES = 13, 34, 26, 30
REST = "width: 100%; max-width: 0"  # what room is left
WHOLE = "white-space: normal; overflow-wrap: anywhere; width: 40cqi; min-width: 24cqi"
TYPE = (
    f"<style>:root {{ {' '.join(f'--marimo-{of}-font: {FONT};' for of in ('text', 'heading', 'monospace'))} }}</style>"
)
OLD_DAYS = 3


def title(words: str) -> str:
    """And one typeface for all of the page, the charts' too."""
    return f'{TYPE}<h1 style="font-size: 1.6rem; font-weight: 650; margin: 0">{escape(words)}</h1>'


def as_of(moment: datetime) -> str:
    """When we heard the last word; where that is long ago, somebody may take it for today's."""
    told = f'<div style="margin-top: -1.2rem; {GREY}">Last news {moment:%A, %-d %B %Y, %H:%M} UTC, {ago(moment)}</div>'
    if (now() - instance(moment)).days < OLD_DAYS:
        return told
    old = f"The newest word here is {ago(moment).removesuffix(' ago')} old. If it is not that quiet there, no run has"
    return (
        f'{told}<div data-earshot="old" style="{BOX}; border-color: {AMBER}; padding: .5rem 1rem; margin-top: .8rem">'
        f"{escape(old)} read it since: earshot status says more.</div>"
    )


def nothing(why: Nothing) -> str:
    return (
        f'<div data-earshot="nothing" style="{BOX}; padding: 2.5rem; margin-top: 1rem; text-align: center">'
        f'<div style="font-size: 1.2rem; font-weight: 650">{_sentence(why.message)}</div>'
        f'<p style="margin: .5rem 0 0; {GREY}">{_sentence(why.hint)}</p></div>'
    )


def _sentence(words: str) -> str:
    """Commands stand out, as they do between backticks in a terminal."""
    begun = escape(words[:1].upper() + words[1:])
    return COMMAND.sub(r'<b style="white-space: nowrap">\1</b>', begun)


def cards(told: Mapping[str, object]) -> str:
    """The few numbers that come before every picture."""
    each = "".join(
        f'<div style="flex: 1 1 8rem; {BOX}; padding: .7rem 1rem">'
        f'<div style="font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums">{_cell(value)}</div>'
        f'<div style="font-size: .8rem; {GREY}">{escape(name)}</div></div>'
        for name, value in told.items()
    )
    return f'<div data-earshot="cards" style="display: flex; flex-wrap: wrap; gap: .7rem">{each}</div>'


def table(
    title: str, rows: Sequence[Row], link: str = "", otherwise: str = "Nothing here.", whole: Collection[str] = ()
) -> str:
    """Columns are called as the query calls them; the last has what room is left; `link` leads to the row's url.

    Whatever is too long for its column is cut there, and told where one points at it; `whole` goes on in the next line.
    """
    rooms = _rooms(rows[0], link, whole) if rows else {}
    lines = "".join(f"<tr>{''.join(_td(row, name, rooms, link) for name in rooms)}</tr>" for row in rows)
    heads = "".join(
        f'<th style="{NAME}; {room}{_right(rows[0][name])}">{escape(name)}</th>' for name, room in rooms.items()
    )
    body = f'<table style="width: 100%; font-size: .82rem"><tr>{heads}</tr>{lines}</table>'
    none = f'<p style="{GREY}">{escape(otherwise)}</p>'
    return (
        '<div data-earshot="table" style="overflow-x: auto; container-type: inline-size">'
        f'<div style="font-weight: 600; margin-bottom: .4rem">{escape(title)}</div>{body if rows else none}</div>'
    )


def _rooms(row: Row, link: str, whole: Collection[str]) -> dict[str, str]:
    """How wide each column may be: names share what numbers and sentences leave them."""
    columns = [name for name in row if name != "url"]
    last = columns[-1] if isinstance(row[columns[-1]], str) else ""
    fixed = {name: f"max-width: {NUMBER + 2}cqi" for name in columns if not isinstance(row[name], str | None)}
    fixed |= {link: f"max-width: {SENTENCE}cqi"} if link in columns else {}
    fixed |= {last: REST} if last else {}
    fixed |= dict.fromkeys(whole, WHOLE)
    taken = {REST: LAST, WHOLE: LAST, f"max-width: {SENTENCE}cqi": SENTENCE}
    names = [name for name in columns if name not in fixed]
    left = 100 - sum(taken.get(fixed[name], NUMBER) for name in columns if name in fixed)
    share = f"max-width: min({min(NAMES, left // max(1, len(names)))}cqi, 16rem)"
    return {name: fixed.get(name, share) for name in columns}


def _td(row: Row, name: str, rooms: Mapping[str, str], link: str) -> str:
    is_spoken = bool(link) and name in (link, list(rooms)[-1])  # by people, in Markdown
    words, url = (
        _cell(plain(row[name]) if is_spoken and isinstance(row[name], str) else row[name]),
        row.get("url") or "",
    )
    pointed = f' title="{words}"' if isinstance(row[name], str) else ""
    if name == link and WEB.match(url):
        words = f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer" style="color: {BLUE}">{words}</a>'
    return f'<td{pointed} style="{CELL}; {rooms[name]}{_right(row[name])}">{words}</td>'


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
    return escape(first_words(str(value)).replace("`", ""))
