"""How far an account's feed was read, and the walk that reads on.

A feed's cursor leads to older items only, so every poll starts at the head, without one. Items stand where
min(createdAt, indexedAt) puts them: a back-dated post appears below the head, and stopping at the first known post, or
by what authors claim, loses some. A walk therefore goes on until a whole page stands below its *goal*: the watermark
(when the last complete walk began) less the overlap. What breaks simpler walks:

- A page may be short, or empty, with a cursor: only a missing cursor ends a feed.
- A walk is capped halfway: the unread stretch below must be remembered. A saved cursor is right for that, and for
  nothing else. The next run reads from the head down to where the last one began, then goes on at the cursor, by a page
  at least. It must not walk the overlap again first: one that fills a run's allowance would never let it get to the
  stretch. All these walks together are one, and when it is through its beginning is the watermark: what was back-dated
  into the part that was read first is within the next goal.
- A saved cursor is refused (500, 400), or so old that it is answered with nothing: the stretch is walked from the head.
- Production's cursors are times, and "older than the cursor" skips items of the same millisecond at the edge of two
  pages. Such a cursor is moved up by that millisecond; what comes twice is dropped. A millisecond that fills a page
  is asked for once more, in the largest.
- A cursor that was followed before would lead in circles: the walk fails, its watermark stays.

A head page that is as it was when the last walk was complete (its ETag or what it says) means that nothing happened.
A post put *below* the head page of an account whose head does not move is found by the sweep, which always walks, and
by the next walk, whose goal is no later for the wait.
"""

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from pendulum import DateTime

from sources.bluesky_rows import feed_item, said_at, sight
from sources.cursor import BadCursor
from sources.http import Answer, Failure
from sources.record import Json, Unreadable, fingerprint, instant, maybe, text

__all__ = ["Found", "Plan", "Trail", "goal_reached", "load", "page_of", "walk", "wider"]

log = logging.getLogger("earshot.bluesky")

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
REFUSED = {400, 500}
JOIN = timedelta(minutes=1)
MOMENTS = ("head", "began", "watermark", "floor", "newest")


@dataclass(frozen=True)
class Resume:
    """Where a capped walk stopped, and how far down it has to go."""

    cursor: str
    goal: DateTime


@dataclass(frozen=True)
class Trail:
    """What is known of a feed between two runs."""

    head: DateTime | None = None  # when a walk last began at the head, by the server's clock
    began: DateTime | None = None  # when the walk that is under way began, over several runs where it is capped
    watermark: DateTime | None = None  # when the last one began that left nothing unread
    floor: DateTime | None = None  # how far back the first walk went: what is older was never asked for
    newest: DateTime | None = None  # of all items, when the last was indexed
    resume: Resume | None = None
    etag: str | None = None
    digest: str | None = None  # what the head page said

    def json(self) -> Json:
        moments = {name: getattr(self, name) for name in MOMENTS}
        return {
            **{name: at and at.to_iso8601_string() for name, at in moments.items()},
            "since": self.floor and self.floor.to_iso8601_string(), "complete": self.resume is None,
            "resume": self.resume and [self.resume.cursor, self.resume.goal.to_iso8601_string()],
            "etag": self.etag, "digest": self.digest,
        }  # fmt: skip


@dataclass(frozen=True)
class Plan:
    lookback: timedelta  # how far a first walk goes
    overlap: timedelta
    backfill: timedelta  # how far after a trail that cannot be believed
    pages: int  # at the most
    rereads: bool = False  # walk, whatever the head page says
    is_lost: bool = False  # the trail could not be believed

    def goal(self, trail: Trail, now: DateTime) -> DateTime:
        if trail.head is None:
            return now - (self.backfill if self.is_lost else self.lookback)
        if trail.resume or trail.watermark is None:
            return trail.head - JOIN
        return trail.watermark - self.overlap


@dataclass(frozen=True)
class Page:
    items: list[Json]
    cursor: str | None
    answer: Answer

    @property
    def digest(self) -> str:
        return fingerprint([sight(item) for item in self.items])


@dataclass(frozen=True)
class Found:
    """Items, each once a walk; the last of them come with the trail that they make true."""

    items: list[Json]
    page: int
    trail: Trail | None = None


Ask = Callable[..., Awaitable[Page]]  # cursor, ETag, is_large → page


def load(saved: object) -> Trail:
    """The saved trail; `BadCursor` if it cannot be believed."""
    if saved is None:
        return Trail()
    try:
        if not isinstance(saved, dict):
            raise Unreadable("not a cursor")
        moments = {name: maybe(instant, saved.get(name)) for name in MOMENTS}
        told = saved.get("resume")
        resume = Resume(text(told[0]), instant(told[1])) if told else None
        etag, digest = (maybe(text, saved.get(name)) for name in ("etag", "digest"))
    except (Unreadable, KeyError, ValueError, TypeError, IndexError) as error:
        raise BadCursor(f"{type(error).__name__}: {error}") from None
    if moments["head"] and not moments["watermark"] and not resume:
        raise BadCursor("neither complete nor under way")
    return Trail(**moments, resume=resume, etag=etag, digest=digest)


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


async def walk(ask: Ask, trail: Trail, plan: Plan) -> AsyncIterator[Found]:
    """What is new since `trail`. Nothing new: nothing, but perhaps another ETag."""
    skips = trail.head is not None and not plan.rereads
    head = await ask(None, trail.etag if skips else None)
    now = head.answer.date
    if trail.head and trail.head > now.add(days=1):
        log.warning("cursor_invalid surface=posts: it lies in the future: %s; reset", trail.head)
        async for found in walk(ask, Trail(), replace(plan, is_lost=True)):
            yield found
        return
    same = head.answer.not_modified or (skips and head.digest == trail.digest)
    if same and trail.resume is None:
        if not head.answer.not_modified:
            yield Found([], 1, replace(trail, etag=head.answer.etag))
        return
    going = _Walk(ask, plan.pages, trail.newest)
    after, goal = trail, plan.goal(trail, now)
    if not same:
        async for found in going.down(head, goal, joins=trail.resume is not None):
            yield found
        resume = Resume(going.left, min(goal, trail.resume.goal if trail.resume else goal)) if going.left else None
        after = replace(
            trail, head=now, began=trail.began if trail.resume else now, floor=trail.floor or goal,
            resume=resume or trail.resume, etag=head.answer.etag, digest=head.digest,
        )  # fmt: skip
    if trail.resume and after.resume == trail.resume:
        async for found in going.on(trail.resume):
            yield found
        after = replace(after, resume=Resume(going.left, trail.resume.goal) if going.left else None)
    watermark = after.began if after.resume is None else after.watermark
    yield Found([], going.pages, replace(after, watermark=watermark, newest=going.newest))


@dataclass
class _Walk:
    """Pages from one account's feed within one run's allowance."""

    ask: Ask
    allowed: int
    newest: DateTime | None
    pages: int = 0
    left: str | None = None  # where it stopped, if it was not through
    met: set[object] | None = None

    async def down(
        self, page: Page, goal: DateTime, followed: str | None = None, joins: bool = False
    ) -> AsyncIterator[Found]:
        """This page and those below it, until one stands below the goal; where it only joins a walk, a part of one."""
        asked = {(followed, False)} if followed else set[tuple[str, bool]]()
        self.met, self.left = self.met or set(), None
        while True:
            self.pages += 1
            known = {_version(item): item for item in page.items}
            fresh = [item for key, item in known.items() if key not in self.met]
            self.met |= known.keys()
            self.newest = max(filter(None, (self.newest, *map(_indexed, page.items))), default=None)
            yield Found(fresh, self.pages)
            if page.cursor is None or goal_reached(page.items, goal, max if not joins else min):
                return
            wide = wider(page.cursor)
            ways = ((wide, False), (wide, True), (page.cursor, False))
            way = next((one for one in ways if one not in asked), None)
            if way is None:
                raise Failure(
                    "FETCH_ERROR", f"{page.answer.url.path} leads in circles: cursor {page.cursor!r:.60} again"
                )
            cursor, is_large = way
            if self.pages >= self.allowed and not is_large:
                self.left = cursor
                return
            asked.add(way)
            page = await self.ask(cursor, None, is_large)

    async def on(self, resume: Resume) -> AsyncIterator[Found]:
        """The stretch that a capped walk left; from the head again if its cursor is no longer taken."""
        try:
            page: Page | None = await self.ask(resume.cursor, None)
        except Failure as failure:
            if failure.status not in REFUSED:
                raise
            page = None
        if page is None or (not page.items and page.cursor is None):
            page = await self.ask(None, None)
        async for found in self.down(page, resume.goal, resume.cursor):
            yield found


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
