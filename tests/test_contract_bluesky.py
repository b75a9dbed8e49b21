"""The exact requests to Bluesky, one cassette a surface: no server, no world, no network. See tests/cassettes/README.md."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.records import video
from pipelines.demo.bluesky.state import Card, Image
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.accounts import Account, resolve
from sources.bluesky.deep import keeper, records_since
from sources.bluesky.recheck import shown
from sources.bluesky.source import BlueskyConfig, feed
from tests.recorded import RECORDING, Conversation, asked_at, configured, converse

LIVE, DIRECTORY = "https://public.api.bsky.app", "https://plc.directory"
ACTOR = os.environ.get("EARSHOT_RECORD_ACTOR", "maya.example")
AWAY = os.environ.get("EARSHOT_RECORD_AWAY", "" if RECORDING not in ("", "demo") else "ruth.example")  # deactivated
NOW = pendulum.datetime(2026, 3, 1, 12)
POST = "app.bsky.feed.post"
XRPC = "/xrpc/"


def world() -> BlueskyWorld:
    """Small, and with a bit of all that is read."""
    made = BlueskyWorld(NOW)
    maya, odile = made.account("maya.example", "Maya"), made.account("odile.example", "Odile")
    theirs = made.post(odile, "Lamps, see https://a.example", images=[Image("a lamp")], langs=["en"])
    made.advance(seconds=60)
    first = made.post(maya, "A lantern, @odile.example? #lamps", tags=["http"], quote=theirs)
    made.post(odile, "A lantern.", reply_to=first)
    for post in ("one", "two", "three"):
        made.advance(seconds=60)
        made.post(maya, post)
    made.post(maya, "a card", card=Card("https://c.example/", "C", "About"))
    made.post(maya, "it moves", embed=video("A lamp."))
    made.repost(maya, theirs)
    ruth = made.account("ruth.example", "Ruth")
    made.post(ruth, "Good bye.")
    made.deactivate(ruth)
    made.advance(seconds=600)
    return made


@pytest.fixture
def url() -> Iterator[str]:
    with asked_at(LIVE, lambda: BlueskyApp(world())) as where:
        yield where


@pytest.fixture
def vcr_config(url: str) -> dict[str, Any]:
    """On loopback one host is the AppView, the directory of DIDs and every PDS; in a cassette each is itself."""
    return configured(url, LIVE, (f"{url}/plc", DIRECTORY), (f"{url}/pds/", "https://"))


class Talk:
    """The source as a run uses it, for one account."""

    def __init__(self, held: Conversation, url: str) -> None:
        self.held, self.reading = held, held.reading
        self.directory = f"{url}/plc" if RECORDING == "demo" else DIRECTORY
        self.config = BlueskyConfig(
            api_url=url,
            directory_url=self.directory,
            posts_per_page=5,
            initial_lookback_hours=1e6,
            max_pages_per_actor=2,
        )

    async def account(self, name: str = ACTOR) -> Account:
        [account] = await resolve(self.reading, [name])
        return account

    async def feed(self, name: str = ACTOR) -> Account:
        account = await self.account(name)
        async for batch in feed(self.reading, account, self.config):
            self.held.batches.append(batch)
        return account

    async def posts(self) -> None:
        account = await self.feed()
        uris = [row["post_uri"] for row in self.held.rows("posts")][:3]
        assert (await shown(self.reading, account, uris)).keys() == set(uris)

    async def records(self) -> None:
        account = await self.account()
        pds = await keeper(self.reading, account, self.directory)
        found = [record async for record in _some(records_since(self.reading, pds, account, POST, ""))]
        assert found and all(record["uri"].startswith(f"at://{account.did}/{POST}/") for record in found)


async def _some(records: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """A page at most: a busy account has thousands."""
    n = 0
    async for record in records:
        yield record
        n += 1
        if n == 100:
            return


def of(method: str) -> Callable[[Talk], Awaitable[object]]:
    return lambda talk: getattr(talk, method)()


def away(method: str) -> Callable[[Talk], Awaitable[object]]:
    return lambda talk: getattr(talk, method)(AWAY)


Requests = list[tuple[str, dict[str, str]]]
FEED = {"actor": "{did}", "limit": "5", "filter": "posts_with_replies"}
WHO: tuple[str, dict[str, str]] = ("app.bsky.actor.getProfiles", {"actors": ACTOR})
AWAY_WHO: Requests = [
    ("app.bsky.actor.getProfiles", {"actors": AWAY}), ("com.atproto.identity.resolveHandle", {"handle": AWAY}),
]  # fmt: skip
# surface: how it is read, and the requests; {did} and {cursor} are the service's own
SURFACES: dict[str, tuple[Callable[[Talk], Awaitable[object]], Requests]] = {
    "profiles": (of("account"), [WHO]),
    "feed": (of("feed"), [
        WHO, ("app.bsky.feed.getAuthorFeed", FEED), ("app.bsky.feed.getAuthorFeed", FEED | {"cursor": "{cursor}"}),
    ]),
    "posts": (of("posts"), [
        WHO, ("app.bsky.feed.getAuthorFeed", FEED), ("app.bsky.feed.getAuthorFeed", FEED | {"cursor": "{cursor}"}),
        ("app.bsky.feed.getPosts", {"uris": "{uri}"}),
    ]),
    "records": (of("records"), [
        WHO, ("", {}),
        ("com.atproto.repo.listRecords", {"repo": "{did}", "collection": POST, "limit": "100", "reverse": "true"}),
    ]),
    "a handle of somebody away": (away("account"), AWAY_WHO),
    "a feed of somebody away": (away("feed"), [
        *AWAY_WHO, ("app.bsky.feed.getAuthorFeed", FEED), ("app.bsky.actor.getProfile", {"actor": "{did}"}),
    ]),
}  # fmt: skip


def read(url: str, talk: Callable[[Talk], Awaitable[object]], saved: Any = None) -> Conversation:
    async def whole(held: Conversation) -> None:
        await talk(Talk(held, url))

    return converse(url, {}, whole, saved)


def is_like(told: str, wanted: str) -> bool:
    """A value of the service's own is of its kind."""
    begins = {"{did}": "did:", "{uri}": "at://did:", "{cursor}": ""}
    return told.startswith(begins[wanted]) and bool(told) if wanted in begins else told == wanted


@pytest.mark.vcr
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_is_asked_for_so(url: str, vcr: Any, surface: str) -> None:
    """Method and parameters, to the letter; no token, no cookie; nothing is in quarantine."""
    talk, requests = SURFACES[surface]
    if "away" in surface and not AWAY:
        pytest.skip("EARSHOT_RECORD_AWAY names nobody who is deactivated")
    held = read(url, talk)
    asked = [(path.rpartition(XRPC)[2] if XRPC in path else "", params) for _, path, params in held.asked()]
    for (path, params), (wanted, expected) in zip(asked[: len(requests)], requests, strict=True):
        assert path == wanted and params.keys() == expected.keys()
        assert all(is_like(params[name], value) for name, value in expected.items()), params
    rest = asked[len(requests) :]  # a server may say only with an empty page that there are no more records
    assert all(path == requests[-1][0] and "cursor" in params for path, params in rest) and len(rest) <= 1
    assert all(set(r.headers) == {"accept", "accept-encoding", "connection", "host", "user-agent"} for r in held.sent)
    assert {r.headers["accept"] for r in held.sent} == {"application/json"}
    assert held.reading.quarantined == {} and held.reading.problems == []
    assert bool(held.rows("posts")) is (surface in ("feed", "posts"))
    assert bool(held.reading.skipped) is (surface == "a feed of somebody away")


@pytest.mark.vcr
def test_every_host_is_asked_for_its_own(url: str, vcr: Any) -> None:
    """The AppView for who it is, the directory for where its records are, and the server there for them."""
    held = read(url, SURFACES["records"][0])
    did = held.asked()[2][2]["repo"]
    if RECORDING:
        return
    appview, directory, server = (str(request.url.copy_with(query=None)) for request in held.sent[:3])
    assert appview == f"{LIVE}{XRPC}app.bsky.actor.getProfiles" and directory == f"{DIRECTORY}/{did}"
    assert server.startswith("https://") and server.endswith(f"{XRPC}com.atproto.repo.listRecords")
    assert not server.startswith((LIVE, DIRECTORY))


@pytest.mark.vcr
def test_a_second_read_is_conditional(url: str, vcr: Any) -> None:
    """The head of the feed with its ETag: 304, and nothing behind it is asked for again but what overlaps."""
    before = read(url, of("feed"))
    assert not any("if-none-match" in request.headers for request in before.sent)
    cursors = before.cursors
    cursors["actors"] = {ACTOR: {"did": next(iter(cursors["posts"]))}}
    held = read(url, of("feed"), cursors)
    heads = [r for r in held.sent if "getAuthorFeed" in r.url.path and "cursor" not in r.url.params]
    assert [bool(r.headers.get("if-none-match")) for r in heads] == [True]
    assert sum(tally.not_modified for tally in held.reading.tallies.values()) == 1
    assert not any("getProfiles" in request.url.path for request in held.sent)
