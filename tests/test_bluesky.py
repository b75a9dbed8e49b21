"""Accounts on Bluesky over the demo world, in process, into a real warehouse: what people post, and what becomes of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pendulum
import pytest

from pipelines.demo.bluesky.api.access import Throttled
from pipelines.demo.bluesky.names import dumps
from pipelines.demo.bluesky.records import video
from pipelines.demo.bluesky.state import Card, Image
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.web import Response, html_page
from pipelines.sync.reset import Unknown, forget
from sources.bluesky.rows import _links as all_links
from sources.bluesky.source import BlueskyConfig
from sources.core.config import ConfigError
from tests.asked import Reader
from tests.in_memory import in_memory
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


def tick(world: BlueskyWorld, seconds: float = 60) -> None:
    world.advance(seconds=seconds)


def status(desk: BlueskyDesk, handle: str) -> str:
    return str(desk.one("SELECT status FROM bluesky.actors WHERE configured_as = ?", handle))


def test_everything_that_a_post_says_is_kept(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Links (of the text and the card, one spelling), pictures with their alt text, mentions, tags, languages, labels, quotes,
    replies with parent and root, reposts."""
    first = world.post(
        MAYA, "Read https://Docs.lantern.example/purge?utm_source=bsky#top with @odile.example #caching",
        images=[Image("A terminal."), Image("")], langs=["en", "pt"], tags=["http"], self_labels=["spoiler"],
    )  # fmt: skip
    card = world.post(ODILE, "a card", card=Card("https://docs.lantern.example/purge", "Purging", "How"))
    tick(world)
    reply = world.reply(ODILE, first, "why?")
    world.reply(MAYA, reply, "because")
    quote = world.quote(ODILE, first, "this", images=[Image("Mine.")])
    world.post(MAYA, "moving", embed=video("A lamp."))
    world.repost(MAYA, card)
    assert desk.run().exit_code == 0
    desk.judge()
    assert desk.sql("SELECT position, alt FROM bluesky.post_images WHERE uri = ? ORDER BY 1", first.uri) == [
        (0, "A terminal."), (1, ""),
    ]  # fmt: skip
    assert desk.sql("SELECT alt, kind FROM bluesky.post_images WHERE alt IN ('Mine.', 'A lamp.') ORDER BY 1") == [
        ("A lamp.", "video"), ("Mine.", "image"),
    ]  # fmt: skip
    assert desk.sql("SELECT tag FROM bluesky.post_tags ORDER BY 1") == [("caching",), ("http",)]
    assert desk.sql("SELECT mentioned_did FROM bluesky.post_mentions") == [(world.handles[ODILE].did,)]
    assert desk.one("SELECT langs FROM bluesky.posts WHERE uri = ?", first.uri) == '["en","pt"]'
    assert desk.one("SELECT labels FROM bluesky.posts WHERE uri = ?", first.uri) == '["spoiler"]'
    assert desk.sql("SELECT url, title, domain FROM bluesky.post_links WHERE uri = ?", card.uri) == [
        ("https://docs.lantern.example/purge", "Purging", "docs.lantern.example")
    ]
    assert desk.sql("SELECT author, count(*) FROM feedback.links WHERE url LIKE '%/purge' GROUP BY 1 ORDER BY 1") == [
        (MAYA, 2), (ODILE, 1),
    ]  # fmt: skip
    assert desk.one("SELECT kind FROM feedback.events WHERE id = ?", quote.uri) == "quote"
    thread = desk.sql(
        "SELECT opener, comment_count, waiting_on FROM feedback.threads WHERE thread_id = ?", f"bluesky:{first.uri}"
    )
    assert thread == [(MAYA, 3, None)]


@pytest.mark.on_disk
def test_what_is_understood_only_later_is_added_once(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A version of Earshot that knows an embed more, and `--full`: what was held stays, what is new comes beside it."""
    post = world.post(
        MAYA, "See https://a.example/new and https://b.example/old", card=Card("https://c.example/", "C", "")
    )
    tick(world)
    with patch("sources.bluesky.rows._links", lambda said: list(all_links(said))[1:]):
        desk.run()
    held = "SELECT url FROM bluesky.post_links WHERE uri = ? ORDER BY url"
    assert desk.sql(held, post.uri) == [("https://b.example/old",), ("https://c.example/",)]
    desk.run(full=True)
    assert desk.sql(held, post.uri) == [("https://a.example/new",), ("https://b.example/old",), ("https://c.example/",)]


@pytest.mark.on_disk
def test_an_unchanged_poll_is_one_request_an_account_and_writes_nothing(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Neither a package nor a publish; likes alone change an answer, and nothing in it."""
    world.post(MAYA, "hello")
    world.post(ODILE, "hello too")
    desk.run()
    before = desk.home.published.stat().st_mtime_ns
    report = desk.run()
    assert [call.status for call in desk.app.log] == [304, 304]
    assert report.sources[0].packages == 0 and desk.home.published.stat().st_mtime_ns == before
    desk.app.rewrite = lambda request, body: {
        **body,
        "feed": [{**i, "post": {**i["post"], "likeCount": 9}} for i in body["feed"]],
    }
    report = desk.run()
    assert [call.status for call in desk.app.log] == [200, 200] and report.sources[0].packages == 0


def test_edits_are_versions_and_an_edit_of_an_old_post_is_found_by_the_sweep(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """Also an edit that takes an earlier one back, which has the first version's cid."""
    post = world.post(MAYA, "helo")
    desk.run()
    tick(world)
    world.edit(post, "hello")
    desk.run()
    assert desk.sql("SELECT body, is_edit, is_latest FROM feedback.events ORDER BY updated_at") == [
        ("helo", False, False), ("hello", True, True),
    ]  # fmt: skip
    tick(world)
    world.edit(post, "helo")
    desk.run()
    assert desk.sql("SELECT body FROM feedback.comments") == [("helo",)]
    for n in range(120):
        tick(world, 3600)
        world.post(MAYA, f"later {n}")
    desk.run()
    world.edit(post, "hello again")
    desk.run(sweep=True)
    desk.judge()
    assert desk.one("SELECT body FROM feedback.comments WHERE id = ?", post.uri) == "hello again"


def test_an_edit_that_makes_a_post_a_quote_is_an_edit(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """What it said before is not said any more, though it was of another kind."""
    other, post = world.post(ODILE, "news"), world.post(MAYA, "helo")
    desk.run()
    tick(world)
    post.record["embed"] = {"$type": "app.bsky.embed.record", "record": {"uri": other.uri, "cid": other.cid}}
    world.edit(post, "hello")
    desk.run()
    told = "SELECT kind, body, is_edit, is_latest, is_actionable FROM feedback.events WHERE id = ? ORDER BY updated_at"
    assert desk.sql(told, post.uri) == [("post", "helo", False, False, False), ("quote", "hello", True, True, True)]


def test_a_deletion_is_noticed_by_the_sweep_and_the_words_are_kept_as_deleted(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """A repost of it goes with it; what comes back is no longer deleted."""
    post, other = world.post(MAYA, "regrets"), world.post(MAYA, "none")
    world.repost(ODILE, post)
    desk.run()
    world.delete(post)
    desk.run(sweep=True)
    desk.judge()
    assert desk.sql("SELECT body FROM feedback.events WHERE is_deleted ORDER BY kind") == [("regrets",), ("regrets",)]
    desk.app.switches.hide = lambda item: getattr(item, "uri", "") == other.uri
    desk.app.rewrite = lambda request, body: {"posts": []} if "posts" in body else body
    desk.run(sweep=True)
    assert desk.one("SELECT is_deleted FROM feedback.events WHERE id = ?", other.uri)
    desk.app.rewrite, desk.app.switches.hide = None, None
    desk.run(sweep=True)
    desk.judge()


AWAY = {
    "deactivate": "deactivated", "suspend": "taken down", "take_down": "taken down", "delete_account": "not found",
}  # fmt: skip


def test_nothing_is_deleted_because_an_account_is_away(tmp_path: Path, world: BlueskyWorld) -> None:
    """It is skipped with the reason, the others are read, the run is not a failure; what it said stays, also in a sweep that
    sees reposts of it vanish. When it comes back it goes on by itself, with what it said before it left."""
    handles = {leave: f"{leave.replace('_', '-')}.example" for leave in AWAY}
    for handle in handles.values():
        world.account(handle, handle)
        world.repost(ODILE, world.post(handle, "still true"))
    desk = in_memory(bluesky_desk(tmp_path, world, ODILE, *handles.values()))
    desk.run()
    tick(world)
    for leave, handle in handles.items():
        world.post(handle, "a last word")
        getattr(world, leave)(handle)
    world.post(ODILE, "where are they?")
    for sweep in (False, True, False):
        assert desk.run(sweep=sweep).exit_code == 0
    assert {leave: status(desk, handle) for leave, handle in handles.items()} == AWAY
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0
    assert desk.one("SELECT count(*) FROM feedback.comments WHERE body = 'where are they?'") == 1
    back = [handle for leave, handle in handles.items() if leave != "delete_account"]
    for handle in back:
        world.reactivate(handle)
    desk.names = (ODILE, *back)
    desk.run()
    assert {status(desk, handle) for handle in back} == {"active"}
    held, truth = desk.held(), world.truth().feeds
    assert all(held[did] == sorted(truth[did]) for did in (world.found(handle).did for handle in back))


def test_a_renamed_account_keeps_its_history_and_a_handle_that_moved_is_not_followed(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """The account is its DID. That its old handle is somebody else's now is said in `actors`."""
    maya = world.handles[MAYA]
    world.post(MAYA, "before")
    desk.run()
    world.rename(MAYA, "maya.lantern.example")
    stranger = world.account(MAYA, "Somebody else")
    tick(world)
    world.post(maya, "after")
    world.post(stranger, "not ours")
    desk.run()
    assert desk.sql("SELECT DISTINCT author, scope_name FROM feedback.events WHERE scope = ?", maya.did) == [
        ("maya.lantern.example", "maya.lantern.example")
    ]
    for options in ({"sweep": True}, {"full": True}):
        desk.run(**options)
        assert desk.sql("SELECT body FROM feedback.comments ORDER BY created_at") == [("before",), ("after",)]
    assert desk.sql("SELECT handle, handle_taken_by FROM bluesky.actors WHERE configured_as = ?", MAYA) == [
        ("maya.lantern.example", stranger.did)
    ]


def test_all_spellings_mean_one_account(tmp_path: Path, world: BlueskyWorld) -> None:
    """`@`, upper case, a profile's address, a DID, twice in the file: read once."""
    post = world.post(MAYA, "once")
    did = world.handles[MAYA].did
    (tmp_path / "actors.txt").write_text(f"# who to follow\n\n{did}  # the same\n@MAYA.example\n")
    desk = in_memory(
        bluesky_desk(tmp_path / "data", world, "@Maya.Example", "https://bsky.app/profile/maya.example", did)
    )
    desk.run({"actors_file": str(tmp_path / "actors.txt")})
    assert desk.sql("SELECT id FROM feedback.events") == [(post.uri,)]
    assert sum(call.path.endswith("getAuthorFeed") for call in desk.app.log) == 1


def test_a_malformed_name_among_many_and_one_that_nobody_has_stop_no_other(tmp_path: Path, world: BlueskyWorld) -> None:
    """getProfiles would fail whole on one malformed actor: it is never sent. Both are skipped by name."""
    world.post(MAYA, "hello")
    desk = in_memory(bluesky_desk(tmp_path, world, "not a handle", MAYA, "nobody.example", ODILE, "did:plc:short"))
    report = desk.run()
    assert report.exit_code == 0 and report.sources[0].problems == []
    assert set(report.sources[0].skipped) == {"not a handle", "nobody.example", "did:plc:short"}
    assert desk.sql("SELECT body FROM feedback.comments") == [("hello",)]
    assert not any("400" in str(call.status) for call in desk.app.log if call.path.endswith("getProfiles"))


def test_an_account_that_is_away_when_first_named_is_followed_when_it_comes(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """No profile is shown of it, but its handle leads to it."""
    world.post(MAYA, "hidden for now")
    world.deactivate(MAYA)
    assert desk.run().exit_code == 0 and status(desk, MAYA) == "deactivated"
    world.reactivate(MAYA)
    desk.run()
    desk.judge()


@pytest.mark.parametrize(
    "created", [None, "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-03-01T12:00:00", "soon", 7]
)
def test_whatever_an_author_claims_about_time_the_post_is_kept(
    desk: BlueskyDesk, world: BlueskyWorld, created: Any
) -> None:
    """Missing, in year 0 or 9999, without zone, of a wrong type: the claim is kept as it is, the event has a time."""
    world.unreadable_dates = "arrival"
    more = {"createdAt": created} if isinstance(created, int) else {}
    world.post(MAYA, "when?", created=None if isinstance(created, int) else created, more=more)
    assert desk.run().exit_code == 0
    desk.judge()
    assert desk.one("SELECT created_at FROM feedback.events") <= NOW
    assert desk.one("SELECT created_claim FROM bluesky.posts") == (created if isinstance(created, str) else None)


def test_texts_and_embeds_that_nobody_foresaw_are_kept(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Half characters, thousands of marks on one letter, NUL, embeds of unknown kinds, facets that are none."""
    world.post(MAYA, "half \ud83d here")
    world.post(MAYA, "e" + "\u0301" * 5000)
    world.post(MAYA, "a\x00b", embed={"$type": "app.bsky.embed.hologram", "hologram": {"alt": 7}})
    world.post(MAYA, "odd", langs=[])
    odd = {"facets": [7, {"features": "none"}, {"features": [{"$type": "x"}, None]}], "langs": [1]}

    def twist(request: Any, body: Any) -> Any:
        for item in body.get("feed", ()):
            if item["post"]["record"]["text"] == "odd":
                item["post"]["record"] |= odd
        return body

    desk.app.rewrite = twist
    assert desk.run().exit_code == 0
    bodies = {row[0] for row in desk.sql("SELECT body FROM feedback.events")}
    assert bodies == {"half \ufffd here", "e" + "\u0301" * 5000, "ab", "odd"}
    assert desk.sql("SELECT embed_type FROM bluesky.posts WHERE embed_type IS NOT NULL") == [
        ("app.bsky.embed.hologram",)
    ]


def test_a_post_that_cannot_be_read_is_kept_raw_and_healed(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """The others of its page are landed; the run says so with exit code 3, and a later one reads it."""
    bad = world.post(MAYA, "unreadable")
    world.post(MAYA, "readable")

    def break_it(request: Any, body: Any) -> Any:
        for item in body.get("feed", ()):
            if item["post"]["uri"] == bad.uri:
                item["post"]["indexedAt"] = "yesterday"
        return body

    desk.app.rewrite = break_it
    assert desk.run().exit_code == 3
    assert desk.sql("SELECT body FROM feedback.events") == [("readable",)]
    assert desk.sql("SELECT surface, reason LIKE 'not an instant%' FROM ops.quarantine") == [("posts", True)]
    desk.app.rewrite = None
    tick(world)
    world.post(MAYA, "more")
    assert desk.run().exit_code == 0
    desk.judge()


def test_each_of_several_posts_that_nothing_identifies_is_kept_raw(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """They have no key in common, however little they have of their own."""
    for n in range(3):
        world.post(MAYA, f"nameless {n}")

    def rob(request: Any, body: Any) -> Any:
        for item in body.get("feed", ()):
            for name in ("uri", "cid"):
                item["post"].pop(name)
        return body

    desk.app.rewrite = rob
    assert desk.run().exit_code == 3
    assert desk.one("SELECT count(*) FROM ops.quarantine") == 3


NO_FEEDS = {
    "html": html_page(), "half": Response(200, b'{"feed": ['), "text": Response(200, {"feed": "none"}),
    "error": Response(200, {"error": "x"}), "numbers": Response(200, {"feed": [1]}),
    "500": Response(500, {"error": "InternalServerError", "message": "Internal Server Error"}),
    "cursor": Response(200, {"feed": [], "cursor": 7}),
}  # fmt: skip


def test_a_failed_answer_never_looks_like_an_empty_feed(tmp_path: Path, world: BlueskyWorld) -> None:
    """Each account's failure is recorded, the one without is read, and the next run has everything."""
    told = {world.account(f"{name}.example", name).did: answer for name, answer in NO_FEEDS.items()}
    desk = in_memory(bluesky_desk(tmp_path, world, ODILE, *(f"{name}.example" for name in NO_FEEDS)))
    desk.run()
    tick(world)
    world.post(ODILE, "heard")
    for name in NO_FEEDS:
        world.post(f"{name}.example", "not heard")
    desk.app.switches.fault = lambda request: told.get(request.query.get("actor", ""))
    report = desk.run()
    assert report.exit_code == 3 and sorted(p.scope for p in report.sources[0].problems) == sorted(told)
    assert desk.sql("SELECT body FROM feedback.comments") == [("heard",)]
    desk.app.switches.fault = None
    assert desk.run().exit_code == 0
    desk.judge()


def test_an_account_that_comes_back_in_the_middle_of_a_sweep_loses_nothing(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """Away when its posts were asked for, back when its profile was: they are asked for once more before they are gone."""
    world.post(MAYA, "hello")
    desk.run()
    asked = []

    def come_and_go(request: Any) -> None:
        asked.append(request.path.rpartition(".")[2])
        if asked.count("getPosts") == 1 and asked[-1] == "getPosts":
            world.deactivate(MAYA)
        elif "getPosts" in asked and asked[-1] == "getProfiles":
            world.reactivate(MAYA)

    desk.app.switches.before = come_and_go
    assert desk.run(sweep=True).exit_code == 0
    assert asked.count("getPosts") == 2 and desk.one("SELECT count(*) FROM feedback.comments") == 1


def test_empty_answers_of_getposts_that_are_errors_delete_nothing(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A sweep that cannot ask marks nothing."""
    world.post(MAYA, "hello")
    desk.run()
    desk.app.switches.fault = lambda request: Response(200, {}) if request.path.endswith("getPosts") else None
    assert desk.run(sweep=True).exit_code == 3
    assert desk.one("SELECT count(*) FROM feedback.events WHERE is_deleted") == 0


def test_a_limit_stops_and_the_next_run_goes_on(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A long limit ends the reading of this run with the time it ends; nothing is lost."""
    world.post(MAYA, "hello")
    desk.app.access.throttled = Throttled(retry_after=3600)
    assert desk.run().exit_code in (1, 3)
    desk.app.access.throttled = None
    assert desk.run().exit_code == 0
    desk.judge()


def test_a_blocked_reader_skips_the_account(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    desk.app.access.blocked[world.handles[MAYA].did] = "BlockedByActor"
    world.post(ODILE, "hello")
    assert desk.run().exit_code == 0
    assert status(desk, MAYA) == "blocked" and desk.one("SELECT count(*) FROM feedback.comments") == 1


def test_probe_asks_for_profiles_and_polls_the_changed_only(tmp_path: Path) -> None:
    """One request for 25 accounts when nothing happened; every few runs all are polled: a repost moves no profile."""
    world = BlueskyWorld(NOW)
    people = world.fill(accounts=60, posts=2)
    desk = in_memory(bluesky_desk(tmp_path, world, *(account.handle for account in people)))
    desk.run({"probe": True})
    desk.run({"probe": True})
    assert len(desk.app.log) == 3 and all(call.path.endswith("getProfiles") for call in desk.app.log)
    tick(world)
    world.post(people[7], "news")
    world.repost(people[8], next(iter(people[7].posts.values())))
    desk.run({"probe": True})
    assert len(desk.app.log) == 4
    for _ in range(3):  # up to the sixth
        desk.run({"probe": True})
    desk.judge()


def test_the_deep_sweep_finds_what_no_feed_shows(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Once in a while the account's own records are listed: a repost that was taken back is noticed, a post with a date of
    years ago is found. What the AppView does not show stays out."""
    world.post(MAYA, "hello")
    theirs = world.post(ODILE, "theirs")
    repost = world.repost(MAYA, theirs)
    desk.run({"initial_lookback_hours": 24.0})
    tick(world)
    for n in range(150):
        world.post(MAYA, f"filler {n}")
        tick(world, 3600)
    desk.run({"initial_lookback_hours": 24.0})
    world.post(MAYA, "an import of years ago", created="2019-01-01T00:00:00Z")
    world.post(MAYA, "never shown", indexed=False)
    world.unrepost(repost)
    tick(world)
    world.post(MAYA, "more")
    desk.run({"initial_lookback_hours": 24.0, "overlap_hours": 1.0, "posts_per_page": 50}, sweep=True)
    assert desk.one("SELECT count(*) FROM feedback.comments WHERE body LIKE 'an import%'") == 0
    tick(world, 8 * 86400)
    assert desk.run({"initial_lookback_hours": 24.0}, sweep=True).exit_code == 0
    assert desk.one("SELECT count(*) FROM feedback.comments WHERE body LIKE 'an import%'") == 1
    desk.judge()
    desk.run({"initial_lookback_hours": 24.0}, sweep=True)
    assert not any("listRecords" in call.path for call in desk.app.log), "a deep sweep is rare"


def test_a_server_named_by_somebody_else_is_asked_only_if_it_is_public(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A DID document is other people's text: an address inside our own network is not followed."""
    world.post(MAYA, "hello")
    desk.run()
    tick(world, 8 * 86400)
    asked = []

    def lead_astray(request: Any, body: Any) -> Any:
        asked.append(request.root)
        for service in body.get("service", ()):
            service["serviceEndpoint"] = "http://169.254.169.254"
        return body

    desk.app.rewrite = lead_astray
    report = desk.run(sweep=True)
    assert report.exit_code == 3 and "no public address" in report.sources[0].problems[0].message
    assert not any("169.254" in root for root in asked)


def test_who_asks_not_to_be_shown_is_marked_everywhere(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """Also what they said before they asked for it."""
    world.post(MAYA, "public")
    desk.run()
    assert desk.sql("SELECT is_unlisted FROM feedback.comments") == [(False,)]
    world.label_account(MAYA, "!no-unauthenticated")
    desk.run()
    assert desk.sql("SELECT is_unlisted FROM feedback.comments") == [(True,)]
    assert desk.one("SELECT is_unlisted FROM ops.accounts WHERE configured_as = ?", MAYA)


def test_a_label_that_comes_just_when_tables_are_given_another_shape_is_kept(
    desk: BlueskyDesk, world: BlueskyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run of another version is not the first run of all."""
    post = world.post(MAYA, "public")
    desk.run()
    world.label(post, "spam")
    monkeypatch.setattr("sources.core.surfaces.shape", lambda table: "another")
    desk.run()
    assert desk.sql("SELECT labels FROM bluesky.post_states WHERE uri = ?", post.uri) == [('["spam"]',)]


@pytest.mark.on_disk
def test_a_reset_account_is_read_as_if_for_the_first_time_and_nothing_doubles(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    world.post(MAYA, "hello")
    world.post(ODILE, "hello too")
    desk.run()
    assert forget(desk.home, "bluesky", (f"@{MAYA}",)) == 2
    report = desk.run()
    assert [call.status for call in desk.app.log if call.path.endswith("getAuthorFeed")] in ([200, 304], [304, 200])
    assert report.exit_code == 0
    desk.judge()
    with pytest.raises(Unknown, match=ODILE):
        forget(desk.home, "bluesky", ("odil.example",))
    assert forget(desk.home, "bluesky", ()) == 4
    desk.run()
    assert sum(call.status == 200 for call in desk.app.log if call.path.endswith("getAuthorFeed")) == 2
    desk.judge()


@pytest.mark.on_disk
def test_reset_tells_people_and_programs_what_it_did_or_why_not(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """A program is never asked: it says --yes, or names what it means."""
    reader = Reader(desk.home)
    assert reader.json("reset", "bluesky", MAYA)["error"]["code"] == "NOTHING_YET"
    world.post(MAYA, "hello")
    desk.run()
    refused = reader.json("reset", "bluesky")
    assert refused["meta"]["exit_code"] == 2 and "--yes" in refused["error"]["hint"]
    unknown = reader.json("reset", "bluesky", MAYA.upper()[:-1])["error"]
    assert unknown["code"] == "NOT_FOUND" and MAYA in unknown["message"]
    with desk.home.lock():
        held = reader.ask("reset", "bluesky", MAYA)
        assert held.code == 4 and "another run holds" in held.err
    assert reader.data("reset", "bluesky", MAYA) == {"source": "bluesky", "names": [MAYA], "forgotten": 2}
    assert "2 cursors forgotten" in reader.ask("reset", "bluesky", "--yes").out


@pytest.mark.on_disk
def test_a_warehouse_restored_from_a_backup_is_read_on_from_its_own_state(
    desk: BlueskyDesk, world: BlueskyWorld
) -> None:
    """The working directory is ahead of it then: going on from there would lose what came in between."""
    world.post(MAYA, "before")
    desk.run()
    backup = desk.home.warehouse.read_bytes()
    tick(world)
    world.post(MAYA, "lost with the disk")
    desk.run()
    desk.home.warehouse.write_bytes(backup)
    desk.home.published.unlink()  # else it says that it holds more
    tick(world)
    world.post(ODILE, "after")
    desk.run()
    desk.judge()


def test_which_links_were_shared_most_this_week(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    world.post(MAYA, "old https://a.example/1", created=NOW.subtract(days=30))
    for who in (MAYA, ODILE, ODILE):
        tick(world)
        world.post(who, "see https://b.example/2?utm_medium=x")
    desk.run()
    assert desk.sql(
        "SELECT url, count(*), count(DISTINCT author) FROM feedback.links WHERE created_at > ? GROUP BY url",
        NOW.subtract(days=7),
    ) == [("https://b.example/2", 3, 2)]


def test_raw_surrogates_reach_us_as_the_real_service_sends_them() -> None:
    """The world escapes them, as JSON must."""
    assert b"\\ud83d" in dumps({"text": "\ud83d"})


@pytest.mark.parametrize("key", ["api_url", "directory_url"])
def test_an_address_that_is_none_is_refused_by_its_own_name(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"\[sources.bluesky\] {key}: 'nowhere'"):
        BlueskyConfig(**{key: "nowhere"})


def test_the_lag_of_what_is_new_is_told(desk: BlueskyDesk, world: BlueskyWorld) -> None:
    """How old the newest new post was when it was read; nothing on a first read, nor where only the overlap came again."""

    def lag() -> object:
        desk.run()
        return desk.one(
            "SELECT arg_max(lag_seconds, run_id) FROM ops.requests WHERE surface = 'posts' AND scope ="
            " (SELECT did FROM bluesky.actors WHERE configured_as = ?)", MAYA,
        )  # fmt: skip

    world.post(MAYA, "first")
    tick(world)
    assert lag() is None
    world.post(MAYA, "second")
    tick(world, 90)
    told = lag()
    assert isinstance(told, float) and 85 <= told <= 95
