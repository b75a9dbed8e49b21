"""The issues of lantern/console and lantern/charts, in the order in which they were opened."""

from pipelines.demo.story.gitlab.cast import CHARTS, CI, CONSOLE
from pipelines.demo.story.gitlab.script import (
    Topic,
    assign,
    close,
    delete,
    edit,
    edit_opener,
    issue,
    label,
    milestone,
    reopen,
    reply,
    say,
    thread,
)

__all__ = ["TOPICS"]

TOPICS = [
    Topic(
        "plan", "08-03 09:05",
        issue(CONSOLE, "noor", "Console 1.0: what it must do", """
            The console ships with Lantern 1.0, in ninety days. Five things, no sixth:

            - [ ] see all nodes and what each of them is doing
            - [ ] purge, without being able to purge the wrong thing
            - [ ] read the log while it is being written
            - [ ] everything works by keyboard and in a screen reader
            - [ ] nobody stays signed in who has signed out
            """, "release"),
        milestone("4m", "noor", "1.0"),
        thread("1h 10m", "maya", """
            Good list. What would we leave out if there were only four?
            """, "four"),
        reply("25m", "noor", "four", "The log. Everybody has a terminal for that. But everybody also *asks* for it."),
        reply("50m", "kofi", "four", "My night shift has no terminal. Please keep the log."),
        reply("6m", "maya", "four", "Then it stays. That was the answer I was hoping for."),
        say("20d", "ines-r", """
            Three weeks: purge (#{wrong-cluster}), the log (#{big-log}) and signing out are done, the table is half
            done. We are early, which makes me a little nervous.
            """),
        say("31d 2h", "ines-r", """
            | | issue | state |
            |---|---|---|
            | nodes | #{silent-table} | half done |
            | purge | #{wrong-cluster} | done ✅ |
            | log | #{big-log} | done ✅ |
            | sign-out | #{sign-out} | done ✅ |

            /earshot milestone 1.0
            /earshot label priority=high
            """, "table"),
        edit("9m", "table", """
            | | issue | state |
            |---|---|---|
            | nodes | #{silent-table} | half done |
            | purge | #{wrong-cluster} | done ✅ |
            | log | #{big-log} | done ✅ |
            | keyboard | #{silent-table} | the same issue, really |
            | sign-out | #{sign-out} | done ✅ |

            /earshot milestone 1.0
            /earshot label priority=high
            """),
        edit_opener("1d", "noor", text="""
            The console ships with Lantern 1.0, in ninety days. Five things, no sixth:

            - [x] see all nodes and what each of them is doing
            - [x] purge, without being able to purge the wrong thing
            - [x] read the log while it is being written
            - [ ] everything works by keyboard and in a screen reader
            - [x] nobody stays signed in who has signed out
            """),
        say("34d", "noor", """
            Four of five, and the fifth has one box open. I would like to ship with Lantern on Monday. 🏮
            """),
        say("1h 15m", "odile", "With the graph as it is, or as it was?"),
        say("20m", "noor", "As it is since #{in-place}. You may even like it."),
    ),
    Topic(
        "flicker", "08-04 07:20",
        issue(CONSOLE, "odile", "The hit-rate graph goes white every five seconds", """
            Every five seconds the graph disappears and is drawn again. On a wall display, next to five others, it
            looks like a broken neon tube. Two of my colleagues have turned their chairs around.

            Console 0.4, Firefox ESR and Chromium.
            """, "bug"),
        say("42m", "noor", """
            I am sorry about the chairs. We throw the whole SVG away on every update and build it anew.

            /earshot label priority=medium area=graphs
            """),
        label("5m", "noor", "area::graphs"),
        say("3h", "benji", "Could I take this one? I have read the chart code and I *think* I understand it 🙂"),
        say("14m", "noor", "Please do. Ask when it stops making sense, that will be near `diff()`."),
        assign("2m", "noor", "benji"),
        say("1d 4h", "odile", "Meanwhile, can the interval be set to something longer?"),
        say("1h", "noor", """
            `?every=60` in the address. It is not in the manual because it was never meant to be needed.
            """),
        say("22d", "odile", """
            Installed #{in-place} on the wall. It no longer blinks. One chair has turned back.
            """, "chair"),
        say("12m", "benji", "🥳"),
    ),
    Topic(
        "wrong-cluster", "08-05 16:48",
        issue(CONSOLE, "kofi", "I purged production and thought it was staging", """
            Two tabs, both titled “Lantern”, both with a red button in the same place. I pressed the one on the
            left. 14 million objects, twenty minutes of origin at 400 %.

            It was me. But it was also the button.
            """, "bug", "purge"),
        say("18m", "maya", "Nobody was fired, I hope. Is everything back?"),
        say("7m", "kofi", "Everything is back. I have been made a cake in the shape of a button."),
        thread("40m", "noor", """
            Three ideas, please choose or add a fourth:

            1. the cluster's name in the title and in the header, in the cluster's own colour
            2. one has to *type* the name of the cluster before a full purge
            3. a purge begins after ten seconds and can be stopped until then
            """, "ideas"),
        reply("9m", "kofi", "ideas", "1 and 2. I would have waited out 3 with the same confidence."),
        reply("25m", "odile", "ideas", "2. And not with paste."),
        reply("1h 2m", "sanvi", "ideas", """
            1 and 2. Do not block pasting: it annoys the careful and stops nobody else. And the server has to check
            the name too, or a script will never see the question.
            """),
        label("30m", "noor", "priority::high"),
        milestone("1m", "noor", "1.0"),
        assign("1m", "noor", "noor"),
    ),
    Topic(
        "silent-table", "08-07 10:12",
        issue(CONSOLE, "freja", "The node table is silent in a screen reader", """
            NVDA 2026.1, Firefox. I hear “table with 0 rows”, then nothing. The rows are drawn (a colleague told me),
            but they are `div`s. Sorting cannot be reached by keyboard at all.

            I can test anything you build, and I would rather test early than late.
            """, "a11y"),
        say("55m", "noor", """
            Thank you, that is exactly the right moment to say it: I am about to take the table apart anyway. Real
            `<table>`, buttons in the headers, `aria-sort`. The row component comes first.
            """),
        say("12m", "freja", """
            Virtual scrolling is what usually kills it. If only 30 of 900 rows exist, say so: `aria-rowcount`.
            """),
        label("4m", "noor", "area::table", "priority::high"),
        milestone("1m", "noor", "1.0"),
        say("9d 5h", "freja", "Is there something to listen to yet?", "yet"),
        say("2h", "noor", "The first half is merged (#{rows}). The second half, the one you will hear, is next."),
        say("44d", "freja", """
            Listened to #{aria} on the review app for an hour. Sorting works, counts are right, focus stays where it
            was after an update. The row menu promises a menu and opens a list. That is the last one.
            """),
    ),
    Topic(
        "big-log", "08-10 13:30",
        issue(CONSOLE, "haruki", "The log view takes 1.2 GB after an hour", """
            Every line stays in the DOM. At 300 lines a second that is a million nodes an hour:

            ```
            t = 10 min    180,000 lines    210 MB    scroll 60 fps
            t = 30 min    540,000 lines    640 MB    scroll 22 fps
            t = 60 min  1,080,000 lines  1,200 MB    the tab is killed
            ```

            The browser does nothing wrong. We do.
            """, "performance"),
        say("33m", "tomasz-w", "How many lines does anybody read? I would keep the last 10,000 and say so at the top."),
        say("21m", "kofi", "I search in it. With Ctrl-F. Sorry."),
        say("48m", "haruki", """
            Then: all lines in memory as strings (cheap, about 90 MB an hour), only the visible ones in the DOM, and a
            search of our own that Ctrl-F opens. 三つ必要です。 Three things, in this order.
            """),
        label("1h", "noor", "area::log"),
        assign("1m", "haruki", "haruki"),
    ),
    Topic(
        "dark", "08-12 19:02",
        issue(CONSOLE, "pete-q", "Is there a dark mode?", "My screen is in a bedroom.", "question"),
        say("13h", "noor", "There will be one. What would you need first, the tables or the graphs?"),
        say("2d", "pete-q", "The login page. It is what wakes her."),
        say("1h", "noor", "That is the best requirement we have had this month. September."),
        say("20d", "noor", "Begun, with the login page first: #{night}."),
        say("26d", "pete-q", "Any date?", "date"),
    ),
    Topic(
        "sign-out", "08-17 08:40",
        issue(CONSOLE, "sanvi", "The session survives a sign-out", """
            1. Sign in, copy the cookie `console_session`.
            2. Sign out. The browser forgets the cookie.
            3. Send the copied cookie: 200, and everything may be done.

            The server never learns of the sign-out. Sessions end by themselves after 14 days.

            Confidential until it is fixed. Severity: medium, because one needs the cookie first.
            """, "security", confidential=True),
        say("24m", "maya", "Thank you for not posting this anywhere else. Who should look at it?"),
        say("9m", "sanvi", "I will. It is a table of revoked sessions and one line in the middleware.", internal=True),
        say("4m", "ines-r", "Does this need a release of its own?", "release", internal=True),
        reply("12m", "sanvi", "release", "No. It needs to be in the next one, and a sentence in the notes."),
        milestone("2m", "ines-r", "1.0"),
    ),
    Topic(
        "zones", "08-21 05:55",
        issue(CONSOLE, "liu-yan", "Times are shown in UTC without saying so", """
            节点列表显示“03:12”,但这里是 11:12。I first thought that a node had been down for eight hours and
            restarted it. It had not.

            Please show local time, and the zone beside it.
            """, "bug"),
        say("2h", "odile", "No. UTC everywhere, always. Half of my people would read the other half's times."),
        say("1h 20m", "liu-yan", "Then please *say* UTC. 现在什么都没写。 Now it says nothing."),
        say("33m", "ines-r", """
            You are both right and there is room for both: local time with its zone, UTC on hover and in every
            export, and a setting for walls. @odile, would a setting do?
            """),
        say("15m", "odile", "If it is remembered."),
        label("2h", "noor", "good first issue"),
    ),
    Topic(
        "csv", "08-26 18:30",
        issue(CONSOLE, "pete-q", "Export the node table as CSV?", "For a report. Once a month.", "question"),
        say("2h", "benji", "Would `curl …/api/nodes.csv` do? That exists, it is just not linked anywhere."),
        say("1d 1h", "pete-q", "It asks for a token. Where do I get one?"),
        label("20d", "ines-r", "docs"),
        say("19d", "pete-q", "Still looking for that token. It is nearly time for the next report.", "token"),
    ),
    Topic(
        "old-safari", "09-02 11:11",
        issue(CONSOLE, "kofi", "White page in Safari 15", """
            One of our editors has a laptop from 2015. The console is a white page there, and the log says
            `SyntaxError: Unexpected token '#'`.
            """, "bug"),
        say("1h", "noor", "Private class fields. We would have to compile for browsers of 2020, for everybody."),
        say("40m", "haruki", "That costs 31 kB and about 8 % of the drawing speed. I measured it last year."),
        say("2h", "kofi", "For one laptop? No. We will find him another laptop."),
        label("3m", "noor", "won't fix"),
        close("1m", "noor"),
        say("6d", "kofi", "He has a new laptop. He says that everything is too fast now."),
        reopen("13d", "kofi"),
        say("2m", "kofi", """
            Reopened for one thing: a *sentence* instead of a white page would have saved me a morning.
            """, "sentence"),
        say("1h 4m", "noor", "Fair. `<noscript>` does not help here, but a `nomodule` script does. Three lines."),
        close("2d", "noor"),
    ),
    Topic(
        "nightly", "09-07 02:00",
        issue(CONSOLE, CI, "Nightly end-to-end runs", """
            One note for every night on which something failed. Green nights are not reported.
            """, "ci", type="incident"),
        say("4d", CI, "**2026-09-11** · 212 of 213 passed · failed: `purge › asks for the name` (firefox)", "first"),
        say("10h 40m", "tomasz-w", "Same as the one that I retry by hand since August. Looking into it: #{retries}."),
        say("17d 13h", CI, """
            **2026-09-29** · 209 of 213 passed · failed on webkit only:

            ```
            log › scrolls to the end
            log › stays where it is while one reads
            log › finds a word
            log › counts what it found
            ```
            """),
        say("7h", "haruki", "Mine. WebKit rounds `scrollTop` down, I compared for equality. Fix is on its way."),
        say("12d 17h", CI, "**2026-10-12** · 213 of 214 passed · failed: `table › announces the sort order` (chromium)", "flaky"),
        edit("3h", "flaky", """
            **2026-10-12** · 213 of 214 passed, then 214 of 214 by hand · `table › announces the sort order` (chromium)
            """),
        say("4h", "tomasz-w", "The second time is not a pass. It announces the order *before* it has sorted, and I can prove it."),
    ),
    Topic(
        "narrow", "09-14 09:44",
        issue(CHARTS, "benji", "Axis labels overlap on narrow screens", """
            Under about 480 px the dates on the x axis run into each other: `01 Sep02 Sep03 Sep`.
            """, "bug"),
        say("1h", "noor", "Rotate, skip or shorten? I would skip every other one until they fit."),
        say("2h 20m", "freja", """
            Whatever you choose: the labels are also what I *hear*. If some are skipped, please keep the full list in
            the hidden table.
            """),
        say("18m", "noor", "Kept, and I had not thought of it. Thank you."),
    ),
    Topic(
        "chinese", "09-22 03:15",
        issue(CONSOLE, "liu-yan", "Plural forms: “1 nodes”", """
            英文和中文都有问题。English says “1 nodes”, Chinese says “1 个节点们”, which is not a word.

            The code joins a number, a noun and an “s”. May I replace it with `Intl.PluralRules`?
            """, "i18n", type="task"),
        say("5h", "noor", "Please. There are eleven places, I counted them once and then looked away."),
        say("30m", "liu-yan", "十二。 Twelve. One is in the title."),
    ),
    Topic(
        "log-axis", "10-06 15:20",
        issue(CHARTS, "haruki", "A logarithmic axis for latencies", """
            p50 is 4 ms, p99.9 is 900 ms. On a linear axis one of the two is always a flat line.
            """, "feature"),
        say("2h", "odile", "Only if it says so. I have been fooled by a logarithm before."),
        say("1h", "haruki", "It will say so: “×10” at every line. And linear stays what one gets by default."),
        say("9d", "pete-q", "Does zero exist on that axis?", "zero"),
        reply("1d 2h", "haruki", "zero", "No. A request that took 0 ms was not measured, it was guessed."),
        reply("3h", "pete-q", "zero", "So where do they go?"),
    ),
    Topic(
        "trial", "10-14 22:58",
        issue(CONSOLE, "benji", "test", "please ignore, trying out the API"),
        say("1m", "benji", "trying out notes as well", "trial"),
        delete("2m", "trial"),
        edit_opener("6m", "benji", title="(was a test)", text="Sorry! I had the wrong project in my script. 🙈"),
        close("1m", "benji"),
    ),
]  # fmt: skip
