"""The walk that reads on in an account's feed.

A feed's cursor leads to older items only, so every poll starts at the head, without one. Items stand where
min(createdAt, indexedAt) puts them: a back-dated post appears below the head, and stopping at the first known post, or
by what authors claim, loses some. A walk therefore goes on until a whole page stands below its *goal*: the watermark
(when the last whole walk began) less the overlap. What breaks simpler walks:

- The head page is as it was (by its ETag, or by what it says), and a post was put below it. That page says nothing of
  those behind it: unless it reaches below the goal itself, the walk goes on behind it. Of these pages what they said is
  known, so that only those that say something else are landed. An account that fell silent would be walked so for ever:
  once its head page reaches below the overlap of *now*, the watermark moves, once, without any rows.
- A page may be short, or empty, with a cursor: only a missing cursor ends a feed. A page that filled the feed says the
  same when another appears behind it, but for its cursor.
- A walk is capped halfway: the stretch below must be remembered, and whatever the head grows by until the next run is
  read down to where the last one began. Where that alone fills a run's allowance it leaves a stretch too; a page of it
  is kept for the oldest one, or what was left first would wait for ever. When nothing is unread any more, the beginning
  of the first of these walks is the watermark, and nothing vouches for the head: what was back-dated into a part that
  was read already is within the next goal. If an earlier run read that part, this one walks from the head once more.
- A saved cursor is refused (500, 400), or so old that it is answered with nothing: it is walked from the head.
- Production's cursors are times, and "older than the cursor" skips items of the same millisecond at the edge of two
  pages. Such a cursor is moved up by that millisecond; what comes twice is dropped. A millisecond that fills a page
  is asked for once more, in the largest.
- A cursor that was followed before would lead in circles: the walk fails, its watermark stays.

What is dated back by more than the overlap is found by the deep sweep alone: recheck.py
"""

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from pendulum import DateTime

from sources.bluesky.rows import feed_item, said_at, sight
from sources.bluesky.trail import FeedCursor, Plan, Stretch, Top, anew, few
from sources.core.http.client import Answer, Failure
from sources.core.values import Json, Unreadable, fingerprint, instant

__all__ = ["Ask", "Changes", "Page", "goal_reached", "page_of", "walk", "wider"]

log = logging.getLogger("earshot.bluesky")

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
REFUSED = {400, 500}


@dataclass(frozen=True)
class Page:
    items: list[Json]
    cursor: str | None
    answer: Answer

    @cached_property
    def digest(self) -> str:
        """What it says, and whether there is more behind it."""
        return fingerprint([sight(item) for item in self.items], self.cursor is None)

    @property
    def is_hollow(self) -> bool:
        return not self.items and self.cursor is None


@dataclass(frozen=True)
class Changes:
    """Items, each once a walk; the last of them come with the trail that they make true."""

    items: list[Json]
    page: int
    trail: FeedCursor | None = None


Ask = Callable[..., Awaitable[Page]]  # cursor, ETag, is_large → page


def page_of(answer: Answer) -> Page:
    """The answer as a page of a feed; anything else is a failed read, not an empty one."""
    if answer.not_modified:
        return Page([], None, answer)
    data = answer.data
    feed = data.get("feed") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(feed, list) or not all(isinstance(item, dict) for item in feed):
        raise Failure("FETCH_ERROR", f"{answer.url.path} answered something that is not a feed")
    cursor = data.get("cursor")
    if not isinstance(cursor, str | None):
        raise Failure("FETCH_ERROR", f"{answer.url.path} answered a cursor that is none: {cursor!r:.60}")
    return Page([feed_item(item) for item in feed], cursor or None, answer)


async def walk(ask: Ask, trail: FeedCursor, plan: Plan) -> AsyncIterator[Changes]:
    """What is new since `trail`. Nothing new: nothing, but perhaps another ETag."""
    top = None if trail.unread or plan.rereads else trail.top
    head = await ask(None, trail.etag if top else None)
    now = head.answer.date
    if trail.head and trail.head > now.add(days=1):
        log.warning("cursor_invalid surface=posts: it lies in the future: %s; reset", trail.head)
        async for found in walk(ask, anew(trail.floor, trail.newest), replace(plan, is_lost=True)):
            yield found
        return
    going, after = _FeedWalk(ask, trail, plan, now, trail.newest), trail
    if trail.unread:
        way = going.join(head)
    elif top and (head.answer.not_modified or head.digest == top.digest):
        way = going.behind(head, top)
    else:
        way = going.whole(head)
    async for found in way:
        after = found.trail or after
        yield found
    left = plan.pages - going.pages
    if trail.unread and not after.unread and plan.is_behind and left > 0 and not plan.stops():
        async for found in walk(ask, after, replace(plan, pages=left, is_behind=False)):
            yield replace(found, page=going.pages + found.page)


@dataclass
class _FeedWalk:
    """One run's pages of one account's feed."""

    ask: Ask
    trail: FeedCursor
    plan: Plan
    now: DateTime
    newest: DateTime | None
    pages: int = 0
    left: str | None = None  # where it stopped, if it was not through
    differs: bool = False  # a page said something else than was known of it
    met: set[object] = field(default_factory=set)
    said: list[str] = field(default_factory=list)  # what the pages said that the next poll may ask for again
    is_low: bool = False  # and whether the last of them was below its goal

    async def whole(self, head: Page) -> AsyncIterator[Changes]:
        """From the head down to the goal."""
        goal, cursor = self.plan.goal(self.trail, self.now), wider(head.cursor) if head.cursor else None
        async for found in self.down(head, goal, self.plan.pages):
            yield found
        yield self.through(goal, head.answer.etag, Top(head.digest, _oldest(head.items), cursor, tuple(self.said[1:])))

    async def behind(self, head: Page, top: Top) -> AsyncIterator[Changes]:
        """The head page is as it was; those behind it that stand above the goal may be others."""
        goal, etag = self.plan.goal(self.trail, self.now), head.answer.etag or self.trail.etag
        if top.cursor is not None and not top.ends_before(goal):
            page, self.pages = await self.at(top.cursor), 1
            if page is None or (page.is_hollow and (page.digest,) != top.behind):
                async for found in self.whole(await self.ask(None, None)):
                    yield found
                return
            async for found in self.down(page, goal, self.plan.pages, top.cursor, top.behind):
                yield found
            if self.differs or self.left or top.ends_before(self.now - self.plan.overlap):
                yield self.through(goal, etag, replace(top, behind=tuple(self.said)))
                return
        if etag != self.trail.etag:
            yield Changes([], self.pages, replace(self.trail, etag=etag))

    async def join(self, head: Page) -> AsyncIterator[Changes]:
        """Down to where the last walk began; then on with what was left, the oldest first, by a page at least."""
        goal = self.plan.goal(self.trail, self.now)
        async for found in self.down(head, goal, max(1, self.plan.pages - 1), joins=True):
            yield found
        unread = few((*self.rest(goal), *self.trail.unread))
        enough = max(self.plan.pages, self.pages + 1)
        while unread and self.pages < enough:
            *newer, oldest = unread
            async for found in self.on(oldest):
                yield found
            unread = (*newer, *self.rest(oldest.goal))
            if self.plan.stops():
                break
        whole = replace(self.trail, head=self.now, newest=self.newest, unread=unread, etag=None, top=None)
        yield Changes([], self.pages, whole if unread else replace(whole, watermark=self.trail.began))

    async def on(self, stretch: Stretch) -> AsyncIterator[Changes]:
        """What a capped walk left; from the head again if its cursor is no longer taken."""
        page = await self.at(stretch.cursor)
        if page is None or page.is_hollow:
            page = await self.ask(None, None)
        async for found in self.down(page, stretch.goal, self.plan.pages, stretch.cursor):
            yield found

    async def down(
        self,
        page: Page,
        goal: DateTime,
        allowed: int,
        followed: str = "",
        known: tuple[str, ...] = (),
        joins: bool = False,
    ) -> AsyncIterator[Changes]:
        """This page and those below it, until one stands below the goal; where it only joins a walk, a part of one."""
        asked, first, self.left = {(followed, False)}, self.pages, None
        while True:
            expected = known[self.pages - first : self.pages - first + 1]
            self.pages += 1
            self.remember(page)
            items = {_version(item): item for item in page.items}
            fresh = [item for key, item in items.items() if key not in self.met]
            self.met |= items.keys()
            if expected != (page.digest,):
                self.differs = True
                yield Changes(fresh, self.pages)
            if page.cursor is None or goal_reached(page.items, goal, max if not joins else min):
                return
            way = next((one for one in _ways(page.cursor) if one not in asked), None)
            if way is None:
                raise Failure(
                    "FETCH_ERROR", f"{page.answer.url.path} leads in circles: cursor {page.cursor!r:.60} again"
                )
            cursor, is_large = way
            if (self.pages >= allowed or (self.plan.stops() and not joins)) and not is_large:
                self.left = cursor
                return
            asked.add(way)
            page = await self.ask(cursor, None, is_large)

    async def at(self, cursor: str) -> Page | None:
        """The page that a saved cursor leads to; None where it is refused."""
        try:
            return await self.ask(cursor, None)
        except Failure as failure:
            if failure.status not in REFUSED:
                raise
            return None

    def remember(self, page: Page) -> None:
        self.newest = max(filter(None, (self.newest, *map(_indexed, page.items))), default=None)
        if not self.is_low:
            self.said.append(page.digest)
            self.is_low = goal_reached(page.items, self.now - self.plan.overlap)

    def rest(self, goal: DateTime) -> tuple[Stretch, ...]:
        return (Stretch(self.left, goal),) if self.left else ()

    def through(self, goal: DateTime, etag: str | None, top: Top) -> Changes:
        """The trail after a walk that began at the head, whole or capped."""
        now, is_whole, floor = self.now, self.left is None, min(goal, self.trail.floor or goal)
        after = replace(self.trail, head=now, began=now, floor=floor, newest=self.newest, unread=self.rest(goal))
        tagged = replace(after, watermark=now, etag=etag, top=top) if is_whole else replace(after, etag=None, top=None)
        return Changes([], self.pages, tagged)


def _ways(cursor: str) -> tuple[tuple[str, bool], ...]:
    """How the page there may be asked for, each way once: its cursor, and whether in the largest size."""
    wide = wider(cursor)
    return (wide, False), (wide, True), (cursor, False)


def _oldest(items: list[Json]) -> DateTime | None:
    return min(filter(None, map(_placed, items)), default=None)


def goal_reached(items: list[Json], goal: DateTime, which: Callable[[list[DateTime]], DateTime] = max) -> bool:
    """Whether a page stands below the goal, with all of it or (min) a part. What has no place proves nothing."""
    placed = [at for at in map(_placed, items) if at]
    return bool(placed) and which(placed) < goal


def wider(cursor: str) -> str:
    """A cursor that is a time, one millisecond later: it comes back to its own millisecond's items."""
    if not TIMES.fullmatch(cursor):
        return cursor
    try:
        at = instant(cursor).add(microseconds=1000)
    except Unreadable:
        return cursor
    return f"{at.strftime('%Y-%m-%dT%H:%M:%S')}.{at.microsecond // 1000:03}Z"


def _placed(item: Json) -> DateTime | None:
    try:
        return said_at(item)
    except Unreadable:
        return None


def _indexed(item: Json) -> DateTime | None:
    for part in (item.get("reason"), item.get("post")):
        try:
            if isinstance(part, dict) and "indexedAt" in part:
                return instant(part["indexedAt"])
        except Unreadable:
            return None
    return None


def _version(item: Json) -> object:
    """The item and what of it this is. What does not tell is known by all that it says, and kept raw as itself."""
    post = item.get("post")
    cid = post.get("cid") if isinstance(post, dict) else None
    return (item["id"], cid) if isinstance(item.get("id"), str) and isinstance(cid, str) else fingerprint(repr(item))
