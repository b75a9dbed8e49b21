"""Ninety days on Bluesky, where people talk about Lantern, and what happens afterwards, for ever.

    story = Story(BlueskyWorld(START), beats())
    story.play(demo_time(0))   # everything up to 1 November 2026
    story.play(demo_time(1))   # and the next six hours

A sibling of `story` (GitHub) and `story_gitlab`, on the same clock. `ACTORS` are the accounts to follow.
"""

import heapq
from collections.abc import Iterator

from pendulum import DateTime

from pipelines.demo import (
    story_bluesky_autumn,
    story_bluesky_endless,
    story_bluesky_fair,
    story_bluesky_news,
    story_bluesky_summer,
)
from pipelines.demo.story_bluesky_cast import ACTORS, PEOPLE, prologue
from pipelines.demo.story_clock import START, STORY_END, Beat, Story, demo_time

__all__ = ["ACTORS", "PEOPLE", "START", "STORY_END", "Story", "beats", "demo_time"]


def beats() -> Iterator[Beat]:
    """The whole story in time order; it has no end."""
    talks = story_bluesky_summer.TALKS + story_bluesky_autumn.TALKS + story_bluesky_fair.TALKS
    talks += story_bluesky_news.TALKS
    written = [beat for talk in talks for beat in talk.beats()]
    yield from prologue()
    yield from heapq.merge(sorted(written, key=_at), story_bluesky_endless.beats(), key=_at)


def _at(beat: Beat) -> DateTime:
    return beat.at
