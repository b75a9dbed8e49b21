"""The story's last day on GitLab, and what is said between the first demo run and the second: then it is quiet."""

from pipelines.demo import story_gitlab_patches as p
from pipelines.demo.story_clock import STORY_END
from pipelines.demo.story_gitlab_script import Topic, approve, edit, merge, push, reply, resolve, say

__all__ = ["LAST_DAY", "NEWS"]

LAST_DAY = [
    Topic(
        "log-scale", "10-31 11:05",
        reply("", "haruki", "boss", "Not in the picture, you are right: it is cut off above the title. Fixing that first."),
        push("2h", "haruki", "The title belongs to the picture", p.SCALE),
    ),
    Topic(
        "plan", "10-31 20:10",
        say("", "kofi", "Looked at it from my phone, on the night bus. It is readable. I did not expect that."),
        say("9h 30m", "noor", "Neither did I. Thank you for the night bus."),
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
