"""Runs in this process, over the demo world without a socket, into a real warehouse."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.names import iso
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.api.app import GitLabApp
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.sync.output.report import Report
from pipelines.sync.run import Options, sync
from pipelines.sync.targets.outcomes import Order, Surgery
from pipelines.sync.targets.run import operate
from pipelines.warehouse.data_dir import DataDir, as_dicts
from sources.bluesky.source import Bluesky, BlueskyConfig
from sources.core.config import Secret
from sources.core.http.client import connect
from sources.core.targets import Target
from sources.core.values import text as clean
from sources.github.source import Github
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab
from tests import memory


@dataclass
class Reached:
    source: Any
    app: Any

    def connect(self) -> AbstractAsyncContextManager[Any]:
        transport = httpx.ASGITransport(self.app)
        return connect(self.source.config.api_url, self.source.headers, transport=transport, max_retries=0)


@dataclass
class Desk:
    """A data directory, a world with its service, and runs between them."""

    home: DataDir
    world: Any
    app: Any
    source: Callable[..., Any]
    names: Iterable[str]

    def run(self, config: dict[str, Any] | None = None, **options: Any) -> Report:
        self.app.log.clear()
        source = self.source(self.names, **(config or {}))
        return asyncio.run(sync(self.home, [Reached(source, self.app)], Options(**options)))

    def operate(
        self, place: str, *targets: Target, config: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None, **order: Any,
    ) -> Surgery:  # fmt: skip
        self.app.log.clear()
        connected = Reached(self.source(self.names, **(config or {})), self.app)
        return asyncio.run(operate(self.home, Order(connected, place, targets, **order), Options(**options or {})))

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            return connection.execute(query, list(values)).fetchall()

    def one(self, query: str, *values: object) -> Any:
        return self.sql(query, *values)[0][0]

    def rows(self, table: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            return list(as_dicts(connection.execute(f"FROM {table}")))


@dataclass
class GitHubDesk(Desk):
    def judge(self) -> None:
        """The landed tables and the events made of them against the world."""
        memory.judge(self.world, lambda table: self.rows(f"github.{table}"))
        memory.judge_children(self.world, lambda table: self.rows(f"github.{table}"))
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


def desk(path: Path, world: GitHubWorld, *repos: str) -> GitHubDesk:
    def source(names: Iterable[str], **config: Any) -> Github:
        return Github(memory.settings(names, **config))

    return GitHubDesk(
        DataDir(path), world, GitHubApp(world, public_url="http://api.test"), source, repos or ("lantern/lantern",)
    )


@dataclass
class GitLabDesk(Desk):
    def judge(self) -> None:
        """Everything that a full scan of the world would find, and nothing else, in its present words and states."""
        self.judge_landed()
        self._judge_events(self.world.truth(reader="earshot"))

    def judge_landed(self) -> None:
        truth = self.world.truth(reader="earshot")
        notes = {
            row["id"]: (row["body"], row["is_resolved"], row["resolved_by"], row["position_new_line"])
            for row in self.rows("gitlab.threads__discussions__notes")
        }
        assert notes == {
            id_: (fact["body"], fact["is_resolved"], fact["resolved_by"], (fact["position"] or {}).get("new_line"))
            for id_, fact in truth.notes.items()
        }
        for table, facts in (("merge_requests", truth.merge_requests), ("issues", truth.issues)):
            labels: dict[int, list[str]] = {}
            for number, name in self.sql(
                f"SELECT p.id, l.name FROM gitlab.{table} AS p JOIN gitlab.{table}__labels AS l USING (parent_key)"
            ):
                labels.setdefault(number, []).append(name)
            held = {
                r["id"]: (r["title"], r["state"], r["updated_at"], sorted(labels.get(r["id"], [])))
                for r in self.rows(f"gitlab.{table}")
            }
            assert held == {
                id_: (fact["title"], fact["state"], fact["updated_at"], sorted(fact["labels"]))
                for id_, fact in facts.items()
            }

    def _judge_events(self, truth: Any) -> None:
        rows = self.sql("SELECT event_key, kind, id, body, title, is_latest, is_deleted FROM feedback.events")
        assert len({row[0] for row in rows}) == len(rows), "something is held twice"
        live = {
            (kind, id_): (body, title) for _, kind, id_, body, title, latest, deleted in rows if latest and not deleted
        }
        expected = {
            ("diff_note" if fact["position"] else "note", str(id_)): (fact["body"], None)
            for id_, fact in truth.notes.items()
        }
        for kind, facts in (("merge_request", truth.merge_requests), ("issue", truth.issues)):
            expected |= {(kind, str(id_)): (fact["description"] or "", fact["title"]) for id_, fact in facts.items()}
        assert live == expected
        said = {(v.kind, v.id, v.body) for v in self.world.history}
        for _, kind, id_, body, _, _, _ in rows:
            if kind in ("note", "diff_note"):
                assert ("note", int(id_), body) in said, "something is held that was never said"


def gitlab_desk(path: Path, world: GitLabWorld, *projects: str) -> GitLabDesk:
    def source(names: Iterable[str], **config: Any) -> Gitlab:
        return Gitlab(
            GitlabConfig(api_url="http://gitlab.test", token=Secret("demo-token"), projects=list(names), **config)
        )

    app = GitLabApp(world, public_url="http://gitlab.test")
    return GitLabDesk(DataDir(path), world, app, source, projects or ("lantern/console",))


@dataclass
class BlueskyDesk(Desk):
    def held(self) -> dict[str, list[tuple[str, str]]]:
        """Per account the items that are there now, in their present versions."""
        found: dict[str, list[tuple[str, str]]] = {}
        for did, uri, cid, kind, post_uri, at in self.sql(
            "SELECT e.scope, e.id, p.cid, e.kind, p.post_uri, p.indexed_at FROM feedback.comments AS e"
            " JOIN bluesky.posts AS p USING (event_key)"
        ):
            is_named = kind != "repost" or "/app.bsky.feed.repost/" in uri
            found.setdefault(did, []).append((uri if is_named else f"{post_uri} at {iso(at)}", cid))
        return {did: sorted(items) for did, items in found.items()}

    def judge(self) -> None:
        """What a full scan of the world would find in the feeds of those followed, and nothing that was never said."""
        truth = self.world.truth()
        followed = {self.world.found(name.lower().removeprefix("@")).did for name in self.names}
        assert self.held() == {did: sorted(truth.feeds[did]) for did in followed if truth.feeds.get(did)}
        rows = self.sql("SELECT event_key, kind, id, body FROM feedback.events WHERE source = 'bluesky'")
        assert len({row[0] for row in rows}) == len(rows), "something is held twice"
        said = {(version.uri, clean(version.text)) for version in self.world.history if version.kind == "post"}
        for _, kind, uri, body in rows:
            assert kind == "repost" or (uri, body) in said, "something is held that was never said"


def bluesky_desk(path: Path, world: BlueskyWorld, *actors: str) -> BlueskyDesk:
    def source(names: Iterable[str], **config: Any) -> Bluesky:
        settings = {"actors": list(names), "initial_lookback_hours": 24.0 * 3650, **config}
        return Bluesky(BlueskyConfig(api_url="http://bsky.test", **settings))

    return BlueskyDesk(DataDir(path), world, BlueskyApp(world), source, actors)
