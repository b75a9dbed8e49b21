"""The clock that every demo story is played on.

A story is a stream of beats in time order; a `Story` plays them into one world, up to any instant, and goes on from
there the next time. GitHub's, GitLab's and Bluesky's beats share START, STORY_END and the six-hour step of a demo run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import pendulum
from pendulum import DateTime

__all__ = ["START", "STEP", "STORY_END", "Beat", "Names", "Story", "World", "demo_time"]

START = pendulum.datetime(2026, 8, 3)
STORY_END = pendulum.datetime(2026, 11, 1, 12)
STEP = pendulum.duration(hours=6)

Names = dict[str, Any]  # what earlier beats made, by short name: "stampede", "stampede.plan"


class World(Protocol):
    """Any simulated service: it only needs a clock that can be set."""

    now: DateTime


@dataclass(frozen=True)
class Beat:
    """One thing that happens at one instant; `what` may look up and add names."""

    at: DateTime
    what: Callable[[Any, Names], None]


class Story:
    """Plays beats into a world, each once: playing to A and then to B equals playing to B."""

    def __init__(self, world: World, beats: Iterable[Beat]) -> None:
        self.world = world
        self.names: Names = {}
        self._beats = iter(beats)
        self._next = next(self._beats, None)

    def play(self, until: DateTime) -> int:
        """Apply the beats up to and including `until`; say how many there were."""
        played = 0
        while self._next is not None and self._next.at <= until:
            self.world.now = self._next.at
            self._next.what(self.world, self.names)
            self._next = next(self._beats, None)
            played += 1
        self.world.now = until
        return played


def demo_time(run: int) -> DateTime:
    """When demo run number `run` (from 0) looks at the world."""
    return STORY_END.add(hours=6 * run)
