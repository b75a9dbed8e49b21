"""What lies between a run and a service: faults, shut places, spoiled records, and what people do in the meantime."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import httpx
import orjson

from pipelines.demo.server.web import Dropped
from tests.storm.said import Key, Mob, Operation

__all__ = ["FAULTS", "Air", "Shut", "Sick", "Trouble", "Weather"]

FAULTS = (
    "500", "502", "503 later", "reset", "reset in the answer", "timeout", "html", "cut short", "not json", "object",
    "list of numbers", "null", "limit", "long limit",
)  # fmt: skip
STRIPPED = {
    "link", "x-next-page", "x-prev-page", "x-page", "x-per-page", "x-total", "x-total-pages", "x-ratelimit-remaining",
}  # fmt: skip
PAGE = b"<!DOCTYPE html><html><body><h1>We'll be right back</h1></body></html>"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Weather:
    """How the way to one service is during one run."""

    fault: str = ""  # one of FAULTS, or "any" of them
    rate: float = 0.0
    skew: float = 0.0  # seconds by which the service's `Date` is wrong
    page: int | None = None  # what the service gives at the most
    is_stripped: bool = False  # a proxy takes away what tells where a list ends
    seed: int = 0

    def json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}

    def __str__(self) -> str:
        parts = [f"{self.fault} {self.rate:.0%}" if self.fault else "", f"Date {self.skew:+.0f} s" if self.skew else "",
                 f"pages of {self.page}" if self.page else "", "stripped" if self.is_stripped else ""]  # fmt: skip
        return ", ".join(filter(None, parts))


@dataclass
class Shut:
    """A place that answers 404 for a while, though it is there and listed."""

    prefixes: list[str]
    keys: list[Key]
    about: set[str]  # what they are about: in doubt is also what is said there meanwhile
    runs: int

    def covers(self, about: str) -> bool:
        """By itself, or as part of a whole project or repository."""
        is_whole = len(self.about) > 1
        return about in self.about or (is_whole and _project(about) in set(map(_project, self.about)))


@dataclass
class Sick:
    """A record that nobody can read for a while."""

    key: Key
    how: int
    runs: int


@dataclass
class Trouble:
    """What stays from run to run, until it is over."""

    shut: list[Shut] = field(default_factory=list)
    sick: list[Sick] = field(default_factory=list)

    def is_shut(self, path: str) -> bool:
        prefixes = (prefix for shut in self.shut for prefix in shut.prefixes)
        return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)

    def doubts(self, key: Key, about: str) -> bool:
        return any(key in shut.keys or shut.covers(about) for shut in self.shut)


def _project(about: str) -> str:
    return re.split("[ #]", about)[0]


class Air(httpx.AsyncBaseTransport):
    """`met` is told of every fault; `happens` applies the operations that come before the request of this number."""

    def __init__(
        self, mob: Mob, weather: Weather, trouble: Trouble, happens: Callable[[int], None], met: Callable[[str], None]
    ) -> None:
        self.mob, self.weather, self.trouble, self.happens, self.met = mob, weather, trouble, happens, met
        self.random = Random(f"{mob.name} {weather.seed}")
        self.asked = 0
        self.inner = httpx.ASGITransport(mob.app)
        switches = mob.app.switches
        switches.date_skew = timedelta(seconds=weather.skew)
        switches.max_per_page = weather.page
        switches.strip_headers = STRIPPED if weather.is_stripped else set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.happens(self.asked)
        if self.trouble.is_shut(request.url.path):
            self.met("404")
            return httpx.Response(404, headers=self._headers(JSON), content=b'{"message":"404 Not Found"}')
        fault = self._fault()
        if fault:
            self.met(fault)
            if refusal := self._refused(fault, request):
                return refusal
        held = request.headers.pop("if-none-match", "") if self.trouble.sick else ""
        response = await self._answered(request)
        response = self._spoiled(request, response, held) if self.trouble.sick else response
        for _ in range(self.random.randrange(3)):  # answers overtake each other
            await asyncio.sleep(0)
        return self._bent(fault, response) if fault else response

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self.inner.handle_async_request(request)
        except Dropped as error:
            raise httpx.ReadError(str(error)) from None
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

    def _fault(self) -> str:
        weather = self.weather
        if not weather.fault or self.random.random() >= weather.rate:
            return ""
        return self.random.choice(FAULTS) if weather.fault == "any" else weather.fault

    def _refused(self, fault: str, request: httpx.Request) -> httpx.Response | None:
        """What never reached the service."""
        if fault == "reset":
            raise httpx.ConnectError("connection refused", request=request)
        if fault == "timeout":
            raise httpx.ReadTimeout("timed out", request=request)
        if fault in ("500", "502"):
            return httpx.Response(int(fault), headers=self._headers(JSON), content=b'{"message":"oops"}')
        if fault == "503 later":
            return httpx.Response(503, headers=self._headers({"retry-after": "2"}), content=b"later")
        if fault in ("limit", "long limit"):
            wait = {"retry-after": "1" if fault == "limit" else "3600"}
            return httpx.Response(429, headers=self._headers(wait), content=b"Retry later\n")
        return None

    def _bent(self, fault: str, response: httpx.Response) -> httpx.Response:
        """What was answered, and arrives otherwise. Its ETag goes: it is of the true answer."""
        if fault == "reset in the answer":
            raise httpx.ReadError("peer closed connection")
        if response.status_code != 200:
            return response
        headers = {name: value for name, value in response.headers.items() if name not in ("etag", "content-length")}
        body = response.content
        if fault == "html":
            return httpx.Response(200, headers={**headers, "content-type": "text/html"}, content=PAGE)
        if fault == "cut short":
            return httpx.Response(
                200, headers=headers, content=body[: int(len(body) * self.random.uniform(0.05, 0.98))]
            )
        strange = {"not json": b"fine", "object": b'{"message":"?"}', "list of numbers": b"[1, 2]", "null": b"null"}
        return httpx.Response(200, headers=headers, content=strange[fault])

    def _spoiled(self, request: httpx.Request, response: httpx.Response, held: str) -> httpx.Response:
        """With the records that are sick. An ETag is of what is sent."""
        if response.status_code != 200:
            return response
        data, path = orjson.loads(response.content), request.url.path
        found = [self.mob.spoil(sick.key, sick.how, path, data) for sick in self.trouble.sick]  # type: ignore[attr-defined]
        body, headers = response.content, dict(response.headers)
        if any(found):
            self.met("sick record")
            body = orjson.dumps(data)
            headers |= {"content-length": str(len(body))}
            if "etag" in headers:
                headers["etag"] = f'W/"sick {hashlib.sha1(body).hexdigest()}"'
        if held and held == headers.get("etag"):
            kept = {n: v for n, v in headers.items() if n not in ("content-length", "content-type", "link")}
            return httpx.Response(304, headers=kept)
        return httpx.Response(200, headers=headers, content=body)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        from email.utils import formatdate

        now = self.mob.world.now + timedelta(seconds=self.weather.skew)
        return {"date": formatdate(now.timestamp(), usegmt=True), **more}


def meant(operations: list[tuple[int, str, int]]) -> list[tuple[int, Operation]]:
    """Operations amid a run, each with the request before which it happens: told as gaps."""
    at, found = 0, []
    for gap, what, pick in operations:
        at += gap
        found.append((at, (what, pick)))
    return found
