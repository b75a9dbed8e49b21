"""The ways to walk a list completely.

What breaks a naive walk: with `sort=updated&direction=asc` a row that is edited while page 1 is being read moves to
the end, every later row moves up by one, and page 2 starts one row too late. That row is not seen again, ever.

`walk` therefore *seeks*: it asks for page 1 since the last row's time, again and again, and drops what it saw. Only
while one second fills a whole page does it use page numbers, and then every page overlaps the one before: if the last
row of the previous page is not on it, rows have moved up in between and the pass is repeated. A list without a moving
sort key is walked by overlapping pages alone (`seeks=False`). A walk ends where the server says that the list ends,
never because a page is short or empty; where a proxy strips the headers that say so, only an empty page ends it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field, replace

from pendulum import DateTime

from sources.http import Answer, Api, Failure
from sources.record import Json

__all__ = ["Ask", "Page", "Sight", "Sighting", "Window", "overlapping", "page_of", "walk"]

MAX_PASSES = 20
QUIET_PASSES = 3  # passes without news after which a list that cannot be proven whole is believed


@dataclass(frozen=True)
class Window:
    """Rows [size × (page − 1), size × page) of the rows changed since."""

    since: DateTime | None
    page: int = 1
    size: int = 100

    @property
    def end(self) -> int:
        return self.page * self.size


@dataclass(frozen=True)
class Page:
    items: list[Json]
    more: bool
    answer: Answer
    sightings: "list[Sighting]" = field(default_factory=list)

    def seen(self, sight: "Sight") -> "Page":
        """This page with its rows sighted, once: it is what a read spends its time on."""
        return replace(self, sightings=[sight(item) for item in self.items])

    def only(self, keep: "Callable[[Sighting], bool]") -> "Page":
        kept = [(item, s) for item, s in zip(self.items, self.sightings, strict=True) if keep(s)]
        return replace(self, items=[item for item, _ in kept], sightings=[s for _, s in kept])


@dataclass(frozen=True)
class Sighting:
    """What the walk must know of a row: which it is, which version, and where it sorts (None: unreadable)."""

    id: Hashable
    version: str
    moment: DateTime | None


Ask = Callable[[Window, str | None], Awaitable[Page]]
Sight = Callable[[Json], Sighting]


def page_of(api: Api, answer: Answer, size: int, *, filters: bool = False) -> Page:
    """The answer as a page of a list; anything but a list of objects is a failed read, not an empty one.

    Without a word about the end, a full page is never the last one, and a short one only on a host that is known to let
    headers of its own through, and only if it does not filter rows out after paging.
    """
    if answer.not_modified:
        return Page([], bool(answer.next_link), answer)
    items = answer.data
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Failure("FETCH_ERROR", f"{answer.url.path} answered something that is not a list of objects")
    if answer.next_link:
        api.own(answer.next_link)
    headers = answer.headers
    tells = "link" in headers or "x-next-page" in headers
    api.tells_ends = api.tells_ends or tells or api.quota is not None
    trusted = api.tells_ends and not filters
    untold = not tells and (len(items) >= size or (bool(items) and not trusted))
    return Page(items, bool(answer.next_link or headers.get("x-next-page")) or untold, answer)


def overlapping(covered: int, limit: int) -> tuple[int, int] | None:
    """The page that reaches furthest and still starts inside the first `covered` rows, as (page, size)."""
    best = None
    for size in range(limit, 0, -1):
        page = (covered - 1) // size + 1
        if page * size > covered and (best is None or page * size > best[0] * best[1]):
            best = (page, size)
    return best


async def walk(
    ask: Ask, sight: Sight, *, since: DateTime | None = None, seeks: bool = True, size: int = 100, start: int = 0,
    first: Page | None = None,
) -> AsyncIterator[Page]:  # fmt: skip
    """Every row of the list, each version once; pages arrive without what was already seen."""
    seen: dict[Hashable, Sighting] = {}
    last: Sighting | None = None  # the row that the next page must show again, unmoved
    covered, limit = start, size  # rows of this question that were read; what the server really gives
    proven, news, passes = True, False, 0
    while True:
        window, overlaps = _next_window(since, covered, limit)
        page, first = (first or await ask(window, None)).seen(sight), None
        sightings = page.sightings
        proven = proven and (covered == start or last is None or (overlaps and last in sightings))
        fresh = _unmet(page, seen)
        news = news or bool(fresh.items)
        yield fresh

        seen.update({s.id: s for s in sightings})
        last = sightings[-1] if sightings else last
        newest = _newest(sightings, page) if seeks else None
        if page.more and (newest is None or (since is not None and newest <= since)):
            if covered == 0 and sightings:
                limit = min(limit, len(sightings))  # a server may give less than was asked
            covered = max(covered + 1, limit if covered == 0 else window.end)
        elif not proven and (news or passes < QUIET_PASSES):
            covered, limit, last, proven, news, passes = start, size, None, True, False, passes + 1
            if passes > MAX_PASSES:
                raise Failure(
                    "FETCH_ERROR", f"{page.answer.url.path} moves faster than it can be read; next run retries"
                )
        elif page.more:
            since, covered, limit, last, proven, news, passes = newest, 0, size, None, True, False, 0
            seen = {id_: s for id_, s in seen.items() if s.moment is None or newest is None or s.moment >= newest}
        else:
            return


def _unmet(page: Page, seen: dict[Hashable, Sighting]) -> Page:
    return page.only(lambda s: seen.get(s.id) != s)


def _next_window(since: DateTime | None, covered: int, limit: int) -> tuple[Window, bool]:
    if covered == 0:
        return Window(since, 1, limit), True
    found = overlapping(covered, limit)
    if found:
        return Window(since, *found), True
    return Window(since, covered // limit + 1, limit), False  # pages of one or two rows cannot overlap


def _newest(sightings: list[Sighting], page: Page) -> DateTime | None:
    moments = [s.moment for s in sightings if s.moment]
    if moments != sorted(moments):
        raise Failure("FETCH_ERROR", f"{page.answer.url.path} is not in the order that was asked for")
    return moments[-1] if moments else None
