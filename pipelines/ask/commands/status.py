"""`earshot status`: first what is wrong and what to do; then what the runs did, and how far each list was read."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import FAILED, Answer, answering
from pipelines.ask.format.shown import WIDE, Column, counted, hang, line, styled, table
from pipelines.ask.query.control import Control, Held, read_control, read_held
from pipelines.ask.query.health import Trouble, expected, judge, moment, slo_seconds
from pipelines.ask.query.published import Row, home
from pipelines.ask.query.times import ago, ago_short, instant, length, period
from pipelines.warehouse.configured import its_config

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["status"]

SHOWN = 20  # of what may be many; `--json` tells them all
MINUTES = len("2026-01-01 12:00")


@click.command()
@click.option("--check", is_flag=True, help="Exit 1 when the warehouse is stale, incomplete or slow.")
@click.option(
    "--interval",
    type=period,
    metavar="PERIOD",
    help="How often runs are meant to be. [default: [earshot] interval, else as they have come so far]",
)
@click.option("--prometheus", is_flag=True, help="Metrics in Prometheus' text format.")
@click.option("-v", "--verbose", is_flag=True, help="How far each list was read, also where all is well.")
@answering
def status(check: bool, interval: int | None, prometheus: bool, verbose: bool) -> Answer:
    """What is wrong and what to do; how far each list was read.

    Also the last runs, what is missing, and what quota is left.

    With --check for monitoring: promised is that what is said gets here within 2 × INTERVAL + 30 s.
    """
    place, promised = home(), interval or its_config(Path.cwd()).interval_seconds
    control, held = read_control(place), read_held(place)
    interval = expected(control, promised)
    troubles = judge(control, held, interval)
    exit_code = FAILED if check and troubles else 0
    if prometheus:
        from pipelines.ask.format.prometheus import exposition

        text = exposition(control, held, troubles, interval)
        return Answer({"text": text}, lambda _: click.echo(text, nl=False), exit_code=exit_code)
    data = {
        **asdict(control),
        **asdict(held),
        "troubles": [each.json() for each in troubles],
        "slo_seconds": slo_seconds(interval),
    }

    def show(console: "Console") -> None:
        _verdict(console, control, held, troubles)
        _runs(console, control)
        _cursors(console, control, held, is_whole=verbose)
        _health(console, control, held, interval, is_demo=place.is_demo)

    return Answer(data, show, exit_code=exit_code)


def _verdict(console: "Console", control: Control, held: Held, troubles: list[Trouble]) -> None:
    """What somebody who reads one line has to know."""
    if troubles:
        console.print(f"{counted(len(troubles), 'thing')} to look at", style="bold yellow")
    elif control.last_finished:
        when = ago(moment(control.last_finished["finished_at"]))
        console.print(f"All is well: the last run ended {when}, nothing fails, nothing is missing", style="bold green")
    for each in troubles:
        hang(console, "  ! ", line(each.message), style="yellow")
        hang(console, "    ", line(each.hint))
    console.print()


def _runs(console: "Console", control: Control) -> None:
    console.print("Last runs", style="bold")
    if not control.runs:
        console.print("  none yet: run `earshot sync`")
        return
    columns: list[Column] = ["  run", "", "mode", "started", "", "took", "requests", "new rows", ("", {"ratio": 1})]
    console.print(table(columns, (_run(row, short=console.width < WIDE) for row in control.runs)))


def _run(row: Row, *, short: bool) -> list[Any]:
    started = moment(row["started_at"])
    took = "" if row["seconds"] is None else length(row["seconds"])
    counts = ["" if row[name] is None else f"{row[name]:,}" for name in ("requests", "rows_new")]
    when = [instant(started)[:MINUTES], ago_short(started)] if short else [instant(started), ago(started)]
    return [f"  #{row['run_id']}", styled(row["status"]), row["mode"], *when, took, *counts, line(row["error"])]


def _cursors(console: "Console", control: Control, held: Held, *, is_whole: bool) -> None:
    """Each list that is not well; of the others how many there are, and their newest word."""
    if not held.cursors:
        return
    failing = {(row["source"], row["scope"], row["surface"]) for row in control.failures}
    lags = {_place(row): row["lag_seconds"] for row in control.lags}
    short, rows = console.width < WIDE, []
    for source, found in groupby(held.cursors, key=lambda row: row["source"]):
        cursors = list(found)
        shown = [row for row in cursors if is_whole or not row["is_complete"] or _place(row) in failing]
        rows += [_cursor(row, lags.get(_place(row)), short=short) for row in shown]
        if folded := len(cursors) - len(shown):
            rows.append(_folded(source, cursors, folded, is_all=not shown, short=short))
    console.print("\nRead until", style="bold")
    lag = "lag" if any(row[-1] for row in rows) else ""
    console.print(table(["  source", ("where", {"max_width": 20 if short else 60}), "list", "newest", "", lag], rows))
    if not is_whole:
        console.print("  each list: earshot status -v", style="dim")


def _place(row: Row) -> tuple[str, str, str]:
    return row["source"], row["scope"], row["surface"]


def _cursor(row: Row, lag: float | None, *, short: bool) -> tuple[str, ...]:
    surface = line(row["surface"]) + ("" if row["is_complete"] else " (in part)")
    shown = _when(row["newest"], short=short)
    return f"  {line(row['source'])}", line(row["scope_name"]), surface, *shown, "" if lag is None else length(lag)


def _folded(source: str, cursors: list[Row], count: int, *, is_all: bool, short: bool) -> tuple[str, ...]:
    places = "" if not is_all else counted(len({row["scope"] for row in cursors}), "place")
    lists = counted(count, "list") if is_all else f"{count:,} more, read to their end"
    newest = max((row["newest"] for row in cursors if row["newest"]), default=None)
    return f"  {line(source)}", places, lists, *_when(newest if is_all else None, short=short), ""


def _when(moment: datetime | None, *, short: bool) -> tuple[str, str]:
    if moment is None:
        return "", ""
    return (instant(moment)[:MINUTES], ago_short(moment)) if short else (instant(moment), ago(moment))


def _health(console: "Console", control: Control, held: Held, interval: int, *, is_demo: bool) -> None:
    told: list[tuple[str, str]] = []
    whole = held.parents - len(held.incomplete)
    if held.published:
        told.append(("Complete:", f"{whole:,} of {held.parents:,} threads hold all that their service counts"))
    for source, quota in control.quotas.items():
        if quota["remaining"] is not None:
            limit = f" of {quota['limit']:,}" if quota["limit"] else ""
            when = ago(moment(quota["told_at"]))
            told.append(("Quota left:", f"{line(source)} {quota['remaining']:,}{limit}, told {when}"))
    if held.lag_p95 is not None:
        promised = f"with a run every {length(interval)} it is to be {length(slo_seconds(interval))}"
        told.append(("Lag (p95):", f"{length(held.lag_p95)} over {held.lag_events:,} events; {promised} at most"))
    console.print()
    for name, words in [*told, *_accounts(held, is_demo=is_demo)]:
        hang(console, f"{name:13}", words)
    _skipped(console, control)


def _accounts(held: Held, *, is_demo: bool) -> Iterator[tuple[str, str]]:
    """How old the rarest comparison is, and what was met that nobody here can read yet."""
    deep = held.deep_sweep
    if deep and deep["accounts"]:
        made = f", the earliest {ago(deep['earliest_at'])}" if deep["swept"] else " (never yet)"
        yield "Deep sweep:", f"{deep['swept']:,} of {deep['accounts']:,} accounts{made}; by itself weekly, or now:"
        yield "", f"earshot sync{' --demo' if is_demo else ''} --sweep --deep"
    if held.other_embeds:
        kinds = ", ".join(f"{line(row['type'])} ({row['posts']:,})" for row in held.other_embeds[:SHOWN])
        yield "Unknown:", f"kept raw in bluesky.posts.other_embeds: {kinds}"


def _skipped(console: "Console", control: Control) -> None:
    if not control.skipped:
        return
    rows = [
        (f"  {line(r['source'])}", line(r["name"]), line(r["why"]), ago_short(moment(r["since_at"])))
        for r in control.skipped[:SHOWN]
    ]
    if len(control.skipped) > SHOWN:
        rows.append(("", f"… and {len(control.skipped) - SHOWN:,} more", "", ""))
    console.print("\nSkipped", style="bold")
    console.print(table(["  source", "who", "why", "since"], rows))
