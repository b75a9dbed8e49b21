"""How what does not add up on GitHub is read again: a thread by its list, a pull request or its reviews, one record."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial

from pendulum import DateTime

from sources.core.http.client import Failure, TooLarge
from sources.core.paging import walk
from sources.core.reading import Batch, Unread, Walk
from sources.core.scope import Scope, identify_by, noticed
from sources.core.targets import moment
from sources.core.values import Json, Row, held_instant, integer, json_record, need
from sources.github.recheck.marks import deletion_row
from sources.github.surfaces.issue_comments import comment_rows
from sources.github.surfaces.issues import issue_rows
from sources.github.surfaces.parts import number_told, parent_key
from sources.github.surfaces.pull_requests import SETTLE, pull_batches
from sources.github.surfaces.review_comments import review_comment_rows
from sources.github.surfaces.review_threads import due_of, read_due
from sources.github.surfaces.reviews import review_rows

__all__ = [
    "ABSENT",
    "LISTS",
    "comments",
    "counted",
    "ids_in",
    "ids_of",
    "listed",
    "marks",
    "pull_request",
    "retries",
    "review_comments",
    "reviews",
    "thread",
    "threads",
]

ABSENT = ("NOT_FOUND", "PROJECT_MISMATCH")  # no such thing here, or no more
LISTS = ("issues", "pulls")  # by whether it hangs on a pull request
Shaped = dict[str, list[Row]]


def retries(repositories: Mapping[str, Scope], due: list[Unread]) -> Iterator[Walk]:
    """Each record that could not be parsed, asked for again by itself."""
    for record in due:
        repo = repositories.get(record.scope)
        if repo and record.surface in SINGLE:
            yield Walk("rechecks", repo.scope, _again(repo, record))


async def _again(repo: Scope, record: Unread) -> AsyncIterator[Batch]:
    """One that still cannot be read lands nothing: nothing is new."""
    reading, surface = repo.reading, record.surface
    path = address(surface, json_record(record.raw))
    if path is None:  # nothing to ask for it by; the list brings it again when it changes, or with --full
        reading.keep(record.again())
        return
    try:
        found = await repo.one("rechecks", path)
    except TooLarge as failure:
        reading.keep(record.again(f"too large by itself: {failure}"[:300]))
        return
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        await repo.still_lists("rechecks", LISTS[surface.startswith(("pull", "review"))])
        reading.absent(record, f"answers {failure.status}")
        return
    reading.quarantined.pop(record.key, None)  # a list may have told it worse than it is
    batches = await SINGLE[surface][1](repo, [found])
    if reading.is_read(record):
        for batch in batches:
            yield batch


def address(surface: str, kept: Json) -> str | None:
    """Where a record is told by itself: by its number, or as its own address says."""
    path, own, number = SINGLE[surface][0], kept.get("url"), number_told(kept)
    id_ = kept.get("number" if surface in ("issues", "pull_requests") else "id")
    if isinstance(id_, int):
        return path.format(id_, number=number) if number or "number" not in path else None
    led = ADDRESS.search(own) if isinstance(own, str) else None
    return led[0] if led else None


async def comments(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """The whole thread again; its count, too, where that is of the second in which it changed."""
    told = {} if _is_over(suspect) else await _told_now(repo, suspect)
    if not told:
        yield await thread(repo, suspect)
        return
    yield Batch("rechecks", repo.scope, told)
    for row in told["issues"]:
        yield await thread(repo, {**suspect, **counted(row)})


async def _told_now(repo: Scope, suspect: Row) -> Shaped:
    """What the issue tells of itself. Nothing, where that is older than what is held, e.g. from a replica that lags: no
    list would tell of the newer one again.
    """
    told = issue_rows(repo, [await repo.one("rechecks", f"issues/{suspect['number']}")])
    held = held_instant(suspect["updated_at"])
    return {} if held and any(moment(row) < held for row in told["issues"]) else told


def counted(row: Row) -> Row:
    """How many comments an issue tells of, and when."""
    return {"remote_count": row["comment_count"], "updated_at": row["updated_at"], "held_at": row["seen_at"]}


async def thread(repo: Scope, told: Row) -> Batch:
    """What is listed is kept, what we hold and is not listed is gone. That its issue told another count is remembered,
    once the second is over in which it changed.
    """
    number = integer(told["number"])
    found = await listed(repo, f"issues/{number}/comments")
    there = ids_of(found)
    check = {
        "parent_key": parent_key(repo.scope, number),
        "scope": repo.scope,
        "number": number,
        "remote_count": told["remote_count"],
        "listed_count": len(there),
        "updated_at": told["updated_at"] if _is_over(told) else None,
        "checked_at": repo.now,
    }
    deletions = marks(repo, "issue_comment", number, ids_in(told, "ids") - there, ids_in(told, "marked") & there)
    return Batch(
        "rechecks", repo.scope, {**comment_rows(repo, found), "deletions": deletions, "thread_checks": [check]}
    )


def _is_over(told: Row) -> bool:
    """The second in which it changed, when it was seen."""
    moved, seen = held_instant(told["updated_at"]), held_instant(told["held_at"])
    return bool(moved and seen and moved < seen - SETTLE)


async def pull_request(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """One pull request that the list did not bring, or whose reviews could not be read."""
    pull = await repo.one("rechecks", f"pulls/{suspect['number']}")
    for batch in await _pulls(repo, [pull]):
        yield batch


async def reviews(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """The sweep's look at an open pull request: reviews edited, dismissed or gone without its time moving."""
    number = integer(suspect["number"])
    sighted = repo.reading.sightings.get(("reviews", f"{repo.scope}/{number}"))  # this sweep has read them already
    found = [] if sighted is not None else await listed(repo, f"pulls/{number}/reviews")
    there = ids_of(found) if sighted is None else sighted
    shaped = review_rows(repo, [item for item in found if item.get("state") != "PENDING"])
    gone, back = ids_in(suspect, "ids") - there, ids_in(suspect, "marked") & there
    deletions = marks(repo, "review", number, gone, back)
    yield Batch("rechecks", repo.scope, {**shaped, "deletions": deletions})


async def threads(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """Which threads of these pull requests are resolved."""
    found, _ = await read_due(repo, await due_of(repo, sorted(ids_in(suspect, "ids"))))
    yield Batch("rechecks", repo.scope, {"review_threads": found})


async def review_comments(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """Absent from the complete list that the sweep has just read, or told again after it was thought gone."""
    number, gone, again = integer(suspect["number"]), ids_in(suspect, "ids"), ids_in(suspect, "marked")
    deletions = marks(repo, "review_comment", number, gone, again, at=noticed(repo.now, suspect["held_at"]))
    yield Batch("rechecks", repo.scope, {"deletions": deletions})


async def _plain(shape: Callable[[Scope, list[Json]], Shaped], repo: Scope, found: list[Json]) -> list[Batch]:
    return [Batch("rechecks", repo.scope, shape(repo, found))]


async def _pulls(repo: Scope, found: list[Json]) -> list[Batch]:
    return await pull_batches(repo, found, "rechecks", repo.scope)


ADDRESS = re.compile(r"(?:issues|pulls)(?:/comments)?/[0-9]{1,18}$")
SINGLE: dict[str, tuple[str, Callable[[Scope, list[Json]], Awaitable[list[Batch]]]]] = {
    "issues": ("issues/{}", partial(_plain, issue_rows)),
    "pull_requests": ("pulls/{}", _pulls),
    "issue_comments": ("issues/comments/{}", partial(_plain, comment_rows)),
    "review_comments": ("pulls/comments/{}", partial(_plain, review_comment_rows)),
    "reviews": ("pulls/{number}/reviews/{}", partial(_plain, review_rows)),
}


async def listed(repo: Scope, path: str) -> list[Json]:
    sight = identify_by(lambda item: repr(item))
    return [item async for page in walk(repo.asks("rechecks", path), sight, seeks=False) for item in page.items]


def ids_of(found: list[Json]) -> set[int]:
    """Who is on a list. One who does not tell makes everybody's absence doubtful: `Unreadable`."""
    return {integer(need(item, "id")) for item in found}


def marks(repo: Scope, kind: str, number: int, gone: set[int], back: set[int], at: DateTime | None = None) -> list[Row]:
    mark = (repo.scope, number, at or repo.now)
    return [
        *(deletion_row(kind, id_, *mark, "no longer listed") for id_ in sorted(gone)),
        *(deletion_row(kind, id_, *mark, "listed again", gone=False) for id_ in sorted(back)),
    ]


def ids_in(suspect: Row, column: str) -> set[int]:
    ids = suspect[column]
    return {integer(id_) for id_ in ids} if isinstance(ids, list) else set()
