"""The ways to walk a list completely.

What breaks a naive walk: with `sort=updated&direction=asc` a row that is edited while page 1 is being read moves to
the end, every later row moves up by one, and page 2 starts one row too late. That row is not seen again, ever.

`walk` therefore *seeks*: it asks for page 1 since the last row's time, again and again, and drops what it saw. Only
while one second fills a whole page does it use page numbers, and then every page overlaps the one before: if the last
row of the previous page is not on it, rows have moved up in between and the pass is repeated. A list without a moving
sort key is walked by overlapping pages alone (`seeks=False`). A walk ends where the server says that the list ends,
never because a page is short or empty; where a proxy strips the headers that say so, only an empty page ends it.

Rows may weigh so much that a page of them is refused (`TooLarge`): the walk asks for half as many there, and for twice
as many after each page that came. A row that is too large by itself stands in its list as `Oversized`; pages are cut
around its place, because each that shows it would be a download in vain. No page can show it and the next row, so such
a pass proves nothing, and is repeated like any other that does not.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable
from dataclasses import dataclass, field, replace

from pendulum import DateTime

from sources.core.http.client import Answer, Api, Failure, TooLarge
from sources.core.values import Json, Oversized

__all__ = ["Ask", "Identified", "Page", "Sight", "Window", "beginning", "overlapping", "page_of", "walk"]

MAX_PASSES = 20
MAX_REPEATS = 4
MAX_EMPTY = 100  # pages in a row whose rows are all hidden from us: 10,000 rows at a hundred a page
MAX_LARGE = 50  # rows of one pass that are too large by themselves: more, and it is no row but the list that is
QUIET_PASSES = 3  # passes without news after which a list that cannot be proven whole is believed


@dataclass(frozen=True)
class Window:
    """Rows [size × (page − 1), size × page) of the rows changed since."""

    since: DateTime | None
    page: int = 1
    size: int = 100

    @property
    def start(self) -> int:
        return self.end - self.size

    @property
    def end(self) -> int:
        return self.page * self.size

    def avoids(self, positions: Collection[int]) -> bool:
        return not any(self.start <= position < self.end for position in positions)


@dataclass(frozen=True)
class Page:
    items: list[Json]
    more: bool
    answer: Answer
    given: int = 0  # rows that the server looked at for this page, where its length does not tell
    sightings: "list[Identified]" = field(default_factory=list)
    window: Window | None = None  # what was asked for, if that was less than meant

    @property
    def told_more(self) -> bool:
        return bool(self.answer.next_link or self.answer.headers.get("x-next-page"))

    def seen(self, sight: "Sight") -> "Page":
        """This page with its rows sighted, once: it is what a read spends its time on."""
        return replace(self, sightings=[sight(item) for item in self.items])

    def only(self, keep: "Callable[[Identified], bool]") -> "Page":
        kept = [(item, s) for item, s in zip(self.items, self.sightings, strict=True) if keep(s)]
        return replace(self, items=[item for item, _ in kept], sightings=[s for _, s in kept])


@dataclass(frozen=True)
class Identified:
    """What the walk must know of a row: which it is, which version, and where it sorts (None: unreadable)."""

    id: Hashable
    version: str
    moment: DateTime | None


Ask = Callable[[Window, str | None], Awaitable[Page]]
Sight = Callable[[Json], Identified]


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
    if answer.next_link and "x-next-page" not in answer.headers:
        api.own(answer.next_link)  # it is not followed, but a list that leads elsewhere is not to be trusted
    headers = answer.headers
    tells = "link" in headers or "x-next-page" in headers
    api.tells_ends = api.tells_ends or tells or api.quota is not None
    trusted = api.tells_ends and not filters
    untold = not tells and (len(items) >= size or (bool(items) and not trusted))
    looked_at = headers.get("x-per-page", "")
    given = int(looked_at) if looked_at.isdecimal() else size if filters else 0
    return Page(items, bool(answer.next_link or headers.get("x-next-page")) or untold, answer, given)


def overlapping(covered: int, limit: int, avoided: Collection[int] = ()) -> tuple[int, int] | None:
    """The page that reaches furthest and still starts inside the first `covered` rows, as (page, size)."""
    best = None
    for size in range(limit, 0, -1):
        page = (covered - 1) // size + 1
        if page * size > covered and (best is None or page * size > best[0] * best[1]):
            best = (page, size) if Window(None, page, size).avoids(avoided) else best
    return best


async def beginning(ask: Ask, since: DateTime | None, size: int, etag: str | None = None) -> Page:
    """The first page of a list, of as many rows as one answer can hold."""
    while True:
        try:
            return await ask(Window(since, size=size), etag)
        except TooLarge:
            if size == 1:
                raise
            size //= 2


async def walk(
    ask: Ask,
    sight: Sight,
    *,
    since: DateTime | None = None,
    seeks: bool = True,
    size: int = 100,
    start: int = 0,
    first: Page | None = None,
) -> AsyncIterator[Page]:
    """Every row of the list, each version once; pages arrive without what was already seen."""
    seen: dict[Hashable, Identified] = {}
    going, passes = _Pass(since, start, size, start), 0
    fits = first.window.size if first and first.window else size  # rows that one answer can hold
    large: set[int] = set()  # positions of rows that are too large by themselves
    while True:
        window, overlaps = _next_window(going.since, going.covered, min(going.limit, fits), large)
        try:
            page, first = (first or await ask(window, None)).seen(sight), None
        except TooLarge:
            if window.size == 1:
                raise
            fits = window.size // 2
            continue
        window = page.window or window
        fits = min(size, max(fits, 2 * window.size))
        if going.is_misread(page, window):
            continue
        large |= {window.start for item in page.items if isinstance(item, Oversized)}
        if len(large) > MAX_LARGE:
            raise Failure("FETCH_ERROR", f"{page.answer.url.path} answers what is too large, whatever is asked for")
        fresh = _unmet(page, seen)
        going.take(page, overlaps, bool(fresh.items))
        yield fresh

        seen.update({s.id: s for s in page.sightings})
        newest = _newest(page) if seeks else None
        more = page.more and not going.is_told_nothing_but_old(page)
        if more and (newest is None or (going.since is not None and newest <= going.since)):
            going.move(page, window)
        elif not going.proven and (going.news or passes < QUIET_PASSES):
            going, passes = _Pass(going.since, start, size, start), passes + 1
            if passes > MAX_PASSES:
                told = f"{page.answer.url.path} moves faster than it can be read; next run retries"
                raise Failure("FETCH_ERROR", told)
        elif more:
            going, passes, large = _Pass(newest, 0, size, 0), 0, set()
            seen = {id_: s for id_, s in seen.items() if s.moment is None or newest is None or s.moment >= newest}
        else:
            return


def _unmet(page: Page, seen: dict[Hashable, Identified]) -> Page:
    return page.only(lambda s: seen.get(s.id) != s)


@dataclass
class _Pass:
    """One pass over the rows of one question (`since`), page by page."""

    since: DateTime | None
    start: int
    limit: int  # what the server gives at most
    covered: int  # rows that were read
    last: Identified | None = None  # the row that the next page must show again, unmoved
    proven: bool = True
    news: bool = False
    repeats: int = 0  # pages in a row that showed only what this pass had met
    empty: int = 0  # pages in a row that showed nothing
    granted: int = 0  # rows that it gave at once
    met: set[Hashable] = field(default_factory=set)

    def is_misread(self, page: Page, window: Window) -> bool:
        """A server that gives less than was asked for counts its pages by what it gives. Which that is tells the first
        page, and later ones that are larger than any before; the rows of such a one are not those that were meant.
        """
        given = min(window.size, page.given or len(page.sightings) or window.size)
        is_less = page.more and given < window.size and window.size > self.granted
        self.granted = max(self.granted, given)
        if is_less:
            self.limit = given
        return is_less and self.covered > 0

    def take(self, page: Page, overlaps: bool, news: bool) -> None:
        shown = {s.id for s in page.sightings}
        continues = self.covered == self.start or self.last is None or (overlaps and self.last in page.sightings)
        self.proven, self.news = self.proven and continues, self.news or news
        self.repeats = self.repeats + 1 if shown and shown <= self.met else 0
        self.empty = 0 if shown else self.empty + 1
        self.met |= shown
        self.last = page.sightings[-1] if page.sightings else self.last

    def move(self, page: Page, window: Window) -> None:
        reached = min(window.size, self.limit) if self.covered == 0 else window.end
        self.covered = max(self.covered + 1, reached)

    def is_told_nothing_but_old(self, page: Page) -> bool:
        """A server that ignores `page` shows the same rows for ever. Without word of more to come, that is the end."""
        if self.empty >= MAX_EMPTY:
            raise Failure("FETCH_ERROR", f"{page.answer.url.path} names next pages without end, all of them empty")
        if self.repeats >= MAX_REPEATS and page.told_more:
            raise Failure("FETCH_ERROR", f"{page.answer.url.path} repeats its pages without end")
        return self.repeats >= MAX_REPEATS


def _next_window(since: DateTime | None, covered: int, limit: int, large: Collection[int]) -> tuple[Window, bool]:
    """What to ask for next, and whether it shows the row before too. Pages of one or two rows cannot, nor can any show
    one that is too large: such a one is asked for alone.
    """
    if found := overlapping(covered, limit, large):
        return Window(since, *found), True
    windows = (Window(since, covered // size + 1, size) for size in range(limit, 1, -1))
    alone = Window(since, covered + 1, 1)
    return max((w for w in windows if w.avoids(large)), key=lambda w: w.end, default=alone), covered == 0


def _newest(page: Page) -> DateTime | None:
    moments = [s.moment for s in page.sightings if s.moment]
    if moments != sorted(moments):
        raise Failure("FETCH_ERROR", f"{page.answer.url.path} is not in the order that was asked for")
    return moments[-1] if moments else None
