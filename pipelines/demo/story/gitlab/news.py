"""The story's last day on GitLab, and what is said between the first demo run and the second: then it is quiet."""

from pipelines.demo.story.clock import STORY_END
from pipelines.demo.story.gitlab import patches as p
from pipelines.demo.story.gitlab.cast import INTERN, SKETCHES
from pipelines.demo.story.gitlab.script import (
    Topic,
    approve,
    archive,
    assign,
    close,
    drop_label,
    edit,
    issue,
    leave,
    lock_discussion,
    merge,
    push,
    reply,
    resolve,
    say,
)

__all__ = ["LAST_DAY", "NEWS"]

LAST_DAY = [
    Topic(
        "log-scale", "10-31 11:05",
        reply("", "haruki", "boss", "Not in the picture, you are right: it is cut off above the title. Fixing that first."),
        push("2h", "haruki", "The title belongs to the picture", p.SCALE),
        lock_discussion("3m", "noor"),
        lock_discussion("40s", "noor", locked=False),
    ),
    Topic(
        "drawings", "10-31 15:00",
        issue(SKETCHES, INTERN, "Where the drawings are", """
            All forty sheets are scanned and in `paper/`, by date. The first table had four columns.
            """, "docs"),
        assign("2m", "noor", "noor", "maya"),
        say("10m", "noor", "Thank you. Four columns, and I fought for every one of them."),
        say("5m", INTERN, "You won, there are nine now. It was a good summer."),
        drop_label("1m", "docs"),
        close("2m", INTERN),
        leave("1h", INTERN),
        archive("3m"),
    ),
    Topic(
        "plan", "10-31 20:10",
        say("", "kofi", "Looked at it from my phone, on the night bus. It is readable. I did not expect that."),
        say("9h 30m", "noor", "Neither did I. Thank you for the night bus."),
        lock_discussion("10m", "noor"),
    ),
]  # fmt: skip

NEWS = [
    Topic(
        "aria", STORY_END,
        reply("3s", "freja", "menu", "Listened again. No promise, no menu, no surprise. This one is done."),
        resolve("5s", "freja", "menu"),
        approve("4s", "freja"),
        say("15s", "noor", "Thank you, all of you, and @freja most of all. Merging, and then we ship. 🏮"),
        merge("3s", "noor"),
    ),
    Topic(
        "plan", STORY_END,
        say("34s", "noor", "The fifth box is checked.", "fifth"),
        edit("9s", "fifth", "The fifth box is checked, by #{aria}. All five, and no sixth."),
    ),
    Topic(
        "client", STORY_END,
        say("20s", "ines-r", "The runner has a larger disk, and the merge was taken up where it had stopped."),
        merge("11s", "haruki"),
    ),
]  # fmt: skip
