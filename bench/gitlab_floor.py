"""The floor of GitLab: the least a program has to do for the same rows. httpx, orjson, Arrow, DuckDB, and nothing else.

It asks what our first run has to ask, as wide as we do: the lists by page, and six answers for each merge request, ten
at a time. No dlt, no retries, no cursors, no strict parsing, no payloads, no models, no published copy.

python -m bench.gitlab_floor URL GROUP/NAME FILE    prints {"rows": …}
"""

import asyncio
import json
import sys
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from bench import gitlab_floor_rows as shapes
from bench.floor_land import land
from bench.gitlab_floor_rows import SCHEMAS, Json, Origin, Tables

AT_ONCE = 10
LISTED: dict[str, str | int] = {"scope": "all", "state": "all", "order_by": "updated_at", "sort": "asc"}


async def read(url: str, name: str) -> Tables:
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=32)
    async with httpx.AsyncClient(headers={"private-token": "demo-token"}, limits=limits, timeout=30) as client:
        answer = await client.get(f"{url}/api/v4/projects/{quote(name, safe='')}")
        project, now = orjson.loads(answer.raise_for_status().content), parsedate_to_datetime(answer.headers["date"])
        origin, tables = Origin(str(project["id"]), name, now), Tables({table: [] for table in SCHEMAS})
        base = f"{url}/api/v4/projects/{project['id']}"
        shapes.project(tables, origin, project)
        merge_requests, issues = await asyncio.gather(
            _pages(client, f"{base}/merge_requests", LISTED), _pages(client, f"{base}/issues", LISTED)
        )
        assert not issues, "this floor reads merge requests"
        for mr in merge_requests:
            shapes.merge_request(tables, origin, mr)
        gate, jobs = asyncio.Semaphore(AT_ONCE), []
        for mr in reversed(merge_requests):
            there = f"{base}/merge_requests/{mr['iid']}"
            jobs += [_one(gate, client, there, paths, shape, tables, origin, mr) for paths, shape in DEPENDENTS]
        await asyncio.gather(*jobs)
        return tables


Shape = Callable[..., None]
EVENTS = ("resource_state_events", "resource_label_events", "resource_milestone_events")
DEPENDENTS: list[tuple[tuple[str, ...], Shape]] = [
    (("discussions",), shapes.threads),
    (EVENTS, shapes.resource_events),
    (("closes_issues",), shapes.closes_issues),
    (("diffs",), shapes.diffs),
]


async def _one(
    gate: asyncio.Semaphore, client: httpx.AsyncClient, base: str, paths: tuple[str, ...], shape: Shape, tables: Tables,
    origin: Origin, mr: Json,
) -> None:  # fmt: skip
    async with gate:
        found = [await _pages(client, f"{base}/{path}") for path in paths]
    shape(tables, origin, mr, *found)


async def _pages(client: httpx.AsyncClient, url: str, params: Any = None) -> list[Json]:
    found, page = [], "1"
    while page:
        answer = await client.get(url, params={**(params or {}), "per_page": 100, "page": page})
        found += orjson.loads(answer.raise_for_status().content)
        page = answer.headers.get("x-next-page", "")
    return found


def main() -> None:
    url, name, file = sys.argv[1:]
    keys = {table: ("id",) if table == "projects" else ("parent_key",) for table in SCHEMAS}
    print(json.dumps({"rows": land(file, asyncio.run(read(url, name)), SCHEMAS, keys)}))


if __name__ == "__main__":
    main()
