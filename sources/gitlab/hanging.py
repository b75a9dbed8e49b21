"""What hangs on merge requests and issues, read along their lists: threads, events, closed issues, diffs.

Each kind walks the lists with a cursor of its own: one that was left out, or dropped, catches up by itself, and where
several ask for the same page it is fetched once. Beside how far the list was read, the cursor says what is *owed*: what
failed, and what was read before it had settled (threads.py), so that nothing depends on the list to show it again. Rows
and what is owed of them land together, a page at a time.

What breaks simpler ways: a note within the minute after a touch shows nowhere, so a parent stays owed until the
server's clock at the read had passed the settle time; a failed one would be passed by the list's cursor; a deleted one
would fail for ever, so one that answers 404 with its parent is owed no more.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sources.core.cursor import Cursor, follow
from sources.core.http.client import Failure
from sources.core.paging import Ask, Page, Window
from sources.core.reading import Batch, not_understood
from sources.core.scope import Scope, identify_by
from sources.core.values import Json, Row, Unreadable, instant, integer, maybe, text
from sources.gitlab import rows
from sources.gitlab.lists import KINDS, GitlabConfig, asks_for
from sources.gitlab.threads import DEPENDENTS, NO_TOKEN, OF_MERGE_REQUESTS, due_of

__all__ = ["READ", "hanging", "once"]

READ = {"threads": "threads", "resource_events": "events", "closes_issues": "closes", "diffs": "diffs"}  # by table
PAGES = 16  # of a list that are kept for those who walk it behind the first


def once(place: Scope, surface: str, ask: Ask) -> Ask:
    """A page that several walks ask for is fetched for the first of them."""

    async def asked(window: Window, etag: str | None) -> Page:
        pages = place.reading.pages.setdefault((place.scope, surface), {})
        key = (window, etag)
        if key not in pages:
            for old in list(pages)[: max(0, len(pages) + 1 - PAGES)]:
                del pages[old]
            pages[key] = asyncio.ensure_future(ask(window, etag))
        try:
            found: Page = await asyncio.shield(pages[key])
        except Failure:
            pages.pop(key, None)
            raise
        return found

    return asked


@dataclass(frozen=True)
class Owed:
    """One merge request or issue that is to be read again, as its list last told it."""

    number: int
    updated_at: str
    user_notes_count: int | None
    head_sha: str | None
    shown: str | None = None  # fingerprint of what was landed of it

    @classmethod
    def told(cls, item: Json) -> "Owed | None":
        """None of a record that cannot be read: it lies in quarantine."""
        number = rows.number_told(item)
        try:
            at = instant(item.get("updated_at")).to_iso8601_string()
            count, sha = maybe(integer, item.get("user_notes_count")), maybe(text, item.get("sha"))
        except Unreadable:
            return None
        return cls(number, at, count, sha) if number is not None else None

    def json(self) -> list[object]:
        return [self.updated_at, self.user_notes_count, self.head_sha, self.shown]


async def hanging(place: Scope, name: str, config: GitlabConfig) -> AsyncIterator[Batch]:
    """All of one kind of dependents that is due in one project."""
    if not config.token:
        raise NO_TOKEN
    for surface in KINDS:
        if surface == "merge_requests" or READ[name] not in OF_MERGE_REQUESTS:
            async for batch in _along(place, name, surface, config):
                yield batch


async def _along(place: Scope, name: str, surface: str, config: GitlabConfig) -> AsyncIterator[Batch]:
    reading, scope = place.reading, f"{place.scope}/{surface}"
    owed = _owed(reading.raw_cursor(name, scope))
    start = reading.cursor(name, scope, now=place.now, floor=config.floor)

    def batch(found: dict[str, list[Row]], cursor: Cursor) -> Batch:
        return Batch(name, scope, found, {**cursor.json(), "owed": {n: each.json() for n, each in owed.items()}})

    if owed:
        found, owed = await _read(place, name, surface, owed.values(), config)
        yield batch(found, start)
    ask = once(place, surface, asks_for(place, surface))
    sight = identify_by(rows.listed_version)
    async for changes in follow(ask, sight, start, overlap=config.overlap, floor=config.floor):
        told = {str(each.number): each for item in changes.items if (each := Owed.told(item))}
        news = {n: replace(each, shown=owed[n].shown if n in owed else None) for n, each in told.items()}
        found, again = await _read(place, name, surface, news.values(), config)
        owed = {n: each for n, each in owed.items() if n not in news} | again
        yield batch(found, changes.cursor)


async def _read(
    place: Scope, name: str, surface: str, due: Iterable[Owed], config: GitlabConfig
) -> tuple[dict[str, list[Row]], dict[str, Owed]]:
    """Rows of all of them, and which are still owed."""
    gate = asyncio.Semaphore(config.dependent_concurrency)
    found, owed = dict[str, list[Row]](), dict[str, Owed]()

    async def one(each: Owed) -> None:
        async with gate:
            batch, is_owed, shown = await _one(place, name, surface, each, config)
        for table, some in batch.items():
            found.setdefault(table, []).extend(some)
        if is_owed:
            owed[str(each.number)] = replace(each, shown=shown)

    await asyncio.gather(*map(one, due))
    return found, owed


async def _one(
    place: Scope, name: str, surface: str, each: Owed, config: GitlabConfig
) -> tuple[Mapping[str, list[Row]], bool, str | None]:
    """What hangs on one parent; whether it is still owed; and the fingerprint of what is landed of it."""
    suspect: dict[str, Any] = {
        "kind": KINDS[surface],
        "number": each.number,
        "updated_at": instant(each.updated_at),
        "user_notes_count": each.user_notes_count,
        "head_sha": each.head_sha,
        "shown": each.shown,
    }
    due = due_of(place, suspect, config)
    try:
        batch = await DEPENDENTS[READ[name]][1](due)
    except Failure as failure:
        if failure.code == "NOT_FOUND" and await _is_gone(place, due.path):
            place.reading.tell(f"{place.name} {due.path} answers {failure.status}: it is gone, or not for this token")
            return {}, False, None
        place.reading.fail(place.scope, f"{name} of {due.path}", failure)
        return {}, True, each.shown
    except Unreadable as error:
        place.reading.fail(place.scope, f"{name} of {due.path}", not_understood(error))
        return {}, True, each.shown
    if name not in batch.rows:  # it says what it said, and that was owed
        return batch.rows, True, each.shown
    root = batch.rows[name][0]
    is_owed = root["is_settled"] is not True or root["synced_for_updated_at"] != due.updated_at
    return batch.rows, is_owed, str(root["shown"]) if "shown" in root else None


async def _is_gone(place: Scope, path: str) -> bool:
    try:
        await place.one("rechecks", path)
    except Failure as failure:
        return failure.code == "NOT_FOUND"
    return False


def _owed(saved: object) -> dict[str, Owed]:
    """What cannot be believed of it is forgotten with its cursor, and read anew."""
    kept = saved.get("owed") if isinstance(saved, dict) else None
    found = {}
    for number, told in kept.items() if isinstance(kept, dict) else ():
        if number.isdecimal() and isinstance(told, list) and len(told) == 4:
            found[number] = Owed(int(number), *told)
    return found
