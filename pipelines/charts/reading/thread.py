"""One discussion whole: what it hangs on, the opener's words, the conversation, and what was said on its diff, file by
file and line by line.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from pipelines.ask.format.discussion import Discussion
from pipelines.ask.format.page import parent_facts, place
from pipelines.ask.format.shown import NOUNS, at, counted, line
from pipelines.ask.query.names import Names, reference
from pipelines.ask.query.published import Row
from pipelines.charts.plain import plain
from pipelines.charts.reading.note import Edits, edits, note, out, tag
from pipelines.charts.reading.rows import turn
from pipelines.charts.reading.words import around, text

__all__ = ["Told", "page"]

SERVICES = {"github": "GitHub", "gitlab": "GitLab", "bluesky": "Bluesky"}
KINDS = {kind: one for kind, one, _ in NOUNS.values()}
TOLD_APART = {"Project", "State", "Draft", "URL", "Updated", "Created", "Merge Status"}
NAMED = 5
BEGINNING = 90  # characters of what has no title


@dataclass(frozen=True)
class Told:
    """What the page has asked for."""

    talk: list[Discussion]
    versions: list[Row]  # of what was edited, the oldest first
    parent: Row  # nothing, of posts
    counts: Row  # said, system, turns
    here: str = ""  # the thread that was linked to
    known: Names = field(default_factory=dict)  # what places are called

    @cached_property
    def notes(self) -> list[Row]:
        return [each for discussion in self.talk for each in discussion.notes]

    @cached_property
    def edited(self) -> Edits:
        return edits(self.versions)

    @cached_property
    def opener(self) -> Row | None:
        return next(filter(_opens, self.notes), None)


def page(told: Told) -> str:
    """The page's right side."""
    if not told.notes:
        return '<div class="facts">Only the service itself wrote there.</div>'
    reposts = [each for each in told.notes if each["kind"] == "repost"]
    aside = {each["event_key"] for each in (told.opener, *reposts) if each}
    talk = [each for each in (_without(discussion, aside) for discussion in told.talk) if each.notes]
    opener = note(told.opener, told.edited) if told.opener else ""
    spoken = _conversation([each for each in talk if not _pin(each)], told)
    pinned = [each for each in talk if _pin(each)]
    parts = (_head(told), opener, spoken, _reposted(reposts), _on_the_diff(pinned, told))
    return f'<div data-earshot="thread">{"".join(parts)}</div>'


def _opens(row: Row) -> bool:
    return f"{row['source']}:{row['id']}" == row["parent_key"] or (
        row["kind"] == row["parent_kind"] and row["parent_number"] is not None
    )


def _without(discussion: Discussion, aside: set[str]) -> Discussion:
    kept = [each for each in discussion.notes if each["event_key"] not in aside]
    return Discussion(discussion.thread_id, discussion.is_resolved, discussion.waiting_on, kept)


def _pin(discussion: Discussion) -> Row | None:
    """Its first note that has a place in a file: what is deleted has none any more."""
    return next((each for each in discussion.notes if each.get("path")), None)


def _head(told: Told) -> str:
    first, parent = told.opener or told.notes[0], told.parent
    whose = told.counts["turns"]
    service = SERVICES.get(first["source"], first["source"])
    where = f"{KINDS.get(first['parent_kind'], 'Posts')} {reference(first, told.known)} on {service}"
    marks = [parent.get("state"), "draft" if parent.get("is_draft") else "", f"turn: {turn(whose)}" if whose else ""]
    known_of_it = parent_facts(parent) if parent else ()
    facts = [f"{name} {value}" for name, value in known_of_it if value and name not in TOLD_APART]
    most, shown, system = told.counts["said"], len(told.notes), told.counts["system"]
    facts += [f"{shown:,} of {most:,} utterances are shown"] if most > shown else []
    facts += [f"{counted(system, 'system note')} not shown"] if system else []
    stands = (f'<span class="when">{text(where)}</span>', *map(tag, marks), out(first["url"], "open there ↗"))
    return (
        f'<div class="head">{" ".join(filter(None, stands))}</div>{_heading(2, "title", _title(told))}'
        f'<div class="facts">{" · ".join(text(line(fact)) for fact in facts)}</div>'
    )


def _title(told: Told) -> str:
    """Of what has none, how it began."""
    opener = told.opener or {}
    if title := plain(told.parent.get("title") or opener.get("title")):
        return title
    begun = plain((opener or told.notes[0])["body"]) or "Without words"
    return begun if len(begun) <= BEGINNING else f"{begun[:BEGINNING].rstrip()} …"


def _heading(level: int, kind: str, words: str) -> str:
    """No h2: of these marimo makes an outline beside the page."""
    return f'<div role="heading" aria-level="{level}" class="{kind}">{text(words)}</div>'


def _conversation(talk: list[Discussion], told: Told) -> str:
    authors = {each["id"]: each["author"] for each in told.notes}
    parts, above = [], (told.opener or {}).get("id")
    for discussion in talk:
        for number, each in enumerate(discussion.notes):
            answered = each["in_reply_to"]
            to = authors.get(answered) if answered != above else ""
            is_post = each["parent_kind"] == "post"  # all of one thread, whose turn stands above
            marks = _marks(discussion) if number == 0 and not is_post else ()
            parts.append(note(each, told.edited, marks, to=to, is_answer=number > 0 and not is_post))
            above = each["id"]
    return "".join(parts)


def _on_the_diff(pinned: list[Discussion], told: Told) -> str:
    pins = sorted(((_pin(each) or {}, each) for each in pinned), key=lambda pin: (pin[0]["path"], pin[0]["line"] or 0))
    files = "".join(
        f"{_heading(4, 'file', path)}{''.join(_about(pin, discussion, told) for pin, discussion in each)}"
        for path, each in groupby(pins, key=lambda pin: str(pin[0]["path"]))
    )
    return _heading(3, "part", f"On the diff: {counted(len(pinned), 'thread')}") + files if pinned else ""


def _about(pin: Row, discussion: Discussion, told: Told) -> str:
    """One place in a file, and what was said about it."""
    is_here = discussion.thread_id == told.here
    tags = " ".join(map(tag, (*_marks(discussion), "outdated" if pin["is_outdated"] else "")))
    linked = '<button class="linked" autofocus>linked to</button>' if is_here else ""  # into view
    notes = "".join(note(each, told.edited, is_answer=number > 0) for number, each in enumerate(discussion.notes))
    head = f'<div class="head place"><b>{text(_where(pin))}</b> {tags} {linked}</div>'
    return f'<div class="about{" here" if is_here else ""}">{head}{around(pin)}{notes}</div>'


def _where(pin: Row) -> str:
    """In its file, whose name stands above."""
    if pin["line"] is None:
        return place(pin).removeprefix(pin["path"]).strip() or "the file"
    start, end = pin["start_line"], pin["line"]
    return f"line {end}" if start in (None, end) else f"lines {start} to {end}"


def _marks(discussion: Discussion) -> list[str]:
    """They stand on its first words, replies share them."""
    if discussion.is_resolved:
        return ["resolved"]
    return [f"turn: {discussion.waiting_on}"] if discussion.waiting_on else []


def _reposted(reposts: list[Row]) -> str:
    if not reposts:
        return ""
    people = ", ".join(at(each["author"]) for each in reposts[:NAMED])
    more = f" and {len(reposts) - NAMED:,} more" if len(reposts) > NAMED else ""
    return f'<div class="said facts">Reposted by {text(people)}{more}</div>'
