"""What a person sees while a run goes on: lines that live on a terminal, one line a phase in a log.

Whoever waits for a service's limit is named with the time until which, counting down. What the log says goes above the
lines (`summary.Beside`), never between them.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

import pendulum
from pendulum import DateTime

from pipelines.sync.output.summary import envelope, safe

if TYPE_CHECKING:
    from pipelines.sync.output.report import Watch
    from sources.core.reading import Reading

__all__ = ["Plain", "lines", "progress"]

MOST = 32  # of a host's name fits the line
CANCELLED, STOPPED = 130, "cancelled; the next run reads what is missing"


class Plain:
    """For logs and pipes: one line when a phase begins."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.watch: Watch | None = None  # of the run that goes on
        self._told = set[str]()

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        from pipelines.sync.output.report import Watch

        self.watch = Watch(on_change=self.show)
        self._told = {"done"}  # which is no phase
        yield self.watch
        self.watch = None

    def show(self, watch: "Watch") -> None:
        if watch.phase not in self._told and not self.as_json:
            print(f"{watch.phase} …", file=sys.stderr, flush=True)
        self._told.add(watch.phase)

    def failed(self, code: str, message: str, exit_code: int) -> int:
        if self.as_json:
            envelope(False, None, {"code": code, "message": message, "exit_code": exit_code})
        else:
            print(f"earshot: {safe(message)}", file=sys.stderr)
        return exit_code

    def cancelled(self) -> int:
        """Ctrl-C, or SIGTERM: programs are told how far it was."""
        if self.as_json:
            told = _so_far(self.watch) if self.watch and self.watch.run_id else None
            envelope(False, told, {"code": "CANCELLED", "message": STOPPED, "exit_code": CANCELLED})
            return CANCELLED
        return self.failed("CANCELLED", STOPPED, CANCELLED)


class Live(Plain):
    """For terminals: lines that live while the run does."""

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        from rich.console import Console
        from rich.live import Live as RichLive
        from rich.text import Text

        from pipelines.sync.output.report import Watch

        watch, started = Watch(), time.monotonic()

        def shown() -> Text:
            return Text(safe(lines(watch, time.monotonic() - started, pendulum.now("UTC"))))

        with RichLive(console=Console(stderr=True), refresh_per_second=8, transient=True, get_renderable=shown):
            yield watch


def progress(as_json: bool) -> Plain:
    return Live() if sys.stderr.isatty() and not as_json else Plain(as_json)


def lines(watch: "Watch", seconds: float, now: DateTime) -> str:
    """One a source: side by side they are too long for a terminal; below it what it waits for, or how much is left.

    Rich asks for them in a thread of its own, while the run goes on: what may grow meanwhile is copied first.
    """
    phases = ", ".join(dict.fromkeys(list(watch.doing.values()))) or watch.phase
    shown = [f"{phases} · {seconds:.0f} s"]
    for name, reading in list(watch.readings.items()):
        tallies = list(reading.tallies.values())
        requests, fetched = sum(t.requests for t in tallies), sum(t.fetched for t in tallies)
        shown.append(f"  {name}: {requests:,} requests, {fetched:,} rows read, {watch.landed.get(name, 0):,} landed")
        shown += [f"    {told}" for told in _below(watch, name, reading, now)]
    return "\n".join(shown)


def _below(watch: "Watch", name: str, reading: "Reading", now: DateTime) -> Iterator[str]:
    for host, until in list(reading.api.waits.items()):
        if (left := ceil((until - now).total_seconds())) > 0:
            when = until.in_timezone("local").format("HH:mm:ss")
            yield f"waits until {when} for the limit of {host[-MOST:]}: {left} s"
    doing = watch.doing.get(name)
    if doing == "settling":
        done, of = watch.settled(name)
        yield f"{done:,} of {of:,} read again"
    elif doing == "reading" and (told := ", ".join(_left(watch, name, reading))):
        yield told


def _left(watch: "Watch", name: str, reading: "Reading") -> Iterator[str]:
    """What the service says there is, and how many of the places that are configured are done."""
    tallies = list(reading.tallies.values())
    if any(tally.total > tally.fetched for tally in tallies):
        yield f"about {sum(max(tally.total, tally.fetched) for tally in tallies):,} rows to be read"
    if (places := watch.scopes.get(name, 0)) > 1:
        yield f"{len({scope for scope, _ in list(reading.read)}):,} of {places:,} places done"


def _so_far(watch: "Watch") -> dict[str, Any]:
    return {
        "run_id": watch.run_id,
        "phase": watch.phase,
        "sources": [
            {
                "source": name,
                "requests": sum(t.requests for t in reading.tallies.values()),
                "fetched": sum(t.fetched for t in reading.tallies.values()),
                "landed": watch.landed.get(name, 0),
            }
            for name, reading in watch.readings.items()
        ],
    }
