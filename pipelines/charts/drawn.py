"""Charts that look right on white and on black: grey lines, text in the page's own colour, one colour a source."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import altair as alt

from pipelines.ask.format.shown import first_words
from pipelines.ask.query.published import Row
from pipelines.charts.spans import LENGTHS

__all__ = ["COLOURS", "finish", "over_time", "points", "ranked", "run_by_run", "spread"]

COLOURS = {"github": "#8a6fdc", "gitlab": "#ef8037", "bluesky": "#2b9be6"}
OUTCOMES = {
    "done": "#35a573",
    "partial": "#e0a526",
    "failed": "#e05252",
    "killed": "#b03a3a",
    "cancelled": "#9a9a9a",
    "asked and answered": "#2b9be6",
    "nothing new (304)": "#9db2c4",
}
MANY = alt.Scale(scheme="tableau20")
LEVEL = alt.Axis(labelAngle=0, labelOverlap=True)  # words beside each other, as many as there is room for
_DAYS = {"day": 1, "week": 7}
SLIM = alt.ExprRef("min(48, bandwidth('x'))")  # a few runs are no walls
FAINT = "rgba(128, 128, 128, .22)"
FONT = "'PT Sans', ui-sans-serif, system-ui, sans-serif"  # what the page around them is set in
CONFIG = {
    "background": "transparent",
    "font": FONT,
    "padding": {"left": 0, "right": 5, "top": 5, "bottom": 5},  # a picture begins where tables and words do
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "fontWeight": 600,
        "offset": 12,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
    },
    "axis": {
        "gridColor": FAINT,
        "domain": False,
        "ticks": False,
        "labelFontSize": 11,
        "labelPadding": 6,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "legend": {"orient": "top", "labelFontSize": 11, "title": None, "symbolType": "square", "offset": 10},
}


def points(rows: Iterable[Row]) -> alt.Data:
    return alt.Data(values=[{name: _plain(value) for name, value in row.items()} for row in rows])


def finish(chart: Any, title: str, height: int, words: str = "") -> Any:
    """As wide as its place; drawn as SVG, which stays sharp and can be read."""
    header = alt.Title(title, subtitle=words) if words else alt.Title(title)
    embed = {"embedOptions": {"renderer": "svg", "actions": False}}
    return chart.properties(title=header, width="container", height=height, usermeta=embed, config=CONFIG)


def over_time(rows: list[Row], step: str, by: str, title: str, words: str = "", height: int = 230) -> Any:
    """Bars of whole steps, a colour a source, or a kind. rows: day, <by>, n."""
    bars = points({**row, "end": _end(row["day"], step)} for row in rows)
    bars.format = alt.DataFormat(parse={"day": "date", "end": "date"})
    days = sorted({row["day"] for row in rows})
    named = [alt.DateTime(year=day.year, month=day.month, date=day.day) for day in days[:: len(days) // 10 + 1]]
    chart = (
        alt.Chart(bars)
        .mark_bar(orient="vertical")
        .encode(
            x=alt.X(
                "day:T",
                title=None,
                axis=alt.Axis(grid=False, values=named, format="%b %Y" if step == "month" else "%-d %b"),
            ),
            x2="end:T",
            y=alt.Y("n:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=by_source(rows) if by == "source" else alt.Color(f"{by}:N", scale=MANY, legend=alt.Legend(columns=5)),
            tooltip=[alt.Tooltip("day:T", title=f"{step} of", format="%-d %b %Y"), f"{by}:N", "n:Q"],
        )
    )
    return finish(chart, title, height, words)


def ranked(rows: list[Row], name: str, title: str, words: str = "", also: tuple[str, ...] = ()) -> Any:
    """Longest first, a colour a source. rows: <name>, source, n."""
    total = Counter[str]()
    for row in rows:
        total[first_words(row[name])] += row["n"]
    names = [each for each, _ in total.most_common()]
    chart = (
        alt.Chart(points(rows))
        .mark_bar(height=13, cornerRadius=2)
        .encode(
            x=alt.X("n:Q", title=None, axis=alt.Axis(tickCount=4)),
            y=alt.Y(f"{name}:N", sort=names, title=None, axis=alt.Axis(labelLimit=230)),
            color=by_source(rows),
            tooltip=[f"{each}:N" for each in (name, "source", "n", *also)],
        )
    )
    return finish(chart, title, max(40, 24 * len(names)), words)


def spread(rows: list[Row], title: str, words: str = "", height: int = 190) -> Any:
    """How much of each source took how long, side by side. rows: length (of LENGTHS, or why it has none), source, n."""
    total = {source: sum(row["n"] for row in rows if row["source"] == source) for source in COLOURS}
    lengths = [*LENGTHS, *({row["length"] for row in rows} - {*LENGTHS})]
    chart = (
        alt.Chart(points({**row, "share": row["n"] / total[row["source"]]} for row in rows))
        .mark_bar()
        .encode(
            x=alt.X("length:N", title=None, axis=LEVEL, scale=alt.Scale(domain=lengths)),
            xOffset="source:N",
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4)),
            color=by_source(rows),
            tooltip=["length:N", "source:N", "n:Q", alt.Tooltip("share:Q", format=".0%")],
        )
    )
    return finish(chart, title, height, words)


def run_by_run(rows: list[Row], title: str, words: str = "", height: int = 150) -> Any:
    """A bar a run. rows: run, started, what (of OUTCOMES), n."""
    shown = [what for what in OUTCOMES if what in {row["what"] for row in rows}]
    colours = alt.Scale(domain=shown, range=[OUTCOMES[what] for what in shown])
    chart = (
        alt.Chart(points(rows))
        .mark_bar(width=SLIM)
        .encode(
            x=alt.X("run:O", title="run", axis=LEVEL),
            y=alt.Y("n:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=alt.Color("what:N", scale=colours),
            tooltip=["run:O", "started:N", "what:N", alt.Tooltip("n:Q", format=",.3~r")],
        )
    )
    return finish(chart, title, height, words)


def by_source(rows: list[Row]) -> alt.Color:
    shown = [source for source in COLOURS if source in {row["source"] for row in rows}]
    return alt.Color("source:N", scale=alt.Scale(domain=shown, range=[COLOURS[source] for source in shown]))


def _end(day: date, step: str) -> datetime:
    """Of a day's, week's or month's bar, with a gap after it. Vega's own weeks would begin on Sunday."""
    after = (day + timedelta(days=32)).replace(day=1) if step == "month" else day + timedelta(days=_DAYS[step])
    return datetime.combine(day, time()) + (after - day) * 0.88


def _plain(value: object) -> object:
    """What JSON can hold. A day stays that day in every reader's zone; others' words are one short line."""
    match value:
        case datetime():
            return value.isoformat()
        case date():
            return f"{value.isoformat()}T00:00:00"
        case Decimal():
            return float(value)
        case str():
            return first_words(value)
    return value
