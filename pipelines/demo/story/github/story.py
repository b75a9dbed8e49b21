"""Ninety days of feedback on Lantern, an invented caching proxy, and two minutes more.

    story = Story(world, beats())
    story.play(demo_time(0))   # everything up to the story's end
    story.play(demo_time(1))   # and the news of the next two minutes; later runs find none

Who speaks is in story_cast, what they say in story_lantern, story_docs and story_small, who does it by when in
story_tasks; the last day and the news are in story_news. A story on another service is a sibling module with its own beats(), played on the same clock.
"""

from collections.abc import Iterator

from pipelines.demo.story.cast import BENCH, BOTS, DOCS, LANTERN, PEOPLE, prologue
from pipelines.demo.story.clock import START, STORY_END, Beat, Names, Story, demo_time
from pipelines.demo.story.github import docs, lantern, news, small, tasks

__all__ = [
    "BENCH", "BOTS", "DOCS", "LANTERN", "PEOPLE", "START", "STORY_END", "Beat", "Names", "Story", "beats", "demo_time",
]  # fmt: skip


def beats() -> Iterator[Beat]:
    """The whole story in time order."""
    yield from prologue()
    threads = lantern.THREADS + docs.THREADS + small.THREADS + tasks.THREADS
    threads += news.LAST_DAY + news.NEWS
    yield from sorted((beat for thread in threads for beat in thread.beats()), key=lambda beat: beat.at)
