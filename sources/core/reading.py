"""One reading of one source: what it needs, what it yields, what went wrong.

A surface (one list of one scope) is an async generator of batches. A `Batch` carries rows and the cursor that is right
once these rows have landed, so whatever prefix of the batches is committed, cursor and rows agree. A surface that fails
is recorded by name and the others go on; what it had yielded stays, its cursor moves no further.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pendulum import DateTime

from sources.core import cursor as cursors
from sources.core.cursor import BadCursor, Cursor
from sources.core.http.client import Api, Failure, RequestCounts
from sources.core.http.given_up import GivenUp
from sources.core.unread import Problem, Quarantined, Unread, not_understood, quarantine_key
from sources.core.values import Json, Row, Unreadable, json_bytes

__all__ = [
    "Batch",
    "Payload",
    "Problem",
    "Quarantined",
    "Reading",
    "Unread",
    "Walk",
    "is_of_one",
    "not_understood",
    "quarantine_key",
]

log = logging.getLogger("earshot")
accounts = logging.getLogger("earshot.accounts")  # a line each where something happened, whatever else is told

V = TypeVar("V")
UNREADABLE = (Unreadable, AttributeError, TypeError, KeyError, ValueError)


@dataclass(frozen=True)
class Payload:
    """A record as the service sent it."""

    kind: str
    id: str
    version: str
    raw: Json


@dataclass(frozen=True)
class Batch:
    """Rows for tables, and the cursor of (surface, scope) that they make true."""

    surface: str
    scope: str
    rows: Mapping[str, list[Row]]
    cursor: Json | None = None
    payloads: list[Payload] = field(default_factory=list)
    replayed: Mapping[str, int] = field(default_factory=dict)  # of these rows, so many come again, to be safe


@dataclass(frozen=True)
class Walk:
    """Batches that are still to be read, and by what name it is told if they cannot be; "": they tell it themselves."""

    surface: str
    scope: str
    batches: AsyncIterator[Batch]


def is_of_one(surface: str) -> bool:
    """`threads of !7`: what hangs on one issue or merge request, and is read only where it is due."""
    return " of " in surface


Look = Callable[[str, Mapping[str, object]], Awaitable[list[Row]]]


async def _nothing_held(query: str, values: Mapping[str, object]) -> list[Row]:
    return []


@dataclass
class Reading:
    api: Api
    saved: Mapping[str, Mapping[str, object]]  # surface → scope → cursor, as it was committed
    full: bool = False
    sweep: bool = False
    deep: bool = False  # the sweep is to compare what it otherwise compares rarely
    turn: int = 0  # the number of this source's run
    run: int = 0  # the number of the run
    since_run: int = 0  # the first of the three runs of this source before it
    stops: Callable[[], bool] = lambda: False  # no more is wanted now: walks end where the next reading goes on
    look: Look = _nothing_held  # asks the warehouse what it holds
    is_new: bool = False  # nothing of this source was ever landed, not even in part
    safe_backfill_hours: float = 24.0
    completed: int = 0  # surfaces read to their end
    read: set[tuple[str, str]] = field(default_factory=set)  # these: scope, surface
    ended: set[tuple[str, str]] = field(default_factory=set)  # these and those that failed: not for this reading again
    paused: set[tuple[str, str]] = field(default_factory=set)  # those whose walks ended where no more was wanted
    moved: set[tuple[str, str]] = field(default_factory=set)  # surface, scope: by this reading itself
    problems: list[Problem] = field(default_factory=list)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    tallies: dict[tuple[str, str], RequestCounts] = field(default_factory=dict)
    sightings: dict[tuple[str, str], set[int]] = field(default_factory=dict)  # complete re-reads: surface, scope → ids
    unread: Mapping[str, Unread] = field(default_factory=dict)  # kept raw by earlier runs, by key
    open_failures: frozenset[tuple[str, str]] = frozenset()  # scope, surface: what failed when it was last tried
    resets: set[tuple[str, str]] = field(default_factory=set)  # surface, scope: what lies between may be unread
    healed: set[str] = field(default_factory=set)  # of these, what could be read after all
    names: dict[str, str] = field(default_factory=dict)  # scope → what people call it
    skipped: dict[str, str] = field(default_factory=dict)  # name → why it is no failure that nothing is read of it
    skipped_before: Mapping[str, str] = field(default_factory=dict)
    whole: dict[str, DateTime | None] = field(default_factory=dict)  # scope of which all is read → since when
    pages: dict[object, dict[object, Any]] = field(default_factory=dict)  # of lists that several walk side by side
    told: list[str] = field(default_factory=list)  # what people are to know: who is missing, gone, back
    deleted: int = 0  # rows that say so

    def go_on(self, api: Api, saved: Mapping[str, Mapping[str, object]]) -> None:
        """With another client, from where it has come."""
        api.after(self.api)
        self.api, self.saved = api, saved

    def pauses(self, surface: str, scope: str) -> Callable[[], bool]:
        """For a walk that ends by itself where no more is wanted: it is not over then, and is taken up again."""

        def is_wanted_no_more() -> bool:
            is_enough = self.stops()  # once: between two questions its time may end
            if is_enough:
                self.paused.add((scope, surface))
            return is_enough

        return is_wanted_no_more

    @property
    def has_newly_failed(self) -> bool:
        """Whether a sweep must be repeated at once. What failed before (a name that nobody has) would have every run
        sweep for ever, or none."""
        return any((problem.scope, problem.surface) not in self.open_failures for problem in self.problems)

    def tally(self, surface: str, scope: str) -> RequestCounts:
        return self.tallies.setdefault((surface, scope), RequestCounts())

    def raw_cursor(self, surface: str, scope: str) -> object:
        """As it was committed; a full reading goes on from its own alone."""
        is_forgotten = self.full and (surface, scope) not in self.moved
        return None if is_forgotten else self.saved.get(surface, {}).get(scope)

    def cursor(self, surface: str, scope: str, *, now: DateTime, floor: DateTime | None) -> Cursor:
        """The committed cursor; one that cannot be believed is reset a safe way back (merge keys absorb the replay)."""
        try:
            return cursors.load(self.raw_cursor(surface, scope), now=now, floor=floor)
        except BadCursor as error:
            log.warning("cursor_invalid surface=%s scope=%s: %s; reset", surface, scope, error)
            self.resets.add((surface, scope))
            since = now.subtract(seconds=int(self.safe_backfill_hours * 3600))
            self.backfills(surface, scope, since)
            return Cursor(since=since)

    def backfills(self, surface: str, scope: str, until: DateTime) -> None:
        """What is past is read again, or for the first time, back to there."""
        name = self.names.get(scope, scope)
        log.info("incremental_scan_backfill surface=%s scope=%s until=%s", surface, name, until)

    async def walked(self, surface: str, scope: str, batches: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
        """The batches of one surface to its end, which is then in `read`, or to its failure, which is recorded."""
        name = self.names.get(scope, scope)
        self.read.discard((scope, surface))
        self.paused.discard((scope, surface))
        log.info("incremental_scan_started surface=%s scope=%s", surface, name)
        try:
            async for batch in batches:
                self._counts(batch, surface, scope)
                yield batch
        except (Failure, Unreadable) as error:
            self.fail(scope, surface, error if isinstance(error, Failure) else not_understood(error))
            self.ended.add((scope, surface))
            return
        self.completed += 1
        self.read.add((scope, surface))
        if (scope, surface) not in self.paused:
            self.ended.add((scope, surface))
        tally = self.tallies.get((surface, scope), RequestCounts())
        log.info(
            "incremental_scan_completed surface=%s scope=%s requests=%d not_modified=%d fetched=%d new=%d",
            surface,
            name,
            tally.requests,
            tally.not_modified,
            tally.fetched,
            tally.new,
        )

    def _counts(self, batch: Batch, surface: str, scope: str) -> None:
        self.deleted += sum(row["is_deleted"] is True for row in batch.rows.get("deletions", ()))
        for table, found in batch.rows.items():
            if (table, scope) in self.tallies:
                new = len(found) - batch.replayed.get(table, 0)
                self.tallies[table, scope].new += new
                is_known = new > 0 and scope in self.saved.get(surface, {})
                self._lags(table, scope, found, is_known=is_known)

    def _lags(self, table: str, scope: str, rows: Iterable[Row], *, is_known: bool) -> None:
        """How old the newest of what is new was when it was read. What was there before us says nothing of our pace."""
        ages = [_age(row) for row in rows] if is_known and not self.full else []
        tally = self.tallies[table, scope]
        tally.lag_seconds = min((age for age in (tally.lag_seconds, *ages) if age is not None), default=None)

    def fail(self, scope: str, surface: str, failure: Failure) -> None:
        """Told once, however many were to be read there: a limit stops hundreds of rechecks with the same words."""
        surface = failure.endpoint if isinstance(failure, GivenUp) else surface
        problem = Problem(scope, surface, failure.code, str(failure), failure.until)
        same = (each for each in self.problems if (each.scope, each.surface) == (scope, surface))
        if not any(each == problem or isinstance(failure, GivenUp) for each in same):
            log.warning("%s %s: %s", self.names.get(scope, scope), surface, failure)
            self.problems.append(problem)

    def skip(self, name: str, why: str) -> None:
        """Told once, as long as it is so."""
        is_known = self.skipped_before.get(name) == why
        accounts.log(logging.DEBUG if is_known else logging.INFO, "[SKIP] %s: %s", name, why)
        self.skipped[name] = why

    def shape(
        self,
        scope: str,
        surface: str,
        items: Iterable[Json],
        row: Callable[[Json], V],
        parent: Callable[[Json], str | None] = lambda item: None,
    ) -> list[V]:
        """Rows of the items that can be read; the others go to quarantine, raw, with the key of their `parent`."""
        rows = []
        for item in items:
            key = quarantine_key(surface, scope, item)
            try:
                rows.append(row(item))
                if key in self.unread:
                    self.healed.add(key)
            except UNREADABLE as error:
                self.keep(Quarantined(scope, surface, key, f"{error}"[:300], item, parent(item)))
        return rows

    def keep(self, record: Quarantined) -> None:
        log.warning("quarantined %s: %s", record.key, record.reason)
        self.quarantined[record.key] = record

    def is_kept(self, scope: str, surface: str, item: Json) -> bool:
        """Whether this very record lies in quarantine already: nothing is new about it."""
        kept = self.unread.get(quarantine_key(surface, scope, item))
        return kept is not None and kept.raw == json_bytes(item).decode()

    def is_read(self, record: Unread) -> bool:
        """Of one that was asked for by itself and shaped again: whether it could be read this time."""
        if record.key in self.quarantined:
            return False
        self.healed.add(record.key)
        return True

    @property
    def over(self) -> set[str]:
        """Of what lay in quarantine: what this reading has read, or found gone, and did not meet unreadable again."""
        return self.healed - self.quarantined.keys()

    def tell(self, text: str) -> None:
        if text not in self.told:
            log.info("%s", text)
            self.told.append(text)

    def waits_no_more(self, parent_key: str) -> None:
        """With an issue or the like goes what of it could not be read."""
        self.healed |= {key for key, each in self.unread.items() if each.parent_key == parent_key}

    def absent_is(self, name: str, parent_key: str, cause: str, *, is_sure: bool) -> None:
        """Of a whole issue or the like: told, and no failure."""
        if not is_sure:
            self.tell(f"{name} {cause} and is missing: kept as it was, the next run asks again")
            return
        self.tell(f"{name} is gone ({cause}): marked as deleted")
        self.waits_no_more(parent_key)

    def absent(self, record: Unread, cause: str) -> None:
        """It is there no more, or a permission flaps: forgotten if it was so when it was last asked for, too."""
        if record.reason == cause:
            self.healed.add(record.key)
        else:
            self.keep(record.again(cause))


def _age(row: Row) -> float | None:
    said, seen = row.get("updated_at") or row.get("indexed_at"), row.get("seen_at")
    if isinstance(said, DateTime) and isinstance(seen, DateTime):
        return max(0.0, (seen - said).total_seconds())
    return None
