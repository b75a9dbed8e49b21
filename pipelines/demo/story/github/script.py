"""How a GitHub thread is written down: a title, a date, and lines that say who did what how much later.

    Thread("stampede", "08-05 09:12", issue(LANTERN, "odile", "Thundering herd …", "…"), say("3h", "maya", "…"))

Every line names its delay after the one before ("2h 10m", "1d"). `name=` keeps what a line made for later lines;
`#{stampede}` in a text becomes that thread's number. A second Thread of the same name goes on where the first stopped.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pendulum
from pendulum import DateTime

from pipelines.demo.story.clock import Beat, Names, on_day

__all__ = [
    "Hunk", "Line", "Thread", "archive", "ask", "assign", "close", "delete", "delete_note", "delete_opener", "dismiss", "edit", "edit_note",
    "edit_opener", "edit_review", "issue", "label", "leave", "lock", "merge", "milestone", "note", "prose", "pull", "push", "reopen",
    "reply", "resolve", "review", "say", "unresolve",
]  # fmt: skip


@dataclass(frozen=True)
class Hunk:
    """The diff that a review comment hangs on. As on GitHub it ends with the commented line, which gives its number."""

    path: str
    diff: str

    def text(self) -> str:
        return tabs(self.path, self.diff.strip("\n"))

    def line(self, side: str, before: int = 0) -> int:
        """The number of the last line on this side, or of the one `before` lines above it."""
        header, *lines = self.diff.strip("\n").split("\n")
        starts = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", header)
        assert starts, header
        start, foreign = (int(starts[1]), "+") if side == "LEFT" else (int(starts[2]), "-")
        return start + sum(not line.startswith(foreign) for line in lines) - 1 - before


class Scene:
    """One thread while it is played: resolves short names to numbers and ids."""

    def __init__(self, world: Any, names: Names, thread: str) -> None:
        self.world, self.names, self.thread = world, names, thread

    @property
    def repo(self) -> Any:
        return self.names["repo " + self.names[self.thread][0]]

    @property
    def number(self) -> int:
        return int(self.names[self.thread][1])

    def made(self, name: str) -> Any:
        return self.names[f"{self.thread}.{name}"]

    def text(self, text: str) -> str:
        return re.sub(r"#\{([\w-]+)\}", self.reference, on_day(prose(text), self.names))

    def reference(self, match: re.Match[str]) -> str:
        repo, number = self.names[match[1]]
        here = self.names.get(self.thread, (repo,))[0]
        return f"#{number}" if repo == here else f"{repo}#{number}"


@dataclass(frozen=True)
class Line:
    """What happens `when` after the line before; what `act` returns is kept under `name`."""

    when: str
    act: Callable[[Scene], Any]
    name: str = ""


class Thread:
    """Lines in one issue or pull request, from a date on ("08-05 09:12" of 2026, or an instant)."""

    scene: type[Scene] = Scene
    tick = 0  # microseconds in the smallest step of the service's clock, if it tells parts of seconds

    def __init__(self, name: str, at: str | DateTime, *lines: Line) -> None:
        self.name, self.at, self.lines = name, at, lines

    def beats(self) -> Iterator[Beat]:
        """A delay that names seconds ("20s") is exact, and so is an instant; people do not write on the full minute, so
        all others fall on some second of theirs, by a fixed hash: every performance is the same."""
        at = exact = self.begin()
        for number, line in enumerate(self.lines):
            at += delay(line.when)
            salt = crc32(f"{self.name} {number} {line.name}".encode())
            if "s" in line.when or (isinstance(self.at, DateTime) and not line.when):
                exact += delay(line.when)
            else:
                exact = at.add(seconds=salt % 60, microseconds=salt % 1000 * self.tick)
            yield Beat(exact, self.performer(line))

    def begin(self) -> DateTime:
        at = self.at if isinstance(self.at, DateTime) else pendulum.parse(f"2026-{self.at.replace(' ', 'T')}:00Z")
        assert isinstance(at, DateTime)
        return at

    def performer(self, line: Line) -> Callable[[Any, Names], None]:
        def perform(world: Any, names: Names) -> None:
            made = line.act(self.scene(world, names, self.name))
            if line.name:
                names[f"{self.name}.{line.name}"] = made

        return perform


# Openers


def issue(repo: str, who: str, title: str, text: str, *labels: str) -> Line:
    def act(s: Scene) -> None:
        number = s.names["repo " + repo].open_issue(who, s.text(title), s.text(text), labels=labels)
        s.names[s.thread] = (repo, number)

    return Line("", act)


def pull(repo: str, who: str, branch: str, title: str, text: str, *labels: str, draft: bool = False) -> Line:
    def act(s: Scene) -> None:
        opened = s.names["repo " + repo].open_pull(who, title, s.text(text), head=branch, draft=draft, labels=labels)
        s.names[s.thread] = (repo, opened)

    return Line("", act)


# Speech


def say(when: str, who: str, text: str, name: str = "", app: str | None = None) -> Line:
    return Line(when, lambda s: s.repo.comment(s.number, who, s.text(text), app=app), name)


def review(when: str, who: str, state: str, text: str = "", name: str = "") -> Line:
    return Line(when, lambda s: s.repo.review(s.number, who, state, s.text(text)), name)


def note(
    when: str, who: str, hunk: Hunk, text: str, name: str = "", *,
    lines: int = 1, side: str = "RIGHT", whole_file: bool = False, under: str = "",
) -> Line:  # fmt: skip
    """A remark on the last line of a hunk (or its last `lines`, or the whole file), perhaps `under` a named review."""
    if whole_file:
        place: dict[str, Any] = {"line": None, "subject_type": "file"}
    else:
        start = hunk.line(side, lines - 1) if lines > 1 else None
        place = {"line": hunk.line(side), "side": side, "start_line": start, "diff_hunk": hunk.text()}

    def act(s: Scene) -> tuple[int, str, dict[str, Any]]:
        body = tabs(hunk.path, s.text(text))
        belongs = {"review_id": s.made(under)} if under else {}
        made = s.repo.review_comment(s.number, who, hunk.path, body, **place, **belongs)
        return made, hunk.path, place

    return Line(when, act, name)


def reply(when: str, who: str, to: str, text: str, name: str = "") -> Line:
    def act(s: Scene) -> tuple[int, str, dict[str, Any]]:
        first, path, place = s.made(to)
        made = s.repo.review_comment(s.number, who, path, tabs(path, s.text(text)), **place, in_reply_to=first)
        return made, path, place

    return Line(when, act, name)


def resolve(when: str, who: str, what: str) -> Line:
    """The thread that a remark belongs to. Nothing on the pull request shows that it happened."""
    return Line(when, lambda s: s.repo.resolve(s.made(what)[0], who))


def unresolve(when: str, what: str) -> Line:
    return Line(when, lambda s: s.repo.unresolve(s.made(what)[0]))


# Second thoughts


def edit(when: str, what: str, text: str) -> Line:
    return Line(when, lambda s: s.repo.edit_comment(s.made(what), s.text(text)))


def edit_note(when: str, what: str, text: str) -> Line:
    return Line(when, lambda s: s.repo.edit_review_comment(s.made(what)[0], tabs(s.made(what)[1], s.text(text))))


def edit_review(when: str, what: str, text: str) -> Line:
    return Line(when, lambda s: s.repo.edit_review(s.made(what), s.text(text)))


def edit_opener(when: str, title: str | None = None, text: str | None = None) -> Line:
    def act(s: Scene) -> None:
        s.repo.edit_issue(s.number, title=title, body=None if text is None else s.text(text))

    return Line(when, act)


def delete(when: str, what: str) -> Line:
    return Line(when, lambda s: s.repo.delete_comment(s.made(what)))


def delete_note(when: str, what: str) -> Line:
    return Line(when, lambda s: s.repo.delete_review_comment(s.made(what)[0]))


def delete_opener(when: str) -> Line:
    return Line(when, lambda s: s.repo.delete_issue(s.number))


def dismiss(when: str, what: str) -> Line:
    return Line(when, lambda s: s.repo.dismiss_review(s.made(what)))


# Life of a thread


def push(when: str, *outdates: str) -> Line:
    return Line(when, lambda s: s.repo.push(s.number, outdates=outdates))


def close(when: str, by: str | None = None) -> Line:
    return Line(when, lambda s: s.repo.close(s.number, by))


def reopen(when: str) -> Line:
    return Line(when, lambda s: s.repo.reopen(s.number))


def merge(when: str, by: str) -> Line:
    return Line(when, lambda s: s.repo.merge(s.number, by))


def label(when: str, *labels: str) -> Line:
    return Line(when, lambda s: s.repo.label(s.number, *labels))


def assign(when: str, *logins: str) -> Line:
    return Line(when, lambda s: s.repo.assign(s.number, *logins))


def milestone(when: str, title: str) -> Line:
    return Line(when, lambda s: s.repo.set_milestone(s.number, title))


def ask(when: str, *logins: str, teams: tuple[str, ...] = ()) -> Line:
    """For a review; who is asked is asked until they give one."""
    return Line(when, lambda s: s.repo.request_review(s.number, *logins, teams=teams))


def lock(when: str, why: str) -> Line:
    return Line(when, lambda s: s.repo.lock(s.number, why))


def archive(when: str) -> Line:
    """The whole repository."""
    return Line(when, lambda s: s.repo.archive())


def leave(when: str, login: str) -> Line:
    """The account is deleted; what it wrote stays, by nobody."""
    return Line(when, lambda s: s.world.delete_user(login))


# Text


def delay(when: str) -> pendulum.Duration:
    amounts = {unit: int(number) for number, unit in re.findall(r"(\d+)([dhms])", when)}
    days, hours, minutes, seconds = (amounts.get(unit, 0) for unit in "dhms")
    return pendulum.duration(days=days, hours=hours, minutes=minutes, seconds=seconds)


def prose(text: str) -> str:
    """Undo the wrapping that the source's line length forced on paragraphs and list items; leave fences as they are."""
    lines: list[str] = []
    fenced, open_paragraph = False, False
    for line in textwrap.dedent(text).strip().split("\n"):
        fence = line.startswith("```")
        plain = re.match(r"[^\s>|#/`<-]|#\{|`[^`]|\s{2,}\S", line) is not None and not re.match(r"\d+\. ", line)
        if open_paragraph and plain and not fenced:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
        fenced ^= fence
        open_paragraph = not fenced and not fence and (plain or re.match(r"- |\d+\. ", line) is not None)
    return "\n".join(lines)


def tabs(path: str, text: str) -> str:
    """Go is indented with tabs, which a Python source may not hold."""
    return text.replace("    ", "\t") if path.endswith(".go") else text
