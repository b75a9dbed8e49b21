"""The first days after the story's end, as written: 1.0, and what people make of it."""

from typing import Any

from pipelines.demo.bluesky_state import Card, Image
from pipelines.demo.story_bluesky_script import Talk, delete, edit, happen, pin, quote, reply, repost, say

__all__ = ["RELEASE", "TALKS"]

RELEASE = Card(
    "https://docs.lantern.example/releases/1.0", "Lantern 1.0", "What it promises, what changed, and who made it."
)
ESSAY = Card(
    "https://ruthhale.example/somebody-might-come-back",
    "Somebody might come back",
    "A second part, and a change of mind.",
)


def _own_domain(world: Any, who: Any) -> None:
    world.rename(who("benji"), "benji.cole.example")


TALKS = [
    Talk(
        "ready", "11-01 13:10",
        say("", "noor", "The node table speaks. Merged. Now we wait for Monday and drink tea.", "tea"),
        repost("12m", "freja", "tea"),
        reply("1h", "freja", "tea", "I listened again. No surprise left in it. This is the best thing that I can say about a table."),
        say("2h", "ines", "The list for 1.0 has no lines. I have looked on the back as well.", "list"),
        repost("5m", "maya", "list"),
    ),
    Talk(
        "essay", "11-01 19:30",
        say("", "ruth", "Part two. I was wrong about one word in part one, and the word was “confession”.", "essay", card=ESSAY),
        repost("20m", "maya", "essay"),
        quote("1h", "kofi", "essay", f"Read {ESSAY.uri} next to part one. Then go to bed."),
    ),
    Talk(
        "1.0", "11-02 08:30",
        say("", "lantern", "Lantern 1.0. 🏮 Thank you, all 143 of you, by name, at the end of the notes. #lantern", "out", card=RELEASE),
        pin("1m", "out"),
        repost("1m", "maya", "out"),
        repost("1m", "ines", "out"),
        repost("2m", "noor", "out"),
        repost("6m", "tomasz", "out"),
        repost("11m", "haruki", "out"),
        repost("40m", "gazette", "out"),
        repost("2h", "lisbon", "out"),
        quote("10m", "odile", "out", f"Forty nodes on {RELEASE.uri} since breakfast. I intend to sleep.", "forty"),
        repost("3m", "maya", "forty"),
        reply("30m", "pete", "out", "Congratulations. Purge by tag?", "tag"),
        reply("9m", "ines", "tag", "1.1! You may hold me to it."),
        say("1h", "benji", f"My name is in the release notes. Page 3, between “Beatriz” and “Bo”. {RELEASE.uri}?utm_source=bluesky", "name", images=(Image("A line of the release notes: “Benji Cole”, circled in pencil."),)),
        repost("5m", "otter", "name"),
        reply("20m", "otter", "name", "The last line of the notes is where the kindness goes."),
    ),
    Talk(
        "own-domain", "11-03 10:05",
        say("", "benji", "I have bought a domain, like a grown-up.", "domain"),
        happen("30m", _own_domain),
        reply("20m", "noor", "domain", "Welcome to the club of people who renew things in October."),
        edit("5m", "domain", "I have bought a domain, like a grown-up. I am benji.cole.example now."),
    ),
    Talk(
        "seventeen", "11-04 07:10",
        say("", "odile", "Slept through. Woke up because nothing had woken me.", "slept"),
        repost("40m", "ruth", "slept"),
        reply("1h", "kofi", "slept", "This is the review that goes on the box."),
        say("1h", "pete", "Wrong window, sorry.", "oops"),
        delete("3m", "oops"),
    ),
]  # fmt: skip
