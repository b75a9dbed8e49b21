"""The demo Bluesky keeps the facts that Earshot must survive: accounts, look-ups, limits, tags, other hosts, faults."""

import pytest

from pipelines.demo.bluesky.api.access import Throttled
from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.state import Account
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.serve import serving
from pipelines.demo.server.web import html_page
from tests.demo_client import NOW, ROOT, get
from tests.test_demo_bluesky import FEED, POSTS, PROFILE, PROFILES, RESOLVE, pages, refusal, said, texts

LIST = "/xrpc/com.atproto.repo.listRecords"
COLLECTION = "app.bsky.feed.post"


@pytest.fixture
def world() -> BlueskyWorld:
    return BlueskyWorld(NOW)


@pytest.fixture
def maya(world: BlueskyWorld) -> Account:
    return world.account("maya.example", "Maya")


@pytest.fixture
def app(world: BlueskyWorld) -> BlueskyApp:
    return BlueskyApp(world)


# Accounts


def test_only_a_profile_tells_absences_apart(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """A feed says "Profile not found" for all of them; all but deletion come back with everything."""
    said(world, maya, 2)
    takedown = (400, "AccountTakedown", "Account has been suspended")
    for leave, told in (
        (world.deactivate, (400, "AccountDeactivated", "Account is deactivated")),
        (world.suspend, takedown),
        (world.take_down, takedown),
        (world.delete_account, (400, "InvalidRequest", "Profile not found")),
    ):
        assert len(get(app, FEED, actor=maya.did).json()["feed"]) == 2
        leave(maya)
        assert refusal(get(app, FEED, actor=maya.did)) == (400, "InvalidRequest", "Profile not found")
        assert refusal(get(app, PROFILE, actor=maya.did)) == told
        assert get(app, PROFILES, actors=[maya.did]).json() == {"profiles": []}
        assert get(app, RESOLVE, handle="maya.example").is_success is (maya.status != "deleted")
        if maya.status != "deleted":
            world.reactivate(maya)
    assert refusal(get(app, FEED, actor="nobody.example")) == (400, "InvalidRequest", "Profile not found")
    assert refusal(get(app, PROFILE, actor="did:plc:nobody")) == (400, "InvalidRequest", "Profile not found")


def test_handles_move_and_dids_stay(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """A handle that somebody left may be another account's tomorrow; upper case is the same handle."""
    said(world, maya, 1)
    world.rename(maya, "maya.lantern.example")
    assert refusal(get(app, RESOLVE, handle="maya.example")) == (400, "InvalidRequest", "Unable to resolve handle")
    other = world.account("maya.example")
    assert get(app, RESOLVE, handle="maya.example").json() == {"did": other.did}
    assert get(app, FEED, actor="Maya.Lantern.Example").json()["feed"][0]["post"]["author"]["did"] == maya.did
    assert get(app, FEED, actor="maya.example").json() == {"feed": []}
    world.rename(other, "maya.lantern.example")
    assert get(app, PROFILE, actor=maya.did).json()["handle"] == "handle.invalid"
    assert get(app, RESOLVE, handle="maya.lantern.example").json() == {"did": other.did}
    assert "maya.example" not in world.handles


def test_profiles_drop_the_missing_and_fail_on_the_malformed(app: BlueskyApp, world: BlueskyWorld) -> None:
    """25 at most; one bad name fails all."""
    people = [world.account(f"p{n}.example") for n in range(26)]
    dids = [account.did for account in people]
    assert len(get(app, PROFILES, actors=dids[:25]).json()["profiles"]) == 25
    assert refusal(get(app, PROFILES, actors=dids))[2] == "Error: actors must not have more than 25 elements"
    found = get(app, PROFILES, actors=[dids[0], "nobody.example", "p3.example"]).json()["profiles"]
    assert [row["did"] for row in found] == [dids[0], dids[3]]
    answer = get(app, PROFILES, actors=[dids[0], "@p3.example"])
    assert refusal(answer)[2] == "Error: actors/1 must be a valid did or a handle"


def test_posts_count_is_a_hint_only(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """It sees neither reposts nor edits nor a deletion with a new post."""
    one, two = said(world, maya, 2)
    count = lambda: get(app, PROFILE, actor=maya.did).json()["postsCount"]  # noqa: E731
    assert count() == 2
    world.repost(maya, one)
    world.edit(two, "better")
    world.delete(one)
    world.post(maya, "instead")
    assert count() == 2


def test_a_wish_not_to_be_shown_is_a_label(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """The API answers all the same: honouring it is the reader's part."""
    world.label_account(maya, "!no-unauthenticated")
    said(world, maya, 1)
    author = get(app, FEED, actor=maya.did).json()["feed"][0]["post"]["author"]
    assert [(label["val"], label["src"]) for label in author["labels"]] == [("!no-unauthenticated", maya.did)]
    assert get(app, PROFILE, actor=maya.did).json()["labels"] == author["labels"]


def test_blocked(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """An error of its own, and of the feed only."""
    app.access.blocked[maya.did] = "BlockedByActor"
    told = f"Requester is blocked by actor: {maya.did}"
    assert refusal(get(app, FEED, actor=maya.did)) == (400, "BlockedByActor", told)
    assert get(app, PROFILE, actor=maya.did).is_success


def test_get_posts_omits_what_is_not_there(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """Deleted, unknown, or by somebody who is away; 25 at most."""
    made = said(world, maya, 26)
    uris = [post.uri for post in made]
    world.delete(made[3])
    rows = get(app, POSTS, uris=[*uris[:5], f"at://{maya.did}/{COLLECTION}/3zzzzzzzzzzzz"]).json()["posts"]
    assert [row["uri"] for row in rows] == [uris[0], uris[1], uris[2], uris[4]]
    assert refusal(get(app, POSTS, uris=uris))[2] == "Error: uris must not have more than 25 elements"
    assert refusal(get(app, POSTS, uris=["https://x.example"]))[2] == "Error: uris/0 must be a valid at-uri"
    world.deactivate(maya)
    assert get(app, POSTS, uris=uris[:5]).json() == {"posts": []}


# Other hosts


def test_a_pds_lists_records_by_key(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """`reverse` with the last key as cursor is a true "since"; what no AppView took is here as well."""
    made = said(world, maya, 5)
    late = world.post(maya, "back-dated", created="2019-01-01T00:00:00Z")
    unseen = world.post(maya, "unseen", indexed=False)
    assert "unseen" not in texts(get(app, FEED, actor=maya.did))
    place = f"https://{maya.pds}{LIST}"
    query = {"repo": maya.did, "collection": COLLECTION}
    first = get(app, place, **query, limit=3).json()
    assert [row["uri"] for row in first["records"]] == [unseen.uri, late.uri, made[4].uri]
    assert first["cursor"] == made[4].rkey and first["records"][1]["value"]["text"] == "back-dated"
    since = get(app, place, **query, reverse="true", cursor=made[3].rkey).json()
    assert [row["uri"] for row in since["records"]] == [made[4].uri, late.uri, unseen.uri]
    assert get(app, place, **query, reverse="true", cursor=unseen.rkey).json() == {"records": []}
    assert get(app, place, repo=maya.did, collection="app.bsky.feed.like").json() == {"records": []}
    elsewhere = world.account("kofi.example", pds="pds.harbour.example")
    assert refusal(get(app, place, repo=elsewhere.did, collection=COLLECTION))[2].startswith("Could not find repo")
    assert refusal(get(app, LIST, **query)) == (501, "MethodNotImplemented", "Method Not Implemented")


def test_did_documents_lead_to_the_pds(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """By host name as in the world, or by path where all services share one host."""
    said(world, maya, 1)
    document = get(app, f"https://plc.directory/{maya.did}").json()
    assert document["alsoKnownAs"] == ["at://maya.example"]
    assert document["service"][0]["serviceEndpoint"] == f"https://{maya.pds}"
    endpoint = get(app, f"/plc/{maya.did}").json()["service"][0]["serviceEndpoint"]
    assert endpoint == f"{ROOT}/pds/{maya.pds}"
    for root in (f"https://{maya.pds}", endpoint):
        rows = get(app, f"{root}{LIST}", repo=maya.did, collection=COLLECTION).json()["records"]
        assert len(rows) == 1
    assert get(app, "/plc/did:plc:nobody").status_code == 404
    world.delete_account(maya)
    assert get(app, f"/plc/{maya.did}").status_code == 410


def test_only_a_pds_tells_its_limit(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """3,000 in five minutes; the AppView says nothing, and may refuse all the same."""
    app.access.pds_limit = 2
    place = f"https://{maya.pds}{LIST}?repo={maya.did}&collection={COLLECTION}"
    answers = [get(app, place) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["1", "0", "0"]
    assert answers[0].headers["ratelimit-policy"] == "2;w=300"
    world.advance(seconds=int(answers[2].headers["ratelimit-reset"]) - world.now.int_timestamp)
    assert get(app, place).status_code == 200
    app.access.throttled = Throttled(retry_after=7, times=1)
    limited = get(app, FEED, actor=maya.did)
    assert limited.status_code == 429 and limited.headers["retry-after"] == "7"
    calm = get(app, FEED, actor=maya.did)
    assert calm.is_success and not any(name.startswith("ratelimit") for name in calm.headers)


# HTTP


def test_tags_hold_until_something_shown_changes(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """304 with no body; a reply by somebody else changes a count, and with it the tag."""
    post = said(world, maya, 1)[0]
    first = get(app, FEED, actor=maya.did)
    held = {"if-none-match": first.headers["etag"]}
    world.advance(seconds=3600)
    same = get(app, FEED, held, actor=maya.did)
    assert (same.status_code, same.content) == (304, b"") and app.log[-1].conditional
    assert same.headers["date"] != first.headers["date"]
    world.reply(world.account("odile.example"), post, "why?")
    assert get(app, FEED, held, actor=maya.did).status_code == 200


def test_faults_and_rewritten_answers(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """HTML with 200, a cursor that repeats itself, a lone surrogate, a null where nobody expects one."""
    said(world, maya, 6)
    app.switches.fault = lambda request: html_page()
    assert get(app, FEED, actor=maya.did).headers["content-type"].startswith("text/html")
    app.switches.fault = None
    app.rewrite = lambda request, body: body | {"cursor": "2025-06-02T09:30:18.700Z"}
    with pytest.raises(AssertionError, match="does not end"):
        pages(app, maya.did, limit=2)
    app.rewrite = None
    world.advance(seconds=1)
    world.post(maya, "half \ud83c a lantern", more={"text": "half \ud83c a lantern", "odd": None})
    answer = get(app, FEED, actor=maya.did, limit=1)
    assert b"\\ud83c" in answer.content and answer.json()["feed"][0]["post"]["record"]["odd"] is None


def test_unknown_methods_and_paths(app: BlueskyApp) -> None:
    """501 for a method that nobody wrote, 404 outside of /xrpc/."""
    assert refusal(get(app, "/xrpc/app.bsky.feed.getEverything"))[:2] == (501, "MethodNotImplemented")
    assert get(app, "/").status_code == 404


def test_on_a_socket(app: BlueskyApp, world: BlueskyWorld, maya: Account) -> None:
    """One port for all services, and the log of what was asked."""
    import httpx

    said(world, maya, 3)
    with serving(app) as root, httpx.Client(base_url=root) as client:
        assert len(client.get(FEED, params={"actor": "maya.example"}).json()["feed"]) == 3
        endpoint = client.get(f"/plc/{maya.did}").json()["service"][0]["serviceEndpoint"]
        rows = client.get(f"{endpoint}{LIST}", params={"repo": maya.did, "collection": COLLECTION}).json()
    assert len(rows["records"]) == 3 and app.max_in_flight == 1
    assert [call.status for call in app.log] == [200, 200, 200]
