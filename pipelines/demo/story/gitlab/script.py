"""How a GitLab topic is written down: like a GitHub thread (see `story_script`), with GitLab's own words.

    Topic("flicker", "08-05 09:12", issue(CONSOLE, "odile", "The graph flickers", "…"), say("3h", "noor", "…"))

`name=` keeps a note for `reply`, `edit`, `delete` and `resolve`. `#{flicker}` in a text becomes `#3` or `!4`, whatever
that topic is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from pipelines.demo.gitlab.state import FileDiff, Note, Position, Spot
from pipelines.demo.story.github.script import Line, Scene, Thread

__all__ = [
    "Patch", "Topic", "approve", "archive", "ask_review", "assign", "close", "delete", "diff", "drop_label", "edit",
    "edit_opener", "image", "issue", "label", "leave", "lock", "lock_discussion", "merge", "merge_request", "milestone", "push", "ready", "reopen", "reply", "resolve",
    "say", "spots", "thread", "unresolve",
]  # fmt: skip


@dataclass(frozen=True)
class Patch:
    """One file of a merge request; notes hang on the last line of its diff, or on its last few."""

    path: str
    diff: str = ""
    old_path: str = ""
    is_new: bool = False
    is_deleted: bool = False
    is_collapsed: bool = False
    is_too_large: bool = False
    is_generated: bool = False

    @property
    def file(self) -> FileDiff:
        return FileDiff(
            old_path=self.old_path or self.path,
            new_path=self.path,
            diff=self.diff.strip("\n") + "\n",
            is_new=self.is_new,
            is_deleted=self.is_deleted,
            is_collapsed=self.is_collapsed,
            is_too_large=self.is_too_large,
            is_generated=self.is_generated,
        )


def spots(diff: str) -> list[Spot]:
    """Both counters of every line, as GitLab's own parser runs them."""
    found: list[Spot] = []
    old = new = 0
    for line in diff.strip("\n").split("\n"):
        if header := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", line):
            old, new = int(header[1]), int(header[2])
            continue
        kind = {"+": "new", "-": "old"}.get(line[:1])
        found.append(Spot(old, new, kind))
        old += kind != "new"
        new += kind != "old"
    return found


class Stage(Scene):
    """One topic while it is played."""

    @property
    def parent(self) -> Any:
        return self.names[self.thread][1]

    @property
    def project(self) -> Any:
        return self.repo

    def reference(self, match: re.Match[str]) -> str:
        path, parent = self.names[match[1]]
        here = self.names.get(self.thread, (path,))[0]
        sign = "!" if hasattr(parent, "source_branch") else "#"
        return f"{'' if path == here else path}{sign}{parent.iid}"


class Topic(Thread):
    scene = Stage
    tick = 1000


# Openers


def issue(
    path: str, who: str, title: str, text: str, *labels: str, confidential: bool = False, type: str = "issue"
) -> Line:
    def act(s: Stage) -> None:
        project = s.names["repo " + path]
        opened = project.open_issue(
            who, s.text(title), s.text(text), labels=labels, confidential=confidential, type=type
        )
        s.names[s.thread] = (path, opened)

    return _line("", act)


def merge_request(
    path: str, who: str, branch: str, title: str, text: str, *labels: str,
    patches: tuple[Patch, ...] = (), reviewers: tuple[str, ...] = (), draft: bool = False, squash: bool = False,
    removes_branch: bool | None = None,
) -> Line:  # fmt: skip
    def act(s: Stage) -> None:
        opened = s.names["repo " + path].open_merge_request(
            who, title, s.text(text), source=branch, draft=draft, labels=labels, reviewers=reviewers,
            diffs=[patch.file for patch in patches], squash=squash, force_removes_branch=removes_branch,
        )  # fmt: skip
        s.names[s.thread] = (path, opened)

    return _line("", act)


# Speech


def say(when: str, who: str, text: str, name: str = "", internal: bool = False) -> Line:
    return _line(when, lambda s: s.project.comment(s.parent, who, s.text(text), internal=internal), name)


def thread(when: str, who: str, text: str, name: str) -> Line:
    """A discussion without a place in the diff."""
    return _line(when, lambda s: s.project.start_thread(s.parent, who, s.text(text)), name)


def diff(
    when: str, who: str, patch: Patch, text: str, name: str, lines: int = 1, range_as: str = "numbers",
    whole_file: bool = False,
) -> Line:  # fmt: skip
    """On the last line of the patch, on its last `lines`, or on the whole file."""
    marked = [] if whole_file else spots(patch.diff)[-lines:]

    def act(s: Stage) -> Note:
        line, start = (marked[-1], marked[0] if lines > 1 else None) if marked else (None, None)
        place = Position(patch.old_path or patch.path, patch.path, s.parent.refs, line, start, range_as)
        made: Note = s.project.start_thread(s.parent, who, s.text(text), place)
        return made

    return _line(when, act, name)


def image(when: str, who: str, path: str, at: tuple[int, int, float, float], text: str, name: str) -> Line:
    """`at`: width and height of the picture, and the point on it."""

    def act(s: Stage) -> Note:
        made: Note = s.project.start_thread(s.parent, who, s.text(text), Position(path, path, s.parent.refs, image=at))
        return made

    return _line(when, act, name)


def reply(when: str, who: str, to: str, text: str, name: str = "") -> Line:
    return _line(when, lambda s: s.project.reply(s.made(to), who, s.text(text)), name)


# Second thoughts


def edit(when: str, what: str, text: str) -> Line:
    return _line(when, lambda s: s.project.edit_note(s.made(what), s.text(text)))


def delete(when: str, what: str) -> Line:
    return _line(when, lambda s: s.project.delete_note(s.made(what)))


def edit_opener(when: str, who: str, title: str | None = None, text: str | None = None) -> Line:
    def act(s: Stage) -> None:
        s.project.edit(s.parent, who, title=title, description=None if text is None else s.text(text))

    return _line(when, act)


def resolve(when: str, who: str, what: str) -> Line:
    return _line(when, lambda s: s.project.resolve(s.made(what), who))


def unresolve(when: str, what: str) -> Line:
    return _line(when, lambda s: s.project.unresolve(s.made(what)))


# Life of a topic


def label(when: str, who: str, *add: str, remove: tuple[str, ...] = ()) -> Line:
    return _line(when, lambda s: s.project.label(s.parent, who, add=add, remove=remove))


def milestone(when: str, who: str, title: str | None) -> Line:
    return _line(when, lambda s: s.project.set_milestone(s.parent, who, title))


def assign(when: str, who: str, *people: str) -> Line:
    return _line(when, lambda s: s.project.assign(s.parent, who, *people))


def ask_review(when: str, who: str, *people: str) -> Line:
    return _line(when, lambda s: s.project.request_review(s.parent, who, *people))


def approve(when: str, who: str) -> Line:
    return _line(when, lambda s: s.project.review(s.parent, who, "approved"))


def ready(when: str, who: str) -> Line:
    return _line(when, lambda s: s.project.set_draft(s.parent, who, False))


def push(when: str, who: str, commit: str, *patches: Patch) -> Line:
    """One commit, which GitLab lists in a system note."""

    def act(s: Stage) -> None:
        files = [patch.file for patch in patches]
        kept = [file for file in s.parent.diffs if file.new_path not in {new.new_path for new in files}]
        sha = f"{crc32(commit.encode()):08x}"
        note = f"added 1 commit\n\n<ul><li>{sha} - {commit}</li></ul>\n\n[Compare with previous version](compare)"
        s.project.push(s.parent, who, note, kept + files)

    return _line(when, act)


def lock(when: str) -> Line:
    return _line(when, lambda s: s.project.lock(s.parent))


def lock_discussion(when: str, who: str, locked: bool = True) -> Line:
    return _line(when, lambda s: s.project.lock_discussion(s.parent, who, locked))


def merge(when: str, who: str, removes_branch: bool | None = None) -> Line:
    return _line(when, lambda s: s.project.merge(s.parent, who, removes_branch))


def drop_label(when: str, label: str) -> Line:
    """From the whole project; events then tell of no label."""
    return _line(when, lambda s: s.project.delete_label(label))


def archive(when: str) -> Line:
    return _line(when, lambda s: s.project.archive())


def leave(when: str, who: str) -> Line:
    """The account is deleted; what it wrote stays, by the ghost."""
    return _line(when, lambda s: s.world.delete_user(who))


def close(when: str, who: str) -> Line:
    return _line(when, lambda s: s.project.close(s.parent, who))


def reopen(when: str, who: str) -> Line:
    return _line(when, lambda s: s.project.reopen(s.parent, who))


def _line(when: str, act: Callable[[Stage], Any], name: str = "") -> Line:
    """A topic's lines are only ever played on a Stage."""
    return Line(when, lambda scene: act(scene) if isinstance(scene, Stage) else None, name)
