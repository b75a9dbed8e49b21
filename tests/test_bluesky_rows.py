"""What a feed item says, as rows: reposts by whatever name, embeds of all kinds, and what is not known is kept."""

import copy
import json
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.api.rows import feed_item as shown
from pipelines.demo.bluesky.state import Account, Image, Post
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.rows import feed_item, item_rows

NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.fixture
def world() -> BlueskyWorld:
    return BlueskyWorld(NOW)


@pytest.fixture
def maya(world: BlueskyWorld) -> Account:
    return world.account("maya.example", "Maya")


@pytest.fixture
def theirs(world: BlueskyWorld) -> Post:
    return world.post(world.account("odile.example", "Odile"), "theirs")


def rows(item: dict[str, Any], owner: Account) -> dict[str, Any]:
    return item_rows(feed_item(copy.deepcopy(item)), owner.did, owner.handle, NOW)


def row(item: dict[str, Any], owner: Account) -> dict[str, Any]:
    found: dict[str, Any] = rows(item, owner)["posts"][0]
    return found


@pytest.mark.parametrize("is_typed", [True, False])
def test_a_repost_without_a_name_is_a_repost(world: BlueskyWorld, maya: Account, theirs: Post, is_typed: bool) -> None:
    """Not its follower's own words. Its key is who passed on what, and when: the same in every answer, another for another
    repost of the same."""
    items = [shown(world.repost(maya, theirs, is_named=False))]
    world.advance(seconds=1)
    items.append(shown(world.repost(maya, theirs, is_named=False)))
    if not is_typed:
        for item in items:
            del item["reason"]["$type"]
    found = [row(item, maya) for item in (*items, *items)]
    assert {one["kind"] for one in found} == {"repost"}
    assert found[0]["uri"] == found[2]["uri"] != found[1]["uri"] == found[3]["uri"]
    assert {one["post_uri"] for one in found} == {theirs.uri}
    assert found[0]["event_key"] != found[1]["event_key"]
    assert all("://" in one["uri"] and len(one["uri"]) <= 256 for one in found)


def test_a_repost_of_ones_own_post_does_not_collapse_into_it(world: BlueskyWorld, maya: Account) -> None:
    post = world.post(maya, "mine")
    world.advance(seconds=1)
    own, again = row(shown(post), maya), row(shown(world.repost(maya, post, is_named=False)), maya)
    assert (own["kind"], again["kind"]) == ("post", "repost") and own["uri"] != again["uri"]


def test_a_pin_is_the_post_itself(world: BlueskyWorld, maya: Account) -> None:
    post = world.post(maya, "mine")
    assert row(shown(post, is_pin=True), maya) == row(shown(post), maya)


@pytest.mark.parametrize("reason", [None, {}, {"$type": "app.bsky.feed.defs#reasonTelepathy"}])
def test_what_somebody_else_wrote_is_never_its_followers_own_words(
    maya: Account, theirs: Post, reason: dict[str, str] | None
) -> None:
    """Whatever a service says of why it stands there, or does not."""
    assert row({**shown(theirs), "reason": reason}, maya)["kind"] == "repost"


def test_a_gallery_is_read_as_pictures(world: BlueskyWorld, maya: Account) -> None:
    """With its alt texts and addresses, in its order; what in it is no picture keeps its place, and is kept raw."""
    item = shown(world.post(maya, "seven", images=[Image(f"picture {n}") for n in range(7)]))
    found = rows(item, maya)
    assert [(one["position"], one["kind"], one["alt"]) for one in found["post_images"]] == [
        (n, "image", f"picture {n}") for n in range(7)
    ]
    assert all(one["url"].startswith("https://cdn.bsky.app/img/feed_fullsize/") for one in found["post_images"])
    assert found["posts"][0]["other_embeds"] is None
    item["post"]["record"]["embed"]["items"][2] = {"$type": "app.bsky.embed.gallery#hologram", "depth": 3}
    found = rows(item, maya)
    assert [one["position"] for one in found["post_images"]] == [0, 1, 3, 4, 5, 6]
    assert json.loads(found["posts"][0]["other_types"]) == ["app.bsky.embed.gallery#hologram"]


def test_a_gallery_beside_a_quote_is_read_too(world: BlueskyWorld, maya: Account, theirs: Post) -> None:
    found = rows(shown(world.quote(maya, theirs, "look", images=[Image(f"{n}") for n in range(5)])), maya)
    assert len(found["post_images"]) == 5 and found["posts"][0]["quote_uri"] == theirs.uri


@pytest.mark.parametrize("kind", ["starter pack", "list", "feed", "labeler"])
def test_only_a_post_is_quoted(world: BlueskyWorld, maya: Account, kind: Any) -> None:
    """What else is embedded is told by its uri, and makes no quote; also beside pictures."""
    shared = world.share(maya, kind, "People who cache")
    for images in ([], [Image("a crowd")]):
        found = row(shown(world.post(maya, "look", shares=shared, images=images)), maya)
        assert (found["kind"], found["quote_uri"], found["embed_uri"]) == ("post", None, shared.uri)
        assert found["other_embeds"] is None


HOLOGRAM = {"$type": "app.bsky.embed.hologram", "depth": [1, {"$type": "x"}]}
PAY = {"$type": "app.bsky.richtext.facet#pay", "amount": 7}
EMPTY = {"$type": "app.bsky.embed.images"}
UNTYPED = {"smell": "soup"}


@pytest.mark.parametrize(("more", "kept", "types"), [
    ({"embed": HOLOGRAM}, [HOLOGRAM], ["app.bsky.embed.hologram"]),
    ({"embed": {"$type": "app.bsky.embed.recordWithMedia", "media": HOLOGRAM,
                "record": {"record": {"uri": "at://did:plc:a/app.bsky.feed.post/1"}}}},
     [HOLOGRAM], ["app.bsky.embed.hologram"]),
    ({"facets": [{"features": [PAY, {"$type": "app.bsky.richtext.facet#tag", "tag": "known"}]}, {"features": [PAY]}]},
     [PAY, PAY], ["app.bsky.richtext.facet#pay"]),
    ({"embed": HOLOGRAM, "facets": [{"features": [PAY]}]}, [PAY, HOLOGRAM],
     ["app.bsky.richtext.facet#pay", "app.bsky.embed.hologram"]),
    ({"embed": EMPTY}, [EMPTY], ["app.bsky.embed.images"]),
    ({"embed": UNTYPED}, [UNTYPED], ["untyped"]),
    ({"embed": {"images": [{"alt": "of old, without a type"}]}}, None, None),
    ({"embed": {"$type": "app.bsky.embed.images", "images": []}}, None, None),
])  # fmt: skip
def test_what_is_not_known_is_kept_raw_and_named(
    world: BlueskyWorld, maya: Account, more: dict[str, Any], kept: Any, types: Any
) -> None:
    """An embed, what is beside a quote, a facet's feature: of a type that nobody knew, or without what its type holds."""
    item = shown(world.post(maya, "odd"))
    item["post"]["record"] |= more
    found = row(item, maya)
    assert (json.loads(found["other_embeds"] or "null"), json.loads(found["other_types"] or "null")) == (kept, types)


def test_a_label_that_was_taken_back_is_none(world: BlueskyWorld, maya: Account) -> None:
    """The lexicon's `neg`; nor is one without a value, which was `None`."""
    post = world.post(maya, "hello")
    world.label(post, "spam", "rude")
    item = shown(post)
    item["post"]["labels"][0]["neg"] = True
    item["post"]["labels"].append({"val": None})
    assert row(item, maya)["labels"] == '["spam"]'
