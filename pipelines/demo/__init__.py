"""A small world: the services' APIs over one scripted story, used by `--demo` and by the tests.

A demo run reads the world as it is a little later than the last one, so that the second run shows what a run is really
like: few requests, most of them answered "not modified", and only the news in the warehouse.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

__all__ = ["demo_sources"]


@dataclass(frozen=True)
class DemoSource:
    source: Any
    app: Any

    def connect(self) -> AbstractAsyncContextManager[Any]:
        import httpx

        from sources.http import connect

        transport = httpx.ASGITransport(app=self.app)
        return connect(self.source.config.api_url, self.source.headers, transport=transport)


def demo_sources(run: int) -> list[DemoSource]:
    """The world as the demo's run number `run` (from 0) finds it."""
    return [_github(run), _gitlab(run), _bluesky(run)]


def _github(run: int) -> DemoSource:
    from pipelines.demo.github_api import GitHubApp
    from pipelines.demo.github_world import GitHubWorld
    from pipelines.demo.story import DOCS, LANTERN, START, Story, beats, demo_time
    from sources.config import Secret
    from sources.github import Github, GithubConfig

    world = GitHubWorld(START)
    Story(world, beats()).play(demo_time(run))
    app = GitHubApp(world, public_url="https://api.github.com")
    return DemoSource(Github(GithubConfig(token=Secret("demo-token"), repos=[LANTERN, DOCS])), app)


def _gitlab(run: int) -> DemoSource:
    from pipelines.demo.gitlab_api import GitLabApp
    from pipelines.demo.gitlab_world import GitLabWorld
    from pipelines.demo.story_gitlab import CHARTS, CONSOLE, START, Story, beats, demo_time
    from sources.config import Secret
    from sources.gitlab import Gitlab, GitlabConfig

    world = GitLabWorld(START)
    Story(world, beats()).play(demo_time(run))
    app = GitLabApp(world, public_url="https://gitlab.com")
    return DemoSource(Gitlab(GitlabConfig(token=Secret("demo-token"), projects=[CONSOLE, CHARTS])), app)


def _bluesky(run: int) -> DemoSource:
    from pipelines.demo.bluesky_api import BlueskyApp
    from pipelines.demo.bluesky_world import BlueskyWorld
    from pipelines.demo.story_bluesky import ACTORS, START, Story, beats, demo_time
    from sources.bluesky import Bluesky, BlueskyConfig

    world = BlueskyWorld(START)
    Story(world, beats()).play(demo_time(run))
    app = BlueskyApp(world)
    return DemoSource(Bluesky(BlueskyConfig(actors=list(ACTORS), initial_lookback_hours=24 * 90)), app)
