"""Ninety days of feedback on Lantern, an invented caching proxy, and what happens afterwards, for ever.

    story = Story(world, beats())
    story.play(demo_time(0))   # everything up to 1 November 2026
    story.play(demo_time(1))   # and the next six hours

Who speaks is in story_cast, what they say in story_lantern, story_docs and story_small; the days after the end are in
story_news and story_endless. A story on another service is a sibling module with its own beats(), played on the same
clock.
"""

import heapq
from collections.abc import Iterator

from pendulum import DateTime

from pipelines.demo import story_docs, story_endless, story_lantern, story_news, story_small
from pipelines.demo.story_cast import BOTS, DOCS, LANTERN, PEOPLE, prologue
from pipelines.demo.story_clock import START, STEP, STORY_END, Beat, Names, Story, demo_time

__all__ = [
    "BOTS", "DOCS", "LANTERN", "PEOPLE", "START", "STEP", "STORY_END", "Beat", "Names", "Story", "beats", "demo_time",
]  # fmt: skip


def beats() -> Iterator[Beat]:
    """The whole story in time order; it has no end."""
    threads = story_lantern.THREADS + story_docs.THREADS + story_small.THREADS + story_news.THREADS
    written = [beat for thread in threads for beat in thread.beats()]
    yield from prologue()
    yield from heapq.merge(sorted(written, key=_at), story_endless.beats(), key=_at)


def _at(beat: Beat) -> DateTime:
    return beat.at
