"""The floor: the least a program has to do for the same rows. httpx, orjson, Arrow, DuckDB, and nothing else.

It asks what our first run has to ask, as wide as we do: the three lists that know `since` by seeking, pull requests by
page, and the reviews of each, ten at a time. No dlt, no retries, no limits, no cursors or ETags, no strict parsing, no
quarantine, no models, no published copy: what these cost on top is what the ratio tells.

python -m bench.floor URL OWNER/NAME FILE    prints {"rows": …}
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx
import orjson

from bench import floor_rows as shapes
from bench.floor_land import land
from bench.floor_rows import KEYS, SCHEMAS, Json, Origin, Tables

REVIEWS_AT_ONCE = 10
THREADS_OF = 25  # pull requests in a query
THREAD = "id isResolved isOutdated resolvedBy { login } comments(first: 1) { nodes { fullDatabaseId } }"
SEEKING: dict[str, str | int] = {"state": "all", "sort": "updated", "direction": "asc", "per_page": 100}


async def read(url: str, name: str) -> Tables:
    """All rows, shaped while the next pages are on their way."""
    headers = {"authorization": "Bearer demo-token", "accept": "application/vnd.github+json"}
    base, limits = f"{url}/repos/{name}", httpx.Limits(max_connections=32, max_keepalive_connections=32)
    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=30) as client:
        answer = await _get(client, base)
        repository = orjson.loads(answer.content)
        origin = Origin(str(repository["id"]), repository["full_name"], parsedate_to_datetime(answer.headers["date"]))
        tables: Tables = {table: [] for table in SCHEMAS}
        shapes.repository(tables, origin, repository)
        async with asyncio.TaskGroup() as group:
            for path, shape in (
                ("issues", shapes.issue),
                ("issues/comments", shapes.issue_comment),
                ("pulls/comments", shapes.review_comment),
            ):
                group.create_task(_walk(client, f"{base}/{path}", partial(shape, tables, origin)))
            group.create_task(_pulls(client, url, base, tables, origin))
        return tables


async def _walk(client: httpx.AsyncClient, url: str, shape: Callable[[Json], None]) -> None:
    async for page in _seek(client, url):
        for item in page:
            shape(item)


async def _seek(client: httpx.AsyncClient, url: str) -> AsyncIterator[list[Json]]:
    """Page 1 since the last row's time, again and again, without the rows of that second that were read."""
    params, seen = dict(SEEKING), set[int]()
    while True:
        answer = await _get(client, url, params)
        page = orjson.loads(answer.content)
        yield [item for item in page if item["id"] not in seen]
        if "next" not in answer.links:
            return
        since = page[-1]["updated_at"]
        seen = {item["id"] for item in page if item["updated_at"] == since}
        if len(seen) == len(page):
            raise RuntimeError("a whole page in one second: this bare walk would never end")
        params["since"] = since


async def _pulls(client: httpx.AsyncClient, url: str, base: str, tables: Tables, origin: Origin) -> None:
    gate = asyncio.Semaphore(REVIEWS_AT_ONCE)

    async def reviews(pull: Json) -> None:
        async with gate:
            answer = await _get(client, f"{base}/pulls/{pull['number']}/reviews", {"per_page": 100})
        for review in orjson.loads(answer.content):
            shapes.review(tables, origin, review, pull["number"])

    async def threads(numbers: list[int]) -> None:
        asked = " ".join(
            f"p{n}: pullRequest(number: {n}) {{ number reviewThreads(first: 100) {{ nodes {{ {THREAD} }} }} }}"
            for n in numbers
        )
        owner, name = origin.repo.split("/")
        query = f'query {{ repository(owner: "{owner}", name: "{name}") {{ {asked} }} }}'
        async with gate:
            answer = await client.post(f"{url}/graphql", json={"query": query})
        answer.raise_for_status()
        for pull in orjson.loads(answer.content)["data"]["repository"].values():
            for thread in pull["reviewThreads"]["nodes"]:
                shapes.thread(tables, origin, thread, pull["number"])

    page, more = 0, True
    while more:
        page += 1
        params = {"state": "all", "sort": "updated", "direction": "desc", "per_page": 100, "page": page}
        answer = await _get(client, f"{base}/pulls", params)
        pulls, more = orjson.loads(answer.content), "next" in answer.links
        for pull in pulls:
            shapes.pull_request(tables, origin, pull)
        numbers = [pull["number"] for pull in pulls]
        some = [numbers[first : first + THREADS_OF] for first in range(0, len(numbers), THREADS_OF)]
        await asyncio.gather(*map(reviews, pulls), *map(threads, some))


async def _get(client: httpx.AsyncClient, url: str, params: Any = None) -> httpx.Response:
    answer = await client.get(url, params=params)
    answer.raise_for_status()
    return answer


def main() -> None:
    url, name, file = sys.argv[1:]
    print(json.dumps({"rows": land(file, asyncio.run(read(url, name)), SCHEMAS, KEYS)}))


if __name__ == "__main__":
    main()
