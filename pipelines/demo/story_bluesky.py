"""Ninety days on Bluesky, where people talk about Lantern, and two minutes more.

A sibling of `story` (GitHub) and `story_gitlab`, on the same clock. `ACTORS` are the accounts to follow.
"""

from collections.abc import Iterator

from pipelines.demo import story_bluesky_autumn, story_bluesky_fair, story_bluesky_news, story_bluesky_summer
from pipelines.demo.story_bluesky_cast import ACTORS, PEOPLE, prologue
from pipelines.demo.story_clock import START, STORY_END, Beat, Story, demo_time

__all__ = ["ACTORS", "PEOPLE", "START", "STORY_END", "Story", "beats", "demo_time"]


def beats() -> Iterator[Beat]:
    """The whole story in time order."""
    yield from prologue()
    talks = story_bluesky_summer.TALKS + story_bluesky_autumn.TALKS + story_bluesky_fair.TALKS
    talks += story_bluesky_news.NEWS
    yield from sorted((beat for talk in talks for beat in talk.beats()), key=lambda beat: beat.at)
