"""One utterance: who, when, what is to be known of it, its words, what changed in them, and where it stands."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from pipelines.ask.format.page import verdict
from pipelines.ask.format.shown import at, counted, line
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago, day, instant
from pipelines.charts.reading.words import text, what_changed, words

__all__ = ["Edits", "edits", "note", "out", "tag"]

WEB = re.compile(r"https?://", re.I)
NAMELESS = "nobody known"
MARKS = {
    "is_bot": "bot",
    "is_own": "ours",
    "is_deleted": "deleted",
    "is_unlisted": "not for the public",
    "is_edit": "edited",
}
Edits = Mapping[tuple[str, str], Sequence[Row]]


def edits(versions: Iterable[Row]) -> Edits:
    """Of each utterance, in their order. An edit can make a post a quote."""
    found: dict[tuple[str, str], list[Row]] = {}
    for version in versions:
        found.setdefault(_known_by(version), []).append(version)
    return found


def _known_by(row: Row) -> tuple[str, str]:
    return "post" if row["parent_kind"] == "post" else str(row["kind"]), row["id"]


def note(row: Row, edited: Edits, tags: Iterable[str] = (), *, to: str | None = "", is_answer: bool = False) -> str:
    """`to`: whom it answers, where that is not who stands above it."""
    told_so = (each.lower().replace("_", " ") for each in verdict(row))
    marks = [f"to @{to}" if to else "", *told_so, *tags, *(mark for column, mark in MARKS.items() if row[column])]
    shown = f"{words(row)}{_media(row)}{_cut(row)}{_changes(edited.get(_known_by(row), ()))}"
    if row["is_deleted"] and shown:
        shown = f'<details data-earshot="deleted"><summary>show what it said</summary>{shown}</details>'
    kind = f"said{' answer' if is_answer else ''}{' deleted' if row['is_deleted'] else ''}"
    said_at = row["created_at"]
    when = f'<span class="when" title="{instant(said_at)}">{day(said_at)}, {ago(said_at)}</span>'
    who = f"<b>{text(at(row['author']) or NAMELESS)}</b>"
    told = " ".join(filter(None, (who, when, *map(tag, marks), out(row["url"], "↗"))))
    return f'<div class="{kind}"><div class="head">{told}</div>{shown}</div>'


def tag(mark: str | None) -> str:
    """Nothing of nothing."""
    team = " team" if mark and mark.startswith("turn: team") else ""
    return f'<span class="tag{team}">{text(line(mark))}</span>' if mark else ""


def out(url: str | None, name: str) -> str:
    """Only to the web."""
    if not url or not WEB.match(url):
        return ""
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer" title="{text(line(url))}">{name}</a>'


def _changes(versions: Sequence[Row]) -> str:
    """The last edit first."""
    if len(versions) < 2:
        return ""
    told = "".join(
        f'<div class="facts">{instant(after["updated_at"])}</div>{what_changed(_whole(before), _whole(after))}'
        for before, after in reversed([*pairwise(versions)])
    )
    times = counted(len(versions) - 1, "edit")
    return f'<details data-earshot="edits"><summary>{times}: show what changed</summary>{told}</details>'


def _whole(version: Row) -> str:
    return "\n\n".join(filter(None, (version["title"], version["body"])))


def _media(row: Row) -> str:
    return "".join(
        f'<div class="facts">[{text(each["kind"])}: {text(line(each["alt"])) or "nobody described it"}]</div>'
        for each in row.get("media") or ()
    )


def _cut(row: Row) -> str:
    return '<div class="facts">… the rest stands at its service</div>' if row.get("is_cut") else ""
