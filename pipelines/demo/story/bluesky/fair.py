"""October, a fair for small software: pictures by the dozen, a starter pack, people who do not see each other.

What Bluesky's clients have learned to write since the rest of the story: galleries, packs, gates; and what our reader has
not learned yet.
"""

from typing import Any

from pipelines.demo.bluesky.state import Image
from pipelines.demo.story.bluesky.script import Stage, Talk, happen, quote, reply, repost, say
from pipelines.demo.story.github.script import Line, Scene

__all__ = ["TALKS"]

PICTURES = tuple(
    Image(f"The Lantern table at the fair, {what}.")
    for what in (
        "empty",
        "with a lamp",
        "with two lamps",
        "with soup",
        "with forty people",
        "empty again, the lamp still on",
    )
)
POLL = {
    "$type": "app.bsky.embed.poll",
    "options": [{"text": "Purge by tag"}, {"text": "Purge by hope"}],
    "endsAt": "2026-10-26T12:00:00Z",
}


def _pack(world: Any, who: Any) -> Any:
    pack = world.share(who("ines"), "starter pack", "People who cache")
    return world.post(who("ines"), "Everybody from our corner of the fair, in one starter pack.", shares=pack)


def _gate(what: str, *rules: str) -> Line:
    def close(scene: Scene) -> None:
        assert isinstance(scene, Stage)
        scene.world.gate(scene.made(what), *rules)

    return Line("2m", close)


def _passed_on(when: str, who: str, what: str) -> Line:
    """A repost of which feeds tell who and when, but not which record it is."""

    def act(scene: Scene) -> None:
        assert isinstance(scene, Stage)
        scene.world.repost(scene.who(who), scene.made(what), is_named=False)

    return Line(when, act)


TALKS = [
    Talk(
        "fair", "10-24 17:00",
        say("", "noor", "Our table today, from ten in the morning until the lights went out.", "table", images=PICTURES),
        _passed_on("9m", "lantern", "table"),
        _passed_on("6m", "noor", "table"),
        repost("1h", "maya", "table"),
        reply("20m", "freja", "table", "Six pictures, six descriptions. I was there after all."),
        happen("2h", _pack),
        say("1d", "benji", "What should we build first?", "poll", embed=POLL),
        _gate("poll", "mentionRule", "followingRule"),
        quote("40m", "ruth", "poll", "Hope has served us well so far."),
    ),
    Talk(
        "not-shown", "10-25 15:00",
        say("", "ruth", "Every fair has one table that explains the others to their owners.", "others"),
        reply("12m", "pete", "others", "Which one was it?", "which"),
        happen("4h", lambda world, who: world.block(who("ruth"), who("pete"))),
    ),
]  # fmt: skip
