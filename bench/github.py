"""GitHub: a first run beside its floor, an unchanged run, a run after a few changes, and long threads.

Every run is a process of its own, the floor's runs lie between ours, and the service has answered everything once
before the first measured run, so that neither side pays for its caches.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.earshot import Earshot, Sample, differing_tables, line, run_floor, say
from bench.outcome import Line, Outcome, Target
from bench.world import World

__all__ = ["measure"]

REPO = "lantern/lantern"
CHANGES = 20

MAX_RATIO = 2.5
MAX_REQUESTS = 5
MAX_QUERIES = 15  # of a first run, for 300 pull requests
MAX_UNCHANGED_SECONDS = 1.0
MAX_RSS_MB = 350
THREAD_NOISE = 1.2  # two walls closer than this are the same


@dataclass(frozen=True)
class Size:
    pulls: int = 300
    comments: int = 6_000
    review_comments: int = 3_000
    latency: float = 0.02
    threads: tuple[int, int] = (100, 10_000)
    repeats: int = 3

    def world(self, latency: float) -> World:
        return World(pulls=self.pulls, comments=self.comments, review_comments=self.review_comments, latency=latency)


FULL = Size()
QUICK = Size(pulls=20, comments=250, review_comments=120, latency=0.0, threads=(10, 250), repeats=1)


def measure(quick: bool) -> Outcome:
    size = QUICK if quick else FULL
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="earshot-bench-")))
        far, near = (stack.enter_context(size.world(latency)) for latency in (size.latency, 0.0))
        threads = [
            stack.enter_context(World(pulls=1, comments=comments, review_comments=0)) for comments in size.threads
        ]
        lines, differing, queries = _compare(folder, far, size)
        lines += _near(folder, near, size)
        lines += [_thread(folder, *each, size) for each in zip(threads, size.threads, strict=True)]
    about = (
        f"1 repository, {size.pulls} pull requests, {size.comments:,} + {size.review_comments:,} comments,"
        f" {size.latency * 1000:.0f} ms latency; median of {size.repeats}"
    )
    return Outcome("github", about, lines, _targets(lines, differing, queries, quick))


def _compare(folder: Path, world: World, size: Size) -> tuple[list[Line], list[str], tuple[int, int]]:
    """The floor and the three kinds of run; in which tables the floor's rows are not ours; and how often a first and an
    unchanged run asked GraphQL.

    Changes come last: this world's clock stands still between them, so a pull request that changed just now would be
    asked for again by every later run, as one that may not have settled.
    """
    floor, first, unchanged, changed = list[Sample](), list[Sample](), list[Sample](), list[Sample]()
    _floor(folder / "warm", world)
    for turn in range(size.repeats):
        say(f"{turn + 1}/{size.repeats}: floor, first run, unchanged run")
        ours = _ours(folder / f"run-{turn}", world)
        floor.append(_floor(folder / f"floor-{turn}", world))
        first.append(ours.run())
        unchanged.append(ours.run())
    differing = differing_tables(folder / f"floor-{turn}", ours)
    for turn in range(size.repeats):
        say(f"{turn + 1}/{size.repeats}: run after {CHANGES} changes")
        world.touch(CHANGES)
        changed.append(ours.run())
    bare = line("floor (no dlt)", floor)
    lines = [
        replace(bare, ratio=1.0),
        line("first run", first, bare.wall),
        line("unchanged run", unchanged, bare.wall, show_files=True),
        line(f"{CHANGES} changes", changed, bare.wall),
    ]
    queries = (max(each.asked.queries for each in first), max(each.asked.queries for each in unchanged))
    return lines, differing, queries


def _near(folder: Path, world: World, size: Size) -> list[Line]:
    """Without latency only our own time is left."""
    say("no latency: unchanged run")
    ours = _ours(folder / "near", world)
    ours.run()
    return [line("unchanged, 0 ms", [ours.run() for _ in range(size.repeats)], show_files=True)]


def _thread(folder: Path, world: World, comments: int, size: Size) -> Line:
    say(f"a thread of {comments:,} comments: unchanged run")
    ours = _ours(folder / f"thread-{comments}", world)
    ours.run()
    return line(f"thread of {comments:,}", [ours.run() for _ in range(size.repeats)], show_files=True)


def _targets(lines: Sequence[Line], differing: Sequence[str], queries: tuple[int, int], quick: bool) -> list[Target]:
    """Issue 2's list. Times are judged at full size only."""

    def timed(is_met: bool) -> bool | None:
        return None if quick else is_met

    _, first, unchanged, _, near, short, long = lines
    idle, peak = (unchanged, near, short, long), max(each.rss_mb for each in lines[1:])
    assert first.ratio
    requests, packages = max(each.requests for each in idle), max(each.packages or 0 for each in idle)
    same = all(each.files_same for each in idle)
    return [
        Target("first run at most 2.5 x the floor", f"{first.ratio:.2f} x", timed(first.ratio <= MAX_RATIO)),
        Target("the floor holds the same rows", ", ".join(differing) or "every table", not differing),
        Target(
            f"GraphQL: at most {MAX_QUERIES} queries in a first run, none unchanged",
            f"{queries[0]} and {queries[1]}",
            queries[0] <= MAX_QUERIES and queries[1] == 0,
        ),
        Target("unchanged: at most 5 requests", f"{requests}", requests <= MAX_REQUESTS),
        Target("unchanged: no load package", f"{packages}", packages == 0),
        Target("unchanged: duckdb files byte-identical", "same" if same else "changed", same),
        Target(
            "unchanged: at most 1.0 s whole process at 0 ms",
            f"{near.wall:.2f} s",
            timed(near.wall <= MAX_UNCHANGED_SECONDS),
        ),
        Target(
            "a long thread costs no more than a short one",
            f"{long.requests} and {short.requests} requests, {long.wall:.2f} and {short.wall:.2f} s",
            long.requests <= short.requests and timed(long.wall <= short.wall * THREAD_NOISE) is not False,
        ),
        Target("peak memory at most 350 MB", f"{peak:.0f} MB", timed(peak <= MAX_RSS_MB)),
    ]


def _ours(folder: Path, world: World) -> Earshot:
    return Earshot(folder, world, "github", f"token = 'demo-token'\nrepos = [{json.dumps(REPO)}]")


def _floor(folder: Path, world: World) -> Sample:
    return run_floor(folder, world, "bench.floor", REPO)
