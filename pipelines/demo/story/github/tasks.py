"""Who does what by when on GitHub: assigned, planned for a release, asked for a review; resolved; locked; given up.

Each goes on with a thread that others open, between two of its own lines.
"""

from pipelines.demo.story.cast import BENCH
from pipelines.demo.story.github.script import (
    Thread,
    archive,
    ask,
    assign,
    close,
    issue,
    lock,
    milestone,
    resolve,
    say,
    unresolve,
)

__all__ = ["THREADS"]

THREADS = [
    Thread("checklist", "08-03 08:40", assign("", "ines-r"), milestone("1m", "1.0")),
    Thread("stampede", "08-04 07:05", assign("", "haruki", "tomasz-w"), milestone("1m", "1.0")),
    Thread("single-flight", "08-07 10:12", assign("", "haruki"), ask("1m", "tomasz-w", teams=("cache-core",))),
    Thread("leak", "08-10 08:02", assign("", "kofi"), milestone("1m", "1.0")),
    Thread("flaky", "08-11 09:25", assign("", "tomasz-w")),
    Thread("tokens", "08-12 11:12", assign("", "sanvi"), milestone("1m", "1.0")),
    Thread("soak", "09-24 06:04", lock("", "off-topic")),
    Thread("code-tabs", "10-12 09:52", assign("", "ines-r"), ask("1m", "freja", teams=("docs",))),
    Thread(
        "early", "10-12 08:36",
        assign("", "haruki"),
        milestone("1m", "1.1"),
        ask("1m", "tomasz-w", "sanvi", teams=("cache-core", "edge-operators")),
    ),
    Thread("early", "10-14 09:00", resolve("", "haruki", "seconds"), resolve("1m", "haruki", "zero")),
    Thread("early", "10-22 10:30", unresolve("", "zero")),
    Thread(
        "single-flight", "08-11 16:00",
        *(resolve("1m", "tomasz-w", each) for each in ("context", "panic", "removed", "sleep")),
    ),
    Thread("token-files", "09-30 10:00", resolve("", "sanvi", "race"), resolve("1m", "tomasz-w", "retry")),
    Thread(
        "bench", "08-18 19:30",
        issue(BENCH, "haruki", "Does this still measure anything?", """
            It replays requests of 2023 against a Lantern of 2023. The soak job tells us more by now.
            """),
        assign("3m", "maya"),
        say("2h", "maya", "It measures how much I liked writing it. I will take the replay files over and archive the rest."),
        close("9d", "maya"),
        archive("6m"),
    ),
]  # fmt: skip
