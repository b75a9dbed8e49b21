"""`earshot verify`: does the warehouse hold what the source says? The one question here that asks the source."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import Answer, answering
from pipelines.ask.format.shown import hang, line, table
from pipelines.ask.query.published import home, published

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.sync.verify import Verdict

__all__ = ["verify"]

SHOWN = 50


@click.command()
@click.argument("sources", nargs=-1)
@answering
def verify(sources: tuple[str, ...]) -> Answer:
    """Read SOURCES in full beside the warehouse; tell what differs.

    Of all sources by default: what is missing, stale, in another state, doubled, not noticed as deleted; and which
    commands mend it. What was said since the last run is
    missing too, so run `earshot sync` first.

    \b
    Exit codes: 0 nothing differs, 1 something does, 3 some of it could not be read.
    """
    place = home()
    with published(place):
        pass  # before an hour of reading: is there something to compare with?
    from pipelines.settings import configured, load
    from pipelines.sync.run import Options
    from pipelines.sync.verify import verify as compare
    from pipelines.warehouse.configured import real

    settings, config = load(Path.cwd())
    with _quiet():
        verdict = compare(real(place), configured(settings, config, sources), Options(keep_payloads=False))
    mended_by = {key: each.command for each in verdict.mends for key in each.event_keys}
    data = {
        "utterances": verdict.read,
        "requests": verdict.requests,
        "differences": [{**asdict(each), "mended_by": mended_by.get(each.event_key)} for each in verdict.differences],
        "mended_by": [each.command for each in verdict.mends],
        "problems": [
            {"source": source, "scope": each.scope, "surface": each.surface, "code": each.code, "message": each.message}
            for source, each in verdict.problems
        ],
    }
    return Answer(data, lambda console: show(console, verdict), exit_code=verdict.exit_code)


@contextmanager
def _quiet() -> Iterator[None]:
    """What goes wrong is part of the answer, and need not be told twice."""
    log = logging.getLogger("earshot")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def show(console: "Console", verdict: "Verdict") -> None:
    console.print(f"{verdict.read:,} utterances read with {verdict.requests:,} requests")
    counts = Counter(each.what for each in verdict.differences)
    for what, n in sorted(counts.items()):
        console.print(f"  {what}: {n:,}")
    if verdict.differences:
        rows = (
            (each.what, line(each.scope_name), each.kind, line(each.url or each.event_key))
            for each in verdict.differences[:SHOWN]
        )
        console.print()
        console.print(table(["", "where", "kind", ("", {"overflow": "fold", "no_wrap": False})], rows))
        console.print("\nWhat mends it:")
        for mend in verdict.mends:
            console.print(f"  {line(mend.command)}", soft_wrap=True, markup=False, highlight=False)
    for source, problem in verdict.problems:
        where = f"{line(source)} {line(problem.scope)} {line(problem.surface)}"
        hang(console, "  ! ", f"{where}: {line(problem.message)}")
    if verdict.exit_code == 0:
        console.print("Nothing differs: the warehouse holds all of it, once, in its present words.")
