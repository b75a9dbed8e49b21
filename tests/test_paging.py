"""The walk alone, over a list that moves while it is read."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pendulum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pendulum import DateTime

from sources.core.http.client import Answer, Failure
from sources.core.paging import Identified, Page, Window, overlapping, walk

START = pendulum.datetime(2026, 1, 1)


@dataclass
class MovingList:
    """Rows sorted by (time, id) at each request; `meanwhile` happens before a request is answered."""

    rows: dict[int, tuple[int, int]]  # id → (second, version)
    meanwhile: list[Callable[["MovingList"], None]] = field(default_factory=list)
    cap: int = 100
    asked: list[Window] = field(default_factory=list)

    async def ask(self, window: Window, etag: str | None) -> Page:
        if self.meanwhile:
            self.meanwhile.pop(0)(self)
        self.asked.append(window)
        size = min(window.size, self.cap)
        since = 0 if window.since is None else int((window.since - START).total_seconds())
        live = sorted((second, id_, version) for id_, (second, version) in self.rows.items() if second >= since)
        page = live[(window.page - 1) * size : window.page * size]
        items: list[dict[str, Any]] = [
            {"id": id_, "second": second, "version": version} for second, id_, version in page
        ]
        return Page(items, len(live) > window.page * size, answer())

    def edit(self, id_: int, second: int) -> None:
        self.rows[id_] = (second, self.rows[id_][1] + 1)


def answer(at: DateTime = START) -> Answer:
    return Answer(200, httpx.Headers(), b"", [], httpx.URL("http://api.test/list"), None)


def sight(item: dict[str, Any]) -> Identified:
    return Identified(item["id"], str(item["version"]), START.add(seconds=item["second"]))


def walked(moving: MovingList, **options: Any) -> list[tuple[int, int]]:
    async def all_pages() -> list[tuple[int, int]]:
        pages = [page async for page in walk(moving.ask, sight, **options)]
        return [(item["id"], item["version"]) for page in pages for item in page.items]

    return asyncio.run(all_pages())


EDIT = st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 1, 2]), st.booleans())


@settings(max_examples=400, deadline=None)
@given(
    seconds=st.lists(st.integers(0, 6), max_size=60), edits=st.lists(st.lists(EDIT, max_size=3), max_size=40),
    cap=st.integers(1, 12), seeks=st.booleans(),
)  # fmt: skip
def test_every_row_is_met_in_its_last_version_whatever_moves_meanwhile(seconds, edits, cap, seeks):  # type: ignore[no-untyped-def]
    """Rows share seconds, edits go to the end (or stay within the last second), rows are deleted, pages are short."""
    newest = 6

    def happening(batch: list[tuple[int, int, bool]]) -> Callable[[MovingList], None]:
        def happen(moving: MovingList) -> None:
            nonlocal newest
            for pick, later, delete in batch:
                ids = sorted(moving.rows)
                if not ids:
                    return
                newest += later
                if delete and pick % 3 == 0:
                    del moving.rows[ids[pick % len(ids)]]
                else:
                    moving.edit(ids[pick % len(ids)], newest)

        return happen

    moving = MovingList({id_: (second, 0) for id_, second in enumerate(seconds)}, [happening(e) for e in edits], cap)
    found = walked(moving, seeks=seeks, size=12)
    last = {id_: version for id_, (_, version) in moving.rows.items()}
    met: dict[int, int] = {}
    for id_, version in found:
        met[id_] = max(version, met.get(id_, 0))
    missing = last.keys() - met.keys()
    assert not missing, "a row was never met"
    assert len(found) == len(set(found)), "a version was met twice"
    if seeks:  # an edit behind the walk goes to its end, where it is met again
        assert {id_: met[id_] for id_ in last} == last


def test_a_row_pushed_over_a_page_edge_is_not_skipped() -> None:
    """The loss that naive offset paging has: row 1 is edited while page 1 is read, page 2 would start one row too late."""
    moving = MovingList({id_: (id_, 0) for id_ in range(10)}, [lambda m: None, lambda m: m.edit(1, 50)], cap=5)
    assert {id_ for id_, _ in walked(moving, size=5)} == set(range(10))


def test_edits_before_every_request_do_not_make_a_seek_start_again() -> None:
    """Seeking costs a request a page however much moves; overlapping pages alone would have to begin again each time."""
    edits = [lambda m, n=n: m.edit(n, 1000 + n) for n in range(8)]
    moving = MovingList({id_: (id_, 0) for id_ in range(50)}, list(edits), cap=5)
    walked(moving, size=5)
    assert len(moving.asked) <= 50 / 4 + 6


def test_hundreds_of_rows_in_one_second_are_read_by_pages_that_overlap() -> None:
    """While one second fills pages, each page shows the last row of the one before."""
    moving = MovingList(dict.fromkeys(range(950), (7, 0)))
    assert {id_ for id_, _ in walked(moving)} == set(range(950))
    ends = [(w.size * (w.page - 1), w.size * w.page) for w in moving.asked]
    assert all(start < end_before for (start, _), (_, end_before) in zip(ends[1:], ends, strict=False))


def test_a_row_that_slips_away_within_one_second_is_noticed() -> None:
    """An edit moves a row out of a crowded second: the rows behind it move up, and the pass is repeated."""
    moving = MovingList(
        dict.fromkeys(range(40), (7, 0)), [lambda m: None, lambda m: [m.edit(i, 9) for i in range(5)]], cap=10
    )
    assert {id_ for id_, _ in walked(moving, size=10)} == set(range(40))


def test_an_empty_page_with_more_to_follow_does_not_end_the_walk() -> None:
    """A short page is not the last page: some services filter after paging."""
    moving = MovingList({id_: (id_, 0) for id_ in range(30)})
    real = moving.ask

    async def hiding(window: Window, etag: str | None) -> Page:
        page = await real(window, etag)
        return Page([item for item in page.items if item["id"] >= 20], page.more, page.answer)

    async def all_ids() -> set[int]:
        return {item["id"] async for page in walk(hiding, sight, seeks=False, size=10) for item in page.items}

    assert asyncio.run(all_ids()) == set(range(20, 30))


def test_a_list_that_is_not_in_the_order_asked_for_fails() -> None:
    """Seeking over an unsorted list would skip rows silently, so it is a failure."""

    async def shuffled(window: Window, etag: str | None) -> Page:
        return Page([{"id": 1, "second": 5, "version": 0}, {"id": 2, "second": 3, "version": 0}], False, answer())

    async def run() -> None:
        async for _ in walk(shuffled, sight):
            pass

    with pytest.raises(Failure, match="order"):
        asyncio.run(run())


@given(st.integers(100, 5000), st.integers(15, 100))
def test_overlapping_pages_start_inside_what_was_read_and_reach_beyond(covered: int, limit: int) -> None:
    """So no row can slip between two pages unseen."""
    found = overlapping(covered, limit)
    assert found
    page, size = found
    assert size <= limit and size * (page - 1) < covered < size * page
