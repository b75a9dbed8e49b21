"""The cursor alone: the overlap, the window, the ETag that vouches for one page."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pendulum
import pytest
from pendulum import DateTime

from sources.core.cursor import BadCursor, Changes, Cursor, follow, load
from sources.core.http.client import Answer
from sources.core.paging import Identified, Page, Window
from sources.core.values import Json

START = pendulum.datetime(2026, 1, 1)
OVERLAP = timedelta(seconds=120)


@dataclass
class Server:
    """A list that answers 304 as GitHub does: the ETag covers the body of a page, not whether another follows, and the
    304 may be silent about that.
    """

    rows: dict[int, tuple[int, str]] = field(default_factory=dict)  # id → (second, words)
    now: int = 0
    cap: int = 100
    silent: bool = False
    asked: list[tuple[Window, bool]] = field(default_factory=list)  # and whether it was answered 304

    async def ask(self, window: Window, etag: str | None) -> Page:
        since = 0 if window.since is None else (window.since - START).total_seconds()
        live = sorted((second, id_, words) for id_, (second, words) in self.rows.items() if second >= since)
        size = min(window.size, self.cap)
        page = live[(window.page - 1) * size : window.page * size]
        more, tag = len(live) > window.page * size, f"W/{page}"
        items: list[Json] = [{"id": i, "second": s, "words": w} for s, i, w in page]
        unchanged = etag == tag
        self.asked.append((window, unchanged))
        date = START.add(seconds=self.now).format("ddd, DD MMM YYYY HH:mm:ss [GMT]")
        headers = httpx.Headers({"etag": tag, "date": date})
        answer = Answer(304 if unchanged else 200, headers, b"", None, httpx.URL("http://api.test/list"), None)
        return Page([] if unchanged else items, more and not (unchanged and self.silent), answer)

    def say(self, id_: int, words: str, at: int | None = None) -> None:
        self.rows[id_] = (self.now if at is None else at, words)


def sight(item: Json) -> Identified:
    return Identified(item["id"], str(item["words"]), START.add(seconds=int(str(item["second"]))))


def run(server: Server, cursor: Cursor, **options: Any) -> tuple[list[tuple[Any, Any]], Cursor, list[Changes]]:
    """What one reading yields, and the cursor as it comes back from JSON."""
    server.asked.clear()

    async def all_() -> list[Changes]:
        return [found async for found in follow(server.ask, sight, cursor, overlap=OVERLAP, **options)]

    found = asyncio.run(all_())
    after = load(found[-1].cursor.json(), now=START.add(days=9), floor=None) if found else cursor
    return [(item["id"], item["words"]) for f in found for item in f.items], after, found


def test_an_unchanged_list_costs_one_conditional_request_and_yields_nothing() -> None:
    """Not even a cursor: an unchanged run writes no package."""
    server = Server({n: (n * 10, "hi") for n in range(250)}, now=99_999)
    _, cursor, _ = run(server, Cursor())
    said, after, found = run(server, cursor)
    assert (said, found, after) == ([], [], cursor)
    assert [unchanged for _, unchanged in server.asked] == [True]


def test_a_row_that_becomes_visible_late_is_found_in_the_overlap() -> None:
    """Its time is older than the newest row's: a cursor that filters its own overlap would throw it away."""
    server = Server({1: (1000, "first")}, now=1000)
    _, cursor, _ = run(server, Cursor())
    server.say(2, "committed late", at=950)
    assert run(server, cursor)[0] == [(2, "committed late")]


def test_a_second_edit_within_the_same_second_is_a_difference() -> None:
    """Same id, same time, other words; and the cursor says that their order is known only from having seen both."""
    server = Server({1: (1000, "draft")}, now=1000)
    _, cursor, _ = run(server, Cursor())
    server.say(1, "final", at=1000)
    said, _, found = run(server, cursor)
    assert said == [(1, "final")]
    assert found[0].rivals == {"1"}


def test_the_boundary_second_is_read_again() -> None:
    """Another row of the very second that the cursor stands on."""
    server = Server({1: (1000, "first")}, now=1000)
    _, cursor, _ = run(server, Cursor())
    server.say(2, "same second", at=1000)
    assert run(server, cursor)[0] == [(2, "same second")]


@pytest.mark.parametrize("silent", [False, True])
def test_a_full_page_is_never_vouched_for_by_its_etag(silent: bool) -> None:
    """Page 1 of 100 rows stays the same when row 101 comes: a 304 must not be believed then."""
    server = Server(dict.fromkeys(range(100), (1000, "hi")), now=1000, silent=silent)
    _, cursor, _ = run(server, Cursor())
    server.say(100, "the 101st", at=1000)
    assert run(server, cursor)[0] == [(100, "the 101st")]


def test_a_full_page_that_is_old_costs_one_conditional_request() -> None:
    """It is closed like a window of several pages."""
    server = Server(dict.fromkeys(range(100), (1000, "import")), now=1240, silent=True)
    _, cursor, _ = run(server, Cursor())
    assert run(server, cursor)[2] == [] and [unchanged for _, unchanged in server.asked] == [True]
    server.say(100, "the 101st", at=1300)
    assert run(server, cursor)[0] == [(100, "the 101st")]


def test_a_page_that_a_server_caps_is_not_vouched_for_when_another_appears_behind_it() -> None:
    """The 304 itself says that there is a next page."""
    server = Server({1: (1000, "first")}, now=1000, cap=1)
    _, cursor, _ = run(server, Cursor())
    server.say(2, "behind", at=1000)
    assert run(server, cursor)[0] == [(2, "behind")]


def test_an_overlap_window_larger_than_a_page_is_closed_once_it_is_old() -> None:
    """Else every unchanged run would page through it for ever; nothing that comes later is lost by closing it."""
    server = Server(dict.fromkeys(range(450), (1000, "import")), now=1010)
    _, cursor, _ = run(server, Cursor())
    assert cursor.etag is None and len(cursor.window) == 450
    server.now = 1010 + 240
    _, cursor, _ = run(server, cursor)
    assert cursor.window == {} and cursor.etag
    assert run(server, cursor)[2] == [] and len(server.asked) == 1
    server.say(7, "edited after all")
    assert run(server, cursor)[0] == [(7, "edited after all")]


def test_a_row_from_the_future_does_not_carry_the_cursor_away() -> None:
    """The cursor never passes the server's own clock."""
    server = Server({1: (1000, "now"), 2: (90_000, "tomorrow")}, now=1000)
    _, cursor, _ = run(server, Cursor())
    assert cursor.newest == START.add(seconds=1000)
    server.now = 1500
    server.say(3, "later")
    assert (3, "later") in run(server, cursor)[0]


def test_any_prefix_of_a_killed_first_read_goes_on() -> None:
    """Each page's cursor is right for the pages before it."""
    server = Server({n: (n, "hi") for n in range(1000)}, now=5000)
    _, _, found = run(server, Cursor(), size=50)
    kept = found[9].cursor
    rest, _, _ = run(server, load(kept.json(), now=START.add(days=9), floor=None), size=50)
    landed = {item["id"] for f in found[:10] for item in f.items} | {id_ for id_, _ in rest}
    assert landed == set(range(1000))
    assert len(rest) < 1000 - 9 * 49 + 121


def test_a_reread_yields_everything_and_moves_no_cursor_back() -> None:
    """The sweep reads the whole list; a kill in its middle must not cost the place already reached."""
    server = Server({n: (n * 10, "hi") for n in range(300)}, now=5000)
    _, cursor, _ = run(server, Cursor())
    said, after, found = run(server, cursor, reread=True)
    assert len(said) == 300
    assert all(f.cursor.since == cursor.since for f in found) and after.since == cursor.since
    said, _, _ = run(server, cursor, reread=True, floor=START.add(seconds=1000))
    assert {id_ for id_, _ in said} == set(range(100, 300)), "from the configured start on"


@pytest.mark.parametrize("saved", [
    5, "2026", [], {"since": "2026-01-01"}, {"since": 5, "window": {}}, {"since": "2026-01-01T00:00:00", "window": {}},
    {"since": "2026-01-01T00:00:00Z", "window": {"1": "x"}}, {"since": "2026-01-01T00:00:00Z", "window": []},
    {"since": "2031-01-01T00:00:00Z", "window": {}}, {"newest": "2031-01-01T00:00:00Z", "window": {}},
    {"since": "2026-01-01T09:58:00Z", "newest": "2026-01-01T10:00:00Z", "window": {}},
])  # fmt: skip
def test_a_cursor_that_cannot_be_believed_is_refused(saved: object) -> None:
    """Wrong type, no zone, from the future: the reader resets it a safe way back instead of reading from nowhere."""
    with pytest.raises(BadCursor):
        load(saved, now=START, floor=None)


def test_a_first_read_starts_at_the_configured_date() -> None:
    """`since` in the configuration bounds history."""
    floor: DateTime = START.add(seconds=500)
    server = Server({n: (n, "hi") for n in range(1000)}, now=5000)
    said, _, _ = run(server, load(None, now=START, floor=floor))
    assert {id_ for id_, _ in said} == set(range(500, 1000))
