"""Reading a feed to its end, whatever its authors do between and during polls; and what the obvious algorithm loses."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.names import claimed_milliseconds
from pipelines.demo.bluesky.state import Account
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.feed import goal_reached, wider
from sources.bluesky.rows import normal, said_at
from sources.bluesky.source import Bluesky, BlueskyConfig
from tests.demo_client import get
from tests.long import LONG
from tests.memory import Killed, Memory, read

NOW = pendulum.datetime(2026, 3, 1, 12)
FEED = "/xrpc/app.bsky.feed.getAuthorFeed"


def settings(actors: list[str], **more: Any) -> BlueskyConfig:
    return BlueskyConfig(api_url="http://bsky.test", **{"actors": actors, **more})


def poll(app: BlueskyApp, memory: Memory, config: BlueskyConfig, **options: Any) -> Any:
    reading = read(app, memory, config, kind=Bluesky, **options)
    assert not reading.problems, reading.problems
    return reading


def held(memory: Memory) -> set[tuple[str, str, str]]:
    return {(row["did"], row["uri"], row["cid"]) for row in memory.rows("posts")}


def missed(world: BlueskyWorld, memory: Memory, since: int) -> list[tuple[str, str]]:
    """Of everything that a full scan finds now in the feeds at or after `since`."""
    have, lost = held(memory), []
    for account in world.accounts.values():
        for item in account.feed.newest_first():
            key = (account.did, item.uri, item.post.cid)
            if item.sort_at >= since and key not in have:
                lost.append((account.handle, item.uri))
    return lost


def stir(world: BlueskyWorld, people: list[Account], random: Random) -> None:
    """What adversarial writers do between two polls. Edits of what is older than the overlap are the sweep's to find."""
    for account in people:
        for _ in range(random.choice([0, 0, 1, 1, 2, 3, 25])):
            world.advance(seconds=random.choice([0, 0, 0.001, 1, 30]))
            mine, chance = (
                [p for p in account.posts.values() if p.indexed_at > world.now.subtract(hours=23)],
                random.random(),
            )
            if chance < 0.12:
                world.post(account, "said earlier", created=world.now.subtract(minutes=random.randrange(1, 23 * 60)))
            elif chance < 0.17:
                world.post(account, "said tomorrow", created=world.now.add(days=random.randrange(1, 400)))
            elif chance < 0.25 and mine:
                world.repost(account, random.choice(mine))
            elif chance < 0.32 and mine:
                world.edit(random.choice(mine), f"otherwise {random.random()}")
            elif chance < 0.38 and mine:
                world.delete(random.choice(mine))
            elif chance < 0.45 and mine:
                world.reply(account, random.choice(mine), "and also")
            else:
                world.post(account, f"remark {random.random()}")
    world.advance(seconds=random.choice([60, 600, 900, 900, 26 * 3600]))


@pytest.mark.parametrize(
    ("size", "seed"), [(size, seed) for seed in range(9) for size in (10, 50, 100)][:: 1 if LONG else 7]
)
def test_nothing_missed_nothing_doubled(size: int, seed: int) -> None:
    """Back-dated, future-dated, same-millisecond posts, reposts, edits, deletions, bursts over several pages, outages of
    a day and capped walks, over many polls: in the end every item of every feed is held."""
    world, random = BlueskyWorld(NOW), Random(seed)
    people = [world.account(f"writer-{n}.example") for n in range(4)]
    for account in people:
        for n in range(30):
            world.advance(seconds=0.5)
            world.post(account, f"before {n}")
    app, memory = BlueskyApp(world), Memory()
    first = world.now.subtract(hours=24).int_timestamp * 1000
    actors = [account.handle for account in people]
    for _ in range(25):
        capped = random.choice([2, 100, 100])
        poll(app, memory, settings(actors, posts_per_page=size, max_pages_per_actor=capped))
        stir(world, people, random)
    for _ in range(2):
        poll(app, memory, settings(actors, posts_per_page=size))
    poll(app, memory, settings(actors, posts_per_page=size), sweep=True)
    assert missed(world, memory, first) == []
    keys = [row["event_key"] for row in memory.rows("posts")]
    assert len(keys) == len(set(keys))


def adr_poll(app: BlueskyApp, cursors: dict[str, str], handle: str, size: int, now: pendulum.DateTime) -> Iterator[str]:
    """The original requirement's algorithm: go on from the saved cursor, until the polling window is covered."""
    cutoff = now.subtract(hours=24 if handle not in cursors else 1)
    for _ in range(10):
        query = {"actor": handle, "limit": str(size)} | ({"cursor": cursors[handle]} if handle in cursors else {})
        page = get(app, FEED, **query).json()
        for item in page["feed"]:
            yield item["reason"]["uri"] if "reason" in item else item["post"]["uri"]
        if page.get("cursor"):
            cursors[handle] = page["cursor"]
        oldest = page["feed"][-1]["post"]["record"]["createdAt"] if page["feed"] else None
        if oldest is None or (claimed_milliseconds(oldest) or 0) < cutoff.int_timestamp * 1000:
            return


def test_a_saved_cursor_only_ever_leads_to_older_posts() -> None:
    """The world is not kinder than the real server: the requirement's own algorithm loses nearly everything on it."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    app, cursors, found = BlueskyApp(world), dict[str, str](), set[str]()
    for _ in range(20):
        for n in range(60):
            world.advance(seconds=10)
            world.post(writer, f"remark {n}")
        found |= set(adr_poll(app, cursors, "writer.example", 50, world.now))
    assert len(writer.posts.keys() - {uri.rpartition("/")[2] for uri in found}) > 900


def test_a_capped_walk_goes_on_where_it_stopped_also_when_new_posts_come_first() -> None:
    """A burst of more pages than one run may read is read by several, and the watermark waits for the last of them."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    app, memory, config = BlueskyApp(world), Memory(), settings(["writer.example"], posts_per_page=10)
    world.post(writer, "the first")
    poll(app, memory, config)
    watermark = memory.cursors["posts"][writer.did]["watermark"]  # type: ignore[index]
    for n in range(100):
        world.advance(seconds=1)
        world.post(writer, f"burst {n}")
    capped = settings(["writer.example"], posts_per_page=10, max_pages_per_actor=3)
    poll(app, memory, capped)
    cursor: Any = memory.cursors["posts"][writer.did]
    assert cursor["resume"] and cursor["watermark"] == watermark and len(held(memory)) < 101
    for _ in range(6):
        world.advance(seconds=600)
        world.post(writer, "and more")
        poll(app, memory, capped)
    cursor = memory.cursors["posts"][writer.did]
    assert cursor["watermark"] > watermark, "an overlap of more pages than a run may read must not hold it up for ever"
    assert missed(world, memory, 0) == []


def test_the_watermark_of_a_walk_over_several_runs_is_when_it_began() -> None:
    """A post back-dated into the part that the first of them read is still within the next walk's goal."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    app, memory = BlueskyApp(world), Memory()
    for n in range(100):
        world.advance(seconds=10)
        world.post(writer, f"burst {n}")
    began = world.now
    capped = settings(["writer.example"], posts_per_page=10, max_pages_per_actor=3, initial_lookback_hours=1)
    poll(app, memory, capped)
    world.advance(seconds=23 * 3600)
    world.post(writer, "back-dated", created=began.subtract(seconds=250))
    while memory.cursors["posts"][writer.did]["resume"]:  # type: ignore[index]
        world.advance(seconds=3600)
        world.post(writer, "and more")
        poll(app, memory, capped)
    for _ in range(2):
        world.advance(seconds=60)
        world.post(writer, "the next")
        poll(app, memory, settings(["writer.example"], posts_per_page=10))
    assert missed(world, memory, 0) == []


def test_a_stretch_that_was_left_is_gone_on_with_whatever_comes_first() -> None:
    """Also where the new posts of every run fill all the pages that it may read."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    for n in range(45):
        world.advance(seconds=10)
        world.post(writer, f"burst {n}")
    app, memory = BlueskyApp(world), Memory()
    for _ in range(8):
        poll(app, memory, settings(["writer.example"], posts_per_page=10, max_pages_per_actor=1))
        world.advance(seconds=900)
        last = world.post(writer, "and more")
    assert missed(world, memory, 0) == [("writer.example", last.uri)]


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("pages", [1, 100])
def test_a_millisecond_that_holds_more_than_a_page_is_read_whole(skips: bool, pages: int) -> None:
    """Posted at once, or dated so: a cursor that skips its millisecond would lose the rest of it, one that does not would
    lead in circles."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    app, memory = BlueskyApp(world), Memory()
    app.access.quirks.skips_same_millisecond = skips
    for n in range(60):
        world.advance(seconds=1 if n < 20 or n > 45 else 0)
        world.post(writer, f"burst {n}")
    for _ in range(8):
        poll(app, memory, settings(["writer.example"], posts_per_page=10, max_pages_per_actor=pages))
    assert missed(world, memory, 0) == []


@pytest.mark.parametrize("placed", ["arrival", "epoch"])
def test_a_claim_that_the_appview_gives_up_on_ends_no_walk(placed: Any) -> None:
    """The first second of year 1 is what some programs write for no date. If such posts stand at their arrival, a page of
    them is not below everything."""
    world = BlueskyWorld(NOW)
    world.unreadable_dates = placed
    writer = world.account("writer.example")
    app, memory, config = BlueskyApp(world), Memory(), settings(["writer.example"], posts_per_page=10)
    world.post(writer, "the first")
    poll(app, memory, config)
    for n in range(35):
        world.advance(seconds=10)
        world.post(writer, f"undated {n}", created="0001-01-01T00:00:00Z")
    poll(app, memory, config)
    assert missed(world, memory, 1) == []


def test_a_page_is_below_the_goal_only_as_a_whole() -> None:
    """One old item among newer ones (out of place, as pins are) is not the end; what has no place is no proof."""

    def page(*minutes: int | None) -> list[dict[str, Any]]:
        moments = [None if m is None else NOW.add(minutes=m).to_iso8601_string() for m in minutes]
        return [{"post": {"indexedAt": at, "record": {"createdAt": at}}} for at in moments]

    assert goal_reached(page(-3, -2), NOW) and not goal_reached(page(-3, 2), NOW)
    assert not goal_reached(page(None), NOW) and not goal_reached([], NOW) and goal_reached(page(-3, None), NOW)


def test_a_repost_stands_where_it_was_reposted_whatever_its_post_lacks() -> None:
    at = NOW.subtract(minutes=3).to_iso8601_string()
    assert said_at({"reason": {"indexedAt": at}, "post": {}}) == NOW.subtract(minutes=3)


@pytest.mark.parametrize("bad", ["not a cursor", "1234::bafy", "2026-13-45T99:99:99.999Z"])
def test_a_saved_cursor_that_is_refused_is_walked_from_the_head(bad: str) -> None:
    """500 or an empty answer for it: the stretch below is read all the same."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    for n in range(60):
        world.advance(seconds=1)
        world.post(writer, f"burst {n}")
    app, memory = BlueskyApp(world), Memory()
    capped = settings(["writer.example"], posts_per_page=10, max_pages_per_actor=2)
    poll(app, memory, capped)
    cursor: Any = memory.cursors["posts"][writer.did]
    memory.cursors["posts"][writer.did] = {**cursor, "resume": [[bad, cursor["resume"][0][1]]]}
    poll(app, memory, settings(["writer.example"], posts_per_page=10))
    assert missed(world, memory, 0) == [] and memory.cursors["posts"][writer.did]["resume"] is None  # type: ignore[index]


@pytest.mark.parametrize("saved", [
    "text", 7, {"head": "yesterday"}, {"head": "2999-01-01T00:00:00Z", "watermark": "2999-01-01T00:00:00Z"}, {"head": "2026-03-01T11:00:00Z", "resume": [1]},
])  # fmt: skip
def test_a_cursor_that_cannot_be_believed_is_reset_a_safe_way_back(saved: object) -> None:
    """And a day of posts is read again; the keys absorb what was known."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    world.post(writer, "ours")
    app, memory = BlueskyApp(world), Memory()
    memory.cursors = {"actors": {"writer.example": {"did": writer.did}}, "posts": {writer.did: saved}}
    poll(app, memory, settings(["writer.example"], initial_lookback_hours=1))
    assert missed(world, memory, 0) == []


def test_a_feed_that_leads_in_circles_fails_and_its_watermark_stays() -> None:
    """The same cursor again and again is neither followed for ever nor taken for the end."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    for n in range(40):
        world.advance(seconds=1)
        world.post(writer, f"remark {n}")
    app, memory = BlueskyApp(world), Memory()
    app.rewrite = lambda request, body: {**body, "cursor": "2026-03-01T12:00:20.000Z"} if "feed" in body else body
    reading = read(app, memory, settings(["writer.example"], posts_per_page=10), kind=Bluesky)
    assert [problem.code for problem in reading.problems] == ["FETCH_ERROR"]
    assert "circles" in reading.problems[0].message and "posts" not in memory.cursors
    app.rewrite = None
    poll(app, memory, settings(["writer.example"], posts_per_page=10))
    assert missed(world, memory, 0) == []


def test_an_unchanged_poll_is_one_conditional_request_an_account_however_many_posts_it_has() -> None:
    """As long as its head page reaches below the overlap; what stands above that is looked at."""
    world = BlueskyWorld(NOW)
    quiet, loud = world.account("quiet.example"), world.account("loud.example")
    world.post(quiet, "one")
    for n in range(900):
        world.advance(seconds=900)
        world.post(loud, f"remark {n}")
    app, memory, config = BlueskyApp(world), Memory(), settings(["quiet.example", "loud.example"])
    poll(app, memory, config)
    saved, landings = dict(memory.cursors["posts"]), memory.landings
    app.log.clear()
    poll(app, memory, config)
    assert sorted(entry.status for entry in app.log) == [304, 304]
    assert memory.cursors["posts"] == saved and memory.landings == landings


def test_a_killed_walk_moves_no_watermark() -> None:
    """Pages of a walk land one by one; until the last of them the next run starts where this one did."""
    world = BlueskyWorld(NOW)
    writer = world.account("writer.example")
    for n in range(80):
        world.advance(seconds=1)
        world.post(writer, f"remark {n}")
    app, config = BlueskyApp(world), settings(["writer.example"], posts_per_page=10)
    for dies_after in range(1, 10):
        memory = Memory()
        with pytest.raises(Killed):
            read(app, memory, config, kind=Bluesky, dies_after=dies_after)
        assert "posts" not in memory.cursors
        poll(app, memory, config)
        assert missed(world, memory, 0) == []


@pytest.mark.parametrize(("cursor", "later"), [
    ("2026-03-01T12:00:00.999Z", "2026-03-01T12:00:01.000Z"), ("1772366400000__bafyrei", "1772366400000__bafyrei"),
    ("2026-99-01T12:00:00.999Z", "2026-99-01T12:00:00.999Z"),
])  # fmt: skip
def test_only_a_cursor_that_is_a_time_is_moved(cursor: str, later: str) -> None:
    """Of all others nothing is known but that they are opaque."""
    assert wider(cursor) == later


@pytest.mark.parametrize(("said", "page"), [
    ("HTTPS://Docs.Lantern.example:443/Purge?utm_source=bsky&b=2#top", "https://docs.lantern.example/Purge?b=2"),
    ("https://lantern.example", "https://lantern.example/"), ("http://a.example:8080/x", "http://a.example:8080/x"),
    ("https://münchen.example/ä", "https://xn--mnchen-3ya.example/ä"), ("not a link", "not a link"),
    ("https://[broken", "https://[broken"), ("https://[2001:DB8::1]:8443/x", "https://[2001:db8::1]:8443/x"), ("https://a.example:99999/", "https://a.example:99999/"),
])  # fmt: skip
def test_one_spelling_for_one_page(said: str, page: str) -> None:
    assert normal(said) == page
