"""One named merge request or issue of GitLab, with all that hangs on it."""

from collections.abc import AsyncIterator
from dataclasses import replace

from sources.core.http.client import Failure
from sources.core.reading import Batch
from sources.core.scope import Scope
from sources.core.targets import Dependent, Fetched, Held, Target, moment
from sources.gitlab.lists import KINDS, GitlabConfig, listed_rows, payloads
from sources.gitlab.threads import DEPENDENTS, NO_TOKEN, OF_MERGE_REQUESTS, Due, due_of, held_of

__all__ = ["HELD", "SURFACES", "fetch"]

SURFACES = {"issue": "issues", "mr": "merge_requests"}
HELD = """
WITH parents AS (
    SELECT parent_key, updated_at, seen_at FROM gitlab.merge_requests WHERE parent_key IN (SELECT unnest($keys))
    UNION ALL SELECT parent_key, updated_at, seen_at FROM gitlab.issues WHERE parent_key IN (SELECT unnest($keys))
)
SELECT p.*, t.synced_for_updated_at AS synced_for
FROM parents AS p LEFT JOIN gitlab.threads AS t ON t.parent_key = p.parent_key
"""


async def fetch(place: Scope, target: Target, config: GitlabConfig) -> Fetched:
    surface = SURFACES[target.kind]
    path = f"{surface}/{target.number}"
    answer = await place.get(surface, path)
    place, found = replace(place, now=answer.date), place.record(path, answer)
    if str(found.get("project_id")) != place.scope:
        raise Failure("PROJECT_MISMATCH", f"{target} came back as one of project {found.get('project_id')!r:.40}")
    rows = listed_rows(place, surface, [found])
    if not rows[surface] or rows[surface][0]["number"] != target.number:
        reasons = [record.reason for record in place.reading.quarantined.values()] or ["it is another one"]
        raise Failure("FETCH_ERROR", f"{target} of {place.name} cannot be read: {reasons[-1]}")
    row = rows[surface][0]
    due = due_of(place, {**row, "kind": KINDS[surface]}, config)
    dependents = {
        name: _dependent(due, name, config)
        for name, (switch, _) in DEPENDENTS.items()
        if (switch is None or getattr(config, switch)) and (target.kind == "mr" or name not in OF_MERGE_REQUESTS)
    }
    batch = Batch(surface, place.scope, rows, payloads=payloads(surface, [found]))
    return Fetched(target, str(row["parent_key"]), moment(row), place.now, batch, dependents)


def _dependent(due: Due, name: str, config: GitlabConfig) -> Dependent:
    async def read(held: Held) -> AsyncIterator[Batch]:
        if not config.token:
            raise NO_TOKEN
        synced_for, _ = held_of(held)
        yield await DEPENDENTS[name][1](replace(due, synced_for=synced_for))
        unread = [q for q in due.place.reading.quarantined.values() if q.parent_key == due.parent.key]
        if name == "threads" and unread:
            raise Failure("FETCH_ERROR", f"{len(unread)} of its notes cannot be read; see `earshot quarantine list`")

    return read
