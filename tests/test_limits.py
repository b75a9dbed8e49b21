"""What headers say about limits, as pure functions, and what the client makes of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from sources.core.http.client import Failure, connect
from sources.core.http.graphql import points_left, points_wait
from sources.core.http.limits import limit_wait, quota

NOW = {"date": "Sun, 01 Mar 2026 12:00:00 GMT"}
RESET = "1772366430"  # 30 s later
WORKERS = 10


@pytest.mark.parametrize(("status", "headers", "body", "wait"), [
    (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", None),
    (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 31.0),
    (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 31.0),
    (429, {"ratelimit-remaining": "0", "ratelimit-reset": "30"}, b"", 31.0),
    (403, {"retry-after": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 7.0),
    (429, {"retry-after": "Sun, 01 Mar 2026 12:00:09 GMT"}, b"", 9.0),
    (429, {}, b"", 60.0),
    (403, {}, b'{"message": "You have exceeded a secondary rate limit"}', 60.0),
    (403, {"x-ratelimit-remaining": "4000"}, b'{"message": "Resource not accessible"}', None),
    (403, {}, b'{"message": "Must have admin rights"}', None),
    (422, {}, b'{"message": "rate limit"}', None),
    (429, {"retry-after": "\u00b2"}, b"", 60.0),  # a digit, but no number
    (403, {"retry-after": "\u0663", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 31.0),
    (429, {"retry-after": "9" * 400}, b"", 1e8),
])  # fmt: skip
def test_what_is_a_limit_and_how_long_it_lasts(
    status: int, headers: dict[str, str], body: bytes, wait: float | None
) -> None:
    """By the server's clock. A 403 for lack of rights and a 422 for depth are no limits: waiting would not help."""
    assert limit_wait(status, {**NOW, **headers}, body) == wait


SPENT = b'{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}]}'


@pytest.mark.parametrize(("headers", "body", "wait"), [
    ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, SPENT, 31.0),
    ({"x-ratelimit-remaining": "900", "x-ratelimit-reset": RESET}, SPENT.replace(b"LIMITED", b"LIMIT"), 31.0),
    ({"retry-after": "7", "x-ratelimit-reset": RESET}, SPENT, 7.0),
    ({}, SPENT, 60.0),
    ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b'{"data": {}}', None),  # the last that was admitted
    ({}, b'{"data": {"title": "RATE_LIMITED"}}', None),
    ({}, b'{"errors": [{"type": "NOT_FOUND", "message": "RATE_LIMITED"}]}', None),
    ({}, b'{"errors": "RATE_LIMITED"}', None),
    ({}, b'[RATE_LIMITED', None),
])  # fmt: skip
def test_a_graphql_limit_comes_with_200(headers: dict[str, str], body: bytes, wait: float | None) -> None:
    """It is told by the error's type alone; what is left need not be 0, and 0 left refuses nothing by itself."""
    assert points_wait(200, {**NOW, **headers}, body) == wait


def test_a_graphql_query_refused_as_all_others_is_a_limit_too() -> None:
    assert points_wait(403, {**NOW, "retry-after": "7"}, b"") == 7.0


@pytest.mark.parametrize(("told", "left"), [
    ({"remaining": 4975, "resetAt": "2026-03-01T13:00:00Z"}, (4975, "2026-03-01T13:00:00Z")),
    ({"remaining": 4975, "resetAt": "soon"}, (4975, "2026-03-01T12:00:30Z")),
    (None, (12, "2026-03-01T12:00:30Z")),
])  # fmt: skip
def test_what_is_left_is_what_the_answer_says(told: object, left: tuple[int, str]) -> None:
    found = points_left(
        {**NOW, "x-ratelimit-remaining": "12", "x-ratelimit-reset": RESET}, {"data": {"rateLimit": told}}
    )
    assert found.reset_at and (found.remaining, found.reset_at.to_iso8601_string()) == left


def test_the_quota_is_read_in_either_dialect() -> None:
    """GitHub's and GitLab's names; headers that are no numbers say nothing."""
    assert quota({**NOW, "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999"}).remaining == 4999
    assert quota({**NOW, "ratelimit-limit": "600", "ratelimit-remaining": "1"}).limit == 600
    assert quota({**NOW, "x-ratelimit-remaining": "many"}).remaining is None


def test_a_host_that_keeps_limiting_is_left_alone_by_all() -> None:
    """Not each of hundreds of requests finds out by itself, a minute at a time; nor those that were waiting meanwhile."""
    asked = list[httpx.Request]()

    def limits(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(429, headers={"retry-after": "1"}, json={"message": "slow down"})

    async def read(number: int) -> None:
        with pytest.raises(Failure, match=r"keeps limiting|asks to wait"):
            await api.get(f"/{number}")

    async def run() -> None:
        nonlocal api
        async with connect("http://127.0.0.1", {}, transport=httpx.MockTransport(limits)) as api:
            api.sleep = lambda _: asyncio.sleep(0)
            await asyncio.gather(*map(read, range(3)))
            told = len(asked)
            for number in range(50):
                await read(number)
            assert len(asked) == told <= 12

    api: Any = None
    asyncio.run(run())


def test_who_sleeps_when_a_long_limit_is_told_asks_no_more() -> None:
    waits, asked = iter(("1", "3600")), list[httpx.Request]()

    def limits(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(429, headers={"retry-after": next(waits)}, json={})

    async def run() -> None:
        async with connect("http://127.0.0.1", {}, transport=httpx.MockTransport(limits)) as api:
            begun = asyncio.Event()

            async def sleeping(_: float) -> None:
                begun.set()
                await asyncio.sleep(0.05)

            api.sleep = sleeping
            first = asyncio.create_task(api.get("/first"))
            await begun.wait()
            api.sleep = lambda _: asyncio.sleep(0.2)
            second = asyncio.create_task(api.get("/second"))
            for task in (first, second):
                with pytest.raises(Failure, match="asks to wait until"):
                    await task
        assert len(asked) == 2

    asyncio.run(run())


@dataclass
class Limiting:
    """A service that turns the first so many requests away."""

    turned_away: int
    answers: Callable[[int], httpx.Response] = lambda _: httpx.Response(200, json=[])
    sent: int = 0
    in_flight: int = 0
    together: int = 0  # requests that were turned away beside others, after the first

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent, self.in_flight = self.sent + 1, self.in_flight + 1
        number = self.sent
        await asyncio.sleep(0.01)
        self.together += number > WORKERS and number <= self.turned_away and self.in_flight > 1
        self.in_flight -= 1
        if number <= self.turned_away:
            return httpx.Response(429, headers={"retry-after": "1"}, json={})
        return self.answers(number)

    def ask(self, times: int = 3) -> list[Any]:
        async def run() -> list[Any]:
            async with connect("http://127.0.0.1", {}, transport=httpx.MockTransport(self), max_retries=1) as api:
                api.sleep = lambda seconds: asyncio.sleep(seconds / 20)

                async def worker() -> None:
                    for number in range(times):
                        await api.get(f"/{number}")

                return await asyncio.gather(*(worker() for _ in range(WORKERS)), return_exceptions=True)

        return asyncio.run(run())


def test_after_a_pause_one_probes_and_the_rest_follow() -> None:
    """Ten that go on together are refused together, and are ten more offences; some services lengthen the ban for each."""
    service = Limiting(WORKERS + 2)
    assert service.ask() == [None] * WORKERS
    assert service.together == 0 and service.sent == 3 * WORKERS + service.turned_away


def test_who_probes_may_fail_and_the_others_go_on() -> None:
    """What it met was no limit: its failure is its own."""
    service = Limiting(WORKERS, lambda number: httpx.Response(404 if number == WORKERS + 1 else 200, json=[]))
    told = service.ask(times=1)
    assert sum(isinstance(each, Failure) for each in told) == 1 and service.sent == 2 * WORKERS
    assert all(each is None or (isinstance(each, Failure) and each.code == "NOT_FOUND") for each in told)


def test_whoever_probes_a_limit_that_does_not_end_is_one_of_four() -> None:
    """Not four refusals each, in turn, of ten that wait."""
    service = Limiting(1_000_000)
    told = service.ask()
    assert all(isinstance(each, Failure) and each.code == "RATE_LIMITED" for each in told)
    assert service.sent <= WORKERS + 4 and service.together == 0


def test_graphqls_limit_is_its_own_and_a_query_is_asked_again_as_any_read_is() -> None:
    """What may pass is tried again, though it is a POST; points that are spent stop queries, also with the next client,
    and nothing else; what all others have left is not overwritten."""
    asked = list[tuple[str, str]]()

    def answers(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path))
        if request.method == "GET":
            return httpx.Response(200, headers={**NOW, "x-ratelimit-remaining": "4000"}, json=[])
        if len(asked) == 1:
            return httpx.Response(502, headers=NOW, json={})
        if len(asked) == 2:
            return httpx.Response(200, headers=NOW, json={"data": {"rateLimit": {"remaining": 0, "resetAt": None}}})
        told = {**NOW, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772370000"}
        return httpx.Response(200, headers={**told, "content-type": "application/json"}, content=SPENT)

    async def once() -> None:
        transport = httpx.MockTransport(answers)
        async with connect("http://api.test", {}, transport=transport, retry_backoff_ms=1) as api:
            await api.query("/graphql", {"query": "{}"})
            await api.get("/repos")
            with pytest.raises(Failure, match="asks to wait until 2026-03-01 13:00"):
                await api.query("/graphql", {"query": "{}"})
            async with connect("http://api.test", {}, transport=transport) as later:
                later.after(api)
                with pytest.raises(Failure, match="asks to wait"):
                    await later.query("/graphql", {"query": "{}"})
                await later.get("/repos")
                assert later.quota is not None and later.quota.remaining == 4000
            with pytest.raises(Failure, match="another host"):
                await api.query("http://elsewhere.test/graphql", {"query": "{}"})

    asyncio.run(once())
    query, read = ("POST", "/graphql"), ("GET", "/repos")
    assert asked == [query, query, read, query, read]
