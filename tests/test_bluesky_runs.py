"""Many runs over accounts on Bluesky: what one remembers of those before it, in probes, sweeps and failures."""

from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.web import Response
from pipelines.state.ledger import Ledger
from tests.in_memory import in_memory
from tests.synced import bluesky_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
MAYA, ODILE = "maya.example", "odile.example"


@pytest.fixture
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    made.account(MAYA, "Maya")
    made.account(ODILE, "Odile")
    return made


def test_a_name_that_nobody_has_makes_neither_every_run_a_sweep_nor_none(tmp_path: Path, world: BlueskyWorld) -> None:
    """It fails with every run; deletions of the others are noticed at their time all the same."""
    post = world.post(MAYA, "regrets")
    desk = in_memory(bluesky_desk(tmp_path, world, MAYA, "nobody.example"))
    desk.run()
    world.delete(post)
    desk.run()
    assert desk.run(sweep_hours=0).sources[0].swept
    assert desk.one("SELECT is_deleted FROM feedback.events WHERE id = ?", post.uri)
    assert not desk.run().sources[0].swept
    desk.names = (MAYA, "nobody.example", "nor-this.example")
    assert [desk.run(sweep_hours=hours).sources[0].swept for hours in (0, 0, 24)] == [True, True, False]


def test_what_only_a_sweep_can_meet_is_not_over_because_nobody_looked(tmp_path: Path, world: BlueskyWorld) -> None:
    """Runs in between do not ask for it: the failure stays open, and no reason to sweep again, until one that does."""
    world.post(MAYA, "old words")
    desk = in_memory(bluesky_desk(tmp_path, world, MAYA, ODILE))
    desk.run()

    def told() -> list[str]:
        with Ledger.open(desk.home.control) as ledger:
            return [row["surface"] for row in ledger.open_failures("bluesky")]

    desk.app.switches.fault = lambda request: Response(500, {}) if request.path.endswith("getPosts") else None
    for hours, is_sweep in ((0, True), (0, True), (24, False), (24, False)):
        report = desk.run(sweep_hours=hours)
        assert (report.sources[0].swept, report.exit_code) == (is_sweep, 3 if is_sweep else 0)
        assert told() == ["rechecks"]
    desk.app.switches.fault = None
    assert desk.run(sweep_hours=0).exit_code == 0 and told() == []


def test_a_forced_poll_that_fails_is_made_up_by_the_next_run(tmp_path: Path) -> None:
    """The profile does not tell that there is something to read; the failure stays open until it was read."""
    world = BlueskyWorld(NOW)
    people = world.fill(accounts=2, posts=2)
    desk = in_memory(bluesky_desk(tmp_path, world, *(account.handle for account in people)))
    for _ in range(5):
        desk.run({"probe": True})
    world.advance(seconds=60)
    world.repost(people[0], next(iter(people[1].posts.values())))
    desk.app.switches.fault = lambda request: Response(500, {}) if request.query.get("actor") == people[0].did else None
    assert desk.run({"probe": True}).exit_code == 3
    desk.app.switches.fault = None
    assert desk.run({"probe": True}).exit_code == 0
    desk.judge()


def test_forced_polls_are_counted_in_runs_of_this_source(tmp_path: Path) -> None:
    """Where two sources are read in turn, one of them would never have a run whose number can be divided by six."""
    world = BlueskyWorld(NOW)
    people = world.fill(accounts=2, posts=2)
    desk = in_memory(bluesky_desk(tmp_path, world, *(account.handle for account in people)))
    forced = 0
    for _ in range(6):
        desk.run({"probe": True})
        forced += any(call.conditional for call in desk.app.log)
        with Ledger.open(desk.home.control) as ledger:
            ledger.finish(ledger.begin("bulk", ["github"]), "succeeded", 0)
    assert forced == 1


def test_an_account_whose_profile_tells_that_nothing_is_new_is_not_stale(tmp_path: Path) -> None:
    """Spared by the probe, it counts as polled; one that could not be asked does not."""
    world = BlueskyWorld(NOW)
    people = world.fill(accounts=3, posts=2)
    desk = in_memory(bluesky_desk(tmp_path, world, *(account.handle for account in people)))
    desk.run({"probe": True})
    world.advance(seconds=60)
    world.post(people[0], "news")
    desk.run({"probe": True})
    assert desk.sql("SELECT polls, is_stale FROM ops.accounts") == [(2, False)] * 3


def test_a_profile_that_cannot_be_read_keeps_nobody_from_being_read(tmp_path: Path, world: BlueskyWorld) -> None:
    """Neither the others, nor the posts of whose it is."""
    world.post(MAYA, "hello")
    world.post(ODILE, "hello too")

    def twist(request: Any, body: Any) -> Any:
        for profile in [*body.get("profiles", ()), *(item["post"]["author"] for item in body.get("feed", ()))]:
            profile["displayName"] = 7
        return body

    desk = in_memory(bluesky_desk(tmp_path, world, MAYA, ODILE))
    desk.app.rewrite = twist
    assert desk.run().exit_code == 0
    desk.judge()


def test_what_the_server_of_an_account_does_not_list_for_once_is_back_when_it_does(
    tmp_path: Path, world: BlueskyWorld
) -> None:
    """A post is not gone as long as the AppView shows it; a repost, of which only its server tells, comes back."""
    world.post(MAYA, "hello")
    world.repost(MAYA, world.post(ODILE, "theirs"))
    desk = in_memory(bluesky_desk(tmp_path, world, MAYA, ODILE))
    desk.run()
    world.advance(seconds=8 * 86400)
    desk.app.rewrite = lambda request, body: {"records": []} if "records" in body else body
    desk.run(sweep=True)
    assert desk.sql("SELECT kind FROM feedback.events WHERE is_deleted") == [("repost",)]
    desk.app.rewrite = None
    world.advance(seconds=8 * 86400)
    desk.run(sweep=True)
    desk.judge()


def test_a_post_back_under_its_uri_is_no_longer_deleted_however_old_it_is(tmp_path: Path, world: BlueskyWorld) -> None:
    """The daily sweep looks at the last weeks only."""
    post = world.post(MAYA, "regrets")
    desk = in_memory(bluesky_desk(tmp_path, world, MAYA))
    desk.run()
    desk.app.rewrite = lambda request, body: {"posts": []} if "posts" in body else body
    desk.run(sweep=True)
    assert desk.one("SELECT is_deleted FROM feedback.events WHERE id = ?", post.uri)
    desk.app.rewrite = None
    world.advance(seconds=40 * 86400)
    desk.run(sweep=True)
    desk.judge()


def test_a_sweep_sees_what_became_of_reposted_posts_and_of_labels(tmp_path: Path, world: BlueskyWorld) -> None:
    """Both are older than any walk: an edit of what was reposted, its author's wish not to be shown, a moderator's label."""
    theirs, mine = world.post(ODILE, "theirs"), world.post(MAYA, "mine")
    world.repost(MAYA, theirs)
    for n in range(250):
        world.advance(seconds=3600)
        world.post(MAYA, f"later {n}")
    desk = in_memory(bluesky_desk(tmp_path, world, MAYA))
    desk.run()
    world.edit(theirs, "theirs, otherwise")
    world.label_account(ODILE, "!no-unauthenticated")
    world.label(mine, "spam")
    desk.run(sweep=True)
    desk.judge()
    assert desk.sql("SELECT body, is_unlisted FROM feedback.comments WHERE kind = 'repost'") == [
        ("theirs, otherwise", True)
    ]
    assert desk.one("SELECT labels FROM bluesky.post_states WHERE uri = ?", mine.uri) == '["spam"]'
    assert desk.run(sweep=True).sources[0].rows.get("posts", 0) == 0, "and then they are known"
