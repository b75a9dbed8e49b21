"""The clock that every demo story is played on.

A story is a stream of beats in time order, written down between START and STORY_END; a `Story` plays them into one
world, up to any instant, and goes on from there the next time. Whoever plays it says how many days later it happens, so
that a demo's last day is yesterday whenever it is run: with the same number every performance is the same. Two minutes
pass between one demo run and the next; what happens in the first of them is news, and then the world is quiet.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import pendulum
from pendulum import Date, DateTime

__all__ = [
    "LAST_DAY",
    "START",
    "STEP",
    "STORY_END",
    "Beat",
    "Names",
    "Story",
    "World",
    "days_later",
    "demo_time",
    "on_day",
]

START = pendulum.datetime(2026, 8, 3)
STORY_END = pendulum.datetime(2026, 11, 1, 12)
LAST_DAY = STORY_END.date()
STEP = pendulum.duration(minutes=2)
LATER = "days later"
WRITTEN_DAY = re.compile(r"\b2026-\d\d-\d\d")

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
    """Plays beats into a world, each once: playing to A and then to B equals playing to B.

    Instants are as written. The world's clock never goes back: what was said to it between two runs, a second each, may
    have brought it past a beat.
    """

    def __init__(self, world: World, beats: Iterable[Beat], later: int = 0) -> None:
        self.world, self.later = world, later
        self.names: Names = {LATER: later}
        self._beats = iter(beats)
        self._next = next(self._beats, None)

    def play(self, until: DateTime) -> int:
        """Apply the beats up to and including `until`; say how many there were."""
        played = 0
        while self._next is not None and self._next.at <= until:
            self._strike(self._next.at)
            self._next.what(self.world, self.names)
            self._next = next(self._beats, None)
            played += 1
        self._strike(until)
        return played

    def _strike(self, written: DateTime) -> None:
        self.world.now = max(self.world.now, written.add(days=self.later))


def days_later(last_day: Date) -> int:
    """For a story whose last day is this one."""
    return (last_day - LAST_DAY).days


def on_day(text: str, names: Names) -> str:
    """Days that are written in a text, as they are called in this performance."""

    def moved(found: re.Match[str]) -> str:
        return Date.fromisoformat(found[0]).add(days=names.get(LATER, 0)).isoformat()

    return WRITTEN_DAY.sub(moved, text)


def demo_time(run: int) -> DateTime:
    """When demo run number `run` (from 0) looks at the world."""
    return STORY_END + STEP * run
