"""GitLab: projects, merge requests and issues; what hangs on each of them is read by sources/gitlab/threads.py.

Cost    a conditional request per project and list when nothing happened; a changed merge request costs its own
        dependents only.
Cursor  `updated_at` per project and list, by seek (keyset pagination is not offered here), held back by the overlap.
Due     a note moves `updated_at` at most once a minute, deleting or resolving one not at all: see threads.py.
Tables  projects, merge_requests, issues (id) with labels, assignees, reviewers; openers (event_key); and per merge
        request or issue threads, resource_events, closes_issues, diffs (parent_key), note_versions (id, version)
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import quote

from pendulum import DateTime

from sources.core.config import ConfigError, Secret, check_address, check_token
from sources.core.cursor import follow
from sources.core.http.client import Answer, Failure, TooLarge
from sources.core.paging import Ask
from sources.core.reading import Batch, Payload, Reading, Unread, side_by_side
from sources.core.scope import Scope, ScopeType, identify_by, look_up
from sources.core.targets import Fetched, Target
from sources.core.values import Json, Row, Table, Unreadable, fingerprint, instant, json_record
from sources.gitlab import rows
from sources.gitlab.recheck import DUE, settle
from sources.gitlab.reply import GitlabAnswers
from sources.gitlab.tables import TABLES
from sources.gitlab.targets import HELD, fetch
from sources.gitlab.threads import DEPENDENTS

__all__ = ["Gitlab", "GitlabConfig"]

PROJECTS_AT_ONCE = 8
KINDS = {"merge_requests": "merge_request", "issues": "issue"}
TYPES = {"issues": frozenset({"issues"}), "mrs": frozenset({"merge_requests"}), "projects": frozenset()}


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
        try:
            return instant(self.since if "T" in self.since else f"{self.since}T00:00:00Z") if self.since else None
        except Unreadable:
            raise ConfigError(f"[sources.gitlab] since: {self.since!r} is not a date like 2025-01-31") from None

    @property
    def overlap(self) -> timedelta:
        """A note within the minute after a touch shows under that touch's time: the window must still hold it."""
        return timedelta(seconds=max(120, self.settle_seconds))


@dataclass
class Gitlab:
    config: GitlabConfig
    name: str = "gitlab"
    tables: tuple[Table, ...] = TABLES
    suspects: str = DUE
    target_kinds: tuple[str, ...] = ("issue", "mr")
    held: str = HELD
    types: Mapping[str, frozenset[str]] = field(default_factory=lambda: TYPES)
    surfaces: frozenset[str] = frozenset(KINDS)  # those of them that are read
    _read: dict[str, Scope] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        return {"private-token": str(self.config.token)} if self.config.token else {}

    @property
    def answers(self) -> GitlabAnswers:
        return GitlabAnswers({"private-token": str(self.config.write_token)} if self.config.write_token else {})

    def suspect_values(self, reading: Reading) -> dict[str, object]:
        switches = {name: getattr(self.config, switch) for name, (switch, _) in DEPENDENTS.items() if switch}
        return {"full": reading.full, "floor": self.config.floor, **switches}

    def scopes(self) -> list[str]:
        return list(dict.fromkeys(self.config.projects))

    async def read(self, reading: Reading) -> None:
        await side_by_side((self._project(reading, name) for name in self.scopes()), PROJECTS_AT_ONCE)

    async def settle(self, reading: Reading, suspects: list[Row]) -> None:
        kinds = {KINDS[surface] for surface in self.surfaces}
        await settle(self._read, [row for row in suspects if row["kind"] in kinds], self.config)

    async def retry(self, reading: Reading, due: list[Unread]) -> None:
        """A merge request or issue that could not be parsed, asked for again by its number. Notes come with all others
        of their thread, which stays due (recheck.py)."""
        places = ((self._read.get(record.scope), record) for record in due if record.surface in KINDS)
        jobs = [reading.surface("rechecks", p.scope, again(p, record)) for p, record in places if p]
        await side_by_side(jobs, self.config.dependent_concurrency)

    @property
    def default_place(self) -> str:
        return self.config.default_project

    def only(self, names: list[str]) -> "Gitlab":
        """This source, with less to read."""
        return replace(self, config=replace(self.config, projects=names))

    def without_events(self) -> "Gitlab":
        """Who closed, labelled and scheduled what is left for another run."""
        return replace(self, config=replace(self.config, fetch_resource_events=False))

    async def place(self, reading: Reading, name: str, scope: str | None) -> Scope:
        if scope:
            return _place(scope, name, reading.api.now, reading)
        return (await look_up(reading, PROJECT, name, name))[0]

    async def fetch(self, place: Scope, target: Target) -> Fetched:
        return await fetch(place, target, self.config)

    async def _project(self, reading: Reading, name: str) -> None:
        try:
            place, news = await look_up(reading, PROJECT, name, name)
        except Failure as failure:
            reading.fail(name, "project", failure)
            return
        if news:
            await reading.emit(news)
        self._read[place.scope] = place
        floor = self.config.floor  # a note within the minute after a touch shows under that touch's time
        reading.whole[place.scope] = floor + self.config.overlap if floor else None
        lists = {surface: listed(place, surface, self.config) for surface in KINDS if surface in self.surfaces}
        await side_by_side((reading.surface(s, place.scope, batches) for s, batches in lists.items()), len(lists))


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
        yield Batch(surface, place.scope, listed_rows(then, surface, found.items), found.cursor.json(),
                    payloads(surface, found.items))  # fmt: skip
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


def _identity(name: str, answer: Answer) -> Row:
    try:
        if not isinstance(answer.data, dict):
            raise Unreadable("not an object")
        row = rows.project_row(answer.data, answer.date)
    except Unreadable as error:
        raise Failure("FETCH_ERROR", f"project {name}: the answer is not a project: {error}") from None
    if name.isdecimal() and int(name) != row["id"]:
        raise Failure("FETCH_ERROR", f"project {name}: the answer is about project {row['id']}; nothing is read")
    return row


def _place(scope: str, name: str, now: DateTime, reading: Reading) -> Scope:
    def parent_of(surface: str, item: Json) -> str | None:
        number = rows.number_told(item)
        return rows.parent_key(scope, KINDS[surface], number) if number is not None and surface in KINDS else None

    return Scope(scope, name, f"/api/v4/projects/{scope}", now, reading, _since, filters=True, parent_of=parent_of)


def _since(moment: DateTime) -> dict[str, str]:
    return {"updated_after": moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"}


def _path(name: str) -> str:
    return f"/api/v4/projects/{quote(name, safe='')}"


PROJECT = ScopeType("project", "projects", "project", ("id", "project", "visibility"), _path, _identity, _place)
