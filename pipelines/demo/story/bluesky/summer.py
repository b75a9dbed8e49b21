"""August: a stampede, a leak, a first pull request, and soup."""

from pipelines.demo.bluesky.state import Card, Image
from pipelines.demo.story.bluesky.script import Talk, delete, edit, pin, quote, reply, repost, say, unrepost

__all__ = ["PAPER", "TALKS"]

PAPER = Card(
    "https://cseweb.ucsd.edu/~avattani/papers/cache_stampede.pdf",
    "Optimal Probabilistic Cache Stampede Prevention",
    "Vattani, Chierichetti, Lowenstein",
)
TOKENS = "https://docs.lantern.example/security/tokens"

TALKS = [
    Talk(
        "hello", "08-03 08:20",
        say("", "lantern", """
            Lantern is a caching HTTP proxy that you can read in a weekend. The way to 1.0 is here, with a list:
            https://github.com/lantern/lantern

            What would you miss if we shipped tomorrow? #lantern
            """, "hello"),
        pin("2m", "hello"),
        repost("6m", "maya", "hello"),
        repost("31m", "ines", "hello"),
        reply("50m", "pete", "hello", "A way to purge by tag?", "tag"),
        reply("1h 5m", "maya", "tag", "Fair. Written down. What would you purge with it?", "what"),
        reply("3h", "pete", "what", "Everything tagged “oops”."),
        reply("4h", "odile", "hello", "Sleep.", "sleep"),
        reply("22m", "maya", "sleep", "That one is on the list too, it is just called “stampede”."),
        repost("9h", "benji", "hello"),
    ),
    Talk(
        "stampede", "08-04 07:30",
        say("", "odile", """
            One key expired. One. Forty nodes asked for it 2,300 times in the same second, and the origin lay down
            like a tired horse. Good morning.
            """, "horse", images=(Image("A graph: requests to the origin, flat for an hour, then one vertical line up to 2,300 at 06:52."),)),
        reply("18m", "kofi", "horse", "Same shape here, every time the front page expires. We call it the comb.", "comb"),
        reply("9m", "odile", "comb", "A comb with one tooth is a nail."),
        quote("2h", "haruki", "horse", "This is a solved problem, and a beautiful paper. Not yet solved in Lantern. 今晩読みます。", "paper", card=PAPER),
        repost("40m", "tomasz", "paper"),
        reply("1h", "tomasz", "paper", "Before the paper: a test that fails. I will bring one with 500 goroutines and a very slow origin.", "test"),
        reply("3h", "haruki", "test", "Please. I will bring numbers."),
        quote("1d", "ruth", "horse", """
            Every cache is a promise that somebody else made about the past. This is what it looks like when they all
            come to collect at once.
            """, "promise"),
        reply("2h", "odile", "promise", "It looks like 06:52."),
        repost("5h", "gazette", "horse"),
    ),
    Talk(
        "vary", "08-04 16:05",
        say("", "pete", "Does anybody's proxy do something sensible with Vary: * ?", "q"),
        reply("1h 20m", "tomasz", "q", "Sensible is: never store it. https://www.rfc-editor.org/rfc/rfc9111.html#section-4.1 is short and clear.", "rfc"),
        reply("14m", "pete", "rfc", "And Lantern?"),
        reply("30m", "tomasz", "rfc", "From tomorrow."),
    ),
    Talk(
        "first-pr", "08-12 18:10",
        say("", "benji", """
            I have opened my first pull request, ever, anywhere. It makes an error message say which line is wrong. It
            is 14 lines long and I have read every one of them about thirty times. #firstPR
            """, "first", images=(Image("A pull request titled “lantern check: name the line (my first PR!)”, with one green tick."),)),
        repost("11m", "maya", "first"),
        reply("3m", "maya", "first", "Thirty times is about right."),
        reply("1h", "otter", "first", "The last line of an error message is where the kindness goes. Well done."),
        reply("6h", "liu-yan", "first", "恭喜！ Congratulations!", langs=("zh", "en")),
        say("1d 2h", "benji", "Update: seven comments. I have learned more since yesterday than in the month before it. Nobody was mean. Is that normal?", "normal"),
        reply("16m", "noor", "normal", "It should be. Welcome."),
        reply("2h", "ruth", "normal", "No. Stay there."),
    ),
    Talk(
        "leak", "08-10 08:30",
        say("", "kofi", """
            Our proxy eats 90 MB a day and never says thank you. Restarting it every Sunday like somebody who waters a
            plastic plant.
            """, "plant"),
        reply("35m", "haruki", "plant", "Heap profile from before and after a day? I can look tonight."),
        reply("1h 10m", "odile", "plant", "Mine are at 1.9 GB. I thought that was their personality.", "mood"),
        repost("2m", "benji", "mood"),
        say("1d 9h", "kofi", """
            Found with @haruki.bsky.social: a reader hangs up, we keep the upstream body open. For ever. Four lines to
            fix, two nights to find. The graph on the right is the first flat one since June.
            """, "flat", images=(
                Image("Memory of one node over eight days: a staircase going up."),
                Image("The same graph after the fix: a straight line at 212 MB."),
            )),
        repost("20m", "haruki", "flat"),
        repost("45m", "odile", "flat"),
        reply("50m", "odile", "flat", "All forty: 210 MB. They have no personality left. I do not miss it."),
        quote("4h", "gazette", "flat", "Two nights of one colleague, zero restarts since. We will write this up properly."),
    ),
    Talk(
        "week-1", "08-07 16:00",
        say("", "lantern", """
            This week in Lantern: 11 issues opened, 4 closed, one of them with a test that takes longer to read than
            the fix. Work on collapsing concurrent misses has begun. #lantern
            """, "week"),
        repost("2h", "ines", "week"),
    ),
    Talk(
        "week-2", "08-14 16:00",
        say("", "lantern", "This week in Lantern: the memory leak is found, config errors name their line, and the access log no longer prints whatever a stranger sends. #lantern", "week"),
        repost("1h", "kofi", "week"),
        reply("3h", "pete", "week", "Is purge by tag in there?"),
        reply("40m", "ines", "week", "Not yet! It is number 9 on a list that is 14 long."),
    ),
    Talk(
        "week-3", "08-21 16:00",
        say("", "lantern", "This week in Lantern: upstream tokens are read from files, and again when the files change. No restart, no window in which both are wrong. #lantern", "week", card=Card(TOKENS, "Tokens · Lantern manual", "Where they are read from, and how to rotate them.")),
        repost("25m", "odile", "week"),
        reply("1h", "kofi", "week", f"We rotate ours on Mondays now. {TOKENS}#rotation has exactly the four steps one needs, in the right order.", "steps"),
        repost("2h", "lantern", "steps"),
    ),
    Talk(
        "tabs", "08-06 19:00",
        say("", "freja", """
            Today I listened to the manual of Lantern. The text is lovely. The code tabs say “group, group, group” and
            then nothing, like a choir that has forgotten the song.
            """, "choir"),
        reply("1h 30m", "ines", "choir", "Thank you for listening to it. Would you show me how you move through the page? I would like to hear it too.", "hear"),
        reply("20m", "freja", "hear", "With pleasure. Wednesday?"),
        reply("5m", "ines", "hear", "Wednesday."),
        say("6d", "ines", """
            An hour with a screen reader and a patient teacher. I have written manuals for nine years and today I heard
            one for the first time. https://www.w3.org/WAI/ARIA/apg/patterns/tabs/ is where we start.
            """, "heard"),
        repost("15m", "maya", "heard"),
        repost("3h", "freja", "heard"),
        repost("20m", "liu-yan", "heard"),
    ),
    Talk(
        "zh", "08-13 02:10",
        say("", "liu-yan", "开始翻译 Lantern 的手册了。第一个难题：“stampede” 应该怎么说？", "q", langs=("zh",)),
        reply("5h", "haruki", "q", "日本語では「スタンピード」と書くだけです。ずるい。", langs=("ja",)),
        say("1d 3h", "liu-yan", "I have decided: 惊群, “the startled herd”. It is older than the English word, and it has hooves. 🐎", "herd", langs=("en", "zh")),
        reply("40m", "odile", "herd", "Finally a term that describes my mornings."),
        repost("1h", "ines", "herd"),
    ),
    Talk(
        "console", "08-13 13:20",
        say("", "noor", """
            The hit-rate graph is updated in place now instead of being thrown away every five seconds. 11 ms a frame
            before, 0.9 ms after. Benji's work. Three chairs may be turned back.
            """, "chairs", images=(Image("Two drawings side by side: a graph being wiped off a board, and the same graph with one line being extended."),)),
        repost("12m", "benji", "chairs"),
        reply("1h", "odile", "chairs", "One chair has been turned back. The other two want to see a week of it first.", "chair"),
        reply("7d 1h", "odile", "chair", "All three."),
        repost("2h", "noor", "chair"),
    ),
    Talk(
        "purged", "08-05 17:30",
        say("", "kofi", "I have just purged production and thought it was staging. 1.4 million objects. The buttons are the same colour. Everything is warm again, except me.", "oops"),
        reply("6m", "noor", "oops", "That is our fault and not yours. A dialog that asks for the name is on its way. I am sorry."),
        reply("1h", "ruth", "oops", "May I quote this? Without the newspaper's name."),
        delete("2h", "oops"),
        say("10m", "kofi", "(Deleted a post about a purge, since our editors read this as well. Short version: it is fixed, there was cake, and confirmation dialogs are underrated.)", "cake"),
        repost("30m", "noor", "cake"),
    ),
    Talk(
        "meetup-aug", "08-13 21:40",
        say("", "lisbon", "Thank you all for tonight! 31 people, 3 talks, one pot of caldo verde that was not big enough. Slides follow.", "thanks", images=(
            Image("A long table in a courtyard, laptops between soup bowls."),
            Image("Inês Ribeiro in front of a slide that says: “A manual is a promise with a table of contents”."),
        )),
        repost("22m", "ines", "thanks"),
        reply("30m", "ines", "thanks", "The soup was a better talk than mine. Obrigada!", langs=("en", "pt")),
        say("1d 11h", "lisbon", "The slides of August, all three: https://lisbon-http.example/2026-08?utm_source=bluesky&utm_medium=social", "slides"),
        repost("5h", "benji", "slides"),
    ),
    Talk(
        "windows", "08-24 20:00",
        say("", "otter", "Four Windows machines, one cache directory that cannot be moved while anybody looks at it. Like a cat.", "cat"),
        reply("30m", "maya", "cat", "Would you try a build?"),
        reply("15m", "otter", "cat", "Gladly. I have four machines, one of them is even supposed to be one."),
        say("6d", "otter", "The build works. It can be renamed, it can be deleted, and Lantern goes on. Nobody tell the cat.", "works"),
        repost("1h", "lantern", "works"),
    ),
    Talk(
        "sfo", "08-18 17:00",
        say("", "benji", "A favicon that can be told from a light bulb. I drew it eleven times. This is the eleventh.", "icon", images=(Image("A small orange lantern on a dark square."),)),
        reply("10m", "noor", "icon", "It is the good one."),
        repost("3m", "noor", "icon", "r"),
        unrepost("5m", "r"),
        quote("2m", "noor", "icon", "In all browser tabs from Monday. The other ten hang in our kitchen."),
        edit("3h", "icon", "A favicon that can be told from a light bulb. I drew it twelve times. This is the eleventh; the twelfth was worse."),
    ),
    Talk(
        "single-flight", "08-28 15:10",
        say("", "haruki", "Merged: concurrent misses for one key are collapsed into one request. p99 of the front page in our bench: 214 ms before, 9 ms after. お疲れ様でした。", "merged", images=(Image("A table: version 0.9.2, 50 clients, p99 214 ms; main, 50 clients, p99 9 ms."),)),
        repost("4m", "tomasz", "merged"),
        repost("9m", "lantern", "merged"),
        repost("35m", "kofi", "merged"),
        reply("20m", "odile", "merged", "When?", "when"),
        reply("1h", "ines", "when", "0.10.0, on Tuesday."),
        quote("2h", "tomasz", "merged", "21 comments on that pull request, and the last one is a race that we would have shipped. Review is slow in the way that seat belts are slow."),
        repost("1d", "ruth", "merged"),
    ),
    Talk(
        "imported", "08-30 10:00",
        say("", "ruth", "Caching is a confession: it says that you could not make the thing fast. The essay, again, for those who have come here since: https://ruthhale.example/caching-is-a-confession", "essay", created="2026-08-30T09:15:00"),
        reply("2h", "maya", "essay", "It also says that you thought somebody would come back. I find that rather hopeful.", "hope"),
        repost("12m", "ines", "hope"),
        repost("1h", "kofi", "hope"),
        reply("3h", "ruth", "hope", "Annoyingly good. I may have to write a second part."),
        say("1h", "ruth", "From my old blog, so that it is all in one place: “The load balancer is a very small government.”", created="2025-03-02T08:00:00Z"),
        say("1m", "ruth", "From my old blog: “Nobody has ever read the second page of a dashboard.”", created="2025-05-19T08:00:00Z"),
    ),
]  # fmt: skip
