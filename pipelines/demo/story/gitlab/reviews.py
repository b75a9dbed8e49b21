"""The merge requests of lantern/console and lantern/charts, in the order in which they were opened."""

from pipelines.demo.story.gitlab import patches as p
from pipelines.demo.story.gitlab.cast import CHARTS, CI, CONSOLE, RENOVATE
from pipelines.demo.story.gitlab.script import (
    Patch,
    Topic,
    approve,
    ask_review,
    assign,
    close,
    delete,
    diff,
    edit,
    edit_opener,
    image,
    label,
    lock,
    merge,
    merge_request,
    milestone,
    push,
    ready,
    reply,
    resolve,
    say,
    thread,
    unresolve,
)

__all__ = ["TOPICS"]

MOCKUP = Patch(p.MOCKUP, f"Binary files /dev/null and b/{p.MOCKUP} differ", is_new=True)
LOGO = Patch(p.LOGO, f"Binary files a/{p.LOGO} and b/{p.LOGO} differ")

TOPICS = [
    Topic(
        "rows", "08-08 09:30",
        merge_request(CONSOLE, "noor", "rows", "Split NodeTable into a table and its rows", """
            First half of #{silent-table}. `NodeTable.svelte` becomes `NodeRow.svelte` (most of the old file is
            rows), and a new, small `NodeTable.svelte` around it. No change that anybody can see yet.
            """, "area::table", patches=(p.ROW, p.TABLE, p.SORTING), reviewers=("tomasz-w",), squash=True,
            removes_branch=True),
        say("6m", CI, "✅ 198 passed · bundle 214 kB (+0.4 kB) · [review app](https://rows.console.lantern.example)"),
        diff("1h 40m", "tomasz-w", p.ROW, """
            `aria-selected` on a `tr` only means something inside a `grid`. Is this a table or a grid?
            """, "grid"),
        reply("22m", "noor", "grid", """
            A table that wants to be a grid when it grows up. I will leave it out until it is one.
            """),
        diff("4m", "tomasz-w", p.TABLE, """
            `sort` sorts in place, and these are the caller's nodes.

            ```suggestion:-0+0
              const sorted = $derived(nodes.toSorted((a, b) => compare(a, b, column)));
            ```
            """, "inplace"),
        reply("9m", "noor", "inplace", "Ouch. Applied."),
        diff("3m", "tomasz-w", p.SORTING, """
            Good: stable now. Does a test fail without the first line?
            """, "stable", lines=2),
        reply("31m", "noor", "stable", "One does since two minutes ago."),
        push("1m", "noor", "Sort a copy; drop aria-selected"),
        resolve("2m", "noor", "inplace"),
        resolve("20s", "noor", "grid"),
        resolve("12m", "tomasz-w", "stable"),
        approve("1m", "tomasz-w"),
        merge("4m", "noor", removes_branch=True),
    ),
    Topic(
        "dialog", "08-11 14:05",
        merge_request(CONSOLE, "noor", "purge-dialog", "Ask for the cluster's name before a full purge", """
            Closes #{wrong-cluster} and LAMP-12

            - the cluster's name and colour are in the header and in the title of the tab
            - a full purge asks for the name; pasting it is fine
            - the server refuses a full purge without it
            """, "purge", patches=(MOCKUP, p.DIALOG, p.PURGE_API), reviewers=("sanvi", "kofi"), draft=True,
            removes_branch=False),
        image("50m", "kofi", p.MOCKUP, (1280, 800, 412, 530), """
            This red is the red of our production cluster. I would press it with full confidence.
            """, "red"),
        reply("14m", "noor", "red", "😬 The button gets the cluster's colour only in the border, then."),
        image("3m", "freja", p.MOCKUP, (1280, 800, 412, 610), """
            If the colour is the only difference between two clusters, I have none. Please say the name in the button:
            “Purge staging”.
            """, "name"),
        reply("6m", "noor", "name", "“Purge staging” it is. That would also have helped @kofi."),
        push("1d 2h", "noor", "Say the cluster's name in the button"),
        ready("1m", "noor"),
        diff("3h", "sanvi", p.PURGE_API, """
            1. Compare after trimming? A name with a space at its end exists in our own staging.
            2. 409 is right. The body should not repeat the name, or a script will read it from there.
            """, "server", lines=3),
        reply("40m", "noor", "server", "1. Trimmed on both sides. 2. It does not, and now a test says so."),
        resolve("55m", "sanvi", "server"),
        diff("2h", "odile", p.DIALOG, """
            “Everything” is how many objects? I would like to see the number before I type.
            """, "number"),
        reply("1h 20m", "noor", "number", """
            The number takes two seconds on a big cluster. I could show it when it arrives, and not wait for it.
            """),
        reply("4m", "odile", "number", "Do that."),
        push("5h", "noor", "Show the number of objects when it is known"),
        resolve("3m", "noor", "number"),
        resolve("30s", "noor", "red"),
        resolve("15s", "noor", "name"),
        say("18h", "kofi", "Tried on staging. And I checked twice that it was staging. It asks, I typed, it purged. 👍"),
        approve("2m", "kofi"),
        approve("1h", "sanvi"),
        merge("8m", "noor", removes_branch=False),
        say("3d", "kofi", "A colleague has tried to purge production from the staging tab. The dialog won."),
    ),
    Topic(
        "in-place", "08-13 12:00",
        merge_request(CONSOLE, "benji", "in-place", "Update the graph in place", """
            Closes #{flicker}

            Instead of throwing the SVG away I compare it with the new one and only change attributes. My first one
            here, please be honest 🙂
            """, "area::graphs", patches=(p.DRAW, p.DIFF), reviewers=("noor", "haruki")),
        say("7m", CI, "✅ 199 passed · bundle 214 kB (+0.3 kB)"),
        diff("2h", "haruki", p.DIFF, """
            Attributes that *vanish* stay: if the new child has no `stroke`, the old one keeps its own. Remove those
            that are not in `wanted`.
            """, "vanish", lines=3),
        reply("1h 10m", "benji", "vanish", """
            Oh! True. That explains the ghost line I saw once and then pretended not to have seen.
            """),
        reply("8m", "haruki", "vanish", "Never pretend 🙂 一度見たものは、また来ます。 What you see once comes back."),
        diff("15m", "noor", p.DIFF, """
            And children that are gone from `wanted`? They stay too.
            """, "gone", lines=8, range_as="missing"),
        reply("20m", "benji", "gone", "Working on it."),
        push("1d", "benji", "Remove what is gone"),
        reply("2m", "benji", "gone", "Both fixed, with a test each. The test found a third: text nodes."),
        resolve("40m", "noor", "gone"),
        resolve("1h", "haruki", "vanish"),
        diff("10m", "haruki", p.DRAW, """
            Before: 11 ms a frame, 4,100 nodes made. After: 0.9 ms, none. 素晴らしい。

            One line for whoever comes next, please: why ids must be stable.
            """, "comment"),
        reply("30m", "benji", "comment", "Added, and I am keeping that number forever."),
        push("1m", "benji", "Say why ids must be stable"),
        resolve("5m", "haruki", "comment"),
        approve("1m", "haruki"),
        say("1h", "noor", "Welcome aboard, @benji. Merging when the pipeline is green.", "welcome"),
        approve("1m", "noor"),
        merge("6m", "noor"),
    ),
    Topic(
        "window", "08-14 10:20",
        merge_request(CONSOLE, "haruki", "log-window", "Keep only the visible lines of the log in the page", """
            Closes #{big-log}

            Three commits, to be read in this order: the window, following the end, searching.

            ```
            after 60 min   1,080,000 lines   94 MB   60 fps
            ```
            """, "performance", "area::log", patches=(p.WINDOW, p.FOLLOW, p.FIND), reviewers=("noor", "tomasz-w")),
        diff("3h", "tomasz-w", p.WINDOW, """
            What is `SPARE`, and how was it chosen? 20 looks like a number somebody liked.
            """, "spare", lines=3),
        reply("25m", "haruki", "spare", """
            I liked it. With 5 one sees white when scrolling fast, with 10 never. I will take 10 and write that
            down.
            """),
        resolve("10m", "tomasz-w", "spare"),
        diff("20m", "noor", p.FOLLOW, """
            If I read line 400 and new lines arrive, does the text move under my eyes?
            """, "follow", lines=4, range_as="strings"),
        reply("12m", "haruki", "follow", "It does not: `following` is only true within 4 px of the end."),
        reply("6m", "noor", "follow", """
            4 px at 200 % zoom is 8 px, and the wheel moves by fractions. Make it a line's height?
            """),
        reply("30m", "haruki", "follow", "Yes, better. Done."),
        diff("5m", "tomasz-w", p.FIND, """
            `new RegExp(words)`: somebody will search for `GET /a?b=(1`. And for `.*`.
            """, "regex"),
        reply("18m", "haruki", "regex", "Escaped. Real patterns only between slashes, as in the CLI."),
        push("40m", "haruki", "Escape what is searched for; follow within one line"),
        resolve("2m", "haruki", "follow"),
        resolve("25s", "haruki", "regex"),
        thread("1d", "sanvi", """
            The log contains what clients send. Is anything of it ever put into the page as HTML?
            """, "html"),
        reply("15m", "haruki", "html", "Never: `textContent` only, and there is a test with `<img onerror=…>` in it."),
        reply("4m", "sanvi", "html", "Then I have nothing to add. Well tested."),
        resolve("10s", "sanvi", "html"),
        approve("3h", "tomasz-w"),
        approve("2h", "noor"),
        merge("5m", "haruki"),
    ),
    Topic(
        "logo", "08-18 16:40",
        merge_request(CONSOLE, "benji", "favicon", "A favicon that can be told from a light bulb", """
            The old one is a yellow blob at 16 px. This one has a handle.
            """, "design", patches=(LOGO,), reviewers=("noor",)),
        image("1h", "noor", p.LOGO, (64, 64, 31, 8.5), "The handle is one pixel wide and disappears on a light tab bar. Two?", "handle"),
        reply("35m", "benji", "handle", "Two! And slightly darker."),
        push("2m", "benji", "A thicker handle"),
        reply("1h", "noor", "handle", "Now it is a lantern. 🏮"),
        resolve("1m", "noor", "handle"),
        approve("20s", "noor"),
        merge("2m", "noor"),
    ),
    Topic(
        "session", "08-19 09:15",
        merge_request(CONSOLE, "sanvi", "end-session", "End the session on the server as well", """
            A sign-out is now known to the server. Details are in an issue that not everybody can read yet.

            The table of revoked sessions holds digests, never tokens, and forgets them when they would have expired
            anyway.
            """, "security", patches=(p.SESSION,), reviewers=("tomasz-w", "noor")),
        milestone("1m", "sanvi", "1.0"),
        diff("2h", "tomasz-w", p.SESSION, """
            Every request now asks the database. How much does that cost at 200 requests a second?
            """, "cost", lines=2, range_as="codes"),
        reply("1h", "sanvi", "cost", """
            0.04 ms: it is SQLite, the table is small, and the answer is cached for five seconds. Which means that a
            revoked session can live for five more seconds. I find that acceptable. Do you?
            """),
        reply("12m", "tomasz-w", "cost", "I do. Please write those five seconds down where an auditor will look."),
        push("30m", "sanvi", "Document the five seconds"),
        resolve("5m", "tomasz-w", "cost"),
        diff("1h", "noor", p.SESSION, """
            Is the old comment's TODO anywhere else? Yes: `logout.spec.ts` still *expects* the hole.
            """, "spec", whole_file=True),
        reply("14m", "sanvi", "spec", "A test that guards a bug. Turned around."),
        push("3m", "sanvi", "The test expects 401 now"),
        resolve("6m", "noor", "spec"),
        approve("1m", "noor"),
        approve("9m", "tomasz-w"),
        edit_opener("3m", "sanvi", text="""
            A sign-out is now known to the server. Closes #{sign-out}

            The table of revoked sessions holds digests, never tokens, and forgets them when they would have expired
            anyway.
            """),
        merge("4m", "sanvi"),
    ),
    Topic(
        "local-time", "08-24 04:30",
        merge_request(CONSOLE, "liu-yan", "local-time", "Show local times with their zone", """
            Closes #{zones}

            UTC on hover, in exports, and everywhere when `clock = "utc"` is set. 设置会被记住。 The setting is
            remembered.
            """, "i18n", patches=(p.CLOCK,), reviewers=("ines-r",)),
        diff("5h", "ines-r", p.CLOCK, """
            A formatter for every single time is slow (one table has 900). Make it once per zone?
            """, "once", lines=6),
        reply("14h", "liu-yan", "once", "好的。 One per zone and locale, in a `Map`."),
        push("3m", "liu-yan", "Keep formatters"),
        thread("6h", "odile", "What does the wall show in the hour when the clocks go back?", "dst"),
        reply("15h", "liu-yan", "dst", """
            “02:30 CEST”, and an hour later “02:30 CET”. The zone tells them apart. That is why it must be shown 🙂
            """),
        reply("2h", "odile", "dst", "Hm. Good."),
        resolve("1h", "ines-r", "dst"),
        resolve("25s", "ines-r", "once"),
        approve("1m", "ines-r"),
        merge("10m", "ines-r"),
    ),
    Topic(
        "renovate", "08-31 04:10",
        merge_request(CONSOLE, RENOVATE, "renovate/vite-8.x", "Update dependency vite to v8", """
            | package | change |
            |---|---|
            | [vite](https://vite.dev) | `7.3.1` → `8.0.2` |

            This merge request has been generated by Renovate.
            """, "dependencies", patches=(Patch("package.json", '@@ -31,3 +31,3 @@\n-    "vite": "7.3.1"\n+    "vite": "8.0.2"'),
                                         Patch("package-lock.json", "@@ -1 +1 @@\n-{}\n+{}", is_collapsed=True, is_generated=True))),
        say("9m", CI, "❌ 3 failed · `Cannot find module './client'` · [log](https://ci.lantern.example/console/7741)", "red"),
        say("6h", "haruki", "It is our own `resolve.alias`. I will push the fix into this branch."),
        push("20m", "haruki", "Resolve the client by its full name"),
        edit("9m", "red", "✅ 203 passed · bundle 198 kB (−17 kB)"),
        say("4m", "haruki", "17 kB less, for nothing. Take it."),
        approve("1h", "noor"),
        merge("1m", "noor"),
    ),
    Topic(
        "night", "09-03 20:15",
        merge_request(CONSOLE, "noor", "night", "A theme for the night", """
            For #{dark}. Colours are variables everywhere now, and the second set follows the system.

            Still to do: graphs, the log, and whatever I have not seen at night yet.
            """, "design", patches=(p.THEME, p.OLD_THEME), reviewers=("freja", "benji"), draft=True),
        diff("13h", "freja", p.THEME, """
            `--quiet` on `--ground` is 3.0 : 1. Small text needs 4.5 : 1 (WCAG 1.4.3), and you use it for the small
            text.
            """, "contrast", lines=2),
        reply("30m", "noor", "contrast", "`#8a91a3` gives 5.8 : 1. Still quiet?"),
        reply("20m", "freja", "contrast", "I am told that it is. And now it can be read."),
        resolve("4m", "noor", "contrast"),
        diff("1d", "benji", p.OLD_THEME, "Is this line why the tooltips are black on black at night?", "tooltips"),
        reply("2h", "noor", "tooltips", "It is. Well found, I had blamed the browser."),
        push("3d", "noor", "Tooltips by variables"),
        resolve("1m", "noor", "tooltips"),
        unresolve("9h", "tooltips"),
        reply("1m", "benji", "tooltips", "Reopened, sorry: still black in the log view, on long lines."),
        thread("12d", "haruki", """
            The graphs draw on a canvas and do not know CSS variables. They could read them once and listen for a
            change. Shall I?
            """, "canvas"),
        reply("1d", "noor", "canvas", "Yes please. I would only do it worse."),
        push("9d", "haruki", "Graphs read the theme"),
        label("2d", "noor", "priority::low"),
        milestone("1m", "noor", "1.1"),
        thread("16d", "pete-q", "Does it cover the login page?", "login"),
        say("2d 5h", CI, "⚠ this branch is 61 commits behind `main`"),
    ),
    Topic(
        "retries", "09-11 12:25",
        merge_request(CONSOLE, "tomasz-w", "no-retries", "Stop retrying end-to-end tests", """
            We retry three times. A test that passes every second time therefore passes in 94 % of the runs, and
            nobody ever looks at it. This turns retries off and repairs the one that needed them.
            """, "ci", patches=(p.RETRIES, p.PURGE_TEST), reviewers=("noor",)),
        diff("1h", "noor", p.RETRIES, "I agree with every word and I am afraid of Monday.", "monday"),
        reply("16m", "tomasz-w", "monday", "Monday will be honest."),
        diff("4m", "noor", p.PURGE_TEST, """
            There: two hundred milliseconds and hope. What was it waiting for?
            """, "hope", lines=3),
        reply("10m", "tomasz-w", "hope", "For the focus to arrive in the field. `fill` waits for the field itself."),
        resolve("1m", "noor", "hope"),
        approve("1m", "noor"),
        merge("3m", "tomasz-w"),
        say("3d", "tomasz-w", "Monday: two red pipelines, both of them real. I call that a good Monday."),
    ),
    Topic(
        "csv-button", "09-12 17:00",
        merge_request(CONSOLE, "benji", "csv", "A button that exports the table as CSV", """
            For #{csv}. Done in the browser, so that no token is needed.
            """, patches=(p.EXPORT,), reviewers=("sanvi", "noor")),
        diff("2h", "sanvi", p.EXPORT, """
            1. A comma in a node's name shifts all columns after it.
            2. A name that begins with `=` is a formula in a spreadsheet: `=HYPERLINK(…)`. Node names come from
               configuration files that other people write.
            """, "formula", lines=2),
        reply("1h", "benji", "formula", "I had never heard of 2. Is quoting enough?"),
        reply("25m", "sanvi", "formula", """
            No. Quote, *and* put an apostrophe before `=`, `+`, `-` and `@`. OWASP calls it CSV injection.
            """),
        reply("2d", "ines-r", "formula", """
            `/api/nodes.csv` does both already. Should we not just link to it, and make the token easy to get?
            """),
        reply("3h", "benji", "formula", "That is less code and more useful. Closing this, I will do the link instead."),
        close("1m", "benji"),
        say("1d", "ines-r", "It is a good closing, @benji. Not everything that is written has to be merged."),
    ),
    Topic(
        "labels", "09-15 08:00",
        merge_request(CHARTS, "noor", "fit-labels", "Skip labels until the rest fits", """
            Closes #{narrow}

            The hidden table keeps all of them.
            """, patches=(p.LABELS,), reviewers=("benji",)),
        diff("1h", "benji", p.LABELS, """
            If a single label is wider than the axis, does this loop ever end?
            """, "loop", lines=3),
        reply("12m", "noor", "loop", "It does not! `every <= ticks.length` is missing. You are getting good at this."),
        push("8m", "noor", "End the loop when one label is left"),
        resolve("10m", "benji", "loop"),
        approve("30s", "benji"),
        merge("2m", "noor"),
    ),
    Topic(
        "plurals", "09-24 03:40",
        merge_request(CONSOLE, "liu-yan", "plurals", "Count with Intl.PluralRules", """
            Closes #{chinese}

            Twelve places. 第十二个在标题里。
            """, "i18n", patches=(p.PLURALS,), reviewers=("ines-r", "haruki")),
        diff("7h", "haruki", p.PLURALS, """
            A language that has no `one` (Japanese, Chinese) has only `other`. What does `forms["one"]` give there?
            """, "one", lines=2),
        reply("16h", "liu-yan", "one", """
            `select` never says `one` for those: `new Intl.PluralRules("ja").select(1)` is `other`. 日语也一样。
            """),
        reply("20m", "haruki", "one", "確かに。 True, I tried it. Resolved."),
        resolve("15s", "haruki", "one"),
        approve("5h", "ines-r"),
        merge("3m", "ines-r"),
    ),
    Topic(
        "aria", "09-28 11:30",
        merge_request(CONSOLE, "noor", "aria-table", "The node table speaks", """
            Second half of #{silent-table}, and the reason for the first: a real table, headers that are buttons,
            counts that are announced.
            """, "a11y", "area::table", patches=(p.HEADER, p.MENU), reviewers=("freja", "benji")),
        milestone("2m", "noor", "1.0"),
        diff("1d", "freja", p.HEADER, """
            I hear “Name, ascending, button, sorted ascending”. Twice is one too many: `aria-sort` says it already.

            ```suggestion:-1+0
            {title}
            ```
            """, "twice", lines=2),
        reply("1h", "noor", "twice", "Removed. I was being too helpful."),
        push("5m", "noor", "Say the order once"),
        resolve("3h", "freja", "twice"),
        diff("4m", "freja", p.MENU, """
            `aria-haspopup="true"` promises a menu, and what opens is a list of links. Either `role="menu"` with
            arrow keys, or no promise. I would take no promise.
            """, "menu", lines=4),
        reply("2d", "noor", "menu", "Then `aria-expanded` alone. Could you listen to it once more before I merge?"),
        push("4m", "noor", "No promise of a menu"),
        say("1d 2h", "benji", """
            Keyboard only, 20 minutes: I could do everything. Once I lost the focus after sorting by “uptime”.
            """),
        say("40s", "benji", "Twice, actually. Always with “uptime”."),
        say("1h 3m", "noor", """
            Uptime changes every second, so the rows move. The focus has to follow the *node*, not the row. On it.
            """),
        push("6d", "noor", "Keep the focus on the node"),
        approve("2h", "benji"),
        reply("11d", "noor", "menu", """
            @freja, it is all on the review app now. No hurry, but 1.0 waits for you. 💛
            """, "waiting"),
    ),
    Topic(
        "client", "10-02 09:00",
        merge_request(CONSOLE, "haruki", "client-1.0", "Regenerate the API client for 1.0", """
            Generated, apart from `openapi.yaml`. Please only read that.
            """, "api", patches=(p.OPENAPI, p.CLIENT, p.FIXTURES), reviewers=("tomasz-w",)),
        diff("2h", "tomasz-w", p.OPENAPI, """
            206 for “some nodes are missing” is unusual (it means *ranges*). 200 with `missing: […]` would surprise
            fewer people.
            """, "status", lines=4),
        reply("50m", "haruki", "status", """
            But then nobody looks at `missing`. That is how we got #{flicker}'s sister last year.
            """),
        reply("20m", "tomasz-w", "status", """
            Hm. You are right about people. Keep 206, and say in the description that it is deliberate.
            """),
        push("10m", "haruki", "Say that 206 is deliberate"),
        resolve("1m", "haruki", "status"),
        approve("5m", "tomasz-w"),
        lock("3m"),
        say("2h", "haruki", "It says “merge in progress” for two hours now. Is the merge train stuck?", "stuck"),
        say("14h", "ines-r", """
            The runner's disk was full in the middle of the merge. I have asked for help with unlocking it.
            """),
    ),
    Topic(
        "log-scale", "10-09 13:00",
        merge_request(CHARTS, "haruki", "log-scale", "A logarithmic scale", """
            For #{log-axis}. Linear remains the default.
            """, patches=(p.SCALE,), reviewers=("noor", "odile")),
        diff("1d", "noor", p.SCALE, """
            `Math.log10(0)` is `-Infinity`, and the line goes to the moon. What should happen with zeros?
            """, "zero", lines=3),
        reply("1d 3h", "haruki", "zero", """
            They are drawn at the lowest line, hollow, with a note. Nothing is left out silently.
            """),
        push("20m", "haruki", "Hollow points for zeros"),
        diff("3d", "odile", p.SCALE, """
            Where does it say ×10? I look at this at three in the morning.
            """, "times-ten"),
        reply("5h", "haruki", "times-ten", "At every line of the grid, and in the title: “latency (×10 per line)”."),
        reply("7d", "odile", "times-ten", "And in the exported picture? That is the one that reaches my boss.", "boss"),
    ),
    Topic(
        "spinner", "10-19 10:10",
        merge_request(CONSOLE, "benji", "no-spinner", "Remove the spinner", """
            Pages arrive in 40 ms. The spinner is shown for 300 ms, so that one sees it. Without it we are faster.
            """, "design", patches=(p.SPINNER,), reviewers=("noor",)),
        say("7m", CI, "✅ 214 passed · bundle 196 kB (−1.2 kB)"),
        say("1h", "kofi", "On the train they arrive in 4 s. What do I see then?"),
        say("30m", "benji", "Nothing, for 4 s. Hm.", "hm"),
        say("45s", "benji", "Ignore that, I have an idea.", "ignore"),
        delete("3m", "ignore"),
        say("2h", "benji", """
            New plan: the *old* page stays until the new one is there, and the link that was pressed pulses after
            200 ms. No spinner, no white.
            """),
        assign("5m", "benji", "benji"),
        push("2d", "benji", "Keep the old page until the new one is there"),
        ask_review("1m", "benji", "noor", "freja"),
        thread("3d", "freja", "How do I hear that something is happening, if there is nothing to hear?", "busy"),
        reply("1h", "benji", "busy", """
            `aria-busy` on the main region, and a polite “loading” after two seconds. Is that right?
            """),
    ),
]  # fmt: skip
