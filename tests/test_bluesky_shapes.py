"""Every shape that an item of a feed can have, in a real warehouse: whose words it is, and what readers are told of it."""

from collections.abc import Callable
from pathlib import Path

import pendulum
import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from tests.asked import Reader
from tests.synced import BlueskyDesk, bluesky_desk
from tests.test_bluesky_lexicon import speak

NOW = pendulum.datetime(2026, 3, 1, 12)
MAYA, ODILE = "maya.example", "odile.example"


@pytest.fixture
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    made.account(MAYA, "Maya", labels=["bot"])
    made.account(ODILE, "Odile")
    return made


@pytest.fixture
def desk(tmp_path: Path, world: BlueskyWorld, placed: Callable[..., BlueskyDesk]) -> BlueskyDesk:
    return placed(bluesky_desk(tmp_path, world, MAYA, ODILE))


def test_every_shape_lands_and_none_is_in_quarantine(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Also for a second reading and a deep sweep; a gallery's seven pictures, and no quote of what is no post."""
    speak(world)
    world.advance(seconds=60)
    for options in ({}, {}, {"sweep": True, "deep": True}):
        assert desk.run(**options).exit_code == 0
        desk.judge()
    assert desk.one("SELECT count(*) FROM ops.quarantine") == 0
    assert desk.one("SELECT max(position) FROM bluesky.post_images") == 6
    shared = desk.sql("SELECT split_part(embed_uri, '/', 4), quote_uri, kind FROM bluesky.posts WHERE text LIKE 'a %'")
    assert {row for row in shared if row[0]} == {
        (kind, None, "post")
        for kind in (
            "app.bsky.graph.starterpack", "app.bsky.graph.list", "app.bsky.feed.generator", "app.bsky.labeler.service",
        )
    }  # fmt: skip


def test_what_is_passed_on_waits_for_nobody_and_is_nobodys_own_link(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A repost without a name asks for no answer, and its links are those of a repost; one of one's own is beside the post."""
    theirs = world.post(world.account("ruth.example"), "a page https://a.example/x")
    mine = world.post(MAYA, "mine")
    for post in (theirs, mine):
        world.advance(seconds=1)
        world.repost(MAYA, post, is_named=False)
    desk.run()
    desk.judge()
    assert desk.sql("SELECT kind, is_actionable, count(*) FROM feedback.events GROUP BY ALL ORDER BY 1") == [
        ("post", True, 1), ("repost", False, 2),
    ]  # fmt: skip
    assert desk.sql("SELECT kind FROM feedback.links") == [("repost",)]
    waiting = "SELECT waiting_on FROM feedback.threads WHERE thread_id = ?"
    assert desk.sql(waiting, f"bluesky:{theirs.uri}") in ([], [(None,)])


@pytest.mark.on_disk
def test_status_names_what_is_not_known_and_where_it_is_kept(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Counted in posts; no trouble, for nothing that anybody runs mends it."""
    for n in range(2):
        world.post(MAYA, f"odd {n}", embed={"$type": "app.bsky.embed.hologram", "depth": n})
    desk.run()
    reader = Reader(desk.home)
    assert "app.bsky.embed.hologram (2)" in " ".join(reader.ask("status").out.split())
    told = reader.data("status")
    assert [(row["type"], row["posts"]) for row in told["other_embeds"]] == [("app.bsky.embed.hologram", 2)]
    assert not [each for each in told["troubles"] if "hologram" in each["message"]]
    assert "depth" in desk.one("SELECT other_embeds FROM bluesky.posts LIMIT 1")
