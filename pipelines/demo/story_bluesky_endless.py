"""After the last written line: people go on talking, a few posts in every six hours.

Each step opens one small conversation, out of seven kinds in turn, with words from tables whose lengths share no
factor. At least three of its beats fall into its own step.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count

from pendulum import DateTime

from pipelines.demo.bluesky_state import Card, Image
from pipelines.demo.story_bluesky_phrases import ANSWERS, FACTS, NIGHTS, PAGES, PLACES, QUESTIONS, RECIPES, WORDS
from pipelines.demo.story_bluesky_script import Talk, delete, edit, quote, reply, repost, say
from pipelines.demo.story_clock import STEP, STORY_END, Beat
from pipelines.demo.story_script import Line

__all__ = ["beats"]

PERIOD = 7  # kinds of conversation


def question(turn: int) -> tuple[Line, ...]:
    text, answer = QUESTIONS[turn % 6]
    helper = ("tomasz", "ines", "maya", "haruki", "noor")[turn % 5]
    page, _ = PAGES[turn % 7]
    return (
        say("", "pete", text, "q"),
        reply("35m", helper, "q", f"{answer} There is a page about it: https://docs.lantern.example/{page}", "a"),
        reply("20m", "pete", "a", ("Thank you.", "Clear.", "Ah.", "Then it is me.")[turn % 4]),
        repost("3h", "lantern", "a"),
    )


def page(turn: int) -> tuple[Line, ...]:
    """Several people share the same page, one with a tracking parameter."""
    name, what = PAGES[turn % 7]
    card = Card(f"https://docs.lantern.example/{name}", f"{what} · Lantern manual", "Revised, with pictures.")
    reader = ("odile", "kofi", "benji", "freja", "otter")[turn % 5]
    return (
        say(
            "",
            "ines",
            f"The page about {what.lower()} is new, for the {ORDINALS[turn // 7 % 5]} time. {ANSWERS[turn % 9]}",
            "new",
            card=card,
        ),
        repost("14m", "lantern", "new"),
        quote("50m", reader, "new", f"Read it so that I do not have to ask again: {card.uri}?utm_source=bluesky"),
        reply("2h", "liu-yan", "new", "中文版下周见。 The Chinese one follows next week.", langs=("zh", "en")),
    )


def night(turn: int) -> tuple[Line, ...]:
    node = 1 + turn * 11 % 40
    return (
        say("", "odile", NIGHTS[turn % 8].format(node), "night"),
        reply("25m", "kofi", "night", ("Same here, an hour later.", "Ours slept.", "I had the opposite.")[turn % 3]),
        repost("1h", ("ruth", "benji", "gazette", "maya")[turn % 4], "night"),
        edit("20m", "night", f"{NIGHTS[turn % 8].format(node)} (Node {node}, for those who keep a list.)"),
    )


def archive(turn: int) -> tuple[Line, ...]:
    year, dish = 1898 + turn * 3 % 16, RECIPES[turn % 9]
    place = f"https://archive.harbour-gazette.example/{year}/{1 + turn % 12:02}/{1 + turn * 5 % 28:02}"
    return (
        say(
            "",
            "gazette",
            f"From the archive, {year}: {dish}. Served from the cache since last night.",
            "dish",
            card=Card(place, f"Harbour Gazette, {year}", dish.capitalize()),
        ),
        repost("10m", "kofi", "dish"),
        quote(
            "1h 20m",
            ("lisbon", "otter", "noor", "maya")[turn % 4],
            "dish",
            ("For the next meetup?", "Tried it. Needs salt.", "With soup, please.")[turn % 3],
        ),
    )


def number(turn: int) -> tuple[Line, ...]:
    what, before, after = FACTS[turn % 8]
    return (
        say(
            "",
            "haruki",
            f"{what}: {before} before, {after} after. 毎日少しずつ。",
            "number",
            langs=("en", "ja"),
            images=(Image(f"A table with two rows: before, {before}; after, {after}."),),
        ),
        repost("8m", "tomasz", "number"),
        reply(
            "40m",
            "tomasz",
            "number",
            ("And with a slow origin?", "Which test shows it?", "On how many cores?")[turn % 3],
            "ask",
        ),
        reply(
            "30m",
            "haruki",
            "ask",
            ("The same, within 2 %.", "A new one, next to the old one.", "Four. On two it is better still.")[turn % 3],
        ),
    )


def word(turn: int) -> tuple[Line, ...]:
    english, chinese, why = WORDS[turn % 7]
    return (
        say("", "liu-yan", f"今天的词：“{english}” → {chinese}。 {why}", "word", langs=("zh", "en")),
        reply(
            "30m",
            "haruki",
            "word",
            ("漢字で分かりました。", "日本語でも同じです。", "いい言葉ですね。")[turn % 3],
            langs=("ja",),
        ),
        repost("1h", "ines", "word"),
    )


def drawing(turn: int) -> tuple[Line, ...]:
    place = PLACES[turn % 5]
    return (
        say("", "noor", f"A sketch of the {place}.", "early"),
        delete("2m", "early"),
        say(
            "1m",
            "noor",
            f"A sketch of the {place}, this time with the sketch.",
            "sketch",
            images=(Image(f"A pencil drawing of the {place}, with three arrows and a question mark."),),
        ),
        reply(
            "1h",
            "freja",
            "sketch",
            ("What would it say?", "And by keyboard?", "I like the arrows. The question mark is mine, I think?")[
                turn % 3
            ],
            "ask",
        ),
        reply("25m", "noor", "ask", ("One short sentence.", "Tab, once.", "It is. Tomorrow at ten?")[turn % 3]),
    )


ORDINALS = ("second", "third", "fourth", "fifth", "sixth")
KINDS: list[Callable[[int], tuple[Line, ...]]] = [question, page, night, archive, number, word, drawing]


def starting(step: int) -> DateTime:
    return STORY_END.add(hours=6 * step, minutes=9 + step * 7 % 40)


def beats() -> Iterator[Beat]:
    waiting: list[tuple[DateTime, int, Beat]] = []
    order = count()
    for step in count():
        lines = KINDS[step % PERIOD](step // PERIOD)
        for beat in Talk(f"later-{step}", starting(step), *lines).beats():
            heapq.heappush(waiting, (beat.at, next(order), beat))
        while waiting and waiting[0][0] < STORY_END + STEP * (step + 1):
            yield heapq.heappop(waiting)[2]
