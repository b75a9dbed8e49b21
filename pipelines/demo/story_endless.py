"""After the last written line: a quiet project goes on for ever, a few events in every six hours.

Each step opens one small thread (or goes on with an old one), out of eight kinds in turn. What it says comes from
tables whose lengths share no factor, so that the same sentence about the same setting returns only after months. At
least three of a thread's beats fall into its own step, the rest (an answer, a merge) into later ones.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count

from pendulum import DateTime

from pipelines.demo.story_cast import CI, DOCS, LANTERN
from pipelines.demo.story_clock import STEP, STORY_END, Beat
from pipelines.demo.story_phrases import (
    APPROVALS,
    BUMPS,
    FIXES,
    FOLLOW_UPS,
    GAPS,
    ME_TOO,
    MODULES,
    OWNERS,
    PAGES,
    QUESTIONS,
    SETTINGS,
    THANKS,
    WITNESSES,
)
from pipelines.demo.story_script import (
    Hunk,
    Thread,
    close,
    delete,
    edit,
    issue,
    label,
    merge,
    note,
    pull,
    push,
    reply,
    review,
    say,
)
from pipelines.demo.story_small import bump, checks

__all__ = ["beats"]


def question(step: int, name: str) -> Thread:
    setting, meaning, advice = SETTINGS[step % 13]
    who, title, text, answer = QUESTIONS[step // 8 % 5]
    helper = ("ines-r", "tomasz-w", "maya")[step % 3]
    lines = [
        issue(LANTERN, who, title.format(setting), text.format(meaning), "question"),
        say("38m", "kofi" if who != "kofi" else "haruki", ME_TOO[step // 8 * 2 % 5]),
        label("1h 10m", "docs"),
    ]
    if step % 3:  # every third question is left waiting
        lines += [say("1h 5m", helper, answer.format(advice)), say("7h", who, THANKS[step // 8 * 3 % 5]), close("2m")]
    return Thread(name, starting(step), *lines)


def fix(step: int, name: str) -> Thread:
    area, seen, path, old, new, reviewer, remark, answer = FIXES[step % 11]
    author = ("benji", "haruki", "kofi", "tomasz-w")[step // 8 % 4]
    reviewer = "ines-r" if reviewer == author else reviewer
    cause = f"Fixes #{{day-{step - 5}}}" if step > 5 else "A small one"
    start = 20 + step % 90
    hunk = Hunk(path, f"@@ -{start},5 +{start},5 @@\n-    {old}\n+    {new}")
    return Thread(
        name,
        starting(step),
        pull(
            LANTERN,
            author,
            f"fix/{area}-{step}",
            f"{area}: {seen}",
            f"{cause}, seen with {release(step)}. There is a test for it now.",
            "bug",
            area,
        ),
        checks("9m", LANTERN, 24 + step // 8),
        note("1h 20m", reviewer, hunk, remark, "remark"),
        reply("50m", author, "remark", answer),
        push("4m", path),
        review("1h 30m", reviewer, "APPROVED", APPROVALS[step % 7]),
        merge("3h", reviewer),
    )


def page(step: int, name: str) -> Thread:
    topic = PAGES[step % 11]
    setting, meaning, advice = SETTINGS[step % 13]
    hunk = Hunk(
        f"docs/{topic}.md",
        f"@@ -{12 + step % 40},3 +{12 + step % 40},4 @@\n ## Settings\n \n+`{setting}` is {meaning}.",
    )
    return Thread(
        name,
        starting(step),
        pull(
            DOCS,
            "benji",
            f"docs/{topic}-{step}",
            f"{topic.capitalize()}: say what `{setting}` is for",
            f"For readers who come from {release(step)}.",
            "docs",
        ),
        checks("7m", DOCS, step),
        note(
            "55m",
            "ines-r",
            hunk,
            f"Add the advice we always give?\n\n```suggestion\n`{setting}` is {meaning}. {advice}\n```",
            "remark",
        ),
        reply("20m", "benji", "remark", "Taken, thank you!"),
        push("1m", hunk.path),
        review("9h", "ines-r", "APPROVED", APPROVALS[step % 7]),
        merge("3m", "ines-r"),
    )


def dependency(step: int, name: str) -> Thread:
    turn = step // 8
    module, version = MODULES[turn % 7]
    old, new = version.format(turn // 7), version.format(turn // 7 + 1)
    who, approval = BUMPS[turn % 3]
    return bump(24 + turn, name, starting(step), LANTERN, module, old, new, who, approval)


def soak(step: int, name: str) -> Thread:
    at = starting(step)
    p99, rss, routines = 4.0 + step % 7 / 10, 211 + step % 6, 1_096 + step % 9
    watched = f"p99 {p99:.1f} ms · RSS {rss} MB · goroutines {routines:,} → {routines + step % 3:,}"
    report = f"Soak {at.to_date_string()} · {watched} · ✅"
    return Thread(
        "soak",
        at,
        say("", CI, report, name, app="lantern-ci"),
        edit("31m", name, f"{report}\n\nReport: https://ci.lantern.example/soak/{9000 + step}"),
        say("1h 4m", "haruki", f"Compared with {release(step - 28)}: p99 {p99 - 4.2:+.1f} ms. Within the noise."),
    )


def follow_up(step: int, name: str) -> Thread:
    thread, who, text, rest = FOLLOW_UPS[step // 8 % 5]
    weeks = 3 + step // 28
    return Thread(
        thread,
        starting(step),
        say("", who, text, name),
        delete("3m", name),
        say(
            "2m",
            who,
            f"{text} {rest.format(weeks)} (Sent too early the first time.)",
        ),
        say("2h 20m", "maya", ("💛", "Good to hear!", "Thank you for looking.")[step // 8 % 3]),
    )


def translation(step: int, name: str) -> Thread:
    topic, (gap, filled) = PAGES[step * 3 % 11], GAPS[step // 8 % 5]
    hunk = Hunk(f"docs/zh/{topic}.md", "@@ -0,0 +1,3 @@\n+<!-- 译文 -->\n+\n+缓存键由方法、主机和路径组成。")
    return Thread(
        name,
        starting(step),
        pull(
            DOCS,
            "liu-yan",
            f"zh/{topic}-{step}",
            f"zh: {topic}, as of {release(step)}",
            "更新译文。Brings the translation up to date.",
            "i18n",
        ),
        checks("7m", DOCS, step),
        note("1h 30m", "haruki", hunk, gap, "remark"),
        reply("45m", "liu-yan", "remark", filled),
        push("2m", hunk.path),
        review("6h", "haruki", "APPROVED", "Complete now. 完了。"),
        merge("1h", "ines-r"),
    )


def report(step: int, name: str) -> Thread:
    """Somebody sees on a node what a fix will name later."""
    area, seen, path, *_ = FIXES[(step + 5) % 11]
    who = ("odile", "kofi", "pete-q")[step // 8 % 3]
    owner = ("tomasz-w", "haruki", "sanvi")[step // 8 % 3]
    priority = ("low", "medium", "high")[step // 8 % 3]
    seen_on = f"Seen on {release(step)}, {2 + step % 5} nodes, three times since yesterday. I suspect `{path}`."
    triage = f"Confirmed here.\n\n/earshot label priority={priority} area={area}\n/earshot assign @{owner}"
    return Thread(
        name,
        starting(step),
        issue(LANTERN, who, seen, seen_on, "bug"),
        say("1h 15m", "maya", triage),
        say("1h 40m", owner, f"> /earshot assign\n\n{OWNERS[step // 8 % 5]}"),
        say("11h", who, WITNESSES[step // 8 * 2 % 5]),
        close("22h 30m"),  # when the fix, five steps later, is merged
    )


KINDS: list[Callable[[int, str], Thread]] = [question, fix, soak, page, report, dependency, translation, follow_up]


def starting(step: int) -> DateTime:
    return STORY_END.add(hours=6 * step, minutes=7 + step * 5 % 30)


def release(step: int) -> str:
    """A release every week, a minor one every eighth."""
    week = max(step, 0) // 28
    return f"1.{week // 8}.{week % 8}"


def beats() -> Iterator[Beat]:
    waiting: list[tuple[DateTime, int, Beat]] = []
    order = count()
    for step in count():
        for beat in KINDS[step % 8](step, f"day-{step}").beats():
            heapq.heappush(waiting, (beat.at, next(order), beat))
        while waiting and waiting[0][0] < STORY_END + STEP * (step + 1):
            yield heapq.heappop(waiting)[2]
