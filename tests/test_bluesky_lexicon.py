"""The demo world and our reader against the lexicons: what the one shows, and what the other can do without."""

import copy
from collections.abc import Iterator
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.api.rows import feed_item as shown
from pipelines.demo.bluesky.records import video
from pipelines.demo.bluesky.state import Account, Card, Image
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.rows import feed_item, identity, item_rows, said_at, sight, standing
from sources.core.values import Unreadable
from tests.bluesky_lexicon import wrong
from tests.demo_client import get
from tests.watched import Path, Watched

NOW = pendulum.datetime(2026, 3, 1, 12)
PICTURES = [Image(f"picture {n}") for n in range(7)]
KEYS = {"uri", "did", "cid"}


def speak(world: BlueskyWorld) -> Account:
    """Every shape that an item of a feed can have, in one feed."""
    maya, odile = world.account("maya.example", "Maya", labels=["bot"]), world.account("odile.example", "Odile")
    theirs = world.post(odile, "theirs https://a.example", images=PICTURES[:2], self_labels=["spoiler"])
    blocked, deleted = world.post(world.account("ruth.example"), "not you"), world.post(odile, "gone")
    full = world.post(
        maya, "with https://b.example, @odile.example and #all", tags=["http"], langs=["en"], images=PICTURES[:3],
        quote=theirs, self_labels=["spoiler"],
    )  # fmt: skip
    world.label(full, "spam")
    world.gate(full, "mentionRule")
    world.post(maya, "seven pictures", images=PICTURES)
    world.post(maya, "a card", card=Card("https://c.example/", "C", "About"))
    world.post(maya, "it moves", embed=video("A lamp."))
    for kind in ("starter pack", "list", "feed", "labeler"):
        world.post(maya, f"a {kind}", shares=world.share(maya, kind, "People"))
    for parent in (theirs, blocked, deleted):
        world.reply(maya, parent, "an answer")
    world.delete(deleted)
    world.block("ruth.example", maya)
    for is_named in (True, False):
        world.advance(seconds=1)
        world.repost(maya, theirs, is_named=is_named)
    return maya


@pytest.fixture(scope="module")
def world() -> BlueskyWorld:
    made = BlueskyWorld(NOW)
    speak(made)
    return made


def items(world: BlueskyWorld) -> list[dict[str, Any]]:
    feed = world.handles["maya.example"].feed
    return [copy.deepcopy(shown(item)) for item in feed.newest_first()]


@pytest.mark.parametrize(("method", "query"), [
    ("app.bsky.feed.getAuthorFeed", {"actor": "maya.example", "limit": 100}),
    ("app.bsky.feed.getAuthorFeed", {"actor": "odile.example", "limit": 1}),
    ("app.bsky.actor.getProfiles", {"actors": "maya.example"}),
    ("com.atproto.repo.listRecords", {"repo": "maya.example", "collection": "app.bsky.feed.repost"}),
])  # fmt: skip
def test_what_the_demo_world_answers_is_what_the_lexicons_allow(
    world: BlueskyWorld, method: str, query: dict[str, Any]
) -> None:
    """Every field that must be there is, of its kind, and none that nobody knows."""
    at = f"/pds/{world.handles['maya.example'].pds}" if method.startswith("com.atproto.repo") else ""
    answer = get(BlueskyApp(world), f"{at}/xrpc/{method}", **query).json()
    assert wrong(answer, method.rpartition(".")[2]) == []


def looked_at(item: Any, owner: str) -> list[dict[str, Any]]:
    """All that a poll and a sweep make of an item."""
    made = feed_item(item)
    sight(made), said_at(made), standing(made["post"]), identity(made["post"]["author"])  # type: ignore[arg-type]
    return item_rows(made, owner, "maya.example", NOW)["posts"]


# What identifies an item and says when; without it a record is kept raw. `by` and `indexedAt` of a repost that is not
# named are its key.
NEEDED = {
    ("post",), ("post", "uri"), ("post", "cid"), ("post", "author"), ("post", "author", "did"), ("post", "indexedAt"),
    ("reason", "indexedAt"),
}  # fmt: skip
NAMELESS = {("reason", "by"), ("reason", "by", "did")}
# All that is read besides: the lexicons allow it to be absent, or its author's client wrote it.
SPARED = {
    ("id",), ("reason",), ("reason", "$type"), ("reason", "uri"), ("reason", "by"), ("reason", "by", "did"),
    ("post", "record"), ("post", "embed"), ("post", "labels"), ("post", "labels", "val"), ("post", "labels", "neg"),
    *((("post", "author", name)) for name in ("handle", "displayName", "labels")),
    ("post", "author", "labels", "val"), ("post", "author", "labels", "neg"),
    *(("post", "record", name) for name in ("text", "createdAt", "langs", "reply", "embed", "facets", "tags")),
    *(("post", "record", "reply", *rest) for rest in (("root",), ("root", "uri"), ("parent",), ("parent", "uri"))),
    ("post", "record", "facets", "features"),
    *(("post", "record", "facets", "features", name) for name in ("$type", "uri", "did", "tag")),
    *(("post", "record", "embed", name) for name in (
        "$type", "images", "items", "video", "external", "record", "media", "alt",
    )),
    *(("post", "record", "embed", "record", *rest) for rest in (("uri",), ("record",), ("record", "uri"))),
    ("post", "record", "embed", "images", "alt"), ("post", "record", "embed", "items", "alt"),
    ("post", "record", "embed", "items", "$type"),
    ("post", "record", "embed", "external", "uri"), ("post", "record", "embed", "external", "title"),
    *(("post", "record", "embed", "media", name) for name in (
        "$type", "images", "items", "video", "external", "alt", "record",
    )),
    ("post", "record", "embed", "media", "images", "alt"),
    *(("post", "embed", name) for name in ("images", "items", "playlist", "media")),
    ("post", "embed", "images", "fullsize"), ("post", "embed", "items", "fullsize"),
    ("post", "embed", "media", "images"), ("post", "embed", "media", "images", "fullsize"),
    ("post", "embed", "media", "items"), ("post", "embed", "media", "playlist"),
}  # fmt: skip


def test_every_field_that_is_read_has_its_row(world: BlueskyWorld) -> None:
    """Of the tables above: who reads another field says whether a record can do without it."""
    seen: set[Path] = set()
    for item in items(world):
        looked_at(Watched(item, seen), world.handles["maya.example"].did)
    assert seen - NEEDED - SPARED == set()


def holders(value: Any, path: Path) -> Iterator[dict[str, Any]]:
    """Every object in an item that has the last field of a path."""
    if isinstance(value, list):
        for each in value:
            yield from holders(each, path)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) == 1:
            yield value
        else:
            yield from holders(value[path[0]], path[1:])


@pytest.mark.parametrize("becomes", ["absent", "null"])
@pytest.mark.parametrize("path", sorted(SPARED - {("id",)}), ids=".".join)
def test_what_may_be_absent_keeps_no_record_from_landing(world: BlueskyWorld, path: Path, becomes: str) -> None:
    """Neither absent nor null. The item is the same one, of the same version, but where its name or what makes it one is
    what is missing; and nobody else's words become its owner's."""
    owner, met = world.handles["maya.example"].did, 0
    for item in items(world):
        whole = looked_at(copy.deepcopy(item), owner)[0]
        found = list(holders(item, path))
        met += len(found)
        for holder in found:
            if becomes == "absent":
                del holder[path[-1]]
            else:
                holder[path[-1]] = None
        if found and path in NAMELESS and "uri" not in item["reason"]:
            with pytest.raises(Unreadable):
                looked_at(item, owner)
            continue
        row = looked_at(item, owner)[0]
        assert {name: row[name] for name in ("did", "cid", "post_uri")} == {
            name: whole[name] for name in ("did", "cid", "post_uri")
        }
        assert row["uri"] == whole["uri"] or path in {("reason",), ("reason", "uri")}
        assert (row["kind"] == "repost") == (whole["kind"] == "repost")
    assert met or path in UNSEEN, "the world shows no such field"


UNSEEN = {
    ("post", "labels", "neg"), ("post", "author", "labels", "neg"), ("post", "record", "embed", "media", "video"),
    ("post", "record", "embed", "media", "items"), ("post", "record", "embed", "media", "external"),
    ("post", "record", "embed", "media", "alt"), ("post", "record", "embed", "media", "record"),
    ("post", "embed", "media", "items"), ("post", "embed", "media", "playlist"),
}  # fmt: skip


@pytest.mark.parametrize("becomes", ["absent", "null", "a number"])
@pytest.mark.parametrize("path", sorted(NEEDED), ids=".".join)
def test_what_identifies_a_record_is_needed(world: BlueskyWorld, path: Path, becomes: str) -> None:
    """Without it there is no row, and the reader keeps it raw."""
    owner, met = world.handles["maya.example"].did, 0
    for item in items(world):
        for holder in (found := list(holders(item, path))):
            holder[path[-1]] = None if becomes == "null" else 7
            if becomes == "absent":
                del holder[path[-1]]
        met += len(found)
        if found:
            with pytest.raises(Unreadable):
                item_rows(feed_item(item), owner, "maya.example", NOW)
    assert met
