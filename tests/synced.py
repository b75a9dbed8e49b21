"""Runs in this process, over the demo world without a socket, into a real warehouse."""

import asyncio
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import httpx

from pipelines.demo.github_api import GitHubApp
from pipelines.demo.github_world import GitHubWorld
from pipelines.report import Report
from pipelines.sync import Options, sync
from pipelines.warehouse import Home
from sources.github import Github
from sources.http import connect
from tests import memory


@dataclass
class Reached:
    source: Github
    app: GitHubApp

    def connect(self) -> AbstractAsyncContextManager[Any]:
        transport = httpx.ASGITransport(self.app)
        return connect(self.source.config.api_url, self.source.headers, transport=transport, max_retries=0)


@dataclass
class Desk:
    """A data directory, a world, and runs between them."""

    home: Home
    world: GitHubWorld
    app: GitHubApp = field(init=False)
    repos: Iterable[str] = ("lantern/lantern",)

    def __post_init__(self) -> None:
        self.app = GitHubApp(self.world, public_url="http://api.test")

    def run(self, config: dict[str, Any] | None = None, **options: Any) -> Report:
        self.app.log.clear()
        source = Github(memory.settings(self.repos, **(config or {})))
        return asyncio.run(sync(self.home, [Reached(source, self.app)], Options(**options)))

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            return connection.execute(query, list(values)).fetchall()

    def one(self, query: str, *values: object) -> Any:
        return self.sql(query, *values)[0][0]

    def rows(self, table: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            result = connection.execute(f"FROM github.{table}")
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def judge(self) -> None:
        """The landed tables and the events made of them against the world."""
        memory.judge(self.world, self.rows)
        events = self.sql(
            "SELECT kind, id, scope, parent_number, title, body FROM feedback.events WHERE is_latest AND NOT is_deleted"
        )
        latest = sorted(
            ("opener", f"{scope}#{number}", f"{title}\n{body}")
            if kind in ("issue", "pull_request")
            else (kind, id_, f"{title.upper()}\n{body}" if kind == "review" else body)
            for kind, id_, scope, number, title, body in events
        )
        assert latest == sorted((kind, place, words) for kind, place, _, words in memory.exists(self.world))


def desk(path: Path, world: GitHubWorld, *repos: str) -> Desk:
    return Desk(Home(path), world, repos=repos or ("lantern/lantern",))
