"""A small ASGI kit for the demo services: what any HTTP service does, and the ways in which one misbehaves.

It names no service. A service gives `App` one function from request to response; tests turn the `Switches`
while it runs, and read afterwards what was asked (`App.log`) and how much of it at once (`App.max_in_flight`).
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import formatdate
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, quote

import orjson

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
H = TypeVar("H")
R = TypeVar("R")

JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    body: bytes
    root: str  # scheme://host:port that the client used
    raw_path: str = ""  # as sent: tells an encoded slash from a plain one
    pairs: tuple[tuple[str, str], ...] = ()  # the whole query, for names that may come more than once

    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass
class Response:
    """`body` is a JSON value, or bytes that are sent as they are."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


@dataclass(frozen=True)
class Bent:
    """A fault's wish for the true answer, but late, cut short in mid-JSON as if that were all, under another status (a
    gateway's), or never: what was asked has happened all the same.
    """

    delay: float = 0.0
    keep: float = 1.0
    status: int | None = None
    drops: bool = False


class Dropped(ConnectionError):
    """Raised by a fault: the connection breaks in mid-answer."""


def html_page(status: int = 200) -> Response:
    """What a proxy or a login wall answers where JSON was expected."""
    page = b"<!DOCTYPE html><html><body><h1>We'll be right back</h1></body></html>"
    return Response(status, page, {"content-type": "text/html; charset=utf-8"})


@dataclass
class Switches:
    """What a test may change about a running service. `Any`: `hide` is asked about the world's own rows."""

    latency: float = 0.0
    before: Callable[[Request], None] | None = None  # runs just before each answer: edits in mid-walk
    fault: Callable[[Request], Response | Bent | None] | None = None  # may also raise, see `Dropped`
    strip_headers: set[str] = field(default_factory=set)  # lower case, e.g. {"link"}
    max_per_page: int | None = None  # give fewer than asked
    hide: Callable[[Any], bool] | None = None  # taken out after paging: short and empty pages before the end
    date_skew: timedelta = timedelta(0)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: dict[str, str]
    status: int  # 0: the connection was dropped
    conditional: bool


class Routes(Generic[H]):
    """Handlers by method and by patterns such as `/repos/{owner}/{name}/issues/{number:int}`."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], set[str], H]] = []

    def add(self, method: str, pattern: str, handler: H) -> None:
        integers = set(re.findall(r"{(\w+):int}", pattern))
        text = re.sub(r"{(\w+):int}", r"(?P<\1>[0-9]+)", pattern)
        text = re.sub(r"{(\w+):path}", r"(?P<\1>.*)", text)
        text = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", text)
        self._routes.append((method, re.compile(text), integers, handler))

    def match(self, method: str, path: str) -> tuple[H, dict[str, Any]] | None:
        for known, pattern, integers, handler in self._routes:
            if known == method and (found := pattern.fullmatch(path)):
                return handler, {k: int(v) if k in integers else v for k, v in found.groupdict().items()}
        return None


def visible(rows: Sequence[R], switches: Switches) -> list[R]:
    """The rows of a page that is already cut."""
    hide = switches.hide
    return [row for row in rows if not hide(row)] if hide else list(rows)


def page_size(asked: int, switches: Switches) -> int:
    return min(asked, switches.max_per_page or asked)


def conditional(request: Request, response: Response, salt: str = "") -> Response:
    """Answer 304 when the client holds this body already. The tag changes with body and salt, not with `Link`."""
    if request.method != "GET" or response.status != 200:
        return response
    body = response.encoded()
    digest = hashlib.blake2b(salt.encode(), digest_size=32)
    digest.update(body)
    etag = f'W/"{digest.hexdigest()}"'
    held = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    headers = {**response.headers, "etag": etag}
    if etag.removeprefix("W/") in held:
        return Response(304, b"", headers)
    return Response(200, body, headers)


class App:
    """One service as an ASGI callable. `clock` gives the time that its `Date` header tells."""

    def __init__(
        self, answer: Callable[[Request], Response], clock: Callable[[], datetime], switches: Switches | None = None
    ) -> None:
        self.switches = switches or Switches()
        self.log: list[Call] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self._answer = answer
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            try:
                await self._http(scope, receive, send)
            finally:
                self.in_flight -= 1

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await _request(scope, receive)
        await asyncio.sleep(self.switches.latency)
        if self.switches.before:
            self.switches.before(request)
        try:
            outcome = self.switches.fault(request) if self.switches.fault else None
        except Exception:
            self._record(request, 0)
            await _break_off(send)
            raise
        response = outcome if isinstance(outcome, Response) else self._answer(request)
        self._record(request, response.status)
        body = response.encoded()
        if isinstance(outcome, Bent):
            await asyncio.sleep(outcome.delay)
            body = body[: int(len(body) * outcome.keep)]
            response.status = outcome.status or response.status
            if outcome.drops:
                await _break_off(send)
                raise Dropped("after it took effect")
        await send({"type": "http.response.start", "status": response.status, "headers": self._headers(response, body)})
        await send({"type": "http.response.body", "body": body})

    def _record(self, request: Request, status: int) -> None:
        is_conditional = "if-none-match" in request.headers
        self.log.append(Call(request.method, request.path, request.query, status, is_conditional))

    def _headers(self, response: Response, body: bytes) -> list[tuple[bytes, bytes]]:
        headers = {"date": formatdate((self._clock() + self.switches.date_skew).timestamp(), usegmt=True)}
        if response.status != 304:
            headers |= {"content-type": JSON_TYPE, "content-length": str(len(body))}
        headers |= {name.lower(): value for name, value in response.headers.items()}
        kept = ((n, v) for n, v in headers.items() if n not in self.switches.strip_headers)
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in kept]


async def _request(scope: Scope, receive: Receive) -> Request:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    pairs = tuple(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    root = f"{scope['scheme']}://{headers.get('host', 'localhost')}"
    raw_path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    return Request(scope["method"], scope["path"], dict(pairs), headers, body, root, raw_path, pairs)


async def _break_off(send: Send) -> None:
    """Start an answer that will never be whole: the server then closes the socket, and the client sees why."""
    start = [(b"content-type", JSON_TYPE.encode()), (b"content-length", b"4096")]
    await send({"type": "http.response.start", "status": 200, "headers": start})
    await send({"type": "http.response.body", "body": b"[{", "more_body": True})
