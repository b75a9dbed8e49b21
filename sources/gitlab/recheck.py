"""What of GitLab is due, and how it is read again: threads and the rest, who is missing, who is back.

The death of a merge request or issue takes two runs. One that answers 404 while its project is readable is *missing*:
permissions flap, replicas lag behind the list that showed it. It is kept as it was and asked for by the next run; only
if it answers 404 then, too, it is deleted. The next three runs ask for it all the same, and a list that shows it brings
it back: a row seen later than its mark voids the mark. What is back is read as if it were named, with all that hangs on
it, because no list may ever show what changed meanwhile.
"""

from collections.abc import AsyncIterator, Iterator, Mapping

from sources.core.http.client import Failure
from sources.core.reading import Batch, Walk
from sources.core.scope import Scope, noticed
from sources.core.targets import Target
from sources.core.values import Row
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.targets import HELD, fetch
from sources.gitlab.threads import DEPENDENTS, NO_TOKEN, Dependent, Due, due_of, reviewers

__all__ = ["DUE", "rechecks"]

SIGNS, TARGETS = {"merge_request": "!", "issue": "#"}, {"merge_request": "mr", "issue": "issue"}

# `swept` and `sighted` hold what this run's sweep read to the end: (surface, scope) and (surface, scope, id); `unread`
# what lies in quarantine; `this_run` since which run a deletion is looked after.
# A package can be killed between its tables: a row of one that was never finished vouches for nothing.
# A run that dies when it has landed, and before the ledger knows that nothing is unread any more, leaves a note in
# quarantine whose thread is settled, or whose parent is gone: what lies there and is due is asked for, whatever landed.
# What is switched off is never due: every merge request without its diffs would be looked at in every run.
DUE = """
WITH finished AS (SELECT DISTINCT load_id FROM gitlab._dlt_loads),
threads AS (SELECT * FROM gitlab.threads WHERE _dlt_load_id IN (FROM finished)),
events AS (SELECT * FROM gitlab.resource_events WHERE _dlt_load_id IN (FROM finished)),
closes AS (SELECT * FROM gitlab.closes_issues WHERE _dlt_load_id IN (FROM finished)),
diffs AS (SELECT * FROM gitlab.diffs WHERE _dlt_load_id IN (FROM finished)),
parents AS (
    SELECT 'merge_request' AS kind, 'merge_requests' AS surface, id, scope, number, parent_key, state, updated_at,
           seen_at, user_notes_count, head_sha FROM gitlab.merge_requests
    UNION ALL
    SELECT 'issue', 'issues', id, scope, number, parent_key, state, updated_at, seen_at, user_notes_count, NULL
    FROM gitlab.issues
),
unread_notes AS (
    SELECT parent_key, bool_or(is_due) AS is_due FROM unread WHERE surface = 'notes' AND NOT is_let_be
    GROUP BY parent_key
),
judged AS (
    SELECT p.*, CASE WHEN d.is_deleted THEN 'deleted' WHEN d.is_missing THEN 'missing' END AS was,
        s.surface IS NOT NULL AND g.id IS NULL AND ($floor IS NULL OR p.updated_at >= $floor) AS is_missing,
        t.synced_for_updated_at AS synced_for, t.shown,
        u.is_due IS TRUE OR coalesce($full
            OR coalesce(t.read_for_updated_at, t.synced_for_updated_at) <> p.updated_at OR NOT t.is_settled
            OR t.user_notes_count IS DISTINCT FROM p.user_notes_count OR t.head_sha IS DISTINCT FROM p.head_sha
            OR (coalesce(t.synced_for_updated_at < p.updated_at, true) AND u.is_due IS NULL)
            OR (s.surface IS NOT NULL AND p.state = 'opened'), true) AS threads_due,
        $events AND coalesce($full OR e.synced_for_updated_at <> p.updated_at OR NOT e.is_settled, true) AS events_due,
        $closes AND p.kind = 'merge_request'
            AND coalesce($full OR c.synced_for_updated_at <> p.updated_at OR NOT c.is_settled, true) AS closes_due,
        $diffs AND p.kind = 'merge_request' AND coalesce($full OR f.synced_for_updated_at <> p.updated_at
            OR NOT f.is_settled OR f.head_sha IS DISTINCT FROM p.head_sha, true) AS diffs_due
    FROM parents AS p
    LEFT JOIN gitlab.deletions AS d
        ON d.parent_key = p.parent_key AND (d.is_deleted OR d.is_missing) AND d.noticed_at >= p.seen_at
    LEFT JOIN threads AS t ON t.parent_key = p.parent_key
    LEFT JOIN events AS e ON e.parent_key = p.parent_key
    LEFT JOIN closes AS c ON c.parent_key = p.parent_key
    LEFT JOIN diffs AS f ON f.parent_key = p.parent_key
    LEFT JOIN unread_notes AS u ON u.parent_key = p.parent_key
    LEFT JOIN swept AS s ON s.surface = p.surface AND s.scope = p.scope
    LEFT JOIN sighted AS g ON g.surface = p.surface AND g.scope = p.scope AND g.id = p.id
    WHERE d.parent_key IS NULL OR NOT d.is_deleted OR d.noticed_in_run >= (SELECT since FROM this_run)
          OR u.is_due
)
SELECT * FROM judged
WHERE was IS NOT NULL OR is_missing OR threads_due OR events_due OR closes_due OR diffs_due ORDER BY updated_at DESC
"""


def rechecks(places: Mapping[str, Scope], suspects: list[Row], config: GitlabConfig) -> Iterator[Walk]:
    """Every due dependent of the projects that this run could read, each failing alone."""
    if suspects and not config.token:
        for known in places.values():  # once a project, not once a merge request
            known.reading.fail(known.scope, "threads", NO_TOKEN)
        return
    for suspect in suspects:
        place = places.get(str(suspect["scope"]))
        if place is None:
            continue
        due = due_of(place, suspect, config)
        if suspect["is_missing"] or suspect["was"]:
            yield _walk(due, "presence", presence(due, suspect["was"], config))
            continue
        for name, (_, read) in DEPENDENTS.items():
            if suspect[f"{name}_due"]:
                yield _walk(due, name, _one(due, read, config))
        if due.verifies_reviewers and suspect["threads_due"]:
            yield _walk(due, "reviewers", _one(due, reviewers, config))


def _walk(due: Due, name: str, batches: AsyncIterator[Batch]) -> Walk:
    """Its failure is recorded under its own name and leaves everything as it was."""
    return Walk(f"{name} of {SIGNS[due.parent.kind]}{due.parent.number}", due.place.scope, batches)


async def _one(due: Due, read: Dependent, config: GitlabConfig) -> AsyncIterator[Batch]:
    """One dependent. It may answer 404 because its parent does; else the endpoint is not for this token."""
    try:
        yield await read(due)
    except Failure as failure:
        if failure.code != "NOT_FOUND":
            raise
        absent = [batch async for batch in presence(due, None, config)]
        if not absent:
            raise
        yield absent[0]


async def presence(due: Due, was: object, config: GitlabConfig) -> AsyncIterator[Batch]:
    """Asked for by itself: nothing, if it is there as it was; what it is now, if it was thought `missing` or `deleted`;
    its mark, if it answers 404 while its project is readable."""
    place, name = due.place, f"{due.place.name}{SIGNS[due.parent.kind]}{due.parent.number}"
    try:
        await place.one("rechecks", due.path)
    except Failure as failure:
        if failure.code != "NOT_FOUND":
            raise
        await place.still_lists("rechecks", due.surface)
        is_sure, cause = bool(was) or failure.status != 404, f"answers {failure.status}"
        if was == "deleted":
            place.reading.waits_no_more(due.parent.key)
        else:
            place.reading.absent_is(name, due.parent.key, cause, is_sure=is_sure)
            yield _mark(due, cause, is_deleted=is_sure, is_missing=not is_sure)
        return
    if was:
        place.reading.tell(f"{name} is back")
        fetched = await fetch(place, Target(TARGETS[due.parent.kind], due.parent.number), config)
        yield fetched.batch
        yield _mark(due, "answers again")
        held = await place.reading.look(HELD, {"keys": [due.parent.key]})
        for dependent in fetched.dependents.values():
            async for batch in dependent(held[0] if held else {}):
                yield batch


def _mark(due: Due, cause: str, *, is_deleted: bool = False, is_missing: bool = False) -> Batch:
    row = {
        "parent_key": due.parent.key,
        "scope": due.parent.scope,
        "is_deleted": is_deleted,
        "is_missing": is_missing,
        "cause": cause,
        "noticed_at": noticed(due.place.api.now, due.seen_at),
        "noticed_in_run": due.place.reading.run,
    }
    return Batch("rechecks", due.place.scope, {"deletions": [row]})
