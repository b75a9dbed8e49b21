"""Ninety days on Bluesky, where people talk about Lantern, and two minutes more.

A sibling of `story` (GitHub) and `story_gitlab`, on the same clock. `ACTORS` are the accounts to follow.
"""

from collections.abc import Iterator

from pipelines.demo.story.bluesky import autumn, fair, news, summer
from pipelines.demo.story.bluesky.cast import ACTORS, PEOPLE, prologue
from pipelines.demo.story.clock import START, STORY_END, Beat, Story, demo_time

__all__ = ["ACTORS", "PEOPLE", "START", "STORY_END", "Story", "beats", "demo_time"]


def beats() -> Iterator[Beat]:
    """The whole story in time order."""
    yield from prologue()
    talks = summer.TALKS + autumn.TALKS + fair.TALKS
    talks += news.NEWS
    yield from sorted((beat for talk in talks for beat in talk.beats()), key=lambda beat: beat.at)
