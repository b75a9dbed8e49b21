"""The reader's commands: a cold process each, beside the floor of one that asks DuckDB a single question.

The warehouse is made up by the database itself (bench/reader_rows.py), its pages are in the system's cache.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import ROOT, Usage, median, run
from bench.outcome import Line, Outcome, Target

__all__ = ["measure"]

MAX_SECONDS = 0.35
MAX_SECONDS_OF_A_MILLION = 1.0
COMMANDS = {
    "list mrs": ["list", "mrs", "--state", "open", "--label", "bug"],
    "list threads": ["list", "threads", "--waiting-on", "team"],
    "list events": ["list", "events"],
    "list events, unacked": ["list", "events", "--unacked-by", "bench"],
    "show mr": ["show", "mr", "9000"],
    "count notes": ["count", "notes", "--type", "mr"],
}
FLOOR = (
    "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True).execute('FROM feedback.events LIMIT 1').fetchall()"
)


@dataclass(frozen=True)
class Size:
    events: int = 100_000
    many: int = 1_000_000
    repeats: int = 5


FULL = Size()
QUICK = Size(events=100_000, many=100_000, repeats=1)


def measure(quick: bool) -> Outcome:
    size = QUICK if quick else FULL
    with TemporaryDirectory(prefix="earshot-bench-") as folder:
        few, many = _warehouse(Path(folder) / "few", size.events), _warehouse(Path(folder) / "many", size.many)
        floor = _line("floor (duckdb)", [_floor(few) for _ in range(size.repeats)])
        lines = [_line(name, _ask(few, size, words), floor.wall) for name, words in COMMANDS.items()]
        large = _line(f"list events of {size.many:,}", _ask(many, size, COMMANDS["list events"]), floor.wall)
    about = f"{size.events:,} events, a cold process each; median of {size.repeats}"
    return Outcome("reader", about, [replace(floor, ratio=1.0), *lines, large], _targets(lines, large, quick))


def _targets(lines: Sequence[Line], large: Line, quick: bool) -> list[Target]:
    slowest = max(lines, key=lambda line: line.wall)
    found = f"{slowest.wall:.2f} s ({slowest.name})"
    return [
        Target(f"list, show, count: at most {MAX_SECONDS} s", found, None if quick else slowest.wall <= MAX_SECONDS),
        Target(
            f"{large.name}: at most {MAX_SECONDS_OF_A_MILLION:.0f} s",
            f"{large.wall:.2f} s",
            None if quick else large.wall <= MAX_SECONDS_OF_A_MILLION,
        ),
    ]


def _warehouse(folder: Path, events: int) -> Path:
    print(f"making up {events:,} events …", file=sys.stderr, flush=True)
    run([sys.executable, "-m", "bench.reader_rows", str(folder), str(events)], folder=ROOT)
    return folder


def _ask(data: Path, size: Size, words: Sequence[str]) -> list[Usage]:
    command = [sys.executable, "-m", "pipelines.cli", *words]
    return [run(command, folder=ROOT, environ={"EARSHOT_DATA": str(data)}) for _ in range(size.repeats)]


def _floor(data: Path) -> Usage:
    return run([sys.executable, "-c", FLOOR, str(data / "published.duckdb")], folder=ROOT)


def _line(name: str, runs: Sequence[Usage], floor: float | None = None) -> Line:
    wall = median(usage.wall for usage in runs)
    return Line(
        name=name,
        runs=len(runs),
        wall=wall,
        fastest=min(usage.wall for usage in runs),
        cpu=median(usage.cpu for usage in runs),
        rss_mb=max(usage.rss_mb for usage in runs),
        ratio=wall / floor if floor else None,
    )
