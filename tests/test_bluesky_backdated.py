"""Posts that appear below the head of a feed: dated back, under a head page that stays as it is, or behind a capped walk."""

from pathlib import Path
from random import Random
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.state import Account
from pipelines.demo.bluesky.world import BlueskyWorld
from tests.in_memory import in_memory
from tests.long import LONG
from tests.memory import Memory
from tests.synced import bluesky_desk
from tests.test_bluesky_feed import missed, poll, settings

NOW = pendulum.datetime(2026, 3, 1, 12)
WRITER = "writer.example"


@pytest.fixture
def world() -> BlueskyWorld:
    return BlueskyWorld(NOW)


@pytest.fixture
def writer(world: BlueskyWorld) -> Account:
    return world.account(WRITER)


def burst(world: BlueskyWorld, writer: Account, posts: int, seconds: float = 1) -> None:
    for n in range(posts):
        world.advance(seconds=seconds)
        world.post(writer, f"remark {n} of {world.now}")


def trail(memory: Memory, writer: Account) -> Any:
    return memory.cursors["posts"][writer.did]


def asked(app: BlueskyApp) -> list[int]:
    found = [call.status for call in app.log]
    app.log.clear()
    return found


def test_a_post_dated_below_an_unchanged_head_page_is_found_by_the_next_poll(
    world: BlueskyWorld, writer: Account
) -> None:
    """120 fresh posts fill the head page; one dated five hours ago stands on the page behind it."""
    burst(world, writer, 120)
    app, memory, config = BlueskyApp(world), Memory(), settings([WRITER])
    poll(app, memory, config)
    world.advance(seconds=60)
    world.post(writer, "dated back", created=world.now.subtract(hours=5))
    app.log.clear()
    poll(app, memory, config)
    assert app.log[0].status == 304, "the head page is as it was"
    assert missed(world, memory, 0) == []


def test_what_is_dated_back_into_a_part_that_an_earlier_run_has_read_is_found_by_the_one_that_goes_on(
    world: BlueskyWorld, writer: Account
) -> None:
    """The earlier one was capped, or killed behind a page. The next one reads what it left, and then from the head."""
    burst(world, writer, 60, seconds=10)
    app, memory = BlueskyApp(world), Memory()
    poll(app, memory, settings([WRITER], posts_per_page=10, max_pages_per_actor=3))
    assert trail(memory, writer)["resume"]
    world.advance(seconds=60)
    world.post(writer, "dated back", created=world.now.subtract(seconds=200))
    poll(app, memory, settings([WRITER], posts_per_page=10))
    assert missed(world, memory, 0) == []
    world.advance(seconds=60)
    asked(app)
    poll(app, memory, settings([WRITER], posts_per_page=10))
    assert asked(app)[0] == 304, "the head vouches again"


def test_also_by_one_that_goes_on_in_pieces(world: BlueskyWorld, writer: Account, tmp_path: Path) -> None:
    """Each of them goes on where the one before it stopped: that is no earlier run's."""
    burst(world, writer, 60, seconds=10)
    desk = in_memory(bluesky_desk(tmp_path, world, WRITER))
    desk.run({"posts_per_page": 10, "max_pages_per_actor": 2})
    burst(world, writer, 30, seconds=10)
    world.post(writer, "dated back", created=world.now.subtract(seconds=400))
    desk.app.log.clear()
    desk.run({"posts_per_page": 10}, chunk_rows=5)
    assert len([call for call in desk.app.log if "cursor" not in call.query]) >= 2, "or it did not go on in pieces"
    assert desk.sql("SELECT count(*) FROM feedback.comments") == [(91,)]


def test_an_unchanged_account_with_many_fresh_posts_costs_the_pages_inside_the_overlap_and_lands_nothing(
    world: BlueskyWorld, writer: Account
) -> None:
    """Also where what was dated back was found, and where its answers carry another ETag for a like."""
    world.post(writer, "old", created=NOW.subtract(days=9))
    burst(world, writer, 250)
    app, memory, config = BlueskyApp(world), Memory(), settings([WRITER])
    poll(app, memory, config)
    world.post(writer, "dated back", created=world.now.subtract(hours=5))
    poll(app, memory, config)
    for _ in range(3):
        world.advance(seconds=60)
        saved, landings = dict(memory.cursors["posts"]), memory.landings
        asked(app)
        poll(app, memory, config)
        assert asked(app) == [304, 200, 200]
        assert memory.cursors["posts"] == saved and memory.landings == landings


def test_an_account_that_falls_silent_costs_one_conditional_request_again(world: BlueskyWorld, writer: Account) -> None:
    """Once its head page reaches below the overlap its cursor moves once, without any rows; from then on it rests."""
    burst(world, writer, 250, seconds=10)
    app, memory, config = BlueskyApp(world), Memory(), settings([WRITER])
    poll(app, memory, config)
    world.advance(seconds=25 * 3600)
    landings = memory.landings
    asked(app)
    poll(app, memory, config)
    assert asked(app) == [304, 200, 200] and memory.landings == landings + 1
    for _ in range(3):
        world.advance(seconds=3600)
        poll(app, memory, config)
    assert asked(app) == [304, 304, 304] and memory.landings == landings + 1
    world.post(writer, "dated back", created=world.now.subtract(hours=20))
    poll(app, memory, config)
    assert missed(world, memory, 0) == []


def test_a_post_below_a_head_page_that_fills_the_feed_is_found(world: BlueskyWorld, writer: Account) -> None:
    """Ten posts on a page of ten, and an eleventh below them: nothing on the page tells, but that there is a next."""
    burst(world, writer, 10)
    app, memory, config = BlueskyApp(world), Memory(), settings([WRITER], posts_per_page=10)
    poll(app, memory, config)
    world.post(writer, "dated back", created=world.now.subtract(hours=5))
    poll(app, memory, config)
    assert missed(world, memory, 0) == []


@pytest.mark.parametrize("bad", ["not a cursor", "1234::bafy"])
def test_a_cursor_behind_the_head_that_is_refused_is_asked_for_anew(
    world: BlueskyWorld, writer: Account, bad: str
) -> None:
    """500 or an empty answer for it says nothing of what stands there."""
    burst(world, writer, 120)
    app, memory, config = BlueskyApp(world), Memory(), settings([WRITER])
    poll(app, memory, config)
    saved = trail(memory, writer)
    memory.cursors["posts"][writer.did] = {**saved, "top": {**saved["top"], "cursor": bad}}
    world.post(writer, "dated back", created=world.now.subtract(hours=5))
    poll(app, memory, config)
    assert missed(world, memory, 0) == []


def test_nothing_vouches_for_a_head_that_was_only_joined(world: BlueskyWorld, writer: Account) -> None:
    """A capped walk, a post dated back into the part that it had read, and a second run that joins it: the walk from the head
    to the goal is still to be made, however unchanged the head is."""
    burst(world, writer, 45, seconds=10)
    app, memory = BlueskyApp(world), Memory()
    capped = settings([WRITER], posts_per_page=10, max_pages_per_actor=3)
    poll(app, memory, capped)
    assert trail(memory, writer)["resume"], "the walk is not through"
    world.advance(seconds=5)
    world.post(writer, "dated back", created=world.now.subtract(seconds=150))
    for _ in range(3):
        world.advance(seconds=60)
        poll(app, memory, settings([WRITER], posts_per_page=10))
    assert missed(world, memory, 0) == []
    asked(app)
    poll(app, memory, settings([WRITER], posts_per_page=10))
    assert asked(app)[0] == 304 and trail(memory, writer)["top"]


def test_a_backlog_shrinks_with_every_run_also_while_the_head_grows_by_more_than_a_run_may_read(
    world: BlueskyWorld, writer: Account
) -> None:
    """Two pages a run, three pages of news between two runs: what the first walk left is through after so many runs as it
    has pages, and nothing that was left meanwhile is forgotten, however much that is."""
    burst(world, writer, 120)
    app, memory = BlueskyApp(world), Memory()
    capped = settings([WRITER], posts_per_page=10, max_pages_per_actor=2)
    first = {item.uri for item in writer.feed.newest_first()}
    left = len(first)
    for run in range(30):
        poll(app, memory, capped)
        now_left = len(first - {row["uri"] for row in memory.rows("posts")})
        assert now_left < left or not left, "no progress on what the first walk left"
        left = now_left
        assert not left or run < 15
        burst(world, writer, 25)
    assert len(trail(memory, writer)["resume"]) <= 20, "what is unread is told in a bounded state"
    for _ in range(3):
        poll(app, memory, settings([WRITER], posts_per_page=10, max_pages_per_actor=60))
    assert missed(world, memory, 0) == []


@pytest.mark.parametrize("seed", range(12 if LONG else 4))
def test_whatever_is_dated_back_within_the_overlap_is_found_without_a_sweep(seed: int) -> None:
    """Random posts, fresh and dated back, deletions, reposts, caps of a page or two, page sizes, outages of a day: once it is
    quiet, three polls later all of it is held, and then an unchanged poll lands nothing."""
    world, random = BlueskyWorld(NOW), Random(seed)
    people = [world.account(f"writer-{n}.example") for n in range(3)]
    app, memory, size = BlueskyApp(world), Memory(), random.choice([5, 10, 25])
    app.access.quirks.cursors = random.choice(["timestamps", "keyset"])
    actors = [account.handle for account in people]
    for _ in range(40):
        pages = random.choice([1, 2, 3, 100])
        poll(app, memory, settings(actors, posts_per_page=size, max_pages_per_actor=pages))
        for account in people:
            _act(world, account, random)
        world.advance(seconds=random.choice([1, 60, 600, 3600, 25 * 3600]))
    whole = settings(actors, posts_per_page=size)
    for _ in range(3):
        world.advance(seconds=60)
        poll(app, memory, whole)
    assert missed(world, memory, 0) == []
    landings = memory.landings
    poll(app, memory, whole)
    assert memory.landings == landings


def _act(world: BlueskyWorld, account: Account, random: Random) -> None:
    for _ in range(random.choice([0, 0, 0, 1, 1, 3, 40])):
        world.advance(seconds=random.choice([0, 0.001, 1, 30]))
        mine = [p for p in account.posts.values() if p.sort_at > world.now.subtract(hours=20).timestamp() * 1000]
        chance = random.random()
        if chance < 0.4:
            world.post(account, "said earlier", created=world.now.subtract(minutes=random.randrange(1, 23 * 60)))
        elif chance < 0.5 and mine:
            world.delete(random.choice(mine))
        elif chance < 0.55 and mine:
            world.edit(random.choice(mine), f"otherwise {random.random()}")
        elif chance < 0.6 and mine:
            world.repost(account, random.choice(mine))
        else:
            world.post(account, f"remark {random.random()}")
