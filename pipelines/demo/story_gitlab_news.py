"""The first days after the story's end, as written: what was open is answered, what was stuck gets loose."""

from pipelines.demo import story_gitlab_patches as p
from pipelines.demo.story_gitlab_script import (
    Topic,
    approve,
    close,
    edit,
    label,
    merge,
    push,
    ready,
    reply,
    resolve,
    say,
    unresolve,
)

__all__ = ["TOPICS"]

TOPICS = [
    Topic(
        "client", "11-01 13:10",
        say("", "ines-r", "The runner has a larger disk, and the merge was taken up where it had stopped."),
        merge("2m", "haruki"),
        say("20m", "haruki", "Merged, after a month. お疲れ様でした。"),
    ),
    Topic(
        "aria", "11-01 14:25",
        reply("", "freja", "menu", "Listened again. No promise, no menu, no surprise. This one is done."),
        resolve("1m", "freja", "menu"),
        approve("20s", "freja"),
        say("35m", "noor", "Thank you, all of you, and @freja most of all. Merging, and then we ship. 🏮"),
        merge("3m", "noor"),
    ),
    Topic(
        "silent-table", "11-01 15:12",
        say("", "noor", "It speaks: #{aria}. @freja, would you close this one? It should be you."),
        close("8m", "freja"),
    ),
    Topic(
        "plan", "11-01 15:30",
        say("", "noor", "The fifth box is checked: #{silent-table}.", "fifth"),
        edit("4m", "fifth", "The fifth box is checked: #{silent-table}, by #{aria}. All five, and no sixth."),
        say("17h 10m", "ines-r", "1.0 is out, with Lantern 1.0. The notes thank everybody by name, also for the cake."),
        close("1m", "ines-r"),
    ),
    Topic(
        "csv", "11-02 08:40",
        say("", "ines-r", """
            Settings → Access → “Read only”. There is a page about it in the manual now, with a picture. In time for
            November's report?
            """),
        label("1m", "ines-r", remove=("docs",)),
        say("3h", "pete-q", "In time. Thank you."),
        close("1m", "pete-q"),
    ),
    Topic(
        "night", "11-03 19:30",
        push("", "noor", "The login page first", p.THEME),
        say("4m", "noor", "@pete-q It does cover the login page now, and I have tried it in a bedroom."),
        resolve("30m", "benji", "tooltips"),
        unresolve("2m", "tooltips"),
        reply("1m", "benji", "tooltips", "One is still dark: the third, in the log. So close."),
        push("1d 1h", "noor", "The third tooltip"),
        resolve("8h", "benji", "tooltips"),
        ready("1h", "noor"),
    ),
]  # fmt: skip
