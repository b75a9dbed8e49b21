"""What does not add up on GitHub, and how it is settled: deletions, pull requests that a list missed, unread reviews.

A deleted comment vanishes silently. What remains is a count (`comments` of an issue) or its absence from a complete
list. So the landed tables themselves say what is suspect, and a suspect stays one until its thread was read again
whole: nothing to remember between runs, nothing to forget. A thread whose count disagrees for good (GitHub counts
what it hides) is asked once per disagreement and time of its issue: the same numbers at a later time are another
disagreement, e.g. a comment that was said after the count was read, and deleted since.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from sources import github_rows as rows
from sources.github_pulls import pull_batches
from sources.github_repository import comment_rows, issue_rows, review_comment_rows
from sources.github_reviews import review_rows
from sources.http import Failure
from sources.paging import walk
from sources.place import Place, sight_by
from sources.reading import Batch, quarantine_key, side_by_side
from sources.record import Json, Row, integer, json_record, need

__all__ = ["SUSPECTS", "comments", "ids_of", "listed", "marks", "retry", "reviews", "settle"]

AT_ONCE = 10
ABSENT = ("NOT_FOUND", "PROJECT_MISMATCH")  # no such thing here, or no more
LISTS = ("issues", "pulls")  # by whether it hangs on a pull request
Shaped = dict[str, list[Row]]

# `swept` and `sighted` hold what this run's sweep read to the end: (surface, scope) and (surface, scope, id); where a
# pull request is followed by itself, its scope is `scope/number`.
SUSPECTS = """
WITH deleted AS (SELECT kind, id, noticed_at FROM github.deletions WHERE is_deleted),
held AS (
    SELECT c.parent_key, count(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS live,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NULL) AS ids,
           list(DISTINCT c.id) FILTER (WHERE d.id IS NOT NULL) AS marked
    FROM github.issue_comments AS c LEFT JOIN deleted AS d ON d.kind = 'issue_comment' AND d.id = c.id
    GROUP BY c.parent_key
),
known AS (
    SELECT i.* FROM github.issues AS i
    LEFT JOIN deleted AS d ON d.kind IN ('issue', 'pull_request') AND d.id = i.id WHERE d.id IS NULL
)
SELECT 'comments' AS task, i.scope, i.number, i.id, i.is_pull_request, i.comment_count AS remote_count, h.ids, h.marked,
       i.updated_at
FROM known AS i LEFT JOIN held AS h ON h.parent_key = i.parent_key
LEFT JOIN github.thread_checks AS k ON k.parent_key = i.parent_key
WHERE i.comment_count <> coalesce(h.live, 0) AND (k.parent_key IS NULL OR k.remote_count <> i.comment_count
      OR k.listed_count <> coalesce(h.live, 0) OR k.updated_at IS DISTINCT FROM i.updated_at)
      AND ($floor IS NULL OR i.created_at >= $floor)
UNION ALL
SELECT 'pull_request', i.scope, i.number, i.id, true, 0, NULL, NULL, NULL
FROM known AS i LEFT JOIN github.pull_requests AS p ON p.parent_key = i.parent_key
WHERE i.is_pull_request AND (p.id IS NULL OR (p.updated_at < i.updated_at AND p.seen_at < i.seen_at)
      OR p.reviews_read_for IS DISTINCT FROM p.updated_at)
UNION ALL
SELECT 'reviews', p.scope, p.number, p.id, true, 0,
       list(DISTINCT r.id) FILTER (WHERE r.id IS NOT NULL AND d.id IS NULL),
       list(DISTINCT r.id) FILTER (WHERE d.id IS NOT NULL), NULL
FROM github.pull_requests AS p
JOIN swept AS s ON s.surface = 'issues' AND s.scope IN (p.scope, p.scope || '/' || CAST(p.number AS VARCHAR))
LEFT JOIN github.reviews AS r ON r.parent_key = p.parent_key
LEFT JOIN deleted AS d ON d.kind = 'review' AND d.id = r.id
WHERE p.state = 'open' GROUP BY p.scope, p.number, p.id
UNION ALL
SELECT 'issue', i.scope, i.number, i.id, i.is_pull_request, 0, NULL, NULL, NULL
FROM known AS i JOIN swept AS s ON s.surface = 'issues' AND s.scope = i.scope
LEFT JOIN sighted AS g ON g.surface = 'issues' AND g.scope = i.scope AND g.id = i.id
WHERE g.id IS NULL AND ($floor IS NULL OR i.updated_at >= $floor)
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, list(DISTINCT c.id), NULL, NULL
FROM github.review_comments AS c
JOIN swept AS s ON s.surface = 'review_comments' AND s.scope IN (c.scope, c.scope || '/' || CAST(c.number AS VARCHAR))
LEFT JOIN sighted AS g ON g.surface = 'review_comments' AND g.scope = s.scope AND g.id = c.id
LEFT JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
WHERE g.id IS NULL AND d.id IS NULL AND ($floor IS NULL OR c.updated_at >= $floor) GROUP BY c.scope, c.number
UNION ALL
SELECT 'orphans', c.scope, c.number, 0, false, 0, list(DISTINCT c.id), NULL, NULL
FROM github.issue_comments AS c LEFT JOIN github.issues AS i ON i.parent_key = c.parent_key
LEFT JOIN deleted AS d ON d.kind = 'issue_comment' AND d.id = c.id
WHERE i.id IS NULL AND d.id IS NULL
      AND NOT EXISTS (SELECT 1 FROM github.openers AS o WHERE o.parent_key = c.parent_key) GROUP BY c.scope, c.number
UNION ALL
SELECT DISTINCT 'issue', o.scope, o.number, o.id, o.kind = 'pull_request', 0, NULL, NULL, NULL
FROM github.openers AS o LEFT JOIN github.issues AS i ON i.parent_key = o.parent_key
LEFT JOIN deleted AS d ON d.kind = o.kind AND d.id = o.id
WHERE i.id IS NULL AND d.id IS NULL
UNION ALL
SELECT 'back', i.scope, i.number, i.id, i.is_pull_request, 0, NULL, NULL, NULL
FROM github.issues AS i JOIN deleted AS d ON d.kind IN ('issue', 'pull_request') AND d.id = i.id
WHERE i.seen_at > d.noticed_at
UNION ALL
SELECT 'review_comments', c.scope, c.number, 0, true, 0, NULL, list(DISTINCT c.id), NULL
FROM github.review_comments AS c JOIN deleted AS d ON d.kind = 'review_comment' AND d.id = c.id
JOIN github.review_comment_anchors AS a ON a.id = c.id WHERE a.seen_at > d.noticed_at GROUP BY c.scope, c.number
"""


async def settle(repositories: Mapping[str, Place], suspects: list[Row]) -> None:
    """Reads every suspect of the repositories that this run could read; the others stay suspect."""
    jobs = []
    for suspect in suspects:
        repo = repositories.get(str(suspect["scope"]))
        if repo:
            jobs.append(repo.reading.surface("rechecks", repo.scope, TASKS[str(suspect["task"])](repo, suspect)))
    await side_by_side(jobs, AT_ONCE)


async def retry(repositories: Mapping[str, Place], quarantined: list[Row]) -> None:
    """Each record that could not be parsed, asked for again by itself."""
    jobs = []
    for record in quarantined:
        repo = repositories.get(str(record["scope"]))
        if repo and record["surface"] in SINGLE:
            again = _again(repo, str(record["surface"]), json_record(str(record["raw"])))
            jobs.append(repo.reading.surface("rechecks", repo.scope, again))
    await side_by_side(jobs, AT_ONCE)


async def _again(repo: Place, surface: str, kept: Json) -> AsyncIterator[Batch]:
    path, by, batches_of = SINGLE[surface]
    if not isinstance(kept.get(by), int):
        return  # nothing to ask for it by; the list brings it again when it changes, or with --full
    try:
        found = await repo.one("rechecks", path.format(kept[by]))
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        await repo.still_lists("rechecks", LISTS[surface.startswith(("pull", "review"))])
        repo.reading.healed.add(quarantine_key(surface, repo.scope, kept))
        return
    for batch in await batches_of(repo, [found]):
        yield batch


async def comments(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """The whole thread again: what is listed is kept, what we hold and is not listed is gone."""
    number = integer(suspect["number"])
    try:
        found = await listed(repo, f"issues/{number}/comments")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        async for batch in issue(repo, suspect):
            yield batch
        return
    there = ids_of(found)
    check = {
        "parent_key": rows.parent_key(repo.scope, number), "scope": repo.scope, "number": number,
        "remote_count": suspect["remote_count"], "listed_count": len(there), "updated_at": suspect["updated_at"],
        "checked_at": repo.now,
    }  # fmt: skip
    deletions = marks(repo, "issue_comment", number, _ids(suspect, "ids") - there, _ids(suspect, "marked") & there)
    yield Batch("rechecks", repo.scope, {**comment_rows(repo, found), "deletions": deletions, "thread_checks": [check]})


async def pull_request(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """One pull request that the list did not bring, or whose reviews could not be read."""
    try:
        pull = await repo.one("rechecks", f"pulls/{suspect['number']}")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        async for batch in issue(repo, suspect):
            yield batch
        return
    for batch in await pull_batches(repo, [pull], "rechecks", repo.scope):
        yield batch


async def reviews(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """The sweep's look at an open pull request: reviews edited, dismissed or gone without its time moving."""
    number = integer(suspect["number"])
    sighted = repo.reading.sightings.get(("reviews", f"{repo.scope}/{number}"))  # this sweep has read them already
    found = [] if sighted is not None else await listed(repo, f"pulls/{number}/reviews")
    there = ids_of(found) if sighted is None else sighted
    shaped = review_rows(repo, number, [item for item in found if item.get("state") != "PENDING"])
    gone, back = _ids(suspect, "ids") - there, _ids(suspect, "marked") & there
    latest = [rows.latest_row("review", review) for review in shaped]
    deletions = marks(repo, "review", number, gone, back)
    yield Batch("rechecks", repo.scope, {"reviews": shaped, "latest_versions": latest, "deletions": deletions})


async def issue(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """Absent from one answer; only if it answers 404 by itself too, while its repository is readable, is it gone."""
    number, id_ = integer(suspect["number"]), integer(suspect["id"])
    kind = "pull_request" if suspect["is_pull_request"] else "issue"
    try:
        found = await repo.one("rechecks", f"issues/{number}")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        await repo.still_lists("rechecks", LISTS[kind == "pull_request"])
        cause = f"answers {failure.status}" if failure.code == "NOT_FOUND" else "moved to another repository"
        gone = rows.deletion_row(kind, id_, repo.scope, number, repo.now, cause)
        yield Batch("rechecks", repo.scope, {"deletions": [gone]})
    else:
        yield Batch("rechecks", repo.scope, {"issues": repo.shape("issues", [found], rows.issue_row)})


async def orphans(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """Comments whose issue never landed: it was opened while the lists were read, or a load broke off between tables.

    Were it deleted before the next run, no list and no count would ever speak of its comments again.
    """
    number = integer(suspect["number"])
    try:
        found = await repo.one("rechecks", f"issues/{number}")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        await repo.still_lists("rechecks", LISTS[False])
        deletions = marks(repo, "issue_comment", number, _ids(suspect, "ids"), set())
        yield Batch("rechecks", repo.scope, {"deletions": deletions})
    else:
        yield Batch("rechecks", repo.scope, issue_rows(repo, [found]))


async def back(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """Told again after it was thought gone: a deletion is an observation, and accounts that were hidden return."""
    kind = "pull_request" if suspect["is_pull_request"] else "issue"
    again = marks(repo, kind, integer(suspect["number"]), set(), {integer(suspect["id"])})
    yield Batch("rechecks", repo.scope, {"deletions": again})


async def review_comments(repo: Place, suspect: Row) -> AsyncIterator[Batch]:
    """Absent from the complete list that the sweep has just read, or told again after it was thought gone."""
    number, gone, again = integer(suspect["number"]), _ids(suspect, "ids"), _ids(suspect, "marked")
    yield Batch("rechecks", repo.scope, {"deletions": marks(repo, "review_comment", number, gone, again)})


async def _plain(shape: Callable[[Place, list[Json]], Shaped], repo: Place, found: list[Json]) -> list[Batch]:
    return [Batch("rechecks", repo.scope, shape(repo, found))]


async def _pulls(repo: Place, found: list[Json]) -> list[Batch]:
    return await pull_batches(repo, found, "rechecks", repo.scope)


SINGLE: dict[str, tuple[str, str, Callable[[Place, list[Json]], Awaitable[list[Batch]]]]] = {
    "issues": ("issues/{}", "number", partial(_plain, issue_rows)),
    "pull_requests": ("pulls/{}", "number", _pulls),
    "issue_comments": ("issues/comments/{}", "id", partial(_plain, comment_rows)),
    "review_comments": ("pulls/comments/{}", "id", partial(_plain, review_comment_rows)),
}

TASKS = {
    "comments": comments, "pull_request": pull_request, "reviews": reviews, "issue": issue,
    "review_comments": review_comments, "orphans": orphans, "back": back,
}  # fmt: skip


async def listed(repo: Place, path: str) -> list[Json]:
    sight = sight_by(lambda item: repr(item))
    return [item async for page in walk(repo.asks("rechecks", path), sight, seeks=False) for item in page.items]


def ids_of(found: list[Json]) -> set[int]:
    """Who is on a list. One who does not tell makes everybody's absence doubtful: `Unreadable`."""
    return {integer(need(item, "id")) for item in found}


def marks(repo: Place, kind: str, number: int, gone: set[int], back: set[int]) -> list[Row]:
    mark = (kind, repo.scope, number, repo.now)
    return [
        *(rows.deletion_row(mark[0], id_, *mark[1:], "no longer listed") for id_ in sorted(gone)),
        *(rows.deletion_row(mark[0], id_, *mark[1:], "listed again", gone=False) for id_ in sorted(back)),
    ]


def _ids(suspect: Row, column: str) -> set[int]:
    ids = suspect[column]
    return {integer(id_) for id_ in ids} if isinstance(ids, list) else set()
