"""One place of a service (a repository, a project): how its lists and records are asked, and what they become."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pendulum import DateTime

from sources.http import Answer, Api, Failure, Params
from sources.paging import Ask, Page, Sight, Sighting, Window, page_of
from sources.reading import Reading
from sources.record import Json, Row, Unreadable, fingerprint, instant, integer

__all__ = ["PER_PAGE", "Place", "Shape", "known_place", "sight_by"]

PER_PAGE = 100
Shape = Callable[[Json, str, str, DateTime], Row]  # record, scope, name, seen_at → row


@dataclass(frozen=True)
class Place:
    scope: str
    name: str
    root: str  # the path that all others stand on
    now: DateTime  # the server's clock when this reading began
    reading: Reading
    since: Callable[[DateTime], dict[str, str]]  # how its lists are asked for what changed since
    filters: bool = False  # whether rows are taken out after paging, so that a short page says nothing

    @property
    def api(self) -> Api:
        return self.reading.api

    def asks(self, surface: str, path: str, **params: str) -> Ask:
        """A list as something to page through."""

        async def ask(window: Window, etag: str | None) -> Page:
            query: dict[str, str | int] = {**params, "per_page": window.size, "page": window.page}
            if window.since:
                query |= self.since(window.since)
            answer = await self.get(surface, path, query, etag=etag)
            return page_of(self.api, answer, window.size, filters=self.filters)

        return ask

    async def one(self, surface: str, path: str) -> Json:
        return self.record(path, await self.get(surface, path))

    async def still_lists(self, surface: str, path: str) -> None:
        """Raises if a list answers no more: a place made private, or its feature switched off, deletes nothing."""
        page_of(self.api, await self.get(surface, path, {"per_page": 1}), 1, filters=self.filters)

    def record(self, path: str, answer: Answer) -> Json:
        if not isinstance(answer.data, dict):
            raise Failure("FETCH_ERROR", f"{self.root}/{path} answered something that is not an object")
        return answer.data

    async def get(self, surface: str, path: str, params: Params | None = None, *, etag: str | None = None) -> Answer:
        tally = self.reading.tally(surface, self.scope)
        answer = await self.api.get(f"{self.root}/{path}", params, etag=etag, tally=tally)
        tally.pages += not answer.not_modified
        tally.fetched += len(answer.data) if isinstance(answer.data, list) else 0
        return answer

    def shape(self, surface: str, found: list[Json], row: Shape) -> list[Row]:
        return self.reading.shape(self.scope, surface, found, lambda item: row(item, self.scope, self.name, self.now))


def known_place(saved: object) -> dict[str, Any]:
    """What was saved of a place: its id, name and ETag; nothing, if it cannot be believed, and it is looked up anew."""
    kinds = {"id": int, "name": str, "shown": str, "etag": str | None}
    believed = isinstance(saved, dict) and all(isinstance(saved.get(name), kind) for name, kind in kinds.items())
    return dict(saved) if believed and isinstance(saved, dict) and saved["name"].isprintable() else {}


def sight_by(version: Callable[[Json], str]) -> Sight:
    """How a walk sees a record; one that cannot be read is seen as itself, so that it is met once."""

    def sight(item: Json) -> Sighting:
        try:
            return Sighting(integer(item.get("id")), version(item), instant(item.get("updated_at")))
        except (Unreadable, AttributeError, TypeError):
            return Sighting(f"unreadable {fingerprint(repr(item))}", "", None)

    return sight
