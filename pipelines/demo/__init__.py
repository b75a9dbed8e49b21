"""A small world: the services' APIs over one scripted story, used by `--demo` and by the tests.

The story's last day is yesterday. A second run looks two minutes later and shows what a run is really like: few
requests, most of them answered "not modified", and only the news in the warehouse. Later ones find it quiet, but for
what was said to it: `earshot reply` answers in this world too, and the next run hears that. Nothing leaves the machine.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pendulum
from pendulum import Date

from pipelines.demo.story.clock import START, Story, demo_time
from pipelines.settings import EarshotConfig
from sources.core.config import Secret

if TYPE_CHECKING:
    import httpx

    from pipelines.demo.server.memory import Sent

__all__ = ["TEAM", "DemoSource", "demo_sources", "next_run", "of_last_run"]

TOKEN = Secret("demo-token")
TEAM = (  # who answers in the story, by login and by handle
    "maya", "noor", "tomasz-w", "ines-r", "sanvi", "lantern.example", "maya.lantern.example", "noor.lantern.example",
    "tomasz-w.bsky.social", "ines.lantern.example",
)  # fmt: skip


@dataclass(frozen=True)
class DemoSource:
    source: Any
    app: Any
    story: Story
    folder: Path | None = None  # whose memory keeps what is said
    config: EarshotConfig = EarshotConfig(team=list(TEAM))

    def connect(self) -> AbstractAsyncContextManager[Any]:
        import httpx

        return self._connect(self.source.headers, httpx.ASGITransport(app=self.app))

    @asynccontextmanager
    async def connect_to_write(self) -> AsyncIterator[Any]:
        """To the world as it is by now, whoever else has said something since."""
        from pipelines.demo.server.memory import Remembering, remembered

        assert self.folder is not None, "only a demo's own directory remembers"
        with remembered(self.folder, yesterday()) as memory:
            now = _named(demo_sources(max(memory.runs - 1, 0), memory.later, memory.sent), self.source.name)
            there = Remembering(now.app, memory, self.source.name)
            async with self._connect(self.source.answers.write_headers, there) as api:
                yield api

    def _connect(
        self, headers: Mapping[str, str], transport: "httpx.AsyncBaseTransport"
    ) -> AbstractAsyncContextManager[Any]:
        from sources.core.http.client import connect

        return connect(self.source.config.api_url, headers, transport=transport)


def yesterday() -> Date:
    return pendulum.now("UTC").subtract(days=1).date()


def next_run(folder: Path) -> list[DemoSource]:
    """For a run that begins now: it is the next one, whatever becomes of it."""
    from pipelines.demo.server.memory import remembered

    with remembered(folder, yesterday()) as memory:
        memory.runs += 1
        memory.keep()
        return demo_sources(memory.runs - 1, memory.later, memory.sent)


def of_last_run(folder: Path, name: str) -> DemoSource:
    """One service as the last run left it, with what was said to it since; to be read again or answered."""
    from pipelines.demo.server.memory import remembered

    with remembered(folder, yesterday()) as memory:
        sources = demo_sources(max(memory.runs - 1, 0), memory.later, memory.sent)
    return replace(_named(sources, name), folder=folder)


def demo_sources(run: int, later: int = 0, sent: "Sequence[Sent]" = ()) -> list[DemoSource]:
    """The world as the demo's run number `run` (from 0) finds it, so many days after the story was written."""
    made = [_github(later), _gitlab(later), _bluesky(later)]
    for each in made:
        for said in sent:
            if said.source == each.source.name:
                each.story.play(demo_time(max(said.runs - 1, 0)))
                each.story.world.now = said.at(each.story.world.now)
                each.app.answer(said.request())
        each.story.play(demo_time(run))
    return made


def _named(sources: Sequence[DemoSource], name: str) -> DemoSource:
    return next(each for each in sources if each.source.name == name)


def _github(later: int) -> DemoSource:
    from pipelines.demo.github.api.app import GitHubApp
    from pipelines.demo.github.world import GitHubWorld
    from pipelines.demo.story.github.story import BENCH, DOCS, LANTERN, beats
    from sources.github.source import Github, GithubConfig

    world = GitHubWorld(START.add(days=later))
    config = GithubConfig(token=TOKEN, write_token=TOKEN, repos=[LANTERN, DOCS, BENCH])
    return DemoSource(Github(config), GitHubApp(world, public_url=config.api_url), Story(world, beats(), later))


def _gitlab(later: int) -> DemoSource:
    from pipelines.demo.gitlab.api.app import GitLabApp
    from pipelines.demo.gitlab.world import GitLabWorld
    from pipelines.demo.story.gitlab.story import CHARTS, CONSOLE, SKETCHES, beats
    from sources.gitlab.lists import GitlabConfig
    from sources.gitlab.source import Gitlab

    world = GitLabWorld(START.add(days=later))
    config = GitlabConfig(token=TOKEN, write_token=TOKEN, projects=[CONSOLE, CHARTS, SKETCHES])
    return DemoSource(Gitlab(config), GitLabApp(world, public_url=config.api_url), Story(world, beats(), later))


def _bluesky(later: int) -> DemoSource:
    from pipelines.demo.bluesky.api.app import BlueskyApp
    from pipelines.demo.bluesky.world import BlueskyWorld
    from pipelines.demo.story.bluesky.story import ACTORS, beats
    from sources.bluesky.source import Bluesky, BlueskyConfig

    world = BlueskyWorld(START.add(days=later))
    config = BlueskyConfig(actors=list(ACTORS), initial_lookback_hours=24 * 90)
    return DemoSource(Bluesky(config), BlueskyApp(world), Story(world, beats(), later))
