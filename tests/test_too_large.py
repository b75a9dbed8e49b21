"""An answer beyond the bound: fewer rows are asked for, and a row that is too large by itself is named and passed."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.core.http import client
from sources.core.http.client import Failure, connect
from sources.core.http.oversized import id_of
from sources.core.http.response import Answer, TooLarge
from sources.core.paging import Identified, Page, Window, beginning, walk
from sources.core.values import Oversized, Unreadable, need
from tests.test_paging import START, MovingList, answer

BOUND = 10


@dataclass
class Heavy(MovingList):
    """A list whose pages are refused where their rows together weigh more than the bound."""

    weights: dict[int, int] = field(default_factory=dict)
    refused: int = 0

    async def ask(self, window: Window, etag: str | None) -> Page:
        page = await super().ask(window, etag)
        page = Page(page.items, page.more, page.answer, page.given, window=window)
        if sum(self.weights.get(int(str(item["id"])), 0) for item in page.items) <= BOUND:
            return page
        self.refused += 1
        if window.size > 1:
            raise TooLarge("more than the bound", answer(), b"")
        named = Oversized({"id": page.items[0]["id"]}, "larger than the bound")
        return Page([named], page.more, page.answer, page.given, window=window)


def sight(item: dict[str, Any]) -> Identified:
    if isinstance(item, Oversized):
        return Identified(f"large {item['id']}", "", None)
    return Identified(item["id"], str(item["version"]), START.add(seconds=item["second"]))


def met(moving: MovingList, **options: Any) -> set[tuple[Any, bool]]:
    async def all_rows() -> list[Any]:
        return [item async for page in walk(moving.ask, sight, **options) for item in page.items]

    return {(item["id"], isinstance(item, Oversized)) for item in asyncio.run(all_rows())}


@settings(max_examples=400, deadline=None)
@given(
    seconds=st.lists(st.integers(0, 6), max_size=40), heavy=st.dictionaries(st.integers(0, 39), st.integers(1, 12)),
    edits=st.lists(st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=2), max_size=30),
    cap=st.integers(1, 12), seeks=st.booleans(),
)  # fmt: skip
def test_every_row_is_met_however_much_it_weighs_and_whatever_moves_meanwhile(seconds, heavy, edits, cap, seeks):  # type: ignore[no-untyped-def]
    """Rows of which several, or one alone, are beyond the bound, in a list that moves: each is met, or named."""
    newest = 6

    def happening(batch: list[tuple[int, bool]]) -> Any:
        def happen(moving: MovingList) -> None:
            nonlocal newest
            for pick, later in batch:
                newest += later
                if ids := sorted(moving.rows):
                    moving.edit(ids[pick % len(ids)], newest)

        return happen

    moving = Heavy({id_: (second, 0) for id_, second in enumerate(seconds)}, [happening(e) for e in edits], cap, [],
                   {id_: weight for id_, weight in heavy.items() if id_ < len(seconds)})  # fmt: skip
    found = met(moving, seeks=seeks, size=12)
    assert {id_ for id_, _ in found} == moving.rows.keys()
    assert {id_ for id_, is_named in found if is_named} == {i for i, w in moving.weights.items() if w > BOUND}


def test_large_rows_cost_a_few_more_requests_and_the_rest_of_the_list_none() -> None:
    """75 of 0.9 where 64 are too many: half as many at a time there, as many as ever behind them."""
    moving = Heavy(dict.fromkeys(range(2000), (7, 0)), weights=dict.fromkeys(range(300, 375), 0))
    without = met(moving, seeks=False)
    usual, moving.asked[:] = len(moving.asked), []
    moving.weights = dict.fromkeys(range(305, 320), 1)
    assert met(moving, seeks=False) == without
    assert len(moving.asked) <= usual + 8 and moving.refused <= 4


def test_one_row_that_is_too_large_by_itself_is_downloaded_a_few_times_only() -> None:
    """Its place is remembered while the list is walked: later pages, and later passes, are cut around it."""
    moving = Heavy(dict.fromkeys(range(300), (7, 0)), weights={150: 11})
    assert met(moving, seeks=False) == {(id_, id_ == 150) for id_ in range(300)}
    assert moving.refused <= 12


def test_the_first_page_is_halved_too() -> None:
    """It is asked for apart, with its ETag."""
    moving = Heavy(dict.fromkeys(range(50), (7, 0)), weights={3: 6, 4: 6})

    async def rows() -> tuple[Page, list[int]]:
        first = await beginning(moving.ask, None, 20)
        return first, [item["id"] async for page in walk(moving.ask, sight, first=first) for item in page.items]  # type: ignore[misc]

    first, found = asyncio.run(rows())
    assert len(first.items) < 5 and sorted(found) == list(range(50))


@pytest.mark.parametrize(("begun", "id_"), [
    (b'[{"id":17,"body":"', 17),
    (b'[{"url":"https://x/1","user":{"id":3,"login":"a"},"id" : 18,"body":"', 18),
    (b'[{"id":"6a9c1750b37d513a","individual_note":false,"notes":[{"id":1', "6a9c1750b37d513a"),
    (b'{"body":"\\"id\\":4,","id":5,', 5),
    (b'[{"body":"half of it', None),
    (b'[{"body":"' + rb'\"id\":4,' * 50_000, None),  # in no time
    (b'[{"user":{"id":3', None),
    (b'[{"id":null,"body":""', None),
    (b'[{"id":1234567', None),  # perhaps half a number
    (b'\xff\xfe', None),
])  # fmt: skip
def test_a_record_is_named_by_how_its_answer_begins(begun: bytes, id_: object) -> None:
    """By its own id, not by one that is nested in it or written by somebody."""
    assert id_of(begun) == id_


def test_a_record_that_was_too_large_says_so_wherever_it_is_read() -> None:
    with pytest.raises(Unreadable, match="larger than"):
        need(Oversized({"id": 1}, "larger than 64 MiB"), "title")


@pytest.mark.parametrize("declared", [True, False])
def test_what_is_too_large_is_not_held(monkeypatch: pytest.MonkeyPatch, declared: bool) -> None:
    """The reading stops at the bound, or before it where the length is declared; how it began and its headers are kept."""
    monkeypatch.setattr(client, "MAX_BYTES", 1000)
    sent = 0

    async def body() -> Any:
        nonlocal sent
        for _ in range(100):
            sent += 100
            yield b'[{"id":17,"body":"'.ljust(100, b"x")

    def handler(_: httpx.Request) -> httpx.Response:
        length = {"content-length": "10000"} if declared else {}
        return httpx.Response(
            200, headers={"x-next-page": "2", "content-type": "application/json", **length}, content=body()
        )

    async def run() -> TooLarge:
        async with connect("http://127.0.0.1", {}, transport=httpx.MockTransport(handler)) as api:
            with pytest.raises(TooLarge, match="MiB") as told:
                await api.get("/list")
        return told.value

    why = asyncio.run(run())
    assert isinstance(why, Failure) and isinstance(why.answer, Answer)
    assert id_of(why.begun) == 17 and why.answer.headers["x-next-page"] == "2" and why.answer.body == b""
    assert sent <= (200 if declared else 1200)
