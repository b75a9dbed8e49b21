"""A warehouse of plain dicts, so that many readings can be tried in a second; and the oracle that judges any warehouse.

The oracle knows the world, not our code: what exists now must be held in its present words, once, and nothing may be
held that the world never said.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
from pendulum import DateTime

from pipelines.demo.github.world import GitHubWorld
from sources.core.config import Secret
from sources.core.http.client import connect
from sources.core.reading import Batch, Reading
from sources.core.source import Source, read_all
from sources.github.source import Github, GithubConfig

Said = tuple[str, str, DateTime | None, str]  # kind, place or id, updated_at where there is one, words


CHILDREN = {  # and the column that tells them apart
    "issues__labels": "name", "issues__assignees": "login", "pull_requests__labels": "name",
    "pull_requests__assignees": "login", "pull_requests__requested_reviewers": "login",
    "pull_requests__requested_teams": "slug",
}  # fmt: skip


class Killed(Exception):
    """The process ended here; what was landed before stays."""


@dataclass
class Memory:
    """Commits batches like a landing does: rows by key, versions insert-only, cursors with their rows."""

    tables: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    cursors: dict[str, dict[str, object]] = field(default_factory=dict)
    landings: int = 0

    def land(self, source: Source, batches: Iterable[Batch]) -> None:
        kinds = {table.name: table for table in source.tables}
        for batch in batches:
            for name, rows in batch.rows.items():
                held = self.tables.setdefault(name, {})
                for row in rows:
                    key = tuple(row[part] for part in kinds[name].key)
                    if kinds[name].keeps == "rows" or key not in held:
                        held[key] = dict(row)
            if batch.cursor is not None:
                self.cursors.setdefault(batch.surface, {})[batch.scope] = batch.cursor
            self.landings += 1

    def rows(self, table: str) -> list[dict[str, Any]]:
        return list(self.tables.get(table, {}).values())


def client(app: Any, config: Any, kind: Callable[[Any], Any]) -> Any:
    source = kind(config)
    return source, connect(config.api_url, source.headers, transport=httpx.ASGITransport(app), max_retries=0)


def read(
    app: Any,
    memory: Memory,
    config: Any,
    *,
    kind: Callable[[Any], Any] = Github,
    dies_after: int | None = None,
    chunk: int = 1,
    **options: Any,
) -> Reading:
    """One reading into `memory`. With `dies_after` the process is killed before that many batches were emitted."""

    async def once() -> Reading:
        source, connecting = client(app, config, kind)
        pending: list[Batch] = []
        emitted = 0

        async def emit(batch: Batch) -> None:
            nonlocal emitted
            emitted += 1
            if dies_after is not None and emitted > dies_after:
                raise Killed
            pending.append(batch)
            if len(pending) >= chunk:
                memory.land(source, pending)
                pending.clear()

        async with connecting as api:
            reading = Reading(api, {s: dict(c) for s, c in memory.cursors.items()}, **options)
            await read_all(source, reading, emit)
            memory.land(source, pending)
        return reading

    try:
        return asyncio.run(once())
    except BaseExceptionGroup as several:  # `except*` wraps what is raised within it, before Python 3.11.4
        if several.subgroup(Killed):
            raise Killed from None
        raise


def settings(repos: Iterable[str], **more: Any) -> GithubConfig:
    return GithubConfig(**{"api_url": "http://api.test", "token": Secret("demo-token"), "repos": list(repos), **more})


def exists(world: GitHubWorld) -> set[Said]:
    """What a full scan of the world would find said now."""
    truth = world.truth()
    openers = [*truth.issues.values(), *truth.pull_requests.values()]
    return {
        *(
            ("opener", f"{fact['repo_id']}#{fact['number']}", None, f"{fact['title']}\n{fact['body']}")
            for fact in openers
        ),
        *(("issue_comment", str(id_), fact["updated_at"], fact["body"]) for id_, fact in truth.issue_comments.items()),
        *(
            ("review_comment", str(id_), fact["updated_at"], fact["body"])
            for id_, fact in truth.review_comments.items()
        ),
        *(
            ("review", str(id_), None, f"{fact['state']}\n{fact['body']}")
            for id_, fact in truth.reviews.items()
            if fact["state"] != "PENDING"
        ),
    }


def ever_said(world: GitHubWorld) -> set[Said]:
    """Everything that was visible at any moment."""
    found: set[Said] = set()
    for v in world.history:
        if v.kind in ("issue", "pull_request"):
            found.add(("opener", f"{v.repo_id}#{v.number}", None, f"{v.title}\n{v.body}"))
        elif v.kind == "review":
            found.add(("review", str(v.id), None, f"{v.state}\n{v.body}"))
        else:
            found.add((v.kind, str(v.id), v.updated_at, v.body))
    return found


def held(rows: Callable[[str], list[dict[str, Any]]]) -> list[Said]:
    """Everything that a warehouse's landed tables hold, each version once if they are right."""
    return [
        *(("opener", f"{r['scope']}#{r['number']}", None, f"{r['title']}\n{r['body']}") for r in rows("openers")),
        *(("issue_comment", str(r["id"]), r["updated_at"], r["body"]) for r in rows("issue_comments")),
        *(("review_comment", str(r["id"]), r["updated_at"], r["body"]) for r in rows("review_comments")),
        *(("review", str(r["id"]), None, f"{r['state']}\n{r['body']}") for r in rows("reviews")),
    ]


def judge(world: GitHubWorld, rows: Callable[[str], list[dict[str, Any]]]) -> None:
    """Nothing lost, nothing twice, nothing invented."""
    found = held(rows)
    assert len(found) == len(set(found)), "something is held twice"
    assert exists(world) - set(found) == set(), "something is lost"
    assert set(found) - ever_said(world) == set(), "something is held that was never said"
    keys = [
        row["event_key"] for table in ("openers", "issue_comments", "review_comments", "reviews") for row in rows(table)
    ]
    assert len(keys) == len(set(keys)), "two versions share an event_key"


def judge_children(world: GitHubWorld, rows: Callable[[str], list[dict[str, Any]]]) -> None:
    """What issues and pull requests are given (labels, people, teams): each once, and nothing that was taken away."""
    truth = world.truth()
    for table, column in CHILDREN.items():
        parent, _, part = table.partition("__")
        facts = [*truth.pull_requests.values(), *(truth.issues.values() if parent == "issues" else ())]
        true = {f"github:{fact['repo_id']}:{fact['number']}": fact[part] for fact in facts}
        held = sorted((row["parent_key"], row[column]) for row in rows(table) if row["parent_key"] in true)
        assert held == sorted((key, name) for key, names in true.items() for name in names), table
