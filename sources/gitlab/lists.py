"""The lists of a GitLab project, merge requests and issues: how they are set, asked for, and what they become.

Walked by seek on `updated_at` (keyset pagination is not offered here), held back by the overlap; cursor.py.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pendulum import DateTime

from sources.core.config import ConfigError, Secret, check_address, check_token
from sources.core.cursor import follow, start_of
from sources.core.http.client import Failure, TooLarge
from sources.core.paging import Ask
from sources.core.reading import Batch, Payload
from sources.core.scope import Scope, identify_by
from sources.core.unread import Unread
from sources.core.values import Json, Row, fingerprint, json_record
from sources.gitlab import rows

__all__ = ["KINDS", "GitlabConfig", "again", "asks_for", "listed", "listed_rows", "payloads"]

KINDS = {"merge_requests": "merge_request", "issues": "issue"}


@dataclass(frozen=True)
class GitlabConfig:
    api_url: str = "https://gitlab.com"
    token: Secret = Secret()
    write_token: Secret = Secret()  # without one, nothing is ever answered
    projects: list[str] = field(default_factory=list)
    default_project: str = ""
    since: str = ""
    settle_seconds: int = 70
    dependent_concurrency: int = 10
    fetch_resource_events: bool = True
    fetch_closes_issues: bool = True
    fetch_diffs: bool = True
    verify_reviewers: bool = False

    def __post_init__(self) -> None:
        check_address("[sources.gitlab]", self.api_url)
        for key in ("token", "write_token"):
            check_token(f"[sources.gitlab] {key}", getattr(self, key))
        for name in self.projects:
            if not (name.isdecimal() or "/" in name.strip("/")):
                raise ConfigError(f"[sources.gitlab] projects: {name!r} is neither group/name nor a number")
        if self.settle_seconds <= 60:
            raise ConfigError("[sources.gitlab] settle_seconds: more than 60, or notes within a minute are lost")
        if self.dependent_concurrency < 1:
            raise ConfigError("[sources.gitlab] dependent_concurrency: at least 1")
        self.floor  # noqa: B018  a wrong date is refused at once

    @property
    def floor(self) -> DateTime | None:
        return start_of("[sources.gitlab]", self.since)

    @property
    def overlap(self) -> timedelta:
        """A note within the minute after a touch shows under that touch's time: the window must still hold it."""
        return timedelta(seconds=max(120, self.settle_seconds))


async def listed(
    place: Scope, surface: str, config: GitlabConfig, shared: Callable[[Ask], Ask] = lambda ask: ask
) -> AsyncIterator[Batch]:
    """Merge requests or issues changed since; the sweep reads all since the configured start, for counts and shas.
    `shared`: with those who walk the list beside it.
    """
    ask = shared(asks_for(place, surface))
    start = place.reading.cursor(surface, place.scope, now=place.now, floor=config.floor)
    sight, seen, sweeps = identify_by(rows.listed_version), set[int](), place.reading.sweep
    async for found in follow(ask, sight, start, overlap=config.overlap, reread=sweeps, floor=config.floor):
        if sweeps:
            seen.update(id_ for item in found.items if isinstance(id_ := item.get("id"), int))
        then = replace(place, now=found.read_at)  # who looked later is right: a surgical run may have looked meanwhile
        yield Batch(
            surface,
            place.scope,
            listed_rows(then, surface, found.items),
            found.cursor.json(),
            payloads(surface, found.items),
        )
    if sweeps:
        place.reading.sightings[surface, place.scope] = seen


def asks_for(place: Scope, surface: str) -> Ask:
    return place.asks(surface, surface, scope="all", state="all", order_by="updated_at", sort="asc")


def listed_rows(place: Scope, surface: str, found: list[Json]) -> dict[str, list[Row]]:
    shape = rows.merge_request_row if surface == "merge_requests" else rows.issue_row

    def opener(record: Json, scope: str, project: str, seen_at: DateTime) -> Row:
        return rows.opener_row(KINDS[surface], record, scope, project, seen_at)

    shaped = place.shape(surface, found, shape)
    kept = {row["id"] for row in shaped}
    ours = [item for item in found if item.get("id") in kept and str(item.get("project_id")) == place.scope]
    return {surface: shaped, "openers": place.shape(surface, ours, opener)}


def payloads(surface: str, found: list[Json]) -> list[Payload]:
    kind = KINDS[surface]
    return [Payload(kind, str(item.get("id")), fingerprint(item), item) for item in found]


async def again(place: Scope, record: Unread) -> AsyncIterator[Batch]:
    """One that still cannot be read lands nothing: nothing is new."""
    reading, number = place.reading, rows.number_told(json_record(record.raw))
    if number is None:  # nothing to ask for it by; the list brings it again when it changes, or with --full
        reading.keep(record.again())
        return
    try:
        found = await place.one("rechecks", f"{record.surface}/{number}")
    except TooLarge as failure:
        reading.keep(record.again(f"too large by itself: {failure}"[:300]))
        return
    except Failure as failure:
        if failure.code != "NOT_FOUND":
            raise
        await place.still_lists("rechecks", record.surface)
        reading.absent(record, f"answers {failure.status}")
        return
    reading.quarantined.pop(record.key, None)  # a list may have told it worse than it is
    shaped = listed_rows(place, record.surface, [found])
    if reading.is_read(record):
        yield Batch("rechecks", place.scope, shaped)
