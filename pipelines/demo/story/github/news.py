"""The story's last day on GitHub, and what is said between the first demo run and the second: then it is quiet."""

from pipelines.demo.story.cast import CI, LANTERN
from pipelines.demo.story.clock import STORY_END
from pipelines.demo.story.github.script import Thread, edit, issue, push, reply, resolve, review, say

__all__ = ["LAST_DAY", "NEWS"]

LAST_DAY = [
    Thread(
        "purge-202", "10-31 09:12",
        say("", "tomasz-w", """
            @pete-q `lantern key https://edge.example/news/` prints the key; so does the header `X-Lantern-Key` with
            `debug = true`.
            """),
        say("4h", "pete-q", """
            There is a `?utm_source=…` in it. So that is why. Would this be right?

            ```
            /earshot close
            [keys]
            ignore_query = ["utm_*"]
            ```
            """),
    ),
    Thread(
        "attempts", "10-31 15:25",
        issue(LANTERN, "kofi", """
            rc.1: `lantern_upstream_seconds` counts requests twice when they are repeated after a 401
            """, """
            During a rotation the metric shows 2 × the requests for a second. The repeated one goes through the same
            counter. Harmless, but my alert did not think so.
            """, "bug", "metrics"),
        say("1h 20m", "maya", """
            Thank you, that is the kind of report that I like to wake up to.

            /earshot label priority=medium area=metrics
            /earshot assign @haruki
            """),
        say("30m", "haruki", "Which number would you expect: one request, or two with a label `attempt`?"),
        say("11h", "kofi", "Two with a label. Hiding the first would be lying."),
    ),
    Thread(
        "early", "10-31 17:20",
        reply("", "tomasz-w", "zero", "Yes, exactly. I owed you that answer for ten days, sorry."),
        reply("3h", "maya", "default", "What would *you* put there, @odile? You have the nodes, we have a laptop."),
    ),
]  # fmt: skip

NEWS = [
    Thread(
        "early", STORY_END,
        reply("4s", "odile", "default", """
            0.5. I have tried 0.2, 0.5, 1 and 2 for a day each. Over 0.5 the origin notices, under it the visitors do.
            """),
        resolve("2s", "haruki", "default"),
        push("7s", "lantern.example.toml"),
        review("21s", "tomasz-w", "APPROVED", """
            With a TTL of 1 s nothing bad happens, that was my last doubt. For 1.1.
            """),
    ),
    Thread(
        "attempts", STORY_END,
        say("12s", "sanvi", "Seconded. A wave of 401s is something that I want to *see*."),
        say("16s", "haruki", "Done in `main`: `attempt=1` and `attempt=2`.", "done"),
        edit("11s", "done", "Done in `main`: `attempt=\"1\"` and `attempt=\"2\"`. It is in rc.2."),
    ),
    Thread(
        "purge-rotation", STORY_END.add(seconds=18),
        issue(LANTERN, "pete-q", "Rotate the purge token too", "Same as upstream tokens (#{tokens}), from a file."),
        say("13s", "sanvi", """
            Reasonable. One difference: *we* check this token, so during a rotation we should accept both for a while.

            /earshot label priority=medium area=purge
            """),
        say("9s", CI, "🏮 `v1.0.0-rc.2` is built: 511 passed, 3 skipped · coverage 84.3 %"),
    ),
]  # fmt: skip
