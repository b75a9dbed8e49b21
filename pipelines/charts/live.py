"""A page that stays open: what its reader chose, when to look again; and what is printed where it runs as a script."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import marimo as mo

from pipelines.ask.format.shown import line
from pipelines.ask.query.control import Control
from pipelines.charts.page import as_of, cards, nothing
from pipelines.charts.questions import Bounds, Nothing, stamp

__all__ = ["Chosen", "begin", "beside", "clock", "numbers", "printed"]

ROOM = "22rem"  # that a picture wants


class Chosen(dict[str, Any]):
    """Kept while the page is built anew around it."""

    def pick(self, name: str, options: Iterable[str], every: str = "", first: str = "") -> mo.ui.dropdown:
        """One of the options; before them `every`, which means no condition."""
        known = {**({every: None} if every else {}), **{line(option): option for option in options}}
        kept = line(self[name]) if self.get(name) else first or every
        return mo.ui.dropdown(
            known,
            value=kept if kept in known else every or None,
            label=name.capitalize(),
            searchable=len(known) > 8,
            on_change=lambda value: self.update({name: value}),
        )

    def bots(self) -> mo.ui.switch:
        """Whether what programs said is shown too."""
        return mo.ui.switch(self.get("bots", True), label="Bots", on_change=lambda value: self.update(bots=value))

    def words(self, name: str, example: str) -> mo.ui.text:
        return mo.ui.text(
            self.get(name, ""),
            placeholder=example,
            label=name.capitalize(),
            full_width=True,
            on_change=lambda value: self.update({name: value}),
        )


def clock() -> tuple[Any, mo.ui.refresh]:
    """Says when something new was published, to the cells that ask for it, and a switch for how often it looks."""
    news, tell = mo.state(stamp())

    def look(_: str) -> None:
        if stamp() != news():
            tell(stamp())

    return news, mo.ui.refresh(options=["5s", "1m", "10m"], default_interval="5s", on_change=look)


def begin(found: Bounds | Control | Nothing) -> mo.Html:
    """As of when this is; or why there is nothing to see."""
    if isinstance(found, Nothing):
        printed(": ".join(filter(None, (found.message, found.hint))))
        return mo.Html(nothing(found))
    return mo.Html(as_of(found.until) if isinstance(found, Bounds) else "")


def numbers(of: str, told: Mapping[str, object], otherwise: str = "") -> mo.Html:
    """The few that come before the pictures; where the first of them is 0, how to get others."""
    printed(f"{of}: " + ", ".join(f"{name} {value}" for name, value in told.items()))
    is_none = otherwise and not next(iter(told.values()))
    return mo.Html(nothing(Nothing("nothing was found", otherwise)) if is_none else cards(told))


def beside(left: Any, right: str | Any, widths: Sequence[float] = (1, 1)) -> mo.Html:
    """Two on a line, where the line is wide enough for both, else one below the other: charts, and tables as HTML."""
    parts = [each if isinstance(each, str) else mo.as_html(each).text for each in (left, right)]
    placed = "".join(
        f'<div style="flex: {width} 1 {ROOM}; min-width: 0; max-width: 100%">{part}</div>'
        for part, width in zip(parts, widths, strict=True)
        if part
    )
    return mo.Html(f'<div style="display: flex; flex-wrap: wrap; gap: 1.5rem 2rem">{placed}</div>')


def printed(words: str) -> None:
    """Where a notebook runs as a script."""
    if mo.app_meta().mode == "script":
        print(words)
