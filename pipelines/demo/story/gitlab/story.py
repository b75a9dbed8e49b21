"""Ninety days on GitLab, where Lantern's web console is made, and two minutes more.

A sibling of `story`, which happens on GitHub. Each service is a world with a clock of its own, and each has a `Story`
of its own; they agree because both are played to the same `demo_time(run)`.
"""

from collections.abc import Iterator

from pipelines.demo.story.clock import START, STORY_END, Beat, Story, demo_time
from pipelines.demo.story.gitlab import issues, news, reviews
from pipelines.demo.story.gitlab.cast import BOTS, CHARTS, CONSOLE, PEOPLE, READER, SKETCHES, prologue

__all__ = [
    "BOTS", "CHARTS", "CONSOLE", "PEOPLE", "READER", "SKETCHES", "START", "STORY_END", "Story", "beats", "demo_time",
]  # fmt: skip


def beats() -> Iterator[Beat]:
    """The whole story in time order."""
    yield from prologue()
    written = issues.TOPICS + reviews.TOPICS
    topics = written + news.LAST_DAY + news.NEWS
    yield from sorted((beat for topic in topics for beat in topic.beats()), key=lambda beat: beat.at)
