"""One repository of GitHub: who it is, and how its lists are asked.

The numeric id is the scope in every key, so that a rename re-keys nothing. A name that now belongs to another id is
another repository: it gets its own history, the old one's stays.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pendulum import DateTime

from sources import github_rows as rows
from sources.http import Answer, Api, Failure, Params
from sources.paging import Ask, Page, Sight, Sighting, Window, page_of
from sources.reading import Batch, Reading
from sources.record import Json, Row, Unreadable, fingerprint, instant, integer

__all__ = ["Repository", "comment_rows", "issue_rows", "look_up", "review_comment_rows", "sight_by"]

log = logging.getLogger("earshot.github")

PER_PAGE = 100


@dataclass(frozen=True)
class Repository:
    scope: str
    name: str
    now: DateTime  # the server's clock when this reading began
    reading: Reading

    @property
    def api(self) -> Api:
        return self.reading.api

    def asks(self, surface: str, path: str, **params: str) -> Ask:
        """A list of this repository as something to page through."""

        async def ask(window: Window, etag: str | None) -> Page:
            query: dict[str, str | int] = {**params, "per_page": window.size, "page": window.page}
            if window.since:
                query["since"] = window.since.format("YYYY-MM-DD[T]HH:mm:ss[Z]")
            return page_of(self.api, await self.get(surface, path, query, etag=etag), window.size)

        return ask

    async def one(self, surface: str, path: str) -> Json:
        return self.record(path, await self.get(surface, path))

    def record(self, path: str, answer: Answer) -> Json:
        if not isinstance(answer.data, dict):
            raise Failure("FETCH_ERROR", f"/repos/{self.name}/{path} answered something that is not an object")
        return answer.data

    async def get(self, surface: str, path: str, params: Params | None = None, *, etag: str | None = None) -> Answer:
        tally = self.reading.tally(surface, self.scope)
        answer = await self.api.get(f"/repos/{self.name}/{path}", params, etag=etag, tally=tally)
        tally.pages += not answer.not_modified
        tally.fetched += len(answer.data) if isinstance(answer.data, list) else 0
        return answer

    def shape(self, surface: str, found: list[Json], row: Callable[[Json, str, str, DateTime], Row]) -> list[Row]:
        return self.reading.shape(self.scope, surface, found, lambda item: row(item, self.scope, self.name, self.now))


async def look_up(reading: Reading, name: str) -> Repository:
    """The repository that `name` (as configured) means today. Its row is emitted when it says something new."""
    key = name.lower()
    saved = reading.saved.get("repositories", {}).get(key)
    known = saved if isinstance(saved, dict) and "id" in saved and not reading.full else {}
    tally = reading.tally("repositories", key)
    answer = await reading.api.get(f"/repos/{name}", etag=known.get("etag"), tally=tally)
    if answer.not_modified:
        repository = Repository(str(known["id"]), str(known["name"]), answer.date, reading)
    else:
        row = _identity(name, answer)
        if known and known["id"] != row["id"]:
            log.warning("%s is now another repository (id %s, was %s); both are kept", name, row["id"], known["id"])
        repository = Repository(str(row["scope"]), str(row["repo"]), answer.date, reading)
        shown = fingerprint([row[column] for column in ("repo", "is_private", "is_archived")])
        news = {"repositories": [row]} if known.get("shown") != shown or known.get("id") != row["id"] else {}
        cursor: Json = {"id": row["id"], "name": row["repo"], "shown": shown, "etag": answer.etag}
        await reading.emit(Batch("repositories", key, news, cursor))
    reading.names[repository.scope] = repository.name
    return repository


def _identity(name: str, answer: Answer) -> Row:
    try:
        if not isinstance(answer.data, dict):
            raise Unreadable("not an object")
        return rows.repository_row(answer.data, answer.date)
    except Unreadable as error:
        raise Failure("FETCH_ERROR", f"/repos/{name} answered something that is not a repository: {error}") from None


def sight_by(version: Callable[[Json], str]) -> Sight:
    """How a walk sees a record; one that cannot be read is seen as itself, so that it is met once."""

    def sight(item: Json) -> Sighting:
        try:
            return Sighting(integer(item.get("id")), version(item), instant(item.get("updated_at")))
        except (Unreadable, AttributeError, TypeError):
            return Sighting(f"unreadable {fingerprint(repr(item))}", "", None)

    return sight


def issue_rows(repo: Repository, found: list[Json]) -> dict[str, list[Row]]:
    shaped = repo.shape("issues", found, rows.issue_row)
    return {"issues": shaped, "openers": repo.shape("issues", found, rows.opener_row)}


def comment_rows(repo: Repository, found: list[Json], rivals: frozenset[str] = frozenset()) -> dict[str, list[Row]]:
    shaped = repo.shape("issue_comments", found, rows.comment_row)
    return {"issue_comments": shaped, "latest_versions": _latest("issue_comment", shaped, rivals)}


def review_comment_rows(
    repo: Repository, found: list[Json], rivals: frozenset[str] = frozenset()
) -> dict[str, list[Row]]:
    shaped = repo.shape("review_comments", found, rows.review_comment_row)
    return {
        "review_comments": shaped,
        "review_comment_anchors": repo.shape("review_comments", found, rows.anchor_row),
        "latest_versions": _latest("review_comment", shaped, rivals),
    }


def _latest(kind: str, shaped: list[Row], rivals: frozenset[str]) -> list[Row]:
    return [rows.latest_row(kind, row) for row in shaped if str(row["id"]) in rivals]
