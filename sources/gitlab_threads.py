"""What hangs on a merge request or issue of GitLab: threads, events, closed issues, diffs. Read whole, or not at all.

The obvious watermark loses notes. A note moves its parent's `updated_at` at most once in 60 seconds: of two notes
within a minute, the second shows nowhere. So what was read for an `updated_at` is *settled* only if the server's
clock at the read stood later than that plus the settle time; until then it stays due and is read again. Deleting or
resolving moves nothing, a push may not either: where the list's count of notes or its sha differ from what was read
for, the thread is due too, and the sweep reads the threads of all that is open.

The watermark and the notes are one row with its children, replaced in one transaction: what has vanished upstream is
gone with it, also when nothing is left. A failed page or one note that cannot be read leaves row and notes as they
were.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pendulum import DateTime

from sources.gitlab_hanging_rows import EVENTS, closed_row, file_row
from sources.gitlab_notes import Parent, discussion_row, version_rows
from sources.gitlab_rows import inner, people
from sources.http import Failure
from sources.paging import Sighting, walk
from sources.place import Place
from sources.reading import Batch, Payload, side_by_side
from sources.record import Json, Row, fingerprint, instant, integer, maybe, text

if TYPE_CHECKING:
    from sources.gitlab import GitlabConfig

__all__ = [
    "DEPENDENTS", "DUE", "NO_TOKEN", "OF_MERGE_REQUESTS", "Due", "due_of", "is_due", "is_settled", "settle",
]  # fmt: skip

NO_TOKEN = Failure(
    "AUTH_FAILED", "discussions need a token, also on public projects; set SOURCES__GITLAB__TOKEN (read_api)"
)
PATHS = {"merge_request": "merge_requests", "issue": "issues"}

# `swept` and `sighted` hold what this run's sweep read to the end: (surface, scope) and (surface, scope, id).
# A package can be killed between its tables: a row of one that was never finished vouches for nothing.
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
judged AS (
    SELECT p.*, s.surface IS NOT NULL AND g.id IS NULL AND ($floor IS NULL OR p.updated_at >= $floor) AS is_missing,
        coalesce($full OR t.synced_for_updated_at < p.updated_at OR NOT t.is_settled
            OR t.user_notes_count IS DISTINCT FROM p.user_notes_count OR t.head_sha IS DISTINCT FROM p.head_sha
            OR (s.surface IS NOT NULL AND p.state = 'opened'), true) AS threads_due,
        $events AND coalesce($full OR e.synced_for_updated_at < p.updated_at OR NOT e.is_settled, true) AS events_due,
        $closes AND p.kind = 'merge_request'
            AND coalesce($full OR c.synced_for_updated_at < p.updated_at OR NOT c.is_settled, true) AS closes_due,
        $diffs AND p.kind = 'merge_request' AND coalesce($full OR f.synced_for_updated_at < p.updated_at
            OR NOT f.is_settled OR f.head_sha IS DISTINCT FROM p.head_sha, true) AS diffs_due
    FROM parents AS p
    LEFT JOIN gitlab.deletions AS d ON d.parent_key = p.parent_key AND d.is_deleted AND d.noticed_at >= p.seen_at
    LEFT JOIN threads AS t ON t.parent_key = p.parent_key
    LEFT JOIN events AS e ON e.parent_key = p.parent_key
    LEFT JOIN closes AS c ON c.parent_key = p.parent_key
    LEFT JOIN diffs AS f ON f.parent_key = p.parent_key
    LEFT JOIN swept AS s ON s.surface = p.surface AND s.scope = p.scope
    LEFT JOIN sighted AS g ON g.surface = p.surface AND g.scope = p.scope AND g.id = p.id
    WHERE d.parent_key IS NULL
)
SELECT * FROM judged WHERE is_missing OR threads_due OR events_due OR closes_due OR diffs_due ORDER BY updated_at DESC
"""


def is_settled(read_at: DateTime, updated_at: DateTime, settle_time: timedelta) -> bool:
    """Whether a read at the server's `read_at` saw all that will ever show under `updated_at`."""
    return read_at > updated_at + settle_time


def is_due(synced_for: DateTime | None, updated_at: DateTime, settled: bool, same_count: bool, same_sha: bool) -> bool:
    """The rule that DUE states in SQL: never read, read for an earlier time, not settled, or told otherwise."""
    return synced_for is None or synced_for < updated_at or not settled or not (same_count and same_sha)


@dataclass(frozen=True)
class Due:
    """One merge request or issue, and the time for which it is being read."""

    place: Place
    parent: Parent
    updated_at: DateTime
    settle_time: timedelta
    user_notes_count: int | None
    head_sha: str | None

    @property
    def path(self) -> str:
        return f"{PATHS[self.parent.kind]}/{self.parent.number}"

    def root(self, read_at: DateTime) -> Row:
        """What a row says that vouches for its children."""
        return {
            "parent_key": self.parent.key, "scope": self.parent.scope, "project": self.parent.project,
            "parent_kind": self.parent.kind, "number": self.parent.number, "synced_for_updated_at": self.updated_at,
            "is_settled": is_settled(read_at, self.updated_at, self.settle_time), "read_at": read_at,
        }  # fmt: skip


Dependent = Callable[[Due], Awaitable[Batch]]


async def settle(places: Mapping[str, Place], suspects: list[Row], config: "GitlabConfig") -> None:
    """Every due dependent of the projects that this run could read, each failing alone."""
    if suspects and not config.token:
        for known in places.values():  # once a project, not once a merge request
            known.reading.fail(known.scope, "threads", NO_TOKEN)
        return
    await side_by_side(_jobs(places, suspects, config), config.dependent_concurrency)


def _jobs(
    places: Mapping[str, Place], suspects: list[Row], config: "GitlabConfig"
) -> Iterator[Coroutine[object, object, None]]:
    for suspect in suspects:
        place = places.get(str(suspect["scope"]))
        if place is None:
            continue
        due = due_of(place, suspect, config)
        if suspect["is_missing"]:
            yield _one(due, "presence", presence)
            continue
        for name, (_, read) in DEPENDENTS.items():
            if suspect[f"{name}_due"]:
                yield _one(due, name, read)
        if config.verify_reviewers and due.parent.kind == "merge_request" and suspect["threads_due"]:
            yield _one(due, "reviewers", reviewers)


async def threads(due: Due) -> Batch:
    """All discussions of one parent, parsed before anything is landed."""
    found, read_at = await _whole(due, "threads", f"{due.path}/discussions")
    rows = [discussion_row(discussion, due.parent) for discussion in found]
    root = {
        **due.root(read_at), "user_notes_count": due.user_notes_count, "head_sha": due.head_sha,
        "discussions": [row for row in rows if row["notes"]],
    }  # fmt: skip
    versions = version_rows([d for d in found if d["notes"]], due.parent, due.place.now)
    return Batch("threads", due.place.scope, {"note_versions": versions, "threads": [root]}, payloads=_kept(found))


async def resource_events(due: Due) -> Batch:
    key, root = due.parent.key, None
    children: dict[str, list[Row]] = {}
    for name, shape in EVENTS.items():
        found, read_at = await _whole(due, "resource_events", f"{due.path}/resource_{name[:-1]}_events")
        children[name] = [shape(event, key) for event in found]
        root = root or due.root(read_at)
    return Batch("resource_events", due.place.scope, {"resource_events": [{**(root or {}), **children}]})


async def closes_issues(due: Due) -> Batch:
    found, read_at = await _whole(due, "closes_issues", f"{due.path}/closes_issues")
    issues = [closed_row(issue, due.parent.key) for issue in found]
    return Batch("closes_issues", due.place.scope, {"closes_issues": [{**due.root(read_at), "issues": issues}]})


async def diffs(due: Due) -> Batch:
    """`collapsed` and `too_large` mean that an empty diff is not an empty change."""
    found, read_at = await _whole(due, "diffs", f"{due.path}/diffs")
    root = {**due.root(read_at), "head_sha": due.head_sha, "files": [file_row(f, due.parent.key) for f in found]}
    return Batch("diffs", due.place.scope, {"diffs": [root]})


async def reviewers(due: Due) -> Batch:
    """Optional: the list's reviewers compared with their own endpoint, for instances whose lists are incomplete."""
    found, _ = await _whole(due, "reviewers", f"{due.path}/reviewers")
    named = people([inner(review, "user") for review in found], due.parent.key)
    mr = await due.place.one("reviewers", due.path)
    listed = people(mr.get("reviewers"), due.parent.key)
    if {row["username"] for row in named} == {row["username"] for row in listed}:
        return Batch("reviewers", due.place.scope, {})
    from sources.gitlab import listed_rows

    corrected = {**mr, "reviewers": [inner(review, "user") for review in found]}
    return Batch("reviewers", due.place.scope, listed_rows(due.place, "merge_requests", [corrected]))


async def presence(due: Due) -> Batch:
    """Absent from the complete list: gone only if it answers 404 by itself too, while its project is readable."""
    try:
        await due.place.one("rechecks", due.path)
    except Failure as failure:
        if failure.code != "NOT_FOUND":
            raise
        await due.place.still_lists("rechecks", PATHS[due.parent.kind])
        return _gone(due, f"answers {failure.status}")
    return Batch("rechecks", due.place.scope, {})


async def _one(due: Due, name: str, read: Dependent) -> None:
    """One dependent; its failure is recorded under its own name and leaves everything as it was."""
    reading, sign = due.place.reading, "!" if due.parent.kind == "merge_request" else "#"

    async def batches() -> AsyncIterator[Batch]:
        try:
            yield await read(due)
        except Failure as failure:
            if failure.code != "NOT_FOUND":
                raise
            yield await presence(due)  # it vanished between list and read, or the endpoint is not for this token
            raise

    await reading.surface(f"{name} of {sign}{due.parent.number}", due.place.scope, batches())


async def _whole(due: Due, surface: str, path: str) -> tuple[list[Json], DateTime]:
    """All pages of a list that knows no `since`, each record once, and the server's time when the reading began."""
    found: dict[object, Json] = {}
    read_at: DateTime | None = None
    async for page in walk(due.place.asks(surface, path), _sight, seeks=False):
        read_at = read_at or page.answer.date
        for item in page.items:
            found[_sight(item).id] = item
    assert read_at
    return list(found.values()), read_at


def _sight(item: Json) -> Sighting:
    """A changed file has no id; where it becomes another type, it is deleted and added under one path."""
    shown, id_ = fingerprint(item), item.get("id")
    if isinstance(item.get("new_path"), str):
        id_ = fingerprint(*(item.get(name) for name in ("old_path", "new_path", "new_file", "deleted_file")))
    return Sighting(id_ if isinstance(id_, int | str) else shown, shown, None)


def due_of(place: Place, suspect: Row, config: "GitlabConfig") -> Due:
    parent = Parent(place.scope, place.name, str(suspect["kind"]), integer(suspect["number"]))
    moved = suspect["updated_at"]
    assert hasattr(moved, "isoformat")
    return Due(
        place, parent, instant(moved.isoformat()), timedelta(seconds=config.settle_seconds),
        maybe(integer, suspect["user_notes_count"]), maybe(text, suspect.get("head_sha")),
    )  # fmt: skip


def _gone(due: Due, cause: str) -> Batch:
    row = {"parent_key": due.parent.key, "scope": due.parent.scope, "is_deleted": True, "cause": cause,
           "noticed_at": due.place.api.now}  # fmt: skip
    return Batch("rechecks", due.place.scope, {"deletions": [row]})


def _kept(discussions: list[Json]) -> list[Payload]:
    """Discussions and notes raw; system notes without a place in a diff are numerous and say little: not kept."""
    kept = [Payload("discussion", str(d["id"]), fingerprint(d), d) for d in discussions]
    for discussion in discussions:
        for note in discussion["notes"]:  # type: ignore[attr-defined]
            if not note.get("system") or note.get("position"):
                kept.append(Payload("note", str(note["id"]), fingerprint(note), note))
    return kept


DEPENDENTS: dict[str, tuple[str | None, Dependent]] = {
    "threads": (None, threads), "events": ("fetch_resource_events", resource_events),
    "closes": ("fetch_closes_issues", closes_issues), "diffs": ("fetch_diffs", diffs),
}  # fmt: skip
OF_MERGE_REQUESTS = {"closes", "diffs"}
