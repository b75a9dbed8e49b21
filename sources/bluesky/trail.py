"""How far an account's feed was read, as it is remembered between two runs.

A walk from the head down to its *goal* is whole once nothing between them is unread. Only a whole walk moves the
watermark, and only one that began at the head and was not interrupted leaves a `Top`: what the head page said, and the
pages behind it as far as the overlap reached. A walk that a later run goes on with has read its parts at different
times; what was dated back into a part that was read already is found by the next walk, so nothing may vouch for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from pendulum import DateTime

from sources.core.cursor import BadCursor
from sources.core.values import Json, Unreadable, instant, maybe, text

__all__ = ["FeedCursor", "Plan", "Stretch", "Top", "anew", "few", "load"]

JOIN = timedelta(seconds=5)  # servers' clocks differ a little; the walk that follows a joined one finds the rest
MOST_UNREAD = 20  # stretches; beyond that the two newest are one, and what lies between them is read again
MOMENTS = ("head", "began", "watermark", "floor", "newest")


@dataclass(frozen=True)
class Stretch:
    """What a capped walk left unread: from a cursor down to a goal."""

    cursor: str
    goal: DateTime


@dataclass(frozen=True)
class Top:
    """The head page and those behind it that were within the overlap, as a whole walk found them."""

    digest: str
    oldest: DateTime | None  # where the last item of the head page stands
    cursor: str | None  # of the page behind it
    behind: tuple[str, ...] = ()  # what the pages behind it said

    def json(self) -> Json:
        oldest = self.oldest and self.oldest.to_iso8601_string()
        return {"digest": self.digest, "oldest": oldest, "cursor": self.cursor, "behind": list(self.behind)}

    def ends_before(self, goal: DateTime) -> bool:
        """Whether all that stands behind the head page stands below the goal, or there is nothing."""
        return self.cursor is None or (self.oldest is not None and self.oldest < goal)


@dataclass(frozen=True)
class FeedCursor:
    """What is known of a feed between two runs."""

    head: DateTime | None = None  # when a walk last began at the head, by the server's clock
    began: DateTime | None = None  # when the walk that is under way began, over several runs where it is capped
    watermark: DateTime | None = None  # when the last one began that left nothing unread
    floor: DateTime | None = None  # how far back the first walk went: what is older was never asked for
    newest: DateTime | None = None  # of all items, when the last was indexed
    unread: tuple[Stretch, ...] = ()  # the newest first
    etag: str | None = None  # of the head page
    top: Top | None = None

    def json(self) -> Json:
        moments = {name: getattr(self, name) for name in MOMENTS}
        return {
            **{name: at and at.to_iso8601_string() for name, at in moments.items()},
            "since": self.floor and self.floor.to_iso8601_string(),
            "complete": not self.unread,
            "resume": [[part.cursor, part.goal.to_iso8601_string()] for part in self.unread] or None,
            "etag": self.etag,
            "top": self.top and self.top.json(),
        }


@dataclass(frozen=True)
class Plan:
    lookback: timedelta  # how far a first walk goes
    overlap: timedelta
    backfill: timedelta  # how far after a trail that cannot be believed
    pages: int  # at the most
    rereads: bool = False  # walk, whatever the head page says
    is_lost: bool = False  # the trail could not be believed
    is_behind: bool = False  # what is unread was left by an earlier run
    stops: Callable[[], bool] = lambda: False  # behind the page that is being read, as if it were the last one allowed

    def goal(self, trail: FeedCursor, now: DateTime) -> DateTime:
        if trail.head is None:
            if self.is_lost:  # what lies between is the deep sweep's
                return now - self.backfill
            return min(now - self.lookback, trail.floor or now)  # with --full all since they are followed
        if trail.unread or trail.watermark is None:
            return trail.head - JOIN
        return trail.watermark - self.overlap


def anew(floor: DateTime | None, newest: DateTime | None) -> FeedCursor:
    """Of one that cannot be believed: since when it is followed. A wrong clock may have set that ahead of all that was
    held.
    """
    return FeedCursor(floor=min(filter(None, (floor, newest)), default=None))


def load(saved: object) -> FeedCursor:
    """The saved trail; `BadCursor` if it cannot be believed."""
    if saved is None:
        return FeedCursor()
    try:
        if not isinstance(saved, dict):
            raise Unreadable("not a cursor")
        moments = {name: maybe(instant, saved.get(name)) for name in MOMENTS}
        parts = saved.get("resume") or []
        unread = tuple(Stretch(text(cursor), instant(goal)) for cursor, goal in parts)
        etag, told = maybe(text, saved.get("etag")), saved.get("top")
        top = _top(told) if told and etag is not None else None
    except (Unreadable, KeyError, ValueError, TypeError, IndexError) as error:
        raise BadCursor(f"{type(error).__name__}: {error}") from None
    if (moments["head"] or unread) and not (moments["head"] and (moments["began"] if unread else moments["watermark"])):
        raise BadCursor("neither complete nor under way")
    return FeedCursor(**moments, unread=unread, etag=etag, top=top)


def _top(told: Json) -> Top:
    behind = told["behind"]
    if not isinstance(behind, list):
        raise Unreadable("not a list of pages")
    oldest, cursor = maybe(instant, told["oldest"]), maybe(text, told["cursor"])
    return Top(text(told["digest"]), oldest, cursor, tuple(map(text, behind)))


def few(unread: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    if len(unread) <= MOST_UNREAD:
        return unread
    newest, following, *older = unread
    return (Stretch(newest.cursor, following.goal), *older)
