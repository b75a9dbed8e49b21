"""While a run goes on, the screen says what it does, how much of how much, and who waits for what and until when."""

import asyncio
import logging
import re
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pendulum
import pytest

from pipelines.sync.output import progress
from pipelines.sync.output.report import Watch
from sources.core.http.client import Api, RequestCounts, connect
from sources.core.http.limits import rows_left
from sources.core.http.response import Failure
from sources.core.reading import Reading

NOW = pendulum.datetime(2026, 3, 1, 12)


def limited(times: int, wait: int = 30) -> httpx.MockTransport:
    """A service that refuses so many requests, and then answers."""
    left = [times]

    async def answer(request: httpx.Request) -> httpx.Response:
        left[0] -= 1
        is_refused = left[0] >= 0
        await asyncio.sleep(0.2)  # all are on their way then
        if is_refused:
            return httpx.Response(429, headers={"retry-after": str(wait)}, json={})
        return httpx.Response(200, json=[])

    return httpx.MockTransport(answer)


async def asked(api: Api, at_once: int) -> None:
    await asyncio.gather(*(api.get(f"/{n}") for n in range(at_once)))


def reading(api: Any, *tallies: RequestCounts) -> Reading:
    made = Reading(api, cast(Any, None), {})
    made.tallies = {("issues", str(n)): tally for n, tally in enumerate(tallies)}
    return made


# A limit


def test_who_waits_for_what_and_until_when() -> None:
    """In the line below the source: the host, the time on the clock, and the seconds that are left, counting down."""
    waits = {"api.github.com": NOW.add(seconds=40)}
    watch = Watch("reading", {"github": reading(SimpleNamespace(waits=waits), RequestCounts(requests=12, fetched=345))})
    shown = [progress.lines(watch, 3, NOW.add(seconds=n)).splitlines() for n in (0, 1, 39, 40)]
    until = NOW.add(seconds=40).in_timezone("local").format("HH:mm:ss")
    assert [lines[2] for lines in shown[:3]] == [
        f"    waits until {until} for the limit of api.github.com: {left} s" for left in (40, 39, 1)
    ]
    assert len(shown[3]) == 2, "over"


def test_an_api_tells_what_it_waits_for() -> None:
    """Also of hosts beside its own."""

    async def told() -> dict[str, Any]:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            api._pauses._until = 0.0

        async with connect("https://a.test", {}, transport=limited(1)) as api:
            api.sleep = sleep
            await asked(api, 1)
            other = api.beside("https://b.test")
            assert other.waits is api.waits
            return api.waits

    before = pendulum.now("UTC")
    (until,) = asyncio.run(told()).values()
    assert 29 <= (until - before).total_seconds() <= 40


def test_a_pause_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Ten workers are refused together: told once, with until when."""

    async def ten() -> None:
        async with connect("https://a.test", {}, transport=limited(10)) as api:
            loop = asyncio.get_running_loop()

            async def sleep(seconds: float) -> None:
                await asyncio.sleep(0.2)
                api._pauses._until = min(api._pauses._until, loop.time())

            api.sleep = sleep
            await asked(api, 10)

    with caplog.at_level(logging.WARNING, "earshot"):
        asyncio.run(ten())
    (line,) = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"a\.test asks to wait: all requests to it wait 30 s, until \d\d:\d\d:\d\d", line)


# How much of how much


@pytest.mark.parametrize(("headers", "page", "rows", "left"), [
    ({"x-total": "250"}, 1, 100, 250), ({"x-total": "250"}, 3, 50, 50), ({"x-total": "nonsense"}, 1, 100, None),
    ({"link": '<https://a.test/x?per_page=100&page=2>; rel="next", <https://a.test/x?per_page=100&page=7>; rel="last"'}, 1, 100, 700),
    ({"link": '<https://a.test/x?page=6&per_page=100>; rel="prev"'}, 7, 30, 30), ({}, 1, 30, 30), ({}, 1, 100, None),
    ({"link": '<https://a.test/x?page=²>; rel="last"'}, 1, 100, None),
])  # fmt: skip
def test_what_is_left_of_a_list(headers: dict[str, str], page: int, rows: int, left: int | None) -> None:
    """GitLab counts the rows, GitHub names the last page, a page that is not full is the last; else nobody tells."""
    assert rows_left(headers, page, 100, rows) == left


def test_totals_are_shown_where_they_are_told() -> None:
    there = reading(SimpleNamespace(waits={}), RequestCounts(fetched=300, total=1_250), RequestCounts(fetched=20))
    watch = Watch("reading", {"gitlab": there}, scopes={"gitlab": 1})
    watch.at("reading", "gitlab")
    assert progress.lines(watch, 3, NOW).splitlines()[2] == "    about 1,270 rows to be read"
    there.read |= {("1", "posts"), ("2", "posts")}
    watch.scopes["gitlab"] = 342
    assert progress.lines(watch, 3, NOW).splitlines()[2] == "    about 1,270 rows to be read, 2 of 342 places done"


def test_what_is_read_again_is_counted() -> None:
    there = reading(SimpleNamespace(waits={}), RequestCounts(fetched=300))
    there.completed = 5
    watch = Watch("reading", {"gitlab": there}, scopes={"gitlab": 1})
    watch.settles("gitlab", 400)
    there.completed += 120
    lines = progress.lines(watch, 3, NOW).splitlines()
    assert lines[0].startswith("settling") and lines[2] == "    120 of 400 read again"


# Phases


def test_phases_are_those_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told once, by whatever source it begins; the screen's head names all that go on side by side."""
    screen = progress.Plain()
    with screen.watching() as watch:
        watch.at("reading", "github")
        watch.at("reading", "gitlab")
        watch.at("settling", "github")
        head = progress.lines(watch, 3, NOW).splitlines()[0]
        watch.at("reading", "bluesky")
        watch.left("github")
        assert progress.lines(watch, 3, NOW).splitlines()[0] == "reading · 3 s"
        watch.at("models")
        watch.at("done")
    assert head == "settling, reading · 3 s"
    assert capsys.readouterr().err.splitlines() == ["reading …", "settling …", "models …"]


def test_a_limit_that_stops_hundreds_of_rechecks_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    there = reading(SimpleNamespace(waits={}))
    for n in range(300):
        there.fail("1001", "rechecks", Failure("RATE_LIMITED", "asks to wait until 13:00"))
        there.fail("1001", f"threads of !{n % 2}", Failure("FETCH_ERROR", "answered 502"))
    assert [problem.surface for problem in there.problems] == ["rechecks", "threads of !0", "threads of !1"]
    assert len(caplog.records) == 3
