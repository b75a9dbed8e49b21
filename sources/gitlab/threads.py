"""What hangs on a merge request or issue of GitLab: threads, events, closed issues, diffs. Read whole, or not at all.

The obvious watermark loses notes. A note moves its parent's `updated_at` at most once in 60 seconds: of two notes
within a minute, the second shows nowhere. So what was read for an `updated_at` is *settled* only if the server's
clock at the read stood later than that plus the settle time; until then it stays due and is read again. Deleting or
resolving moves nothing, a push may not either: where the list's count of notes or its sha differ from what was read
for, the thread is due too, and the sweep reads the threads of all that is open. A count that was listed within that
minute is told again by itself: a note that came between list and threads would be as silent when it goes.

The watermark and the notes are one row with its children, replaced in one transaction: what has vanished upstream is
gone with it, also when nothing is left. A failed page leaves row and notes as they were. A note that cannot be read
goes to quarantine by name and keeps its last row; the others land; and the watermark does not pass it, so the thread
stays due, in the rhythm in which quarantine is asked again. What is read and says what is held already lands nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from pendulum import DateTime

from sources.core.http.client import Failure
from sources.core.paging import Identified, walk
from sources.core.reading import Batch, Payload, Quarantined, quarantine_key
from sources.core.scope import Scope
from sources.core.targets import moment
from sources.core.values import Json, Row, fingerprint, held_instant, instant, integer, maybe, text
from sources.gitlab.dependent_rows import EVENTS, closed_row, file_row
from sources.gitlab.lists import GitlabConfig, listed_rows
from sources.gitlab.notes import Bad, Parent, read_discussions, with_last_read
from sources.gitlab.rows import people, reviewers_told

__all__ = [
    "DEPENDENTS",
    "NO_TOKEN",
    "OF_MERGE_REQUESTS",
    "Dependent",
    "Due",
    "due_of",
    "held_of",
    "is_due",
    "is_settled",
    "reviewers",
]

NO_TOKEN = Failure(
    "AUTH_FAILED", "discussions need a token, also on public projects; set SOURCES__GITLAB__TOKEN (read_api)"
)
PATHS = {"merge_request": "merge_requests", "issue": "issues"}
HELD_NOTES = """
SELECT n.*, d.is_individual FROM gitlab.threads__discussions__notes AS n
JOIN gitlab.threads__discussions AS d ON d.parent_key = n.parent_key AND d.id = n.discussion_id
WHERE n.parent_key = $key
"""


def is_settled(read_at: DateTime, updated_at: DateTime, settle_time: timedelta) -> bool:
    """Whether a read at the server's `read_at` saw all that will ever show under `updated_at`."""
    return read_at > updated_at + settle_time


def is_due(synced_for: DateTime | None, updated_at: DateTime, settled: bool, same_count: bool, same_sha: bool) -> bool:
    """The rule that DUE states in SQL: never read, read for another time, not settled, or told otherwise. A later one
    was told by a clock that was ahead, and is the future no more.
    """
    return synced_for is None or synced_for != updated_at or not settled or not (same_count and same_sha)


@dataclass(frozen=True)
class Due:
    """One merge request or issue, and the time for which it is being read."""

    place: Scope
    parent: Parent
    updated_at: DateTime
    settle_time: timedelta
    user_notes_count: int | None
    head_sha: str | None
    synced_for: DateTime | None = None  # the watermark of its threads, as it is held
    shown: str | None = None  # fingerprint of what is held of them
    seen_at: DateTime | None = None  # when the row that is held was seen, by the service's clock
    verifies_reviewers: bool = False

    @property
    def surface(self) -> str:
        return PATHS[self.parent.kind]

    @property
    def path(self) -> str:
        return f"{self.surface}/{self.parent.number}"

    @property
    def is_listed_early(self) -> bool:
        """What the list told of it may not be all that ever shows under its time."""
        return self.seen_at is not None and not is_settled(self.seen_at, self.updated_at, self.settle_time)

    def root(self, read_at: DateTime) -> Row:
        """What a row says that vouches for its children."""
        return {
            "parent_key": self.parent.key,
            "scope": self.parent.scope,
            "project": self.parent.project,
            "parent_kind": self.parent.kind,
            "number": self.parent.number,
            "synced_for_updated_at": self.updated_at,
            "is_settled": is_settled(read_at, self.updated_at, self.settle_time),
            "read_at": read_at,
        }


Dependent = Callable[[Due], Awaitable[Batch]]


async def threads(due: Due) -> Batch:
    """All discussions of one parent, parsed before anything is landed."""
    reading = due.place.reading
    found, read_at = await _whole(due, "threads", f"{due.path}/discussions")
    read = read_discussions(found, due.parent, due.place.now)
    rows, root = read.rows, due.root(read_at)
    if read.bad:
        rows = with_last_read(read, await _held_notes(due), due.parent)
    if _kept_raw(due, read.bad):
        is_behind = due.synced_for is not None and due.synced_for < due.updated_at
        root["synced_for_updated_at"] = due.synced_for if is_behind else None  # read before for this very time
    told, count = dict[str, list[Row]](), due.user_notes_count
    if root["is_settled"] and due.is_listed_early:
        told, _ = await _itself(due, "threads")
        for row in told.get(due.surface, ()):
            count = maybe(integer, row["user_notes_count"])
        root["is_settled"] = bool(told) and count == read.user_notes  # else once more, for the count that is told now
    root |= {"user_notes_count": count, "head_sha": due.head_sha, "read_for_updated_at": due.updated_at}
    shown = fingerprint({name: value for name, value in root.items() if name != "read_at"}, rows)
    if shown == due.shown and not reading.full and not told:
        return Batch("threads", due.place.scope, {})
    landed = {"note_versions": read.versions, "threads": [{**root, "shown": shown, "discussions": rows}], **told}
    return Batch("threads", due.place.scope, landed, payloads=_kept(found))


def _kept_raw(due: Due, bad: list[Bad]) -> bool:
    """The bad notes to quarantine, by name, and those that were bad and are not any more out of it. Whether any of them
    is one that somebody still waits for."""
    reading, place, key = due.place.reading, due.place.scope, due.parent.key
    met = {quarantine_key("notes", f"{place}:{due.path}", each.raw): each for each in bad}
    for name, each in met.items():
        reading.keep(Quarantined(place, "notes", name, each.reason, each.raw, key))
    known = {name for name, each in reading.unread.items() if each.surface == "notes" and each.parent_key == key}
    reading.healed |= known - met.keys()
    return any(name not in reading.unread or not reading.unread[name].is_let_be for name in met)


async def _held_notes(due: Due) -> list[Row]:
    held = await due.place.reading.look(HELD_NOTES, {"key": due.parent.key})
    return [{name: held_instant(v) or v for name, v in note.items()} for note in held]


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
    told, is_corrected = await _itself(due, "reviewers")
    return Batch("reviewers", due.place.scope, told if is_corrected else {})


async def _itself(due: Due, surface: str) -> tuple[dict[str, list[Row]], bool]:
    """The parent as it is told now, and whether its reviewers had to be corrected. Nothing, where it is older than what
    is held, e.g. from a replica that lags: no list would tell of the newer one again.
    """
    all_reviewers = (await _whole(due, "reviewers", f"{due.path}/reviewers"))[0] if due.verifies_reviewers else None
    answer = await due.place.get(surface, due.path)
    record = due.place.record(due.path, answer)
    corrected = record if all_reviewers is None else _with_all(all_reviewers, record, due.parent.key)
    told = listed_rows(replace(due.place, now=answer.date), due.surface, [corrected])
    is_older = any(moment(row) < due.updated_at for row in told[due.surface])
    return {} if is_older else told, corrected is not record


def _with_all(reviewers: list[Json], mr: Json, key: str) -> Json:
    named, listed = reviewers_told(reviewers, key), people(mr.get("reviewers"), key)
    if {row["username"] for row in named} == {row["username"] for row in listed}:
        return mr
    return {**mr, "reviewers": [review.get("user") for review in reviewers]}


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


def _sight(item: Json) -> Identified:
    """A changed file has no id; where it becomes another type, it is deleted and added under one path."""
    shown, id_ = fingerprint(item), item.get("id")
    if isinstance(item.get("new_path") or item.get("old_path"), str):
        id_ = fingerprint(*(item.get(name) for name in ("old_path", "new_path", "new_file", "deleted_file")))
    return Identified(id_ if isinstance(id_, int | str) else shown, shown, None)


def due_of(place: Scope, suspect: Row, config: GitlabConfig) -> Due:
    parent = Parent(place.scope, place.name, str(suspect["kind"]), integer(suspect["number"]))
    moved = suspect["updated_at"]
    assert hasattr(moved, "isoformat")
    return Due(
        place,
        parent,
        instant(moved.isoformat()),
        timedelta(seconds=config.settle_seconds),
        maybe(integer, suspect["user_notes_count"]),
        maybe(text, suspect.get("head_sha")),
        *held_of(suspect),
        seen_at=held_instant(suspect.get("seen_at")),
        verifies_reviewers=config.verify_reviewers and parent.kind == "merge_request",
    )


def held_of(row: Row) -> tuple[DateTime | None, str | None]:
    """Of the threads: their watermark, and the fingerprint of all that they say."""
    return held_instant(row.get("synced_for")), maybe(text, row.get("shown"))


def _kept(discussions: list[Json]) -> list[Payload]:
    """Discussions and notes raw; system notes without a place in a diff are numerous and say little: not kept."""
    kept = []
    for discussion in discussions:
        notes = discussion.get("notes")
        if not isinstance(notes, list):
            continue
        kept.append(Payload("discussion", str(discussion.get("id")), fingerprint(discussion), discussion))
        for note in notes:
            if isinstance(note, dict) and (not note.get("system") or note.get("position")):
                kept.append(Payload("note", str(note.get("id")), fingerprint(note), note))
    return kept


DEPENDENTS: dict[str, tuple[str | None, Dependent]] = {
    "threads": (None, threads),
    "events": ("fetch_resource_events", resource_events),
    "closes": ("fetch_closes_issues", closes_issues),
    "diffs": ("fetch_diffs", diffs),
}
OF_MERGE_REQUESTS = {"closes", "diffs"}
