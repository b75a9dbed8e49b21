"""Ninety days on GitLab, where Lantern's web console is made, and two minutes more.

A sibling of `story`, which happens on GitHub. Each service is a world with a clock of its own, and each has a `Story`
of its own; they agree because both are played to the same `demo_time(run)`.
"""

from collections.abc import Iterator

from pipelines.demo import story_gitlab_issues, story_gitlab_news, story_gitlab_reviews
from pipelines.demo.story_clock import START, STORY_END, Beat, Story, demo_time
from pipelines.demo.story_gitlab_cast import BOTS, CHARTS, CONSOLE, PEOPLE, READER, SKETCHES, prologue

__all__ = [
    "BOTS", "CHARTS", "CONSOLE", "PEOPLE", "READER", "SKETCHES", "START", "STORY_END", "Story", "beats", "demo_time",
]  # fmt: skip


def beats() -> Iterator[Beat]:
    """The whole story in time order."""
    yield from prologue()
    written = story_gitlab_issues.TOPICS + story_gitlab_reviews.TOPICS
    topics = written + story_gitlab_news.LAST_DAY + story_gitlab_news.NEWS
    yield from sorted((beat for topic in topics for beat in topic.beats()), key=lambda beat: beat.at)
