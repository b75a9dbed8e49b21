"""The demo's story on Bluesky: the same at every performance, pleasant to look at, with news once and then quiet."""

import re
from collections import Counter, defaultdict

import pendulum
import pytest

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.story.bluesky import autumn, fair, news, summer
from pipelines.demo.story.bluesky.cast import INES_BEFORE
from pipelines.demo.story.bluesky.story import ACTORS, START, STORY_END, Story, beats, demo_time
from tests.demo_client import get
from tests.test_demo_bluesky import FEED, PROFILE

TALKS = summer.TALKS + autumn.TALKS + fair.TALKS


def performed(*until: pendulum.DateTime) -> BlueskyWorld:
    world = BlueskyWorld(START)
    story = Story(world, beats())
    for instant in until:
        story.play(instant)
    return world


@pytest.fixture(scope="module")
def world() -> BlueskyWorld:
    return performed(STORY_END)


def test_two_performances_are_equal() -> None:
    """So are their histories, and however many steps they are played in."""
    steps = [START.add(days=20), STORY_END, *(demo_time(run) for run in range(3))]
    one, other = performed(*steps), performed(demo_time(2))
    assert one.truth() == other.truth() and one.history == other.history
    assert one.now == other.now == demo_time(2)


def test_beats_come_in_time_order_and_span_the_ninety_days() -> None:
    """What is written ends with the story; news come later."""
    told = [beat.at for beat in beats()]
    assert told == sorted(told) and told[0] == START
    written = [beat.at for talk in TALKS for beat in talk.beats()]
    assert STORY_END.subtract(days=2) < max(written) <= STORY_END
    assert min(written) < START.add(days=1)
    assert all(beat.at > STORY_END for talk in news.NEWS for beat in talk.beats())


def test_the_second_run_has_news_and_all_later_ones_are_quiet() -> None:
    world = BlueskyWorld(START)
    story = Story(world, beats())
    story.play(demo_time(0))
    told = len(world.history)
    played = [story.play(demo_time(run)) for run in range(1, 9)]
    assert played[0] >= 6 and played[1:] == [0] * 7
    assert len({version.uri for version in world.history[told:] if version.kind == "post"}) >= 4


def test_claimed_times_move_with_the_story() -> None:
    """A post from the future stays one; what was imported from years ago keeps its date."""
    world = BlueskyWorld(START.add(days=100))
    Story(world, beats(), 100).play(STORY_END)
    claims = {str(post["created"]) for post in world.truth().posts.values()}
    assert {"2027-02-02T22:00:00Z", "2026-12-08T09:15:00", "2025-03-02T08:00:00Z"} <= claims


def test_sizes(world: BlueskyWorld) -> None:
    """Small enough to read, large enough to count; most people speak often."""
    truth = world.truth()
    assert 14 <= len(ACTORS) <= 16 and len(set(ACTORS)) == len(ACTORS)
    assert 220 <= len(truth.posts) + len(truth.reposts) <= 300
    assert len(truth.reposts) >= 60
    authors = Counter(post["author"] for post in truth.posts.values())
    assert len(authors) == len(ACTORS) and min(authors.values()) >= 4


def test_links_are_shared_by_several_people(world: BlueskyWorld) -> None:
    """Plain, as cards, and with tracking parameters that a reader ought to take off."""
    sharers = defaultdict(set)
    for post in world.truth().posts.values():
        for link in post["links"]:
            sharers[link.partition("?")[0]].add(post["author"])
    counts = sorted((len(people) for people in sharers.values()), reverse=True)
    assert counts[0] >= 5 and sum(count > 1 for count in counts) >= 4 and len(counts) >= 15
    links = [link for post in world.truth().posts.values() for link in post["links"]]
    assert any("utm_source" in link for link in links)


def test_posts_have_every_shape(world: BlueskyWorld) -> None:
    """Replies, quotes, pictures with and without alt text, video, cards, tags, mentions, three scripts, odd dates."""
    posts = list(world.truth().posts.values())
    assert sum(post["parent"] is not None for post in posts) >= 60
    assert any(post["root"] != post["parent"] for post in posts)
    assert sum(post["quote"] is not None for post in posts) >= 10
    alts = [alt for post in posts for alt in post["alts"]]
    assert len(alts) >= 12 and "" in alts
    kinds = {post["embed"] for post in posts}
    assert {f"app.bsky.embed.{kind}" for kind in ("images", "external", "record", "recordWithMedia", "video")} <= kinds
    assert any(post["tags"] for post in posts) and any(post["mentions"] for post in posts)
    assert {"en", "zh", "ja"} <= {lang for post in posts for lang in post["langs"]}
    claims = [str(post["created"]) for post in posts]
    assert any(not claim.endswith("Z") for claim in claims), "without a zone"
    assert any(post["created"] > post["indexed_at"] for post in posts), "in the future"
    assert any(str(post["created"]) < "2026-06" for post in posts), "imported from years ago"


def test_what_clients_write_of_late(world: BlueskyWorld) -> None:
    """A gallery, a starter pack that is no quote, a kind of embed that nobody knows yet, a gate, parents that are blocked,
    reposts with and without a name."""
    truth, app = world.truth(), BlueskyApp(world)
    posts, kinds = truth.posts.values(), {post["embed"] for post in truth.posts.values()}
    assert {"app.bsky.embed.gallery", "app.bsky.embed.poll"} <= kinds
    assert any(post["shares"] and post["quote"] is None for post in posts)
    assert {repost["is_named"] for repost in truth.reposts.values()} == {True, False}
    shown = [item for actor in ACTORS for item in get(app, FEED, actor=actor, limit=100).json()["feed"]]
    parents = {item["reply"]["parent"]["$type"].partition("#")[2] for item in shown if "reply" in item}
    assert parents == {"postView", "blockedPost", "notFoundPost"}
    assert any("threadgate" in item["post"] for item in shown)
    assert {"uri" in item["reason"] for item in shown if "reason" in item} == {True, False}


def test_people_change_their_minds_and_their_names(world: BlueskyWorld) -> None:
    """Edits, deletions, a withdrawn repost; somebody is away and comes back; a handle is somebody else's now."""
    versions = Counter(version.uri for version in world.history if version.kind == "post" and not version.is_deleted)
    assert sum(count > 1 for count in versions.values()) >= 2
    assert sum(version.is_deleted for version in world.history if version.kind == "post") >= 2
    assert any(version.is_deleted for version in world.history if version.kind == "repost")
    states = [version.text.split()[1] for version in world.history if version.kind == "account"]
    assert "deactivated" in states and all(account.is_active for account in world.accounts.values())
    ines = world.found("ines.lantern.example")
    assert ines and ines.posts_count >= 10 and world.found(INES_BEFORE) is not ines
    away = performed(pendulum.datetime(2026, 10, 20))
    assert [a.handle for a in away.accounts.values() if not a.is_active] == ["old-otter.bsky.social"]
    later = performed(demo_time(1))
    assert later.found("benji.bsky.social") is None and later.found("benji.cole.example")


def test_everybody_to_follow_can_be_asked(world: BlueskyWorld) -> None:
    """At the first demo run each actor has a feed; one asks not to be shown to strangers; one has a pin."""
    app = BlueskyApp(world)
    answers = {actor: get(app, FEED, actor=actor, limit=100) for actor in ACTORS}
    assert all(answer.is_success and answer.json()["feed"] for answer in answers.values())
    labelled = {label["val"] for actor in ACTORS for label in get(app, PROFILE, actor=actor).json()["labels"]}
    assert labelled == {"!no-unauthenticated"}
    assert "pinnedPost" in get(app, PROFILE, actor="lantern.example").json()


def test_nothing_unfinished_is_visible() -> None:
    """No leftover of templates or of the source's indentation, and never more than 300 characters."""
    world = performed(demo_time(1))
    for post in world.truth().posts.values():
        text = post["text"]
        assert text == text.strip() and text and "{" not in text and "  " not in text
        assert len(text) <= 300, text
        assert not re.search(r"#\w+\.\w", text)
    assert len(world.accounts) == len(ACTORS) + 1
