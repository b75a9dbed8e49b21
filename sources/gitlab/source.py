"""GitLab: projects, merge requests and issues; what hangs on each of them is read by sources/gitlab/threads.py.

Cost    a conditional request per project and list when nothing happened; a changed merge request costs its own
        dependents only.
Cursor  `updated_at` per project and list, by seek (keyset pagination is not offered here), held back by the overlap.
Due     a note moves `updated_at` at most once a minute, deleting or resolving one not at all: see threads.py.
Tables  projects, merge_requests, issues (id) with labels, assignees, reviewers; openers (event_key); and per merge
        request or issue threads, resource_events, closes_issues, diffs (parent_key), note_versions (id, version)
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from pendulum import DateTime

from sources.core.http.client import Answer, Failure
from sources.core.reading import Reading, Unread, Walk
from sources.core.scope import Found, Scope, ScopeType, find, look_up
from sources.core.surfaces import Fills
from sources.core.targets import Fetched, Target
from sources.core.values import Json, Row, Table, Unreadable
from sources.gitlab import rows
from sources.gitlab.lists import KINDS, GitlabConfig, again, listed
from sources.gitlab.recheck import DUE, rechecks
from sources.gitlab.reply import GitlabAnswers
from sources.gitlab.tables import FILLS, TABLES
from sources.gitlab.targets import HELD, fetch
from sources.gitlab.threads import DEPENDENTS

__all__ = ["Gitlab", "GitlabConfig"]

TYPES = {"issues": frozenset({"issues"}), "mrs": frozenset({"merge_requests"}), "projects": frozenset()}


@dataclass
class Gitlab:
    config: GitlabConfig
    name: str = "gitlab"
    tables: tuple[Table, ...] = TABLES
    fills: Fills = field(default_factory=lambda: FILLS)
    suspects: str = DUE
    target_kinds: tuple[str, ...] = ("issue", "mr")
    held: str = HELD
    types: Mapping[str, frozenset[str]] = field(default_factory=lambda: TYPES)
    surfaces: frozenset[str] = frozenset(KINDS)  # those of them that are read
    places: dict[str, Scope] = field(default_factory=dict)  # that were found, by scope

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

    @property
    def at_once(self) -> int:
        return self.config.dependent_concurrency

    @property
    def resources(self) -> tuple[str, ...]:
        """What hangs on merge requests and issues is due by what the warehouse holds of them (recheck.py)."""
        return ("projects", *self.surfaces)

    def found(self, found: Found) -> list[Found]:
        place, floor = found.place, self.config.floor
        self.places[place.scope] = place
        # a note within the minute after a touch shows under that touch's time
        place.reading.whole[place.scope] = floor + self.config.overlap if floor else None
        return [found]

    def readings(self, reading: Reading) -> Iterable[Callable[[], Awaitable[list[Walk]]]]:
        return [partial(self._lists, reading, name) for name in self.scopes()]

    async def _lists(self, reading: Reading, name: str) -> list[Walk]:
        found = await find(reading, PROJECT, name, name)
        if found is None:
            return []
        self.found(found)
        lists = [Walk(each, found.scope, listed(found.place, each, self.config)) for each in sorted(self.surfaces)]
        return [Walk("", found.scope, found.batches()), *lists]

    def beside(self, reading: Reading) -> Iterable[Walk]:
        return ()

    def rechecks(self, reading: Reading, suspects: list[Row]) -> Iterator[Walk]:
        kinds = {KINDS[surface] for surface in self.surfaces}
        return rechecks(self.places, [row for row in suspects if row["kind"] in kinds], self.config)

    def retries(self, reading: Reading, due: list[Unread]) -> Iterator[Walk]:
        """A merge request or issue that could not be parsed, asked for again by its number. Notes come with all others
        of their thread, which stays due (recheck.py)."""
        for record in due:
            place = self.places.get(record.scope)
            if place and record.surface in KINDS:
                yield Walk("rechecks", place.scope, again(place, record))

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
