"""The demo Bluesky keeps the facts that Earshot must survive: feeds, what is in them, and accounts that come and go."""

from collections.abc import Callable
from typing import Any

import httpx
import pendulum
import pytest

from pipelines.demo.bluesky import records
from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.names import cid_of, claimed_milliseconds, iso, tid
from pipelines.demo.bluesky.state import Account, Card, Image, Post
from pipelines.demo.bluesky.world import BlueskyWorld
from tests.demo_client import NOW, get

FEED, POSTS = "/xrpc/app.bsky.feed.getAuthorFeed", "/xrpc/app.bsky.feed.getPosts"
PROFILE, PROFILES = "/xrpc/app.bsky.actor.getProfile", "/xrpc/app.bsky.actor.getProfiles"
RESOLVE = "/xrpc/com.atproto.identity.resolveHandle"

Json = dict[str, Any]


@pytest.fixture
def world() -> BlueskyWorld:
    return BlueskyWorld(NOW)


@pytest.fixture
def maya(world: BlueskyWorld) -> Account:
    return world.account("maya.example", "Maya")


@pytest.fixture
def odile(world: BlueskyWorld) -> Account:
    return world.account("odile.example", "Odile")


@pytest.fixture
def app(world: BlueskyWorld) -> BlueskyApp:
    return BlueskyApp(world)


def said(world: BlueskyWorld, who: Account, count: int, every: float = 1) -> list[Post]:
    made = []
    for n in range(count):
        world.advance(seconds=every)
        made.append(world.post(who, f"remark {n}"))
    return made


def texts(answer: httpx.Response | Json) -> list[str]:
    body = answer.json() if isinstance(answer, httpx.Response) else answer
    return [item["post"]["record"]["text"] for item in body["feed"]]


def pages(app: BlueskyApp, actor: str, most: int = 50, **query: Any) -> list[Json]:
    """A whole walk, cursor by cursor, until there is none."""
    found = [get(app, FEED, actor=actor, **query).json()]
    while cursor := found[-1].get("cursor"):
        assert len(found) < most, "the walk does not end"
        found.append(get(app, FEED, actor=actor, cursor=cursor, **query).json())
    return found


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    return answer.status_code, answer.json()["error"], answer.json()["message"]


# Names and dates


def test_record_keys_sort_by_time_and_cids_depend_on_content() -> None:
    """13 letters, sortable as text; the content id is a CIDv1 of 59 letters."""
    keys = [tid(1_700_000_000_000_000 + n * 37) for n in range(50)]
    assert keys == sorted(keys) and {len(key) for key in keys} == {13}
    assert keys[0][0] in "234567abcdefghij", "the highest bit is zero"
    one, other = cid_of({"text": "a"}), cid_of({"text": "b"})
    assert one != other and one.startswith("bafyrei") and len(one) == 59


@pytest.mark.parametrize(
    ("claim", "read"),
    [
        ("2025-06-01T10:00:00.5Z", "2025-06-01T10:00:00.500Z"),
        ("2025-06-01T10:00:00+02:00", "2025-06-01T08:00:00.000Z"),
        ("2025-06-01T10:00:00", "2025-06-01T10:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("0000-01-01T00:00:00Z", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_how_a_claimed_date_is_read(claim: str | None, read: str | None) -> None:
    """Without a zone it counts as UTC; year 0 and words are given up."""
    at = claimed_milliseconds(claim)
    assert (None if at is None else iso(at)) == read


# The feed's order


def test_newest_first_and_the_cursor_walks_backwards(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """A cursor kept from an earlier walk leads to the same older items for ever, never to new ones."""
    said(world, maya, 7)
    first = get(app, FEED, actor=maya.did, limit=3).json()
    assert texts(first) == ["remark 6", "remark 5", "remark 4"]
    assert first["cursor"] == first["feed"][-1]["post"]["indexedAt"], "the last item's time"
    older = get(app, FEED, actor=maya.did, limit=3, cursor=first["cursor"])
    world.advance(seconds=9)
    world.post(maya, "news")
    assert texts(older) == ["remark 3", "remark 2", "remark 1"]
    assert texts(get(app, FEED, actor=maya.did, limit=3, cursor=first["cursor"])) == texts(older)


def test_claims_move_a_post_down_but_never_up(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """By min(createdAt, indexedAt): back-dated below the head, future-dated at its arrival."""
    said(world, maya, 3, every=3600)
    world.advance(seconds=60)
    world.post(maya, "from the future", created="9999-12-31T23:59:59Z")
    world.advance(seconds=60)
    world.post(maya, "from the past", created=NOW.add(hours=2, minutes=30))
    world.post(maya, "from nowhere", created="0000-01-01T00:00:00Z")
    world.post(maya, "from never", created=None)
    world.advance(seconds=60)
    world.post(maya, "no zone", created=NOW.add(hours=1, minutes=30).format("YYYY-MM-DDTHH:mm:ss"))
    world.advance(seconds=60)
    world.post(maya, "honest")
    order = texts(get(app, FEED, actor=maya.did))
    assert order[:7] == ["honest", "from the future", "remark 2", "from the past", "remark 1", "no zone", "remark 0"]
    assert set(order[7:]) == {"from nowhere", "from never"}
    rows = {item["post"]["record"]["text"]: item["post"] for item in get(app, FEED, actor=maya.did).json()["feed"]}
    assert rows["from the past"]["indexedAt"] == iso(NOW.add(hours=3, seconds=120))
    assert "createdAt" not in rows["from never"]["record"], "the record is as its author wrote it"


def test_unreadable_dates_may_count_as_arrivals(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """Which of the two production does is not known; the default is the open AppView's."""
    world.unreadable_dates = "arrival"
    said(world, maya, 1)
    world.advance(seconds=1)
    world.post(maya, "from never", created=None)
    assert texts(get(app, FEED, actor=maya.did)) == ["from never", "remark 0"]


def test_a_cursor_skips_its_own_millisecond(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """Items of one millisecond at a page's edge are lost; keyset cursors lose none."""
    for n in range(5):
        world.post(maya, f"burst {n}")
    assert sum(len(page["feed"]) for page in pages(app, maya.did, limit=2)) == 2
    app.access.quirks.cursors = "keyset"
    walked = [text for page in pages(app, maya.did, limit=2) for text in texts(page)]
    assert sorted(walked) == [f"burst {n}" for n in range(5)]
    app.access.quirks.cursors, app.access.quirks.skips_same_millisecond = "timestamps", False
    cursor = get(app, FEED, actor=maya.did, limit=2).json()["cursor"]
    again = get(app, FEED, actor=maya.did, limit=2, cursor=cursor).json()
    assert again["cursor"] == cursor, "now the walk goes in circles"


# Pages


def test_a_feed_that_fits_has_no_cursor(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """Also when it fits exactly, unless the service always gives one after a full page."""
    said(world, maya, 4)
    assert "cursor" not in get(app, FEED, actor=maya.did, limit=4).json()
    assert "cursor" not in get(app, FEED, actor=maya.did, limit=100).json()
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=2)] == [2, 2]
    app.access.quirks.cursor_after_full_page = True
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=2)] == [2, 2, 0]
    assert len(get(app, FEED, actor=maya.did).json()["feed"]) == 4


def test_hidden_items_leave_short_and_empty_pages(
    app: BlueskyApp, world: BlueskyWorld, maya: Account, odile: Account
) -> None:
    """Filtered after the cut: reposts of somebody who is away, or whatever a test hides."""
    said(world, maya, 2)
    for post in said(world, odile, 4):
        world.advance(seconds=1)
        world.repost(maya, post)
    world.advance(seconds=1)
    said(world, maya, 1)
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=2)] == [2, 2, 2, 1]
    world.deactivate(odile)
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=2)] == [1, 0, 1, 1]
    world.reactivate(odile)
    app.switches.hide = lambda item: item.author is maya
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=2)] == [0, 0, 0, 0]
    app.switches.hide, app.switches.max_per_page = None, 3
    assert [len(page["feed"]) for page in pages(app, maya.did, limit=100)] == [3, 3, 1]


def test_a_pin_comes_first_and_out_of_order(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """Only where asked for, only on the first page, and as one more than the limit."""
    old = said(world, maya, 6)[0]
    world.pin(old)
    assert texts(get(app, FEED, actor=maya.did, limit=2)) == ["remark 5", "remark 4"]
    first = get(app, FEED, actor=maya.did, limit=2, includePins="true").json()
    assert texts(first) == ["remark 0", "remark 5", "remark 4"]
    assert first["feed"][0]["reason"] == {"$type": "app.bsky.feed.defs#reasonPin"}
    later = get(app, FEED, actor=maya.did, limit=2, includePins="true", cursor=first["cursor"])
    assert texts(later) == ["remark 3", "remark 2"]
    world.delete(old)
    assert texts(get(app, FEED, actor=maya.did, limit=2, includePins="true")) == ["remark 5", "remark 4"]


def test_filters(app: BlueskyApp, world: BlueskyWorld, maya: Account, odile: Account) -> None:
    """Media means one's own posts; an unknown filter is none; author threads lose posts at page edges."""
    step: Callable[[], None] = lambda: world.advance(seconds=1)  # noqa: E731
    root = world.post(maya, "root")
    step()
    thread = world.reply(maya, root, "second")
    step()
    foreign = world.post(odile, "hers", images=[Image("a graph")])
    world.repost(maya, foreign)
    step()
    world.reply(maya, foreign, "to her")
    step()
    world.reply(maya, thread, "third", images=[Image("a cat")])
    step()
    world.post(maya, "moving", embed=records.video("a demo"))

    def by(kind: str, **query: Any) -> list[str]:
        return [text for page in pages(app, maya.did, filter=kind, **query) for text in texts(page)]

    everything = ["moving", "third", "to her", "hers", "second", "root"]
    assert by("posts_with_replies") == by("posts_with_cats") == everything
    assert by("posts_no_replies") == ["moving", "hers", "root"]
    assert by("posts_with_media") == ["third"] and by("posts_with_video") == ["moving"]
    assert by("posts_and_author_threads") == ["moving", "third", "hers", "second", "root"]
    assert by("posts_and_author_threads", limit=3) == ["moving", "hers", "second", "root"], "lost: third"


def test_refused_parameters(app: BlueskyApp, maya: Account) -> None:
    """Validation says what is wrong; a malformed cursor is a 500, a very old kind of cursor an empty page."""
    for query, message in (
        ({"limit": 0}, "limit can not be less than 1"),
        ({"limit": 101}, "limit can not be greater than 100"),
        ({"limit": "many"}, "limit must be an integer"),
        ({"actor": "@maya.example"}, "actor must be a valid did or a handle"),
        ({"actor": "maya"}, "actor must be a valid did or a handle"),
        ({"actor": ""}, "actor must be a valid did or a handle"),
    ):
        answer = get(app, FEED, **({"actor": maya.did} | query))
        assert refusal(answer) == (400, "InvalidRequest", f"Error: {message}")
    assert refusal(get(app, FEED)) == (400, "InvalidRequest", 'Error: Params must have the property "actor"')
    for cursor in ("soon", "123__abc", "2025"):
        assert refusal(get(app, FEED, actor=maya.did, cursor=cursor))[:2] == (500, "InternalServerError")
    assert get(app, FEED, actor=maya.did, cursor="1::bafy").json() == {"feed": []}
    app.access.quirks.cursors = "keyset"
    assert refusal(get(app, FEED, actor=maya.did, cursor="soon")) == (400, "InvalidRequest", "Malformed cursor")


# What is in a feed


def test_reposts(app: BlueskyApp, world: BlueskyWorld, maya: Account, odile: Account) -> None:
    """Somebody else's old post with a reason of its own; the same post may come twice; deleting it takes all away."""
    post = said(world, odile, 1)[0]
    world.advance(days := 86400)
    one = world.repost(maya, post)
    world.advance(days)
    two = world.repost(maya, post)
    items = get(app, FEED, actor=maya.did).json()["feed"]
    assert [item["reason"]["uri"] for item in items] == [two.uri, one.uri]
    assert {item["post"]["uri"] for item in items} == {post.uri}
    assert items[1]["reason"]["indexedAt"] == iso(NOW.add(seconds=1 + days))
    assert items[1]["reason"]["by"]["did"] == maya.did and items[1]["post"]["author"]["did"] == odile.did
    assert items[0]["post"]["repostCount"] == 2 and "/app.bsky.feed.repost/" in one.uri
    world.unrepost(two)
    assert len(get(app, FEED, actor=maya.did).json()["feed"]) == 1
    world.delete(post)
    assert get(app, FEED, actor=maya.did).json() == {"feed": []} and len(maya.feed) == 0, "no hole in any page"
    assert world.truth().reposts[one.uri]["is_shown"] is False


def test_edits_and_deletions(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """An edit keeps uri, createdAt and place, and gets a new cid and indexedAt; a deletion leaves nothing."""
    one, two = said(world, maya, 2)
    cid = one.cid
    world.advance(seconds=60)
    world.edit(one, "remark 0, corrected")
    rows = [item["post"] for item in get(app, FEED, actor=maya.did).json()["feed"]]
    assert [row["uri"] for row in rows] == [two.uri, one.uri]
    assert rows[1]["cid"] != cid and rows[1]["indexedAt"] == iso(world.now)
    assert rows[1]["record"]["createdAt"] == iso(NOW.add(seconds=1))
    future = world.post(maya, "tomorrow", created=NOW.add(days=1))
    world.advance(seconds=60)
    world.post(maya, "today")
    world.advance(seconds=60)
    world.edit(future, "tomorrow, perhaps")
    assert texts(get(app, FEED, actor=maya.did))[0] == "tomorrow, perhaps", "what claimed the future moves"
    world.delete(two)
    assert two.uri not in {item["post"]["uri"] for item in get(app, FEED, actor=maya.did).json()["feed"]}
    kinds = [(version.uri, version.is_deleted) for version in world.history if version.kind == "post"]
    assert kinds.count((one.uri, False)) == 2 and kinds[-1] == (two.uri, True)


def test_replies_quotes_and_what_they_point_at(
    app: BlueskyApp, world: BlueskyWorld, maya: Account, odile: Account
) -> None:
    """Root and parent by uri and cid; when those are gone, the reply stays and says not found."""
    root = said(world, odile, 1)[0]
    middle = world.reply(maya, root, "why?")
    last = world.reply(odile, middle, "because")
    world.quote(maya, root, "look", images=[Image("a screen")])
    assert (last.root, last.parent) == (root, middle)
    item = get(app, FEED, actor=odile.did).json()["feed"][0]
    assert item["reply"]["root"]["uri"] == root.uri and item["reply"]["parent"]["author"]["did"] == maya.did
    assert item["post"]["record"]["reply"]["parent"] == {"cid": middle.cid, "uri": middle.uri}
    quote = next(i["post"] for i in get(app, FEED, actor=maya.did).json()["feed"] if i["post"].get("embed"))
    assert quote["embed"]["$type"] == "app.bsky.embed.recordWithMedia#view"
    assert quote["embed"]["record"]["record"]["value"]["text"] == root.text
    assert quote["embed"]["media"]["images"][0]["alt"] == "a screen"
    assert (root.replies, root.quotes) == (1, 1)
    world.delete(root)
    feed = get(app, FEED, actor=odile.did).json()["feed"]
    assert feed[0]["reply"]["root"] == {
        "$type": "app.bsky.feed.defs#notFoundPost",
        "uri": root.uri,
        "notFound": True,
    }
    quote = next(i["post"] for i in get(app, FEED, actor=maya.did).json()["feed"] if i["post"].get("embed"))
    assert quote["embed"]["record"]["record"]["$type"] == "app.bsky.embed.record#viewNotFound"


def test_facets_and_embeds(app: BlueskyApp, world: BlueskyWorld, maya: Account, odile: Account) -> None:
    """Offsets count UTF-8 bytes; a link may hide behind words; an unknown embed has no view."""
    text = "🏮 notes for @odile.example, @nobody.example #lantern https://docs.lantern.example/a."
    post = world.post(maya, text, shown={"notes": "https://docs.lantern.example/notes"}, tags=["release"])
    raw = text.encode()
    marked = [raw[f["index"]["byteStart"] : f["index"]["byteEnd"]].decode() for f in post.record["facets"]]
    assert marked == ["notes", "@odile.example", "#lantern", "https://docs.lantern.example/a"]
    world.post(maya, "card", card=Card("https://harbour.example/x", "A title", "About it"))
    world.post(maya, "odd", embed={"$type": "example.hologram", "depth": 3}, self_labels=["spoiler"])
    rows = {i["post"]["record"]["text"]: i["post"] for i in get(app, FEED, actor=maya.did).json()["feed"]}
    assert rows["card"]["embed"]["external"]["title"] == "A title"
    assert "embed" not in rows["odd"] and rows["odd"]["record"]["embed"]["depth"] == 3
    assert [label["val"] for label in rows["odd"]["labels"]] == ["spoiler"]
    truth = world.truth().posts[post.uri]
    assert truth["links"] == ["https://docs.lantern.example/notes", "https://docs.lantern.example/a"]
    assert truth["mentions"] == [odile.did] and truth["tags"] == ["lantern", "release"]


def test_truth_is_what_a_full_walk_finds(app: BlueskyApp, world: BlueskyWorld) -> None:
    """Items and cids, account by account, also after much has changed."""
    from pipelines.demo.bluesky.fill import stir

    for account in world.fill(accounts=6, posts=30, days=20):
        world.advance(seconds=5)
        stir(world, 10)
        world.rename(account, f"x{account.handle}")
    app.access.quirks.cursors = "keyset"
    for did, feed in world.truth().feeds.items():
        items = [item for page in pages(app, did, limit=7) for item in page["feed"]]
        assert [(i["reason"]["uri"] if "reason" in i else i["post"]["uri"], i["post"]["cid"]) for i in items] == feed
    again = BlueskyWorld(NOW)
    again.fill(accounts=6, posts=30, days=20)
    other = BlueskyWorld(NOW)
    other.fill(accounts=6, posts=30, days=20)
    assert again.truth() == other.truth() and again.history == other.history and again.now == pendulum.instance(NOW)
