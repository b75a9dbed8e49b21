"""How the tests ask a demo service, and the small conversation that most of them start from."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pendulum

from pipelines.demo.github.repo import Repo
from pipelines.demo.server.web import App

NOW = pendulum.datetime(2025, 6, 2, 9, 30, 15, 700_000)
TOKEN = {"authorization": "Bearer demo-token"}
ROOT = "http://api.test"
BASE = "/repos/lantern/lantern"


def get(app: App, path: str, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
    return ask(app, "GET", path, headers, params=query or None)


def ask(app: App, method: str, path: str, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
    async def once() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ROOT) as client:
            return await client.request(method, path, headers=TOKEN if headers is None else headers, **options)

    return asyncio.run(once())


def ids(response: httpx.Response) -> list[int]:
    return [row["id"] for row in response.json()]


def said(repo: Repo, count: int, every: int = 1) -> list[int]:
    number = repo.open_pull("maya", "Walk lists by seeking", "…")
    made = []
    for n in range(count):
        repo.world.advance(seconds=every)
        made.append(repo.comment(number, "odile", f"remark {n}"))
    return made


def walk(app: App, path: str, by: Callable[[httpx.Response], str | None], **query: Any) -> list[int]:
    found, response = [], get(app, path, **query)
    found += ids(response)
    while following := by(response):
        response = get(app, following)
        assert response.status_code == 200
        found += ids(response)
    return found


def next_link(response: httpx.Response) -> str | None:
    return response.links.get("next", {}).get("url")
