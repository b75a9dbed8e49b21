"""The one HTTP client: auth, retries, limits, ETags, decoding. Names no service.

The rule for every answer: complete and of the right shape, or a `Failure`. A 200 that carries HTML or half a JSON text
is retried and then fails; it never looks like an empty list. A limit stops all workers of the host at once; a short one
is waited for, a long one fails with the instant it ends (pauses.py). The token is sent to its own scheme, host and port
only, whatever a link or a redirect says.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import httpx
import stamina
from pendulum import DateTime

from sources.core.http.counts import RequestCounts
from sources.core.http.given_up import Endpoints
from sources.core.http.graphql import points_left, points_wait
from sources.core.http.limits import Quota, limit_wait, quota, server_time
from sources.core.http.pauses import MAX_LIMITS, Pauses
from sources.core.http.response import (
    Answer,
    Endless,
    Failure,
    OutcomeUnknown,
    Temporary,
    TooLarge,
    accepted,
    answer_of,
    decoded,
)

__all__ = ["Answer", "Answers", "Api", "Failure", "OutcomeUnknown", "Params", "RequestCounts", "TooLarge", "connect"]

log = logging.getLogger("earshot.http")

Params = Mapping[str, str | int | list[str]]
Answers = dict[object, Answer]  # by what was asked
LimitWait = Callable[[int, Mapping[str, str], bytes], float | None]

MAX_BYTES = 64 * 2**20  # 100 comments of 256 KiB, escaped, stay below
BEGINNING = 16_384  # of an answer beyond that: enough to tell which record it is
PACKED = "gzip"  # unpacked piece by piece, of 64 KiB at most 64 MiB: by others, or twice, it could be anything
MAX_REDIRECTS = 5
BACKOFF_MS = 500.0  # before the first retry; twice as much before the next


@dataclass(frozen=True)
class _Sent:
    """One request."""

    url: httpx.URL
    params: Params | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: object = None


@dataclass
class Api:
    """One service on one host. All workers share its connections and its pause."""

    client: httpx.AsyncClient
    base: httpx.URL
    timeout: float = 30.0
    max_retries: int = 3
    retry_backoff_ms: float = BACKOFF_MS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    quota: Quota | None = None
    tells_ends: bool = False  # headers of this host's own arrive here: no proxy strips them
    has_secrets: bool = True  # the client sends a token with every request
    latest: DateTime | None = None  # the server's clock at its last answer
    ahead: float | None = None  # seconds that our clock was ahead of it then
    waits: dict[str, DateTime] = field(default_factory=dict)  # host → until when, by our clock; for a screen
    heard: Answers | None = None  # what was answered, for whoever asks the same again
    known: Answers = field(default_factory=dict)  # what somebody else has heard; each is good once
    limit_wait: LimitWait = limit_wait  # how an answer is told from one
    _graphql: "Api | None" = None  # the same host, under the limit that it has for that
    _endpoints: Endpoints = field(default_factory=Endpoints)

    def __post_init__(self) -> None:
        self._pauses = Pauses(self.base.host, self.waits)

    async def get(
        self, path: str, params: Params | None = None, *, etag: str | None = None, tally: RequestCounts | None = None
    ) -> Answer:
        url, tally = self.own(path), tally or RequestCounts()
        asked = (str(url), repr(sorted((params or {}).items())), etag)
        if (answer := self.known.pop(asked, None)) is not None:
            return answer
        answer = await self._read(_Sent(url, params, {"if-none-match": etag} if etag else {}), tally)
        if self.heard is not None:
            self.heard[asked] = answer
        return answer

    async def query(self, url: str, body: Mapping[str, object], tally: RequestCounts | None = None) -> Answer:
        """GraphQL: a POST that only reads, repeated as any read is. Its limit is its own, and stops nobody else."""
        apart = self._graphql = self._graphql or self._again(self.base, limit_wait=points_wait)
        answer = await apart._read(_Sent(apart.own(url), method="POST", body=body), tally or RequestCounts())
        apart.quota = points_left(answer.headers, answer.data)
        return answer

    async def send(
        self, method: Literal["POST", "PUT"], path: str, body: Mapping[str, object], tally: RequestCounts | None = None
    ) -> Answer:
        """Writes something, once. A `Failure` says that it was refused; what leaves open whether it took effect is
        `OutcomeUnknown`. Only what the service turned away by a limit, or never heard, is said again.
        """
        url, tally = self.own(path), tally or RequestCounts()
        for _ in range(MAX_LIMITS + 1):
            try:
                answer, is_limited = await self._asked(_Sent(url, method=method, body=body), tally)
            except Temporary as why:
                if not why.reached:
                    raise Failure(why.code, str(why)) from None
                raise OutcomeUnknown(why.code, str(why), is_over=why.is_over) from None
            except Endless as why:
                raise OutcomeUnknown(why.code, str(why), is_over=False) from None
            if not is_limited:
                return accepted(answer)
        raise Failure("RATE_LIMITED", f"{self.base.host} keeps limiting this request; try again later")

    def after(self, before: "Api") -> None:
        """With what another client of this service has learned, whose time is over: limits, clocks, what fails."""
        self.quota, self.tells_ends, self.latest = before.quota, before.tells_ends, before.latest
        self.ahead = before.ahead
        self.waits, self._endpoints, self._pauses = before.waits, before._endpoints, before._pauses.again()
        if before._graphql is not None:
            self._graphql = self._again(self.base, limit_wait=points_wait)
            self._graphql.after(before._graphql)

    @property
    def now(self) -> DateTime:
        """The server's clock; ours only as long as it has said nothing."""
        return self.latest or server_time({})

    def own(self, path: str) -> httpx.URL:
        """`path` on this host; refuses any other origin, because the token would go with it."""
        try:
            url = httpx.URL(str(self.base).rstrip("/") + path) if path.startswith("/") else httpx.URL(path)
        except httpx.InvalidURL:
            raise Failure("FETCH_ERROR", f"{self.base.host} names an address that is none: {path!r:.80}") from None
        if (url.scheme, url.host, url.port) != (self.base.scheme, self.base.host, self.base.port):
            raise Failure("FETCH_ERROR", f"{self.base.host} points to another host ({url.host!r:.80}); not followed")
        return url

    def beside(self, base: str) -> "Api":
        """Another host of a service that is read without a token, with limits and pauses of its own."""
        if self.has_secrets:
            raise Failure("FETCH_ERROR", f"{base!r:.80}: a token goes to its own host only")
        try:
            url = httpx.URL(base.rstrip("/"))
        except httpx.InvalidURL:
            raise Failure("FETCH_ERROR", f"{base!r:.80} is not an address") from None
        return self._again(url)

    def _again(self, base: httpx.URL, limit_wait: LimitWait = limit_wait) -> "Api":
        """With the same connections, and limits and pauses of its own."""
        how = (self.timeout, self.max_retries, self.retry_backoff_ms, self.sleep)
        return Api(self.client, base, *how, has_secrets=self.has_secrets, waits=self.waits, limit_wait=limit_wait)

    async def _read(self, sent: "_Sent", tally: RequestCounts) -> Answer:
        """As often as it takes, within bounds."""
        path = sent.url.path
        retries = self.max_retries if self._endpoints.admits(path) else 0
        for _ in range(MAX_LIMITS + 1):
            try:
                answer, is_limited = await self._patient(sent, tally, retries)
            except Temporary as why:
                self._endpoints.heard(path, why)
                raise
            if not is_limited:
                self._endpoints.heard(path)
                return accepted(answer)
        raise self._pauses.block(f"{self.base.host} keeps limiting requests; later runs go on from here")

    async def _patient(self, sent: "_Sent", tally: RequestCounts, retries: int) -> tuple[Answer, bool]:
        """One request with retries for what may pass: connections, time-outs, 5xx, bodies that are not JSON."""
        first = self.retry_backoff_ms / 1000
        async for attempt in stamina.retry_context(
            on=Temporary,
            attempts=retries + 1,
            timeout=None,
            wait_initial=first,
            wait_max=16 * first,
            wait_jitter=first,
        ):
            with attempt:
                tally.retries += attempt.num > 1
                return await self._asked(sent, tally)
        raise AssertionError("a retry loop ends by return or raise")

    async def _asked(self, sent: "_Sent", tally: RequestCounts) -> tuple[Answer, bool]:
        """One request when its turn has come, and whether a limit turned it away."""
        async with self._pauses.turn(tally, self.sleep) as turn:
            try:
                answer = await self._send(sent, tally)
            except Temporary as why:
                if why.wait is None:
                    self._pauses.answered(turn, None, self.now)
                else:
                    self._pauses.pause(why.wait, self.now)
                raise
            wait = self.limit_wait(answer.status, answer.headers, answer.body)
            self._pauses.answered(turn, wait, self.now)
            return answer, wait is not None

    async def _send(self, sent: "_Sent", tally: RequestCounts) -> Answer:
        url, params = sent.url, sent.params
        for _ in range(MAX_REDIRECTS + 1):
            tally.requests += 1
            try:
                async with asyncio.timeout(self.timeout):
                    async with self.client.stream(
                        sent.method, url, params=params, headers=sent.headers, json=sent.body
                    ) as response:
                        answered = await _bounded(response, tally)
            except (TimeoutError, httpx.TimeoutException):
                raise Temporary("TIMEOUT", f"{self.base.host} did not answer within {self.timeout:g} s") from None
            except httpx.InvalidURL:  # httpx looks where a redirect leads, also when it is not to follow it
                raise _leads_nowhere(self.base.host) from None
            except httpx.HTTPError as error:
                why = Temporary("FETCH_ERROR", f"{self.base.host}: {type(error).__name__} {error}".rstrip())
                why.reached = not isinstance(error, httpx.ConnectError)
                raise why from None
            tally.not_modified += response.status_code == 304
            self.latest = server_time(response.headers)
            self.ahead = (server_time({}) - self.latest).total_seconds()
            seen = quota(response.headers)
            self.quota = self.quota if seen.remaining is None else seen
            if not response.has_redirect_location:
                return decoded(response, answered)
            if sent.method != "GET" and response.status_code not in (307, 308):  # others would make a GET of it
                raise Failure(
                    "FETCH_ERROR",
                    f"{self.base.host} does not take {sent.method} {url.path}",
                    status=response.status_code,
                )
            url, params = self._redirected(response), None
        raise Failure("FETCH_ERROR", f"{self.base.host} redirects in circles")

    def _redirected(self, response: httpx.Response) -> httpx.URL:
        try:
            return self.own(str(response.url.join(response.headers["location"])))
        except (httpx.InvalidURL, ValueError):
            raise _leads_nowhere(self.base.host) from None


@asynccontextmanager
async def connect(
    url: str,
    headers: Mapping[str, str],
    *,
    timeout: float = 30.0,
    max_retries: int = 3,
    retry_backoff_ms: float = BACKOFF_MS,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[Api]:
    """An `Api` for as long as the block lasts. `transport` lets the demo world answer in process."""
    async with httpx.AsyncClient(
        headers={"user-agent": "earshot", "accept": "application/json", "accept-encoding": PACKED, **headers},
        http2=url.startswith("https:"),
        verify=not url.startswith("http:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # certificates take 25 ms
        timeout=timeout,
        limits=httpx.Limits(max_connections=32, max_keepalive_connections=32),
        transport=transport,
        follow_redirects=False,
    ) as client:
        yield Api(client, httpx.URL(url), timeout, max_retries, retry_backoff_ms, has_secrets=bool(headers))


async def _bounded(response: httpx.Response, tally: RequestCounts) -> bytes:
    packings = response.headers.get_list("content-encoding", split_commas=True)
    if [each.lower() for each in packings] not in ([], ["identity"], [PACKED]):
        told = f"{', '.join(packings)!r:.80}"
        raise Endless(
            "FETCH_ERROR", f"{response.url.host}: an answer packed as {told}, which was not asked for; refused"
        )
    chunks, size, length = [], 0, response.headers.get("content-length", "")
    declared = int(length) if re.fullmatch("[0-9]{1,18}", length) else 0
    async for chunk in response.aiter_bytes():
        chunks.append(chunk)
        size += len(chunk)
        tally.bytes += len(chunk)
        if max(size, declared) > MAX_BYTES:
            told = f"{response.url.host}: an answer of more than {MAX_BYTES >> 20} MiB; refused"
            if not response.is_success or "json" not in response.headers.get("content-type", ""):
                raise Endless("FETCH_ERROR", told)
            raise TooLarge(told, answer_of(response), b"".join(chunks[:4])[:BEGINNING])
    return b"".join(chunks)


def _leads_nowhere(host: str) -> Failure:
    return Failure("FETCH_ERROR", f"{host} redirects to what is no address; not followed")
