"""Ninety days on GitLab, where Lantern's web console is made, and what happens afterwards, for ever.

    story = Story(GitLabWorld(START), beats())
    story.play(demo_time(0))   # everything up to 1 November 2026
    story.play(demo_time(1))   # and the next six hours

A sibling of `story`, which happens on GitHub. Each service is a world with a clock of its own, and each has a `Story`
of its own; they agree because both are played to the same `demo_time(run)`.
"""

import heapq
from collections.abc import Iterator

from pendulum import DateTime

from pipelines.demo import story_gitlab_endless, story_gitlab_issues, story_gitlab_news, story_gitlab_reviews
from pipelines.demo.story_clock import START, STORY_END, Beat, Story, demo_time
from pipelines.demo.story_gitlab_cast import BOTS, CHARTS, CONSOLE, PEOPLE, READER, prologue

__all__ = ["BOTS", "CHARTS", "CONSOLE", "PEOPLE", "READER", "START", "STORY_END", "Story", "beats", "demo_time"]


def beats() -> Iterator[Beat]:
    """The whole story in time order; it has no end."""
    topics = story_gitlab_issues.TOPICS + story_gitlab_reviews.TOPICS + story_gitlab_news.TOPICS
    written = [beat for topic in topics for beat in topic.beats()]
    yield from prologue()
    yield from heapq.merge(sorted(written, key=_at), story_gitlab_endless.beats(), key=_at)


def _at(beat: Beat) -> DateTime:
    return beat.at
