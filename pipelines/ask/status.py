"""`earshot status`: what the runs did, how far each list was read, what is missing and what to do about it."""

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.answer import FAILED, Answer, answering
from pipelines.ask.control import Control, Held, read_control, read_held
from pipelines.ask.health import Trouble, expected, judge, moment, slo_seconds
from pipelines.ask.published import Row, home
from pipelines.ask.shown import WIDE, hanging, line, styled, table
from pipelines.ask.times import ago, ago_short, instant, period
from pipelines.whereabouts import its_config

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["status"]

SHOWN = 20  # lists a source; `--json` tells them all
MINUTES = len("2026-01-01 12:00")


@click.command()
@click.option("--check", is_flag=True, help="Exit 1 when the warehouse is stale, incomplete or slow.")
@click.option(
    "--interval", type=period, metavar="PERIOD", help="How often runs are meant to be. [default: [earshot] interval,"
    " else as they have come so far]",
)  # fmt: skip
@click.option("--prometheus", is_flag=True, help="Metrics in Prometheus' text format.")
@answering
def status(check: bool, interval: int | None, prometheus: bool) -> Answer:
    """The last runs, how far each list was read, what fails and what to do, what is missing, what quota is left.

    With --check for monitoring: promised is that what is said gets here within 2 × INTERVAL + 30 s.
    """
    place, promised = home(), interval or its_config(Path.cwd()).interval_seconds
    control, held = read_control(place), read_held(place)
    interval = expected(control, promised)
    troubles = judge(control, held, interval)
    exit_code = FAILED if check and troubles else 0
    if prometheus:
        from pipelines.ask.prometheus import exposition

        text = exposition(control, held, troubles, interval)
        return Answer({"text": text}, lambda _: click.echo(text, nl=False), exit_code=exit_code)
    data = {
        **asdict(control), **asdict(held), "troubles": [each.json() for each in troubles],
        "slo_seconds": slo_seconds(interval),
    }  # fmt: skip

    def show(console: "Console") -> None:
        _runs(console, control)
        _cursors(console, control, held)
        _health(console, control, held, troubles, interval)

    return Answer(data, show, exit_code=exit_code)


def _runs(console: "Console", control: Control) -> None:
    console.print("Last runs", style="bold")
    if not control.runs:
        console.print("  none yet: run `earshot sync`")
        return
    columns = ["  run", "", "mode", "started", "", "took", "requests", "new rows", ""]
    console.print(table(columns, (_run(row, short=console.width < WIDE) for row in control.runs)))


def _run(row: Row, *, short: bool) -> list[Any]:
    started = moment(row["started_at"])
    took = "" if row["seconds"] is None else f"{row['seconds']:.1f} s"
    counts = ["" if row[name] is None else f"{row[name]:,}" for name in ("requests", "rows_new")]
    when = [instant(started)[:MINUTES], ago_short(started)] if short else [instant(started), ago(started)]
    return [f"  #{row['run_id']}", styled(row["status"]), row["mode"], *when, took, *counts, line(row["error"])]


def _cursors(console: "Console", control: Control, held: Held) -> None:
    if not held.cursors:
        return
    lags = {(row["source"], row["scope"], row["surface"]): row["lag_seconds"] for row in control.lags}
    short, rows = console.width < WIDE, []
    for source, found in groupby(held.cursors, key=lambda row: row["source"]):
        cursors = list(found)
        rows += [_cursor(row, lags.get((source, row["scope"], row["surface"])), short=short) for row in cursors[:SHOWN]]
        if len(cursors) > SHOWN:
            rows.append((f"  {line(source)}", f"… and {len(cursors) - SHOWN:,} more", "", "", "", ""))
    console.print("\nRead until", style="bold")
    console.print(table(["  source", ("where", {"max_width": 20 if short else 60}), "list", "cursor", "", "lag"], rows))


def _cursor(row: Row, lag: float | None, *, short: bool) -> tuple[str, ...]:
    surface, when = line(row["surface"]) + ("" if row["is_complete"] else " (in part)"), row["newest"]
    shown = (instant(when)[:MINUTES], "") if short else (instant(when), ago(when))
    return f"  {line(row['source'])}", line(row["scope_name"]), surface, *shown, "" if lag is None else f"{lag:,.0f} s"


def _health(console: "Console", control: Control, held: Held, troubles: list[Trouble], interval: int) -> None:
    console.print()
    whole = held.parents - len(held.incomplete)
    if held.published:
        console.print(f"Complete:    {whole:,} of {held.parents:,} threads hold all that their service counts")
    for source, told in control.quotas.items():
        if told["remaining"] is not None:
            limit = f" of {told['limit']:,}" if told["limit"] else ""
            console.print(
                f"Quota left:  {line(source)} {told['remaining']:,}{limit}, told {ago(moment(told['told_at']))}"
            )
    if held.lag_p95 is not None:
        promised = f"promised with an interval of {interval} s: {slo_seconds(interval):,} s"
        console.print(f"Lag (p95):   {held.lag_p95:,.0f} s over {held.lag_events:,} events; {promised}")
    _accounts(console, held)
    _skipped(console, control)
    if troubles:
        console.print("\nTo look at", style="bold")
    for each in troubles:
        console.print(hanging("  ! ", line(each.message)), style="yellow")
        console.print(hanging("    ", line(each.hint)))


def _accounts(console: "Console", held: Held) -> None:
    """How old the rarest comparison is, and what was met that nobody here can read yet."""
    deep = held.deep_sweep
    if deep and deep["accounts"]:
        made = f", the earliest {ago(deep['earliest_at'])}" if deep["swept"] else " (never yet)"
        how = "weekly, or now: earshot sync --sweep --deep"
        console.print(f"Deep sweep:  {deep['swept']:,} of {deep['accounts']:,} accounts{made}; {how}")
    if held.other_embeds:
        kinds = ", ".join(f"{line(row['type'])} ({row['posts']:,})" for row in held.other_embeds[:SHOWN])
        console.print(hanging("Unknown:     ", f"kept raw in bluesky.posts.other_embeds: {kinds}"))


def _skipped(console: "Console", control: Control) -> None:
    if not control.skipped:
        return
    rows = [(f"  {line(r['source'])}", line(r["name"]), line(r["why"]), ago_short(moment(r["since_at"])))
            for r in control.skipped[:SHOWN]]  # fmt: skip
    if len(control.skipped) > SHOWN:
        rows.append(("", f"… and {len(control.skipped) - SHOWN:,} more", "", ""))
    console.print("\nSkipped", style="bold")
    console.print(table(["  source", "who", "why", "since"], rows))
