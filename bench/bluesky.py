"""Bluesky: a first read of hundreds of accounts beside its floor, unchanged polls with and without `probe`, thousands.

As in bench/github.py every run is a process of its own, the floor's lie between ours, and the service has answered
everything once before the first measured run.
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

MAX_RATIO = 2.5
MAX_UNCHANGED_SECONDS = 3.0
MAX_RSS_MB = 400
LISTED = 25  # profiles in one answer
PAGE = 99  # of a hundred, one comes twice


@dataclass(frozen=True)
class Size:
    accounts: int = 342
    posts: int = 50
    latency: float = 0.02
    many: int = 5_000
    long: int = 10_000
    busy: int = 350  # posts within a day
    repeats: int = 3


FULL = Size()
QUICK = Size(accounts=30, posts=5, latency=0.0, many=60, long=300, busy=150, repeats=1)


def measure(quick: bool) -> Outcome:
    size = QUICK if quick else FULL
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="earshot-bench-")))
        usual = stack.enter_context(_world(size.accounts, size.posts, size.latency))
        short, long = (stack.enter_context(_world(1, posts, 0.0, days=1000)) for posts in (10, size.long))
        busy = stack.enter_context(_world(1, size.busy, 0.0, days=1))
        many = stack.enter_context(_world(size.many, 3, 0.0))
        lines, differing = _compare(folder, usual, size)
        lines += _long(folder, short, long, busy, size) + _many(folder, many, size)
    about = (
        f"{size.accounts} accounts x {size.posts} posts, {size.latency * 1000:.0f} ms latency;"
        f" median of {size.repeats}"
    )  # fmt: skip
    return Outcome("bluesky", about, lines, _targets(lines, differing, size, quick))


def _compare(folder: Path, world: World, size: Size) -> tuple[list[Line], list[str]]:
    floor, first, unchanged = list[Sample](), list[Sample](), list[Sample]()
    _floor(folder / "warm", world, size)
    ours = [_ours(folder / f"run-{turn}", world, size.accounts) for turn in range(size.repeats)]
    for turn, each in enumerate(ours):
        say(f"{turn + 1}/{size.repeats}: floor, first run, unchanged poll")
        floor.append(_floor(folder / f"floor-{turn}", world, size))
        first.append(each.run())
        unchanged.append(each.run())
    differing = differing_tables(folder / f"floor-{turn}", ours[-1])
    say("probe, 20 changes")
    probing = replace(ours[-1], config=f"{ours[-1].config}\nprobe = true")
    probed = [probing.run() for _ in range(2)]
    world.touch(20)
    changed = [each.run() for each in ours]
    bare = line("floor (no dlt)", floor)
    return [
        replace(bare, ratio=1.0),
        line("first run", first, bare.wall),
        line("unchanged poll", unchanged, bare.wall, show_files=True),
        line("unchanged, probe", probed, bare.wall, show_files=True),
        line("20 changes", changed, bare.wall),
    ], differing


def _long(folder: Path, short: World, long: World, busy: World, size: Size) -> list[Line]:
    """An account's history must cost nothing while it is silent; what it said within the overlap is looked at."""
    say(f"an account with {size.long:,} posts")
    lines = []
    named = (("10 posts", short), (f"{size.long:,} posts", long), (f"{size.busy:,} posts a day", busy))
    for name, world in named:
        ours = _ours(folder / name, world, 1)
        ours.run()
        lines.append(line(f"1 account, {name}", [ours.run() for _ in range(size.repeats)], show_files=True))
    return lines


def _many(folder: Path, world: World, size: Size) -> list[Line]:
    say(f"{size.many:,} accounts")
    ours = _ours(folder / "many", world, size.many)
    return [
        line(f"{size.many:,} accounts, first", [ours.run()]),
        line(f"{size.many:,} accounts, again", [ours.run()], show_files=True),
    ]


def _targets(lines: Sequence[Line], differing: Sequence[str], size: Size, quick: bool) -> list[Target]:
    """Issue 4's list. Times are judged at full size only."""

    def timed(is_met: bool) -> bool | None:
        return None if quick else is_met

    _, first, unchanged, probed, changed, short, long, busy, many, again = lines
    assert first.ratio
    quiet = (unchanged, probed, short, long, busy, again)
    packages = max(each.packages or 0 for each in quiet)
    peak = max(each.rss_mb for each in lines[1:])
    most = -(-size.accounts // LISTED)
    return [
        Target("first run at most 2.5 x the floor", f"{first.ratio:.2f} x", timed(first.ratio <= MAX_RATIO)),
        Target("the floor holds the same rows", ", ".join(differing) or "every table", not differing),
        Target("unchanged: one conditional request an account", f"{unchanged.requests}",
               unchanged.requests <= size.accounts and unchanged.not_modified == unchanged.requests),
        Target("unchanged, probe: one request for 25 accounts", f"{probed.requests}", probed.requests <= most),
        Target("unchanged: no load package", f"{packages}", packages == 0),
        Target("unchanged: duckdb files byte-identical", "same" if all(q.files_same for q in quiet) else "changed",
               all(bool(each.files_same) for each in quiet)),
        Target(f"unchanged: {size.accounts} accounts at most 3 s whole process", f"{unchanged.wall:.2f} s",
               timed(unchanged.wall <= MAX_UNCHANGED_SECONDS)),
        Target("20 changes: one request an account", f"{changed.requests}", changed.requests <= size.accounts),
        Target(f"{size.long:,} posts: an unchanged poll as with 10", f"{long.requests} and {short.requests}",
               long.requests <= short.requests),
        Target(f"{size.busy:,} posts within a day: an unchanged poll asks for their pages", f"{busy.requests}",
               busy.requests <= size.busy // PAGE + 1),
        Target(f"{size.many:,} accounts: one conditional request each", f"{again.requests}",
               many.requests >= size.many and again.requests <= size.many),
        Target("peak memory at most 400 MB", f"{peak:.0f} MB", timed(peak <= MAX_RSS_MB)),
    ]  # fmt: skip


def _world(accounts: int, posts: int, latency: float, days: int = 60) -> World:
    return World(service="bluesky", accounts=accounts, posts=posts, days=days, latency=latency)  # type: ignore[arg-type]


def _ours(folder: Path, world: World, accounts: int) -> Earshot:
    names = [f"person-{n:04}.bsky.social" for n in range(accounts)]
    config = (
        f"directory_url = {json.dumps(world.url + '/plc')}\ninitial_lookback_hours = 24100\nmax_pages_per_actor = 200\n"
    )
    return Earshot(folder, world, "bluesky", f"{config}actors = {json.dumps(names)}")


def _floor(folder: Path, world: World, size: Size) -> Sample:
    return run_floor(folder, world, "bench.bluesky_floor", str(size.accounts))
