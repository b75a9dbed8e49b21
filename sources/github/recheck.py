"""What does not add up on GitHub, and how it is read again: deletions, pull requests that a list missed, reviews.

A deleted comment vanishes silently. What remains is a count (`comments` of an issue) or its absence from a complete
list. So the landed tables themselves say what is suspect, and a suspect stays one until its thread was read again
whole: nothing to remember between runs, nothing to forget. A thread whose count disagrees for good (GitHub counts
what it hides) is asked once per disagreement and time of its issue: the same numbers at a later time are another
disagreement, e.g. a comment that was said after the count was read, and deleted since.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial

from pendulum import DateTime

from sources.core.http.client import Failure, TooLarge
from sources.core.paging import walk
from sources.core.reading import Batch, Unread, Walk
from sources.core.scope import Scope, identify_by, noticed
from sources.core.values import Json, Row, integer, json_record, need
from sources.github.marks import deletion_row
from sources.github.surfaces.issue_comments import comment_rows
from sources.github.surfaces.issues import issue_rows
from sources.github.surfaces.parts import number_told, parent_key
from sources.github.surfaces.pull_requests import pull_batches
from sources.github.surfaces.review_comments import review_comment_rows
from sources.github.surfaces.review_threads import due_of, read_due
from sources.github.surfaces.reviews import review_rows

__all__ = [
    "ABSENT",
    "AT_ONCE",
    "LISTS",
    "SUSPECTS",
    "comments",
    "ids_in",
    "ids_of",
    "listed",
    "marks",
    "pull_request",
    "retries",
    "review_comments",
    "reviews",
    "threads",
]

AT_ONCE = 10
ABSENT = ("NOT_FOUND", "PROJECT_MISMATCH")  # no such thing here, or no more
LISTS = ("issues", "pulls")  # by whether it hangs on a pull request
Shaped = dict[str, list[Row]]

# `swept` and `sighted` hold what this run's sweep read to the end: (surface, scope) and (surface, scope, id); where a
# pull request is followed by itself, its scope is `scope/number`. What lies in quarantine (`unread`) is asked for by
# its own rule, and counts as known: else every run would read its thread again.
SUSPECTS = """
WITH deleted AS (SELECT kind, id, noticed_at FROM github.deletions WHERE is_deleted),
marked AS (
    SELECT * FROM github.deletions WHERE kind IN ('issue', 'pull_request') AND (is_deleted OR is_missing)
),
told AS (
    SELECT parent_key, id FROM github.issue_comments
    UNION SELECT parent_key, id FROM unread WHERE surface = 'issue_comments' AND id IS NOT NULL
),
held AS (
    SELECT c.parent_key, count(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS live,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS ids,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NOT NULL) AS marked
    FROM told AS c LEFT JOIN deleted AS d ON d.kind = 'issue_comment' AND d.id = c.id
    GROUP BY c.parent_key
),
known AS (
    SELECT i.* FROM github.issues AS i LEFT JOIN marked AS m ON m.id = i.id WHERE m.id IS NULL
),
unseen AS (
    SELECT i.* FROM known AS i JOIN swept AS s ON s.surface = 'issues' AND s.scope = i.scope
    LEFT JOIN sighted AS g ON g.surface = 'issues' AND g.scope = i.scope AND g.id = i.id
    WHERE g.id IS NULL AND ($floor IS NULL OR i.updated_at >= $floor)
),
orphaned AS (
    SELECT c.scope, c.number, list(DISTINCT c.id) AS ids, bool_or(x.is_missing) AS is_missing,
           bool_and(coalesce(x.is_deleted, false)) AS is_deleted, max(x.noticed_in_run) AS noticed_in_run
    FROM github.issue_comments AS c LEFT JOIN github.issues AS i ON i.parent_key = c.parent_key
    LEFT JOIN github.deletions AS x ON x.kind = 'issue_comment' AND x.id = c.id
    WHERE i.id IS NULL AND NOT EXISTS (SELECT 1 FROM github.openers AS o WHERE o.parent_key = c.parent_key)
          AND NOT EXISTS (SELECT 1 FROM unread AS u WHERE u.surface = 'issues' AND u.parent_key = c.parent_key)
    GROUP BY c.scope, c.number
),
threads_due AS (
    SELECT p.scope, p.number, row_number() OVER (PARTITION BY p.scope ORDER BY p.number DESC) - 1 AS nth
    FROM github.pull_requests AS p JOIN known AS k ON k.parent_key = p.parent_key
    LEFT JOIN github.review_threads AS r ON r.parent_key = p.parent_key
    WHERE CAST($reads_threads AS BOOLEAN) AND (CAST($full AS BOOLEAN) OR r.parent_key IS NULL
          OR r.read_for_updated_at <> p.updated_at OR NOT r.is_settled
          OR (p.state = 'open' AND EXISTS (SELECT 1 FROM swept AS s WHERE s.surface = 'issues'
              AND s.scope IN (p.scope, p.scope || '/' || CAST(p.number AS VARCHAR)))))
          AND p.parent_key NOT IN (SELECT parent_key FROM unseen)
),
suspects AS (
SELECT 'comments' AS task, i.scope, i.number, i.id, i.is_pull_request, i.comment_count AS remote_count, h.ids, h.marked,
       i.updated_at, i.seen_at AS held_at
FROM known AS i LEFT JOIN held AS h ON h.parent_key = i.parent_key
LEFT JOIN github.thread_checks AS k ON k.parent_key = i.parent_key
WHERE i.comment_count <> coalesce(h.live, 0) AND (k.parent_key IS NULL OR k.remote_count <> i.comment_count
      OR k.listed_count <> coalesce(h.live, 0) OR k.updated_at IS DISTINCT FROM i.updated_at)
      AND ($floor IS NULL OR i.created_at >= $floor)
UNION ALL
SELECT 'pull_request', i.scope, i.number, i.id, true, 0, NULL, NULL, NULL, NULL
FROM known AS i LEFT JOIN github.pull_requests AS p ON p.parent_key = i.parent_key
WHERE i.is_pull_request AND (p.id IS NULL OR (p.updated_at < i.updated_at AND p.seen_at < i.seen_at)
      OR p.reviews_read_for IS DISTINCT FROM p.updated_at)
      AND i.parent_key NOT IN (SELECT parent_key FROM unread WHERE surface = 'pull_requests' AND parent_key IS NOT NULL)
UNION ALL
SELECT 'reviews', p.scope, p.number, k.id, true, 0,
       list(DISTINCT r.id) FILTER (WHERE r.id IS NOT NULL AND d.id IS NULL),
       list(DISTINCT r.id) FILTER (WHERE d.id IS NOT NULL), NULL, NULL
FROM github.pull_requests AS p JOIN known AS k ON k.parent_key = p.parent_key
JOIN swept AS s ON s.surface = 'issues' AND s.scope IN (p.scope, p.scope || '/' || CAST(p.number AS VARCHAR))
LEFT JOIN github.reviews AS r ON r.parent_key = p.parent_key
LEFT JOIN deleted AS d ON d.kind = 'review' AND d.id = r.id
WHERE p.state = 'open' GROUP BY p.scope, p.number, k.id
UNION ALL
SELECT 'issue', scope, number, id, is_pull_request, 0, NULL, NULL, NULL, seen_at FROM unseen
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, list(DISTINCT c.id), NULL, NULL, max(a.seen_at)
FROM github.review_comments AS c
LEFT JOIN github.review_comment_anchors AS a ON a.id = c.id
JOIN swept AS s ON s.surface = 'review_comments' AND s.scope IN (c.scope, c.scope || '/' || CAST(c.number AS VARCHAR))
LEFT JOIN sighted AS g ON g.surface = 'review_comments' AND g.scope = s.scope AND g.id = c.id
LEFT JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
WHERE g.id IS NULL AND d.id IS NULL AND ($floor IS NULL OR c.updated_at >= $floor)
      AND c.parent_key NOT IN (SELECT parent_key FROM unseen) GROUP BY c.scope, c.number
UNION ALL
SELECT 'orphans', scope, number, list_min(ids), false, 0, ids, NULL, NULL, NULL FROM orphaned
WHERE NOT is_deleted OR noticed_in_run >= (SELECT since FROM this_run)
UNION ALL
SELECT DISTINCT 'issue', o.scope, o.number, o.id, o.kind = 'pull_request', 0, NULL, NULL, NULL, NULL
FROM github.openers AS o LEFT JOIN github.issues AS i ON i.parent_key = o.parent_key
LEFT JOIN deleted AS d ON d.kind = o.kind AND d.id = o.id
WHERE i.id IS NULL AND d.id IS NULL
      AND NOT EXISTS (SELECT 1 FROM unread AS u WHERE u.surface = 'issues' AND u.parent_key = o.parent_key)
UNION ALL
SELECT CASE WHEN i.seen_at > m.noticed_at THEN 'back' ELSE 'issue' END, i.scope, i.number, i.id, i.is_pull_request, 0,
       NULL, NULL, NULL, i.seen_at
FROM github.issues AS i JOIN marked AS m ON m.id = i.id
WHERE i.seen_at > m.noticed_at OR NOT m.is_deleted OR m.noticed_in_run >= (SELECT since FROM this_run)
UNION ALL
SELECT 'issue', i.scope, i.number, i.id, true, 0, NULL, NULL, NULL, i.seen_at
FROM known AS i JOIN swept AS s ON s.surface = 'absent' AND s.scope = i.scope || '/' || CAST(i.number AS VARCHAR)
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, NULL, list(DISTINCT c.id), NULL, max(a.seen_at)
FROM github.review_comments AS c JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
JOIN github.review_comment_anchors AS a ON a.id = c.id WHERE a.seen_at > d.noticed_at GROUP BY c.scope, c.number
UNION ALL
SELECT 'threads', scope, max(number), 0, true, 0, list(number), NULL, NULL, NULL
FROM threads_due GROUP BY scope, nth // $threads_at_once
)
SELECT s.*, CASE WHEN m.is_deleted OR o.is_deleted THEN 'deleted'
                 WHEN m.is_missing OR o.is_missing THEN 'missing' END AS was,
       CAST($reads_threads AS BOOLEAN) AS reads_threads
FROM suspects AS s
LEFT JOIN marked AS m ON s.task IN ('issue', 'back') AND m.id = s.id
LEFT JOIN orphaned AS o ON s.task = 'orphans' AND o.scope = s.scope AND o.number = s.number
"""


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
    """The whole thread again: what is listed is kept, what we hold and is not listed is gone."""
    number = integer(suspect["number"])
    found = await listed(repo, f"issues/{number}/comments")
    there = ids_of(found)
    check = {
        "parent_key": parent_key(repo.scope, number),
        "scope": repo.scope,
        "number": number,
        "remote_count": suspect["remote_count"],
        "listed_count": len(there),
        "updated_at": suspect["updated_at"],
        "checked_at": repo.now,
    }
    deletions = marks(repo, "issue_comment", number, ids_in(suspect, "ids") - there, ids_in(suspect, "marked") & there)
    yield Batch("rechecks", repo.scope, {**comment_rows(repo, found), "deletions": deletions, "thread_checks": [check]})


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
