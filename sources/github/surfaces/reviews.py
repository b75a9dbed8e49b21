"""Reviews of a pull request. They have no list of their own and no `updated_at`, and stand in the order of their ids.

Whenever a pull request changed its reviews are read: all, if a page holds them. Of a longer list is remembered how it
ended (`Known`), and the next reading begins at its last full page; a second reading of the very same state, because the
change had not settled, begins at its last page. What could be missed so, and what sees it:

- A review drafted long ago takes the place of its old id when it is submitted, and one may vanish: rows behind it move,
  the page does not begin as it was remembered, and the list is read whole. While a draft of the token's owner is in the
  list, whose submission moves nothing, it is always read whole.
- Rows that come or go while the end is read: its pages overlap like those of any walk.
- A review edited or dismissed on an older page moves nothing, nor do one that vanishes there and one that is submitted
  there within the same interval: the sweep reads whole every list that was not read so since, also of closed ones.
- A kill: what is remembered lands with the rows that it speaks of.
"""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass

from pendulum import DateTime

from sources.core.http.client import Failure, TooLarge
from sources.core.paging import Ask, Identified, Page, Window, walk
from sources.core.scope import PER_PAGE, Scope
from sources.core.values import (
    TEXT,
    Json,
    Row,
    Table,
    Unreadable,
    fingerprint,
    flag,
    instant,
    integer,
    maybe,
    need,
    text,
    version,
)
from sources.github.surfaces.parts import (
    UTTERANCE,
    WHEN,
    WHO,
    as_told,
    body_of,
    latest_row,
    number_told,
    utterance,
    who,
)

__all__ = ["REVIEWS", "Known", "Read", "load", "owed", "read_reviews", "review_row", "review_rows"]

AS_TOLD = {"commit_id": TEXT}
REVIEW = {**UTTERANCE, "state": TEXT, "body": TEXT, **WHO, **AS_TOLD, "url": TEXT, **WHEN}
REVIEWS = Table("reviews", ("id", "version"), REVIEW, keeps="versions")


@dataclass(frozen=True)
class Known:
    """How a list of more than a page ended when it was read."""

    rows: int
    full: str  # which ids its last full page held
    rest: str  # and which stood behind it
    read_for: str  # the state of its pull request
    is_whole: bool  # whether it was read from its beginning


@dataclass(frozen=True)
class Read:
    """What the list of one pull request said. Incomplete: its reviews are asked for again."""

    rows: list[Row]
    is_complete: bool
    cursor: Json | None = None  # to land with them


def load(saved: object) -> Known | None:
    try:
        if not isinstance(saved, dict) or not integer(saved.get("rows")) > PER_PAGE:
            return None
        full, rest, read_for = (text(saved.get(name)) for name in ("full", "rest", "read_for"))
        return Known(integer(saved["rows"]), full, rest, read_for, flag(saved.get("is_whole")))
    except Unreadable:
        return None


def owed(repo: Scope) -> list[int]:
    """Pull requests that a sweep must look at, whatever became of them: only the end of their lists was read."""
    saved = repo.reading.saved.get("reviews", {})
    ends = (scope for scope, known in saved.items() if isinstance(known, dict) and known.get("is_whole") is False)
    mine = (scope.removeprefix(f"{repo.scope}/") for scope in ends)
    return sorted(int(number) for number in mine if number.isdecimal())


async def read_reviews(repo: Scope, number: int, state: str) -> Read:
    """The reviews of a pull request that is in this state: what is new of them, or all."""
    saved = repo.reading.raw_cursor("reviews", f"{repo.scope}/{number}")
    known = None if repo.reading.sweep else load(saved)
    try:
        found = await _end(repo, number, known, state) if known else None
        first = found[0] if found else 0
        listed = found[1] if found else [item async for item in _walked(repo, number)]
    except Failure as failure:
        if failure.code in ("AUTH_FAILED", "RATE_LIMITED"):
            raise
        repo.reading.fail(repo.scope, f"reviews of #{number}", failure)
        return Read([], False)
    latest = {str(item.get("id")): item for item in listed}
    ids = [id_ for item in latest.values() if isinstance(id_ := item.get("id"), int)]
    if repo.reading.sweep and len(ids) == len(latest):  # whole: who is missing need not be asked for again
        repo.reading.sightings["reviews", f"{repo.scope}/{number}"] = set(ids)
    after = _known(list(latest.values()), first, known, state)
    cursor: Json | None = asdict(after) if after else {"is_whole": first == 0} if saved else None
    said = [item for item in listed if item.get("state") != "PENDING"]  # a draft of the token's owner: not said yet
    shaped = repo.shape("reviews", said, lambda review, scope, name, now: review_row(review, scope, name, number, now))
    return Read(shaped, True, cursor)  # what cannot be read is in quarantine


def _known(listed: list[Json], first: int, before: Known | None, state: str) -> Known | None:
    """What to remember of a list that was read from its row `first` on; None if it must be read whole anyway."""
    ids, count = [item.get("id") for item in listed], first + len(listed)
    if count <= PER_PAGE or not all(isinstance(id_, int) for id_ in ids):
        return None
    if any(item.get("state") == "PENDING" for item in listed):
        return None
    end = count - count % PER_PAGE - first
    full = fingerprint(ids[end - PER_PAGE : end]) if end >= PER_PAGE else before and before.full
    return Known(count, full or "", fingerprint(ids[end:]), state, first == 0)


async def _end(repo: Scope, number: int, known: Known, state: str) -> tuple[int, list[Json]] | None:
    """From the last full page on, or the last page; and at which row that began. None: it is not as it was."""
    full, behind = divmod(known.rows, PER_PAGE)
    at_last = bool(behind) and state == known.read_for
    window = Window(None, full + at_last, PER_PAGE)
    try:
        page = await _asks(repo, number)(window, None)
    except TooLarge:
        return None
    ids = [item.get("id") for item in page.items[: behind if at_last else PER_PAGE]]
    if fingerprint(ids) != (known.rest if at_last else known.full):
        return None
    return window.start, [item async for item in _walked(repo, number, window.start, page)]


async def _walked(repo: Scope, number: int, start: int = 0, first: Page | None = None) -> AsyncIterator[Json]:
    async for page in walk(_asks(repo, number), _sight, seeks=False, start=start, first=first):
        for item in page.items:
            yield item


def _asks(repo: Scope, number: int) -> Ask:
    return repo.asks("reviews", f"pulls/{number}/reviews")


def _sight(review: Json) -> Identified:
    return Identified(str(review.get("id")), fingerprint(repr(review)), None)


def review_row(review: Json, scope: str, repo: str, number: int, seen_at: DateTime) -> Row:
    """Reviews have no `updated_at`; a dismissal changes the state and is a version too. One that tells no time was said
    when this version was first seen: a version lands once.
    """
    state, body, submitted_at = text(need(review, "state")), body_of(review), maybe(instant, review.get("submitted_at"))
    return {
        **utterance("review", review, scope, repo, number, version(submitted_at, state, body)),
        "state": state,
        "body": body,
        **who(review),
        **as_told(review, AS_TOLD),
        "url": maybe(text, review.get("html_url")),
        "created_at": submitted_at or seen_at,
        "updated_at": submitted_at or seen_at,
        "seen_at": seen_at,
    }


def review_rows(repo: Scope, found: list[Json]) -> dict[str, list[Row]]:
    """Each of the pull request that it names. No time tells an edited review from itself: the latest is said."""

    def row(review: Json, scope: str, name: str, now: DateTime) -> Row:
        return review_row(review, scope, name, integer(number_told(review)), now)

    shaped = repo.shape("reviews", found, row)
    return {"reviews": shaped, "latest_versions": [latest_row("review", review) for review in shaped]}
