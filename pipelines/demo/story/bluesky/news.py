"""What is said on Bluesky between the first demo run and the second: then it is quiet."""

from typing import Any

from pipelines.demo.story.bluesky.script import Talk, edit, happen, quote, reply, repost, say
from pipelines.demo.story.clock import STORY_END

__all__ = ["NEWS"]


def _own_domain(world: Any, who: Any) -> None:
    world.rename(who("benji"), "benji.cole.example")


NEWS = [
    Talk(
        "ready", STORY_END,
        say("5s", "noor", "The node table speaks. Merged. Now we wait for Monday and drink tea.", "tea"),
        repost("6s", "freja", "tea"),
        reply("14s", "freja", "tea", "I listened again. No surprise left in it. This is the best thing that I can say about a table."),
        quote("9s", "kofi", "tea", "From the night shift: it is readable on a phone, on a bus, in the rain."),
    ),
    Talk(
        "own-domain", STORY_END,
        say("10s", "benji", "I have bought a domain, like a grown-up.", "domain"),
        happen("8s", _own_domain),
        edit("19s", "domain", "I have bought a domain, like a grown-up. I am benji.cole.example now."),
    ),
]  # fmt: skip
