"""Pull requests with their reviews: the list without `since`, and single ones.

The list is walked newest first, down to what the last complete walk had seen. A pull request that is edited meanwhile
moves to the head, behind our back; its new time is later than this walk's beginning, so the next run finds it. A
killed first walk goes on where it was: rows only ever move down. Reviews are read whenever their pull request changed
(reviews.py), and `reviews_read_for` says for which state of it. A review can still come within the very second
that its pull request shows: one that changed just now is remembered only when it has settled.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pendulum
from pendulum import DateTime

from sources.core.cursor import SKEW
from sources.core.http.client import Failure
from sources.core.paging import Ask, Identified, Page, beginning, walk
from sources.core.reading import Batch
from sources.core.scope import PER_PAGE, Scope, identify_by
from sources.core.surfaces import Surface
from sources.core.values import Json, Row, Unreadable, instant, integer, maybe, text
from sources.github.config import GithubConfig
from sources.github.surfaces.listed import changed
from sources.github.surfaces.parts import LATEST, latest_row
from sources.github.surfaces.pull_request_rows import PULL_REQUESTS, pull_request_row, pull_version
from sources.github.surfaces.reviews import REVIEWS, Read, owed, read_reviews

__all__ = ["SETTLE", "SURFACE", "changed_pulls", "owed_reviews", "pull_batches", "pull_request"]

log = logging.getLogger("earshot.github")

SIDE_BY_SIDE = 10
SETTLE = timedelta(seconds=5)  # later than this after a change, nothing more comes within its second
TOO_DEEP = 422  # GitHub ends deep lists so; what lies behind is found by number (recheck.py)

sight = identify_by(pull_version)


@dataclass(frozen=True)
class Watermark:
    """`newest` of the last complete walk; while the first walk lasts, how many rows it covered and its own newest."""

    newest: DateTime | None = None
    window: dict[str, str] = field(default_factory=dict)
    etag: str | None = None
    covered: int = 0
    walking: DateTime | None = None

    def json(self) -> Json:
        newest, walking = (moment and moment.to_iso8601_string() for moment in (self.newest, self.walking))
        return {"newest": newest, "window": self.window, "etag": self.etag, "covered": self.covered, "walking": walking}


def load(saved: object, now: DateTime) -> Watermark:
    """The saved watermark. One that cannot be believed means a walk from the beginning: no `since` could bound it."""
    if saved is None:
        return Watermark()
    try:
        if not isinstance(saved, dict):
            raise Unreadable("not a watermark")
        newest, walking = maybe(instant, saved.get("newest")), maybe(instant, saved.get("walking"))
        if any(moment and moment > now + SKEW for moment in (newest, walking)):
            raise Unreadable("it lies in the future")
        window = {id_: text(version) for id_, version in saved["window"].items()}
        return Watermark(newest, window, maybe(text, saved["etag"]), integer(saved["covered"]), walking)
    except (Unreadable, KeyError, AttributeError) as error:
        log.warning("cursor_invalid surface=pull_requests: %s; reset", error)
        return Watermark()


async def pull_requests(repo: Scope, config: GithubConfig) -> AsyncIterator[Batch]:
    read = set[object]()
    async for reached, found in changed_pulls(repo, "pull_requests", config):
        read |= {pull.get("number") for pull in found}
        cursor = reached.json() if reached else None
        for batch in await pull_batches(repo, found, "pull_requests", repo.scope, cursor):
            yield batch
    async for batch in owed_reviews(repo, read):
        yield batch


async def changed_pulls(
    repo: Scope, surface: str, config: GithubConfig
) -> AsyncIterator[tuple[Watermark | None, list[Json]]]:
    """What is new in the list since this surface's watermark, and the watermark that is right once it has landed."""
    mark = load(repo.reading.raw_cursor(surface, repo.scope), repo.now)
    if mark.newest is None:
        async for reached, found in _first_walk(repo, surface, mark, config.overlap, config.floor):
            yield reached, found
            mark = reached
    async for caught_up, found in _catch_up(repo, mark, config.overlap):
        yield caught_up, found


async def _first_walk(
    repo: Scope, surface: str, mark: Watermark, overlap: timedelta, floor: DateTime | None
) -> AsyncIterator[tuple[Watermark, list[Json]]]:
    """From the newest to the oldest (or the configured start), committing how far it came. It goes on with the page
    that it ended with: what this very reading has read of that, as it is, is not read again.
    """
    read = repo.reading.pages.setdefault((surface, repo.scope), {})
    start = max(0, mark.covered - PER_PAGE)
    covered, walking, seen = start, mark.walking, dict[str, tuple[DateTime, str]]()
    try:
        async for page in walk(_asks(repo), sight, seeks=False, start=start):
            moments = _moments(page)
            if moments and not walking:
                walking = min(max(moments), page.answer.date)
            covered += len(page.items)
            seen |= {str(s.id): (s.moment, s.version) for s in page.sightings if s.moment and settled(s, page)}
            wanted = page.only(lambda s: _not_before(s, floor) and read.get(s.id) != s.version).items
            read.update({s.id: s.version for s in page.sightings if settled(s, page)})
            mark = replace(mark, covered=max(mark.covered, covered), walking=walking)  # never back
            yield mark, wanted
            if floor and moments and moments[-1] < floor:
                break
    except Failure as failure:
        if failure.status != TOO_DEEP or covered < 100 * PER_PAGE:
            raise
        log.info("%s: the list of pull requests ends at %d; older ones are read by number", repo.name, covered)
    newest = walking or floor or pendulum.from_timestamp(0)
    yield Watermark(newest, {id_: version for id_, (moment, version) in seen.items() if moment >= newest - overlap}), []


async def _catch_up(
    repo: Scope, mark: Watermark, overlap: timedelta
) -> AsyncIterator[tuple[Watermark | None, list[Json]]]:
    """From the head down to the watermark less the overlap; the watermark moves after the whole walk only."""
    assert mark.newest
    ask, floor = _asks(repo), mark.newest - overlap
    first = (await beginning(ask, None, PER_PAGE, mark.etag)).seen(sight)
    if first.answer.not_modified:
        return
    # what lies in the future moves nothing: by the clock alone each package would be further on than the one before
    newest = max([mark.newest, *(moment for moment in _moments(first) if moment <= first.answer.date)])
    window: dict[str, str] = {}
    async for page in walk(ask, sight, seeks=False, first=first):
        sightings = page.sightings
        recalled = [s for s in sightings if s.moment and s.moment >= newest - overlap and settled(s, first)]
        window |= {str(s.id): s.version for s in recalled}
        recent = page.only(lambda s: _not_before(s, floor))
        others = recent.only(lambda s: mark.window.get(str(s.id)) != s.version).items
        changed = [pull for pull in others if not repo.reading.is_kept(repo.scope, "pull_requests", pull)]
        if changed:
            yield None, changed
        if len(recent.items) < len(page.items):
            break
    quiet = all(settled(s, first) for s in first.sightings)
    caught_up = Watermark(newest, window, first.answer.etag if quiet else None)
    if caught_up != mark:
        yield caught_up, []


async def pull_batches(
    repo: Scope, pulls: list[Json], surface: str, scope: str, cursor: Json | None = None
) -> list[Batch]:
    """Rows of these pull requests and their reviews. A pull request whose reviews could not be read says so. What is
    remembered of long lists of reviews comes with their rows in batches of their own, which land before.
    """
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(pull: Json) -> Read:
        async with gate:
            number = pull.get("number")
            return await read_reviews(repo, number, _state(pull)) if isinstance(number, int) else Read([], False)

    read = dict(zip(map(id, pulls), await asyncio.gather(*map(one, pulls)), strict=True))

    def row(pull: Json) -> Row:
        return pull_request_row(pull, repo.scope, repo.name, repo.now, read[id(pull)].is_complete)

    shaped = {"pull_requests": repo.shape("pull_requests", pulls, lambda pull, *_: row(pull))}
    long = [remembered(repo, pull["number"], each) for pull in pulls if (each := read[id(pull)]).cursor is not None]
    others = [review for each in read.values() if each.cursor is None for review in each.rows]
    return [*long, Batch(surface, scope, {**shaped, **_with_latest(others)}, cursor)]


async def owed_reviews(repo: Scope, read: Collection[object] = (), only: int | None = None) -> AsyncIterator[Batch]:
    """The sweep: lists of which only the end was read since they were read whole, but for those it has read."""
    for number in owed(repo) if repo.reading.sweep else ():
        if number not in read and only in (None, number):
            found = await read_reviews(repo, number, "")
            if found.is_complete:
                yield remembered(repo, number, found)


def remembered(repo: Scope, number: object, read: Read) -> Batch:
    return Batch("reviews", f"{repo.scope}/{number}", _with_latest(read.rows), read.cursor)


def _with_latest(reviews: list[Row]) -> dict[str, list[Row]]:
    """No time tells an edited review from itself."""
    return {"reviews": reviews, "latest_versions": [latest_row("review", review) for review in reviews]}


def _state(pull: Json) -> str:
    try:
        return pull_version(pull)
    except Unreadable:
        return ""


def _asks(repo: Scope) -> Ask:
    return repo.asks("pull_requests", "pulls", state="all", sort="updated", direction="desc")


def _moments(page: Page) -> list[DateTime]:
    return [s.moment for s in page.sightings if s.moment]


def settled(sighting: Identified, page: Page) -> bool:
    return sighting.moment is not None and sighting.moment < page.answer.date - SETTLE


def _not_before(sighting: Identified, floor: DateTime | None) -> bool:
    return floor is None or sighting.moment is None or sighting.moment >= floor


async def pull_request(repo: Scope, number: int) -> AsyncIterator[Batch]:
    read = set[int]()
    async for pull, cursor in changed(repo, "pull_requests", f"pulls/{number}", number):
        if not instant(pull.get("updated_at")) < repo.now - SETTLE:
            cursor = {"etag": None, "shown": None}  # its reviews may still grow within this second
        for batch in await pull_batches(repo, [pull], "pull_requests", f"{repo.scope}/{number}", cursor):
            yield batch
        read.add(number)
    async for batch in owed_reviews(repo, read, number):
        yield batch


SURFACE = Surface("pull_requests", (PULL_REQUESTS, REVIEWS, LATEST), pull_requests)
