"""September and October: 0.10 and what it renamed, a blog post that travels, a farewell, and the last weeks before 1.0."""

from typing import Any

from pipelines.demo.bluesky.records import video
from pipelines.demo.bluesky.state import Account, Card, Image
from pipelines.demo.story.bluesky.cast import INES_BEFORE
from pipelines.demo.story.bluesky.script import Talk, delete, edit, happen, pin, quote, reply, repost, say

__all__ = ["NOTES", "TALKS"]

NOTES = Card(
    "https://docs.lantern.example/releases/0.10", "Lantern 0.10", "One request instead of 2,300, and renamed keys."
)
UPGRADE = "https://docs.lantern.example/upgrade/0.10#renamed-keys"
STORY = Card(
    "https://blog.harbour-gazette.example/2026/09/one-request-per-minute",
    "One request per minute",
    "How our front page went from 40,000 requests an hour to sixty, and what we learned about Sunday restarts.",
)
CHINESE = "https://docs.lantern.example/zh/"


def _parked(world: Any, who: Any) -> None:
    world.account(INES_BEFORE, "Premium handles", "This handle may be for sale.")


def _has_moved(world: Any, who: Any) -> Account:
    ines: Account = who("ines")
    world.rename(ines, "ines.lantern.example")
    return ines


TALKS = [
    Talk(
        "0.10", "09-01 12:00",
        say("", "lantern", "Lantern 0.10 is out: concurrent misses become one request, tokens rotate without a restart, and memory stays where it is. Please read the page about renamed keys first. #lantern", "out", card=NOTES),
        pin("1m", "out"),
        repost("2m", "maya", "out"),
        repost("3m", "ines", "out"),
        repost("14m", "haruki", "out"),
        repost("1h", "kofi", "out"),
        repost("2h", "lisbon", "out"),
        quote("3h", "gazette", "out", "On two of our six nodes since lunch. The origin thinks we have closed."),
        reply("5h", "pete", "out", "Purge by tag?", "tag"),
        reply("18m", "ines", "tag", "Number 6 now!"),
    ),
    Talk(
        "renamed", "09-02 06:40",
        say("", "odile", "0.10 has renamed cache_dir. I have forty nodes. They came up healthy, fast, and completely empty.", "empty"),
        reply("25m", "maya", "empty", "That should have been a refusal to start. I am sorry. 0.10.1 today reads the old key and warns."),
        repost("10m", "tomasz", "empty"),
        reply("20m", "tomasz", "empty", "It is our test that was missing, not your reading. Forty apologies."),
        quote("1h", "ruth", "empty", "“Healthy, fast, and completely empty” is also how I would describe most launch events.", "launch"),
        repost("3m", "odile", "launch"),
        repost("2h", "benji", "launch"),
        say("6h", "lantern", f"0.10.1: the old key works and warns. Which keys were renamed, and what to do: {UPGRADE}", "fix"),
        repost("5m", "ines", "fix"),
        reply("1h", "kofi", "fix", f"For everybody who upgrades on a Friday: read {UPGRADE} on a Thursday."),
        repost("4h", "odile", "fix"),
        reply("15h", "odile", "fix", "0.10.1 works. Noted: somebody read the report before answering it. Keep that up."),
    ),
    Talk(
        "domain", "09-09 09:00",
        say("", "ines", "New handle today, same person: from now on I am @ines.lantern.example. The lists stay as long as they were.", "same"),
        happen("5m", _has_moved),
        reply("30m", "maya", "same", "Welcome home 🏮"),
        repost("12m", "lantern", "same"),
        happen("33d", _parked),
    ),
    Talk(
        "week-5", "09-04 16:00",
        say("", "lantern", "This week in Lantern: 0.10, 0.10.1, and a new rule: what we rename, we also read. #lantern", "week"),
        repost("2h", "tomasz", "week"),
    ),
    Talk(
        "week-6", "09-11 16:00",
        say("", "lantern", "This week in Lantern: histogram buckets beyond one second, and end-to-end tests that are not repeated until they pass. #lantern", "week"),
        reply("1h", "haruki", "week", "A test that passes at the third attempt has failed twice. Happy about this one."),
    ),
    Talk(
        "week-8", "09-25 16:00",
        say("", "lantern", "This week in Lantern: plural forms in the console (no more “1 nodes”), and a nightly soak test with its own thread of results. #lantern", "week"),
        repost("9h", "liu-yan", "week"),
    ),
    Talk(
        "gazette", "09-15 09:30",
        say("", "gazette", "A long read: how our front page went from 40,000 requests an hour to sixty, which of our four theories was right (the fifth), and why nobody restarts anything on Sundays any more.", "story", card=STORY),
        quote("6m", "kofi", "story", "I wrote this, with help from five people who sleep at normal hours. Ask me anything."),
        repost("12m", "lantern", "story"),
        repost("30m", "maya", "story"),
        repost("40m", "haruki", "story"),
        repost("1h 5m", "odile", "story"),
        reply("1h", "odile", "story", "“Which of our four theories was right (the fifth)”: I felt that in my pager.", "pager"),
        repost("10m", "kofi", "pager"),
        say("3h", "tomasz", f"The best description of a stampede that I know is now in a newspaper. {STORY.uri}?utm_source=bsky", "best"),
        repost("2h", "benji", "best"),
        say("1d", "ruth", "I am told that I am against caches. I am against not knowing why one has them. These people know why:", "know", card=STORY),
        reply("40m", "kofi", "know", "I will print this out."),
        say("2d", "lisbon", f"October's first talk is decided: Kofi Asante on {STORY.uri}, with the graphs that did not make it in. There will be soup.", "talk"),
        repost("1h", "kofi", "talk"),
        repost("3h", "ines", "talk"),
        say("1d", "liu-yan", "很好的一篇文章：一张报纸怎样把每小时四万次请求变成六十次。", "zh", langs=("zh",), card=STORY),
    ),
    Talk(
        "dark", "09-08 17:40",
        say("", "freja", "Contrast of inline code in the manual's dark mode: 2.9 : 1. I cannot see it, but I can read a number. https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html", "contrast"),
        reply("1h", "noor", "contrast", "https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html hangs above my desk now. And I can see it, and had stopped looking. Fixed tonight: 7.2 : 1."),
        repost("2h", "ines", "contrast"),
    ),
    Talk(
        "night", "09-03 21:00",
        say("", "noor", "Drawing a theme for the night. The rule: nothing on the screen may be brighter than the moon through a curtain.", "moon", images=(Image("Three sketches of a node table in dark blue, with small orange lights."),)),
        reply("20m", "pete", "moon", "My screen is in a bedroom. Thank you.", "bed"),
        repost("1h", "benji", "moon"),
        say("12d", "noor", "How it moves: the light fades in when you hover, in 200 ms, and never blinks.", "moves", embed=video("A cursor moves over a dark table; each row glows a little and fades.")),
        reply("3h", "odile", "moves", "“Never blinks” should be printed on the box."),
    ),
    Talk(
        "purge-202", "09-15 22:40",
        say("", "pete", "Purge says 202 and the page stays. Is 202 a promise or a mood?", "mood"),
        repost("8h", "ruth", "mood"),
        reply("9h", "tomasz", "mood", "A promise, until all nodes have answered. The manual did not say that. It does now: https://docs.lantern.example/purge#when", "when"),
        reply("30m", "pete", "when", "Clear. Thank you."),
    ),
    Talk(
        "numbers", "09-17 04:00",
        say("", "haruki", "提と提は同じ文字ですが、%E6%8F%90 と %e6%8f%90 は別のキーでした。One letter, two cache entries, since version 0.2.", "letter", langs=("ja", "en")),
        repost("2h", "liu-yan", "letter"),
        reply("4h", "tomasz", "letter", "How many of our users did that cost?", "cost"),
        reply("1h", "haruki", "cost", "Everybody who writes in anything but English. 31 % more misses on our site."),
        quote("1h", "maya", "letter", "The bugs that only other people have are the oldest ones."),
    ),
    Talk(
        "cat-video", "09-19 11:00",
        say("", "otter", "Saturday. The river is low, the machine is on, nothing is on fire.", "river", images=(Image(""),)),
        repost("30m", "maya", "river"),
        reply("2h", "freja", "river", "What is in the picture?", "what"),
        reply("10m", "otter", "what", "An otter, of course. Not me. On a stone, holding a smaller stone. I forgot the description, sorry."),
    ),
    Talk(
        "soak", "09-28 07:00",
        say("", "ines", "Soak test, night 4: 9 hours, 41 million requests, 0 errors, memory flat. I am not used to this and keep reloading the page.", "soak"),
        edit("25m", "soak", "Soak test, night 4: 9 hours, 410 million requests, 0 errors, memory flat. I am not used to this and keep reloading the page. (Ten times more than I first wrote. I do lists, not sums.)"),
        repost("1h", "haruki", "soak"),
        reply("2h", "kofi", "soak", "Could you soak our editorial system next?"),
    ),
    Talk(
        "week-9", "10-02 16:00",
        say("", "lantern", "This week in Lantern: the list for 1.0 has four lines left. One of them is “write down what 1.0 promises”. #lantern", "week"),
        repost("3h", "maya", "week"),
        reply("4h", "pete", "week", "Is it purge by tag?", "tag"),
        reply("1h", "ines", "tag", "It is not among the four. It is 1.1, and you have a ticket with your name on it."),
        reply("20m", "pete", "tag", "🎟️"),
    ),
    Talk(
        "chinese", "10-05 03:30",
        say("", "liu-yan", f"Lantern 手册的中文版上线了！前三章：{CHINESE} 欢迎挑错。", "up", langs=("zh",)),
        repost("4h", "ines", "up"),
        repost("10m", "lantern", "up"),
        repost("1h", "haruki", "up"),
        quote("2h", "ines", "up", f"The first three chapters in Chinese, by @liu-yan.bsky.social. 41 pages, and two mistakes found in the English ones on the way. {CHINESE}?ref=bsky"),
        reply("6h", "liu-yan", "up", "谢谢大家！ Thank you. The glossary comes next; “miss” is harder than “hit”.", langs=("zh", "en")),
    ),
    Talk(
        "meetup-oct", "10-08 22:00",
        say("", "lisbon", "What a night. Kofi's talk ended with a graph so flat that people clapped. Recording and slides: https://lisbon-http.example/2026-10", "night", images=(
            Image("Kofi Asante points at a slide with a single horizontal line."),
            Image("Two pots of soup this time."),
        )),
        repost("10m", "kofi", "night"),
        repost("25m", "ines", "night"),
        reply("8h", "kofi", "night", "First time that somebody asked me for a *second* slide of the same graph. Thank you for having me."),
        say("1d 3h", "tomasz", "Watched Kofi's talk: https://lisbon-http.example/2026-10?utm_source=bluesky (the part about theories starts at 12:40).", "watched"),
        repost("2h", "haruki", "watched"),
    ),
    Talk(
        "farewell", "10-09 21:20",
        say("", "otter", "New job, no more Windows, hurrah. I am going to be away from here for a while. The four machines go to a school. Read the last line.", "bye"),
        reply("15m", "maya", "bye", "Thank you for everything, otter. 🦦"),
        repost("20m", "benji", "bye"),
        reply("1h", "tomasz", "bye", "Who will now tell us about file sharing modes?"),
        happen("1d 12h", lambda world, who: world.deactivate(who("otter"))),
        say("1d", "ines", "Otter's notes on Windows have moved into the manual, so that they do not leave with him: https://docs.lantern.example/windows", "notes"),
        repost("3h", "maya", "notes"),
        happen("15d", lambda world, who: world.reactivate(who("otter"))),
        say("30m", "otter", "Back. The new job has Windows. All of it.", "back"),
        reply("4m", "maya", "back", "🦦🏮"),
        reply("2h", "tomasz", "back", "I have a question about file sharing modes."),
        repost("3h", "benji", "back"),
    ),
    Talk(
        "early", "10-12 09:10",
        say("", "haruki", "The third cure for the stampede: shortly before a page expires, one lucky visitor refreshes it for everybody. p99 191 ms → 6 ms. The paper is still beautiful: https://cseweb.ucsd.edu/~avattani/papers/cache_stampede.pdf", "lucky", images=(Image("Two rows of bars: above, a tall bar every fifth place; below, all bars low."),)),
        repost("20m", "tomasz", "lucky"),
        repost("1h", "kofi", "lucky"),
        reply("2h", "odile", "lucky", "And what should forty nodes set it to? “Off, good luck” is not a recommendation.", "default"),
        reply("1d", "haruki", "default", "I have no forty nodes to measure on."),
        reply("10m", "odile", "default", "I do.", "offer"),
        repost("4m", "haruki", "offer"),
    ),
    Talk(
        "week-11", "10-16 16:00",
        say("", "lantern", "This week in Lantern: code tabs that can be heard and reached. Thank you, Freja, for ten weeks of patience. #lantern #a11y", "week"),
        repost("1h", "ines", "week"),
        repost("3h", "freja", "week"),
        reply("4h", "freja", "week", "The choir remembers the song."),
    ),
    Talk(
        "listen", "10-17 10:00",
        say("", "freja", "For everybody who builds tables: turn off your screen, press Tab eleven times, and tell me where you are.", "tab"),
        repost("2h", "noor", "tab"),
        reply("3h", "benji", "tab", "In the footer. I do not know how."),
        reply("40m", "noor", "tab", "In the third column of a row that does not exist. Working on it."),
        say("12d", "freja", "I have listened to Lantern's new node table for an hour. It talks just enough. One promise is still open, and I know that it will be kept.", "enough"),
        repost("20m", "noor", "enough"),
    ),
    Talk(
        "spam", "10-20 03:00",
        say("", "benji", "Does anybody know “proxy rocket”? They answer all my posts with the same link.", "rocket"),
        reply("3h", "maya", "rocket", "Block and report, and do not click."),
        delete("5h", "rocket"),
    ),
    Talk(
        "future", "10-22 12:00",
        say("", "gazette", "Reminder: the archive of 1898 to 1914 moves behind Lantern on Sunday night. If a page from 1903 is missing, write to us, and mention the date.", "archive", created="2026-10-25T22:00:00Z"),
        repost("1h", "kofi", "archive"),
        say("3d 20h", "kofi", "3.2 million pages of old newspaper, warmed up in four hours. The most read one since: a recipe for herring, 1907.", "herring", card=Card("https://archive.harbour-gazette.example/1907/03/02", "Harbour Gazette, 2 March 1907", "Herring, and news")),
        repost("30m", "gazette", "herring"),
        reply("1h", "odile", "herring", "Hit rate of the herring?", "rate"),
        reply("12m", "kofi", "rate", "99.98 %."),
        repost("5m", "odile", "rate"),
    ),
    Talk(
        "week-12", "10-23 16:00",
        say("", "lantern", "This week in Lantern: two lines left. Release candidate on Monday. #lantern", "week"),
        repost("1h", "ines", "week"),
    ),
    Talk(
        "rc", "10-26 11:00",
        say("", "ines", "1.0-rc1. If you have one node that you do not love, please put it there: https://docs.lantern.example/releases/1.0-rc", "rc"),
        repost("5m", "lantern", "rc"),
        repost("20m", "maya", "rc"),
        quote("3h", "odile", "rc", "I have one that I do not love. It is node 17. It is on there now."),
        quote("1d", "gazette", "rc", "On our staging, the real one, with a red bar at the top so that nobody purges the wrong thing."),
        reply("2d 2h", "odile", "rc", "Node 17 is the only one that did not wake me this week. I am moving the other 39."),
        repost("10m", "ines", "rc"),
    ),
    Talk(
        "eve", "10-31 18:00",
        say("", "maya", "Eleven years ago I put a lantern on my window sill so that I would find my own door. On Monday the software of that name is 1.0. I am a little nervous and very happy.", "eve", images=(Image("A small paper lantern on a window sill, in the evening."),)),
        repost("4m", "ines", "eve"),
        repost("9m", "noor", "eve"),
        repost("15m", "benji", "eve"),
        reply("30m", "odile", "eve", "Ship it. I am awake anyway."),
        reply("1h", "ruth", "eve", "Part two of the essay is done. You are in it. It is called “Somebody might come back”."),
        reply("3h", "liu-yan", "eve", "灯亮着。 The light is on.", langs=("zh", "en")),
        repost("12h", "haruki", "eve"),
    ),
]  # fmt: skip
