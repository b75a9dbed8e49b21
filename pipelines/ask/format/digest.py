"""A digest as text for mail (80 columns), or as Markdown for a chat: bounded, and others' words only words in it.

In Markdown nothing of theirs is a link, a picture, a heading or code, and no name calls anybody.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from pipelines.ask.format.shown import counted, line
from pipelines.ask.query.digest import Digest, Section
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago_short, instant

__all__ = ["LONGEST", "markdown", "plain", "text"]

LONGEST = 3_900  # characters: what chats take as one message
COLUMNS, WORDS, WHO, URL = 80, 120, 8, 300
MINUTES = len("2026-01-01 12:00")
EMPTY = "\u200b"  # between an @ and its name: no service calls anybody then
MEANT = str.maketrans({**{sign: f"\\{sign}" for sign in "\\`*_[]~|$"}, "<": "&lt;", ">": "&gt;", "&": "&amp;"})
CALLS = re.compile(r"@|#(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)

Write = Callable[[Digest, int], str]


def text(digest: Digest) -> str:
    return _bounded(_text, digest)


def markdown(digest: Digest) -> str:
    return _bounded(_markdown, digest)


def plain(words: str | None) -> str:
    """Somebody's words on one line of Markdown, where they mean nothing but themselves."""
    said = line(words)
    return _meant(said if len(said) <= WORDS else f"{said[: WORDS - 1].rstrip()}…")


def _meant(said: str) -> str:
    return CALLS.sub(lambda found: found[0] + EMPTY, said.translate(MEANT))


def _bounded(write: Write, digest: Digest) -> str:
    """With as many rows of each section as fit."""
    most = max(len(part.rows) for part in (digest.new, digest.waiting, digest.settled))
    return next(said for n in range(most, -1, -1) if len(said := write(digest, n)) <= LONGEST or n == 0)


def _text(digest: Digest, most: int) -> str:
    lines = _folded(_headline(digest))
    for name, part, write in _sections(digest):
        lines += ["", name]
        for row in part.rows[:most]:
            head = "  ".join(each for each in (line(row["reference"]), _elsewhere(row), write(row)) if each)
            lines += [_cut(f"  {head}"), _cut(f"    {line(row['last_words'])}")]
        lines += [f"  … and {part.total - len(shown):,} more"] if len(shown := part.rows[:most]) < part.total else []
        if part is digest.waiting:
            lines += _folded(f"  whose turn: {_turns(digest)}")
    return "\n".join([*lines, *_ending(digest), ""])


def _markdown(digest: Digest, most: int) -> str:
    lines = [f"**{_meant(_headline(digest))}**"]
    for name, part, write in _sections(digest):
        lines += ["", f"**{name}**", ""]
        for row in part.rows[:most]:
            words = plain(row["last_words"])
            lines.append(f"- {_link(row)} {plain(write(row))}{': ' if words else ''}{words}")
        lines += [f"- … and {part.total - len(shown):,} more"] if len(shown := part.rows[:most]) < part.total else []
        if part is digest.waiting:
            lines += [f"- whose turn: {_meant(_turns(digest))}"]
    return "\n".join([*lines, *_ending(digest), ""])


def _headline(digest: Digest) -> str:
    period = f"{instant(digest.since)[:MINUTES]} to {instant(digest.until)[:MINUTES]}"
    if not digest.counts:
        return f"{period}: nothing new was said"
    new, edited = (sum(row[name] for row in digest.counts) for name in ("new", "edited"))
    people = {name for row in digest.counts for name in row["people"]}
    told = f"{period}: {new:,} new, {edited:,} edited" if edited else f"{period}: {new:,} new"
    sources = ", ".join(f"{row['source']} {row['new'] + row['edited']:,}" for row in digest.counts)
    return f"{told}, by {counted(len(people), 'person').replace('persons', 'people')} ({sources})"


def _sections(digest: Digest) -> Iterator[tuple[str, Section, Callable[[Row], str]]]:
    if digest.new.total:
        yield f"New, in {counted(digest.new.total, 'thread')}", digest.new, _news
    if digest.waiting.total:
        yield f"Waiting longest, of {counted(digest.waiting.total, 'thread')}", digest.waiting, _waits
    if digest.settled.total:
        yield f"Settled, {digest.settled.total:,}", digest.settled, _settled


def _news(row: Row) -> str:
    turn = f", {line(row['waiting_on'])}'s turn" if row["waiting_on"] else ""
    return f"{row['new']:,} new, {_by(row)}{ago_short(row['last_at'])}{turn}"


def _waits(row: Row) -> str:
    return f"{_by(row)}{ago_short(row['last_at'])}, {line(row['waiting_on'])}'s turn"


def _settled(row: Row) -> str:
    return f"{row['how']}, {_by(row)}{ago_short(row['last_at'])}"


def _by(row: Row) -> str:
    return f"{line(row['last_author'])}, " if row["last_author"] else ""


def _elsewhere(row: Row) -> str:
    return "" if row["place"] == row["reference"] else line(row["place"])


def _turns(digest: Digest) -> str:
    told = [f"{line(row['who'])} {row['threads']:,}" for row in digest.turns[:WHO]]
    return ", ".join([*told, *([f"{len(digest.turns) - WHO:,} others"] if len(digest.turns) > WHO else [])])


def _ending(digest: Digest) -> list[str]:
    if not digest.troubles:
        return []
    return ["", f"Not all may be here: {counted(digest.troubles, 'thing')} to look at, `earshot status` names them"]


def _link(row: Row) -> str:
    url = quote(row["url"] or "", safe=":/?#&=%+,;~._-")
    is_safe = url.startswith(("https://", "http://")) and len(url) <= URL
    return f"[{plain(row['place'])}]({url})" if is_safe else f"{EMPTY}{plain(row['place'])}"


def _cut(words: str) -> str:
    """As wide as a terminal or a mail: wide characters count twice."""
    from rich.cells import cell_len, set_cell_size

    return words if cell_len(words) <= COLUMNS else f"{set_cell_size(words, COLUMNS - 1).rstrip()}…"


def _folded(words: str) -> list[str]:
    import textwrap

    return [_cut(each) for each in textwrap.wrap(words, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)]
