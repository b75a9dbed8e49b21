"""How far a list has been read, and what its overlap window held.

`since` is what the next run asks for: the newest row's time less the overlap, because a row can become visible late and
several rows share a second. `window` remembers (id → version) of the rows at or after `since`, so that re-reading them
yields only differences; what is no longer listed is forgotten, so that it is one when it comes back. Filtering the
overlap by a cursor instead would throw away exactly the late rows it is for.

The ETag vouches for one page, so it is kept only if that page was the whole answer to the very question that the next
run will ask, with room for one more row: a changed walk ends by asking it. A 304 then means that nothing happened at
all. A full page stays as it is when the next one begins, and a 304 need not carry the `Link` that would tell. A window
that fills a page can therefore never be vouched for; once its rows are old (twice the overlap) it is closed behind its
newest row.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pendulum import DateTime

from sources.core.config import ConfigError
from sources.core.paging import Ask, Identified, Page, Sight, Window, beginning, walk
from sources.core.values import Json, Unreadable, instant, maybe, text

__all__ = ["SKEW", "BadCursor", "Changes", "Cursor", "differs", "follow", "load", "start_of"]

CONFIRMATIONS = 3
SKEW = timedelta(minutes=1)  # by which servers behind one address may differ; less than what the overlap reads again


class BadCursor(Exception):
    """A saved cursor that cannot be believed."""


Seen = tuple[DateTime, str]


@dataclass(frozen=True)
class Changes:
    """New rows, the cursor that they make true, and the ids of those that changed within one instant: which of two
    versions with one time is the later is known only now."""

    items: list[Json]
    cursor: "Cursor"
    read_at: DateTime  # by the server's clock
    rivals: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cursor:
    since: DateTime | None = None
    newest: DateTime | None = None
    window: dict[str, Seen] = field(default_factory=dict)
    etag: str | None = None
    complete: bool = False

    def json(self) -> Json:
        return {
            "since": self.since and self.since.to_iso8601_string(),
            "newest": self.newest and self.newest.to_iso8601_string(),
            "window": {id_: [moment.to_iso8601_string(), version] for id_, (moment, version) in self.window.items()},
            "etag": self.etag,
            "complete": self.complete,
        }


def load(saved: object, *, now: DateTime, floor: DateTime | None) -> Cursor:
    """The saved cursor, or a new one at `floor` (the configured start). `BadCursor` if it cannot be believed."""
    if saved is None:
        return Cursor(since=floor)
    try:
        if not isinstance(saved, dict):
            raise Unreadable("not a cursor")
        since, newest = (maybe(instant, saved.get(name)) for name in ("since", "newest"))
        window = {id_: (instant(moment), text(version)) for id_, (moment, version) in saved["window"].items()}
        etag = maybe(text, saved.get("etag"))
    except (Unreadable, KeyError, ValueError, TypeError, AttributeError) as error:
        raise BadCursor(f"{type(error).__name__}: {error}") from None
    latest = max(filter(None, (since, newest)), default=now)
    if latest > now + SKEW:  # what is said until then would be older than what is asked for
        raise BadCursor(f"it lies in the future: {latest}")
    return Cursor(since, newest, window, etag, saved.get("complete") is True)


def start_of(where: str, since: str) -> DateTime | None:
    """The configured `since`, a date or an instant; None: from the beginning."""
    try:
        return instant(since if "T" in since else f"{since}T00:00:00Z") if since else None
    except Unreadable:
        raise ConfigError(f"{where} since: {since!r} is not a date like 2025-01-31") from None


def differs(cursor: Json, known: object) -> bool:
    """By more than an ETag, which alone is worth no package."""
    return not isinstance(known, dict) or {**cursor, "etag": None} != {**known, "etag": None}


async def follow(
    ask: Ask,
    sight: Sight,
    cursor: Cursor,
    *,
    overlap: timedelta,
    size: int = 100,
    seeks: bool = True,
    reread: bool = False,
    floor: DateTime | None = None,
) -> AsyncIterator[Changes]:
    """What is new since `cursor`, with the cursor that is right once these rows have landed. Nothing new: nothing.

    With `reread` the list is read from its beginning (or the configured start, `floor`) and every row is yielded; the
    cursor never goes back. A list that cannot be sorted by time (`seeks=False`) is whole or nothing: no part of it
    tells how far it was read.
    """
    told, pages = cursor, 0
    asked = floor if reread else cursor.since
    first = await beginning(ask, asked, size, cursor.etag if cursor.complete and not reread else None)
    if first.answer.not_modified and not first.more:
        return
    if first.answer.not_modified:  # the page is as it was, but another has appeared behind it: ETags do not cover Link
        first = await beginning(ask, asked, size)
    shown, until = set[str](), None
    async for page in walk(ask, sight, since=asked, seeks=seeks, size=size, first=first):
        pages += 1
        shown.update(str(s.id) for s in page.sightings)
        fresh = page.items if reread else _differences(page, cursor)
        rivals = _rivals(page, cursor)
        cursor = _advance(cursor, page, overlap, until)
        if until is None and any(s.moment and s.moment > page.answer.date for s in page.sightings):
            until = page.answer.date  # pages behind rows of the future do not show what is said from now on
        if fresh:
            told = replace(cursor, etag=None, complete=False) if seeks else told
            yield Changes(fresh, told, page.answer.date, rivals)
    cursor = replace(cursor, complete=True, window={id_: v for id_, v in cursor.window.items() if id_ in shown})
    whole = first if pages == 1 and cursor.since == asked else None
    async for found in _confirm(ask, sight, cursor, overlap, size, whole):
        if found.items or found.cursor != told:
            told = found.cursor
            yield found


async def _confirm(
    ask: Ask, sight: Sight, cursor: Cursor, overlap: timedelta, size: int, answered: Page | None
) -> AsyncIterator[Changes]:
    """Asks the next run's question once, for the ETag that lets it cost nothing; its rows are read like any others."""
    for _ in range(CONFIRMATIONS):
        asked = cursor.since
        page, answered = (answered or await beginning(ask, asked, size)).seen(sight), None
        fits = page.window.size if page.window else size
        fresh, rivals = _differences(page, cursor), _rivals(page, cursor)
        cursor = _advance(cursor, page, overlap)
        whole = len(page.items) < fits and (
            not page.more or (bool(page.items) and not (await ask(Window(asked, 2, fits), None)).items)
        )
        if not whole and not fresh and cursor.newest and page.answer.date >= cursor.newest + 2 * overlap:
            cursor = replace(cursor, since=cursor.newest.add(seconds=1).start_of("second"), window={})
        settled = whole and cursor.since == asked
        cursor = replace(cursor, etag=page.answer.etag if settled else None)
        yield Changes(fresh, cursor, page.answer.date, rivals)
        if settled or (cursor.since == asked and not fresh):
            return


def _differences(page: Page, cursor: Cursor) -> list[Json]:
    """Rows that the window does not know; rows it could not place were reported when the walk met them."""
    return page.only(lambda s: _unknown(s, cursor)).items


def _unknown(sighting: Identified, cursor: Cursor) -> bool:
    known = cursor.window.get(str(sighting.id))
    return known is None or known[1] != sighting.version


def _rivals(page: Page, cursor: Cursor) -> frozenset[str]:
    known = ((s, cursor.window.get(str(s.id))) for s in page.sightings)
    return frozenset(str(s.id) for s, seen in known if seen and seen[0] == s.moment and seen[1] != s.version)


def _advance(cursor: Cursor, page: Page, overlap: timedelta, until: DateTime | None = None) -> Cursor:
    """Moves to the newest row less the overlap, never back, never past the server's own clock (or `until`)."""
    placed = [(str(s.id), (s.moment, s.version)) for s in page.sightings if s.moment]
    if not placed:
        return cursor
    newest = min(max(moment for _, (moment, _) in placed), page.answer.date, until or page.answer.date)
    newest = max(newest, cursor.newest or newest)
    since = max(newest - overlap, cursor.since or newest - overlap)
    window = {id_: seen for id_, seen in (cursor.window | dict(placed)).items() if seen[0] >= since}
    return replace(cursor, newest=newest, since=since, window=window)
