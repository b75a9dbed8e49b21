"""The list on the left: a discussion a line, by its title, with whose turn it is."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import marimo as mo

from pipelines.ask.format.shown import at
from pipelines.ask.query.names import Names, reference, short_id
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago_short
from pipelines.charts.live import printed
from pipelines.charts.plain import plain
from pipelines.charts.reading.words import inert
from pipelines.search.hits import Hit

__all__ = ["label", "listed", "openers", "turn"]

SIGNS = re.compile(r"`|\*\*")
# of the button that a row is: in its own tree, where the page's styles do not reach
STYLE = """
<style>
button {display: block !important; height: auto !important; width: 100%; padding: .5rem .6rem; text-align: left;
    white-space: normal; font-weight: normal; color: inherit !important; background: none !important;
    border: 0 !important; box-shadow: none !important}
.r {line-height: 1.4; font-size: .82rem}
.t {font-weight: 600; display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: hidden;
    overflow-wrap: anywhere}
.q {display: flex; gap: .5rem}
.q span:not(.a) {opacity: .68}
.w {overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; flex: 1 1 0}
.o, .a {max-width: 60%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap}
.a {color: #d9902f; font-weight: 650}
mark {background: rgba(224, 165, 38, .4); color: inherit}
</style>
"""


def openers(rows: Sequence[Row], known: Names, go: Callable[[str], None]) -> dict[str, mo.ui.button]:
    """By what each opens, without the page being loaded anew. A cell must hold them: marimo forgets what nobody has."""
    for row in rows:
        printed(" · ".join(filter(None, (called(row, known), named(row), turn(row["turns"])))))
    return {
        row["parent_key"]: mo.ui.button(
            label=label(row, known), full_width=True, on_click=lambda _, key=row["parent_key"]: go(key)
        )
        for row in rows
    }


def listed(buttons: Mapping[str, mo.ui.button]) -> mo.Html:
    told = "".join(f'<div class="row" data-thread="{short_id(key)}">{each.text}</div>' for key, each in buttons.items())
    return mo.Html(f'<div data-earshot="list">{told}</div>')


def label(row: Row, known: Names) -> str:
    """HTML on one line: Markdown, which marimo makes of labels, leaves that alone."""
    place = called(row, known)
    whose = turn(row["turns"])
    said = _found(row["hit"]) if row.get("hit") else inert(f"{at(row['last_author'])}: {plain(row['last_words'])}")
    return (
        f'<div class="r">{" ".join(STYLE.split())}<div class="t">{inert(named(row))}</div>'
        f'<div class="q"><span class="w">{inert(place)} · {inert(row["state"] or row["source"])}</span>'
        f'<span class="{"a" if "team" in row["turns"] else "o"}">{inert(whose)}</span>'
        f'<span>{inert(ago_short(row["last_at"]))}</span></div><div class="q"><span class="w">{said}</span></div></div>'
    )


def named(row: Row) -> str:
    return plain(row["title"] or row["opening_words"]) or "without words"


def called(row: Row, known: Names) -> str:
    """By its number, else by who began it."""
    return at(row["opener"]) if row["parent_number"] is None else reference(row, known)


def turn(whose: Iterable[str]) -> str:
    """The team first."""
    people = sorted({*whose}, key=lambda name: (name != "team", name))
    return ", ".join(people[:2]) + (f" +{len(people) - 2}" if len(people) > 2 else "")


def _found(hit: Hit) -> str:
    """Where the words stand that were looked for."""
    told, position = [], 0
    for start, end in hit.highlights:
        told += [_unsigned(hit.snippet[position:start]), f"<mark>{_unsigned(hit.snippet[start:end])}</mark>"]
        position = end
    return "".join([*told, _unsigned(hit.snippet[position:])])


def _unsigned(snippet: str) -> str:
    """Piece by piece, so that what was found stays marked."""
    return inert(" ".join(SIGNS.sub("", snippet).split("\n")))
