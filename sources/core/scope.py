"""One place of a service (a repository, a project): how its lists and records are asked, and what they become."""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

from pendulum import DateTime

from sources.core.http.client import Answer, Api, Failure, Params, RequestCounts, TooLarge
from sources.core.http.limits import rows_left
from sources.core.http.oversized import stand_in
from sources.core.paging import Ask, Identified, Page, Sight, Window, page_of
from sources.core.reading import Batch, Reading
from sources.core.values import Json, Row, Unreadable, fingerprint, held_instant, instant, integer

__all__ = ["PER_PAGE", "Found", "Scope", "ScopeType", "Shape", "find", "identify_by", "look_up", "noticed"]

log = logging.getLogger("earshot")

PER_PAGE = 100
Shape = Callable[[Json, str, str, DateTime], Row]  # record, scope, name, seen_at → row


@dataclass(frozen=True)
class Scope:
    scope: str
    name: str
    root: str  # the path that all others stand on
    now: DateTime  # the server's clock when this package of the reading began
    reading: Reading
    since: Callable[[DateTime], dict[str, str]]  # how its lists are asked for what changed since
    filters: bool = False  # whether rows are taken out after paging, so that a short page says nothing
    is_own: Callable[[str, str], bool] = lambda *_: True  # whether what answers under a path is what was asked for
    parent_of: Callable[[str, Json], str | None] = lambda surface, item: None  # the key of the issue it is or hangs on

    @property
    def api(self) -> Api:
        return self.reading.api

    def asks(self, surface: str, path: str, **params: str) -> Ask:
        """A list as something to page through."""

        async def ask(window: Window, etag: str | None) -> Page:
            query: dict[str, str | int] = {**params, "per_page": window.size, "page": window.page}
            if window.since:
                query |= self.since(window.since)
            try:
                answer = await self.get(surface, path, query, etag=etag)
            except TooLarge as why:
                if window.size > 1 or not self.is_own(why.answer.url.path, path):
                    raise
                answer = replace(why.answer, data=[stand_in(why)])
            return replace(page_of(self.api, answer, window.size, filters=self.filters), window=window)

        return ask

    async def one(self, surface: str, path: str) -> Json:
        return self.record(path, await self.get(surface, path))

    async def still_lists(self, surface: str, path: str) -> None:
        """Raises if a list answers no more: a place made private, or its feature switched off, deletes nothing."""
        await self.asks(surface, path)(Window(None, size=1), None)

    def record(self, path: str, answer: Answer) -> Json:
        """Without an id it is none: whatever else it says, nothing of it could ever be asked for again."""
        if not isinstance(answer.data, dict) or "id" not in answer.data:
            raise Failure("FETCH_ERROR", f"{self.root}/{path} answered something that is not a record")
        return answer.data

    async def get(self, surface: str, path: str, params: Params | None = None, *, etag: str | None = None) -> Answer:
        tally = self.reading.tally(surface, self.scope)
        answer = await self.api.get(f"{self.root}/{path}", params, etag=etag, tally=tally)
        if not self.is_own(answer.url.path, path):
            raise Failure("PROJECT_MISMATCH", f"{self.root}/{path} has moved into another place", status=answer.status)
        tally.pages += not answer.not_modified
        rows = len(answer.data) if isinstance(answer.data, list) else 0
        self._expects(tally, surface, params or {}, answer, rows)
        tally.fetched += rows
        return answer

    def _expects(self, tally: RequestCounts, surface: str, params: Params, answer: Answer, rows: int) -> None:
        """For whoever looks on: of a list that is read whole, or since a moment; others end where nothing is news."""
        page, size = params.get("page"), params.get("per_page")
        is_whole = self.reading.raw_cursor(surface, self.scope) is None or self.since(self.now).keys() & params.keys()
        if isinstance(page, int) and isinstance(size, int) and is_whole:
            left = rows_left(answer.headers, page, size, rows)
            tally.total = max(tally.total, tally.fetched + (left or 0))

    def shape(self, surface: str, found: list[Json], row: Shape) -> list[Row]:
        return self.reading.shape(
            self.scope,
            surface,
            found,
            lambda item: row(item, self.scope, self.name, self.now),
            lambda item: self.parent_of(surface, item),
        )


@dataclass(frozen=True)
class Found:
    """A place as a name led to it, and what is to be landed of itself."""

    name: str
    place: Scope
    news: Batch | None
    has_lists: bool = True  # that are read

    @property
    def scope(self) -> str:
        return self.place.scope

    async def batches(self) -> AsyncIterator[Batch]:
        if self.news:
            yield self.news


@dataclass(frozen=True)
class ScopeType:
    """What a service calls its places, and how it is asked which one a name means."""

    noun: str
    table: str
    label: str  # the column that people call it by
    news: tuple[str, ...]  # columns whose change is worth a row
    path: Callable[[str], str]
    row: Callable[
        [str, Answer], Row
    ]  # of the name and the answer to it; raises `Failure` if that is about no such place
    place: Callable[[str, str, DateTime, Reading], Scope]  # scope, name, now, reading


def noticed(now: DateTime, seen_at: object) -> DateTime:
    """When something was found gone: never before what is held of it was seen, which a service's clock that was put
    back since may have dated ahead.
    """
    return max(now, held_instant(seen_at) or now)


async def look_up(reading: Reading, kind: ScopeType, name: str, key: str) -> tuple[Scope, Batch | None]:
    """The place that `name` (as configured; saved under `key`) means today, and what is to be landed of itself: a row
    when it says news."""
    known = _known(reading.saved.get(kind.table, {}).get(key)) if not reading.full else {}
    tally = reading.tally(kind.table, key)
    answer = await reading.api.get(kind.path(name), etag=known.get("etag"), tally=tally)
    batch = None
    if answer.not_modified:
        place = kind.place(str(known["id"]), str(known["name"]), answer.date, reading)
    else:
        row = kind.row(name, answer)
        if known and known["id"] != row["id"]:
            log.warning("%s is now another %s (id %s, was %s); both are kept", name, kind.noun, row["id"], known["id"])
        place = kind.place(str(row["scope"]), str(row[kind.label]), answer.date, reading)
        shown = fingerprint([row[column] for column in kind.news])
        is_news = known.get("shown") != shown or known.get("id") != row["id"]
        cursor: Json = {"id": row["id"], "name": row[kind.label], "shown": shown, "etag": answer.etag}
        batch = Batch(kind.table, key, {kind.table: [row]} if is_news else {}, cursor)
    reading.names[place.scope] = place.name
    return place, batch


async def find(reading: Reading, kind: ScopeType, name: str, key: str) -> Found | None:
    """One that cannot be looked up is recorded."""
    try:
        return Found(name, *await look_up(reading, kind, name, key))
    except Failure as failure:
        reading.fail(key, kind.noun, failure)
        return None


def _known(saved: object) -> dict[str, Any]:
    """What was saved of a place: its id, name and ETag; nothing, if it cannot be believed, and it is looked up anew."""
    kinds = {"id": int, "name": str, "shown": str, "etag": str | None}
    believed = isinstance(saved, dict) and all(isinstance(saved.get(name), kind) for name, kind in kinds.items())
    return dict(saved) if believed and isinstance(saved, dict) and saved["name"].isprintable() else {}


def identify_by(version: Callable[[Json], str]) -> Sight:
    """How a walk sees a record. One that cannot be read is seen as itself, at its time if it tells one: so it is met
    once, and again when it is another."""

    def sight(item: Json) -> Identified:
        try:
            return Identified(integer(item.get("id")), version(item), instant(item.get("updated_at")))
        except (Unreadable, AttributeError, TypeError):
            return Identified(f"unreadable {fingerprint(repr(item))}", "", _moment(item))

    return sight


def _moment(item: Json) -> DateTime | None:
    try:
        return instant(item.get("updated_at"))
    except (Unreadable, AttributeError):
        return None
