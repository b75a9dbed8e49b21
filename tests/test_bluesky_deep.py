"""The deep sweep: what an account's own records tell and no feed does, asked for or in its time, and when it was made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.state import Post, Repost
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.deep import paired
from tests.asked import Reader
from tests.synced import BlueskyDesk, bluesky_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
MAYA, ODILE = "maya.example", "odile.example"


@pytest.fixture
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    made.account(MAYA, "Maya")
    made.account(ODILE, "Odile")
    return made


@pytest.fixture
def desk(tmp_path: Path, world: BlueskyWorld, placed: Callable[..., BlueskyDesk]) -> BlueskyDesk:
    return placed(bluesky_desk(tmp_path, world, MAYA, ODILE))


def later(world: BlueskyWorld, seconds: float = 3600) -> None:
    world.advance(seconds=seconds)


def deep(desk: BlueskyDesk) -> Any:
    return desk.run(sweep=True, deep=True)


def bodies(desk: BlueskyDesk) -> set[str]:
    return {row[0] for row in desk.sql("SELECT body FROM feedback.comments")}


def test_what_is_dated_back_by_more_than_the_overlap_is_found_when_asked_for(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """Neither a poll nor a sweep walks so far; `--sweep --deep` finds it, and the account's row says when it was made."""
    world.post(MAYA, "hello")
    config = {"initial_lookback_hours": 24.0, "posts_per_page": 25}
    desk.run(config)
    for n in range(100):
        later(world)
        world.post(MAYA, f"filler {n}")
    desk.run(config)
    world.post(MAYA, "from my diary", created=NOW.subtract(days=400))
    later(world)
    for options in ({}, {"sweep": True}):
        desk.run(config, **options)
        assert "from my diary" not in bodies(desk)
    assert desk.one("SELECT count(deep_swept_at) FROM ops.accounts") == 0
    assert desk.run(config, sweep=True, deep=True).exit_code == 0
    desk.judge()
    assert desk.sql("SELECT DISTINCT deep_swept_at FROM ops.accounts") == [(world.now,)]
    desk.run(config, sweep=True)
    assert not any("listRecords" in call.path for call in desk.app.log), "nobody asked"


@pytest.mark.parametrize("is_named", [True, False])
def test_an_undone_repost_is_found_and_another_of_the_same_is_left(
    desk: BlueskyDesk, world: BlueskyWorld, is_named: bool
) -> None:
    """Also where feeds do not name it: of two reposts of one post the one that is gone goes."""
    theirs = world.post(ODILE, "theirs")
    reposts = []
    for _ in range(3):
        later(world)
        reposts.append(world.repost(MAYA, theirs, is_named=is_named))
    desk.run()
    desk.judge()
    later(world)
    world.unrepost(reposts[1])
    assert deep(desk).exit_code == 0
    desk.judge()
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 1
    deep(desk)
    desk.judge()


@pytest.mark.parametrize("is_named", [True, False])
def test_a_repost_that_its_server_lists_again_is_there_again(
    desk: BlueskyDesk, world: BlueskyWorld, is_named: bool
) -> None:
    world.repost(MAYA, world.post(ODILE, "theirs"), is_named=is_named)
    later(world)
    desk.run()
    desk.app.rewrite = lambda request, body: {"records": []} if "records" in body else body
    deep(desk)
    assert desk.sql("SELECT kind FROM feedback.events WHERE is_deleted") == [("repost",)]
    desk.app.rewrite = None
    deep(desk)
    desk.judge()


def test_a_repost_whose_client_lives_in_the_past_is_not_taken_for_undone(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """Its record's key lies before all that is listed since the account is followed; feeds tell only when it was shown."""
    repost = world.repost(MAYA, world.post(ODILE, "theirs"), is_named=False)
    account = world.handles[MAYA]
    account.reposts["2222222222222"] = account.reposts.pop(repost.rkey)
    repost.rkey = "2222222222222"
    later(world)
    desk.run({"initial_lookback_hours": 24.0})
    assert desk.run({"initial_lookback_hours": 24.0}, sweep=True, deep=True).exit_code == 0
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0
    desk.judge()


def test_what_is_said_while_records_are_listed_is_the_next_polls(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A repost between the walk and the list would come twice: by its record's name, and by none."""
    theirs = world.post(ODILE, "theirs")
    later(world)
    desk.run()
    made: list[Repost | Post] = []

    def meanwhile(request: Any) -> None:
        if "listRecords" in request.path and not made:
            later(world)
            made.extend((world.repost(MAYA, theirs, is_named=False), world.post(MAYA, "meanwhile")))

    desk.app.switches.before = meanwhile
    deep(desk)
    later(world)
    desk.run()
    desk.judge()


def test_an_account_of_which_nothing_is_held_is_compared_too(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """It had said nothing when it was first followed; its first words since are dated back by years."""
    world.post(ODILE, "hello")
    desk.run({"initial_lookback_hours": 24.0})
    later(world)
    world.post(MAYA, "from my diary", created=NOW.subtract(days=400))
    later(world)
    desk.run({"initial_lookback_hours": 24.0, "posts_per_page": 1}, sweep=True, deep=True)
    desk.judge()


@pytest.mark.on_disk
def test_status_says_when_the_deep_sweep_was_made(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """And how to make it now; never is never."""
    world.post(MAYA, "hello")
    desk.run()
    reader = Reader(desk.home)
    assert "Deep sweep:" in reader.ask("status").out and "never" in reader.ask("status").out
    assert reader.data("status")["deep_sweep"] == {"accounts": 2, "swept": 0, "earliest_at": None}
    deep(desk)
    told = reader.data("status")["deep_sweep"]
    assert (told["accounts"], told["swept"]) == (2, 2) and told["earliest_at"].startswith("2026-03-01T12:00:00")
    assert "2 of 2 accounts" in reader.ask("status").out


def test_records_are_paired_by_what_they_repost_and_the_nearest_time() -> None:
    """However their order; a record is one repost's, and one without a time is the last to be taken."""

    def repost(name: str, minute: int, of: str = "a") -> dict[str, Any]:
        return {"uri": name, "post_uri": of, "at": NOW.add(minutes=minute).to_iso8601_string()}

    def record(name: str, minute: int | None, of: str = "a") -> dict[str, Any]:
        created = {} if minute is None else {"createdAt": NOW.add(minutes=minute).to_iso8601_string()}
        return {"uri": name, "value": {"subject": {"uri": of}, **created}}

    held = [repost("one", 0), repost("two", 10), repost("other", 0, of="b")]
    assert paired(held, [record("y", 9), record("x", 1)]) == {"one": "x", "two": "y"}
    assert paired(held, [record("y", 9)]) == {"two": "y"}
    assert paired(held, [record("y", None), record("z", 0, of="b")]) == {"one": "y", "other": "z"}


def test_deep_without_a_sweep_is_refused(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from pipelines.run import main

    told = CliRunner().invoke(main, ["--deep", "--demo"], env={"EARSHOT_DATA": str(tmp_path)})
    assert told.exit_code == 2 and "--sweep --deep" in told.output
