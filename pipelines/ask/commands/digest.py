"""`earshot digest`: what is new, whose turn it is, what waits longest, what was settled; for a mail or a chat."""

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import Answer, answering
from pipelines.ask.query import times
from pipelines.ask.query.control import read_control, read_held
from pipelines.ask.query.digest import digest_of
from pipelines.ask.query.filters import options
from pipelines.ask.query.health import expected, judge
from pipelines.ask.query.published import home, published
from pipelines.sync.output.summary import envelope
from pipelines.warehouse.configured import its_config

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["digest"]

MOST = 50


@click.command()
@click.option("--since", type=times.since, default="1d", show_default=True, metavar="WHEN", help="12h, 1d, 2w, a date.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@click.option("--limit", type=click.IntRange(1, MOST), default=5, show_default=True, help="Rows of each part.")
@options("source", "project")
@answering
def digest(since: datetime, form: str, limit: int, **asked: Any) -> Answer:
    """What is new, whose turn it is, what waits, what was settled.

    For a mail (text, 80 columns) or a chat (markdown, one message).
    """
    from pipelines.ask.format.digest import markdown, text

    place = home()
    with published(place) as warehouse:
        found = digest_of(warehouse, since, times.now(), asked, limit)
    control, held = read_control(place), read_held(place)
    interval = expected(control, its_config(Path.cwd()).interval_seconds)
    found = replace(found, troubles=len(judge(control, held, interval)))
    data, meta = asdict(found), {"is_quiet": found.is_quiet}

    def show(_: "Console") -> None:
        if form == "json":
            envelope(True, data, {**meta, "exit_code": 0})
        else:
            click.echo((markdown if form == "markdown" else text)(found), nl=False)

    return Answer(data, show, meta)
