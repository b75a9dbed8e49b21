"""A surgical run: one merge request, and as many as can be named at once, fresh in a warehouse that has hundreds."""

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.earshot import Earshot, Sample, line, say
from bench.measure import ROOT, BenchError, run
from bench.outcome import Line, Outcome, Target
from bench.world import World

__all__ = ["measure"]

PROJECT = "lantern/lantern"
OF_ONE = 7  # itself, discussions, three kinds of events, closed issues, diffs
MOST = 100
MAX_ONE, MAX_ALL = 1.5, 5.0


@dataclass(frozen=True)
class Size:
    merge_requests: int = 500
    latency: float = 0.02
    repeats: int = 5


FULL = Size()
QUICK = Size(merge_requests=100, latency=0.0, repeats=1)


def measure(quick: bool) -> Outcome:
    size = QUICK if quick else FULL
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="earshot-bench-")))
        world = stack.enter_context(
            World(service="gitlab", merge_requests=size.merge_requests, discussions=10, notes=3, latency=size.latency)  # type: ignore[arg-type]
        )
        ours = Earshot(folder, world, "gitlab", f"token = 'demo-token'\nprojects = [{json.dumps(PROJECT)}]")
        say(f"a first read of {size.merge_requests} merge requests")
        ours.run()
        say("one merge request, a hundred")
        one = line("1 merge request", [_named(ours, [7]) for _ in range(size.repeats)])
        most = range(1, MOST + 1)
        lines = [one, line(f"{MOST} merge requests", [_named(ours, most) for _ in range(size.repeats)])]
    about = (
        f"of {size.merge_requests} merge requests with 30 notes each, {size.latency * 1000:.0f} ms latency;"
        f" median of {size.repeats}"
    )
    return Outcome("surgical", about, lines, _targets(lines, quick))


def _targets(lines: list[Line], quick: bool) -> list[Target]:
    """Issue 6's list. Times are judged at full size only."""
    one, most = lines

    def timed(each: Line, limit: float) -> bool | None:
        return None if quick else each.wall <= limit

    return [
        Target("1 merge request with 30 notes: at most 1.5 s whole process", f"{one.wall:.2f} s", timed(one, MAX_ONE)),
        Target(f"{MOST} at once: at most 5 s", f"{most.wall:.2f} s", timed(most, MAX_ALL)),
        Target("1 merge request: its own requests only", f"{one.requests}", one.requests <= OF_ONE),
    ]


def _named(ours: Earshot, numbers: "range | list[int]") -> Sample:
    targets = [part for number in numbers for part in ("--mr", str(number))]
    ours.world.forget()
    usage = run(
        [sys.executable, str(ROOT / "pipelines" / "run.py"), *targets, "--json"],
        folder=ours.folder,
        environ={"EARSHOT_DATA": str(ours.data)},
    )
    told = json.loads(usage.stdout)["data"]
    if told["ingested"] != len(numbers):
        raise BenchError(f"{told['ingested']} of {len(numbers)} merge requests are fresh")
    return Sample(usage, ours.world.asked())
