"""GitHub: issues, pull requests, and the three kinds of comment on them.

Cost    five conditional requests a repository when nothing happened, whatever its history: repository-wide lists, not
        one per PR. A repository in `pulls` is read per named PR instead, for those who follow a few of a giant's.
Cursor  issues, issue_comments, review_comments: seek on `updated_at` with `since` (sources/core/cursor.py).
        pull_requests: no `since` exists; newest first, down to the last complete walk's newest less the overlap.
        reviews: no list of their own; read with their pull request whenever that changed (reviews.py).
Tables  repositories (id), issues (id; pull requests are issues too; labels, assignees), openers, issue_comments,
        review_comments, reviews (id, version), review_comment_anchors (id), pull_requests (id; labels, assignees,
        requested_reviewers, requested_teams), review_threads (parent_key; review_threads.py), deletions (kind, id),
        thread_checks (parent_key)
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from pendulum import DateTime

from sources.core.config import ConfigError, Secret, check_address, check_token
from sources.core.cursor import Changes, follow, start_of
from sources.core.http.client import Failure
from sources.core.paging import Ask
from sources.core.reading import Batch, Reading, Unread, Walk
from sources.core.scope import Found, Scope, find, identify_by, look_up
from sources.core.surfaces import Fills
from sources.core.targets import Fetched, Target
from sources.core.values import Json, Row, Table, fingerprint, instant
from sources.github import rows
from sources.github.gone import rechecks
from sources.github.pull_requests import SETTLE, owed_reviews, pull_batches, pull_requests
from sources.github.recheck import AT_ONCE, SUSPECTS, retries
from sources.github.reply import GithubAnswers
from sources.github.repository import REPOSITORY, comment_rows, issue_rows, place_of, review_comment_rows
from sources.github.review_threads import AT_ONCE as THREADS_AT_ONCE
from sources.github.review_threads import NO_TOKEN, along
from sources.github.tables import FILLS, TABLES
from sources.github.targets import HELD, fetch

__all__ = ["Github", "GithubConfig"]

TYPES = {
    "issues": frozenset({"issues"}), "prs": frozenset({"pull_requests"}), "reviews": frozenset({"pull_requests"}),
    "comments": frozenset({"issue_comments", "review_comments"}), "repositories": frozenset(),
}  # fmt: skip
SURFACES = frozenset[str]().union(*TYPES.values())
HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}


@dataclass(frozen=True)
class GithubConfig:
    api_url: str = "https://api.github.com"
    token: Secret = Secret()
    write_token: Secret = Secret()  # without one, nothing is ever answered
    repos: list[str] = field(default_factory=list)
    pulls: dict[str, list[int]] = field(default_factory=dict)
    since: str = ""
    overlap_seconds: int = 120
    fetch_review_threads: bool = True  # which of them are resolved: GraphQL tells, to those who have a token

    def __post_init__(self) -> None:
        check_address("[sources.github]", self.api_url)
        for key in ("token", "write_token"):
            check_token(f"[sources.github] {key}", getattr(self, key))
        for name in [*self.repos, *self.pulls]:
            if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
                raise ConfigError(f"[sources.github] repos: {name!r} is not of the form owner/name")
        if self.overlap_seconds < 1:
            raise ConfigError("[sources.github] overlap_seconds: at least 1, or same-second edits are lost")
        self.floor  # noqa: B018  a wrong date is refused at once

    @property
    def floor(self) -> DateTime | None:
        """The configured start. An epoch `since` would return an empty list: before 1971 means from the beginning."""
        start = start_of("[sources.github]", self.since)
        return start if start and start.year > 1970 else None

    @property
    def reads_threads(self) -> bool:
        return self.fetch_review_threads and bool(self.token)

    @property
    def overlap(self) -> timedelta:
        return timedelta(seconds=self.overlap_seconds)


@dataclass
class Github:
    config: GithubConfig
    name: str = "github"
    tables: tuple[Table, ...] = TABLES
    fills: Fills = field(default_factory=lambda: FILLS)
    suspects: str = SUSPECTS
    target_kinds: tuple[str, ...] = ("issue", "pr")
    held: str = HELD
    types: Mapping[str, frozenset[str]] = field(default_factory=lambda: TYPES)
    surfaces: frozenset[str] = SURFACES  # those of them that are read
    at_once: int = AT_ONCE
    places: dict[str, Scope] = field(default_factory=dict)  # that were found, by scope
    _followed: dict[str, list[int]] = field(default_factory=dict)  # scope → pull requests that alone are read of it

    @property
    def headers(self) -> dict[str, str]:
        return {**HEADERS, **({"authorization": f"Bearer {self.config.token}"} if self.config.token else {})}

    @property
    def answers(self) -> GithubAnswers:
        token = self.config.write_token
        return GithubAnswers({**HEADERS, "authorization": f"Bearer {token}"} if token else {})

    def scopes(self) -> list[str]:
        named = {name.lower(): name for name in self.config.repos}
        return [*named.values(), *(name for name in self.config.pulls if name.lower() not in named)]

    @property
    def resources(self) -> tuple[str, ...]:
        return ("repositories", *self.surfaces)

    def found(self, found: Found) -> list[Found]:
        """Its lists are read, unless a few of its pull requests are followed by themselves."""
        repo = found.place
        self.places[repo.scope] = repo
        if self.config.fetch_review_threads and not self.config.token:
            repo.reading.skip("review threads", NO_TOKEN)
        pulls = {name.lower(): numbers for name, numbers in self.config.pulls.items()}.get(found.name.lower())
        if pulls is None:
            repo.reading.whole[repo.scope] = self.config.floor
            return [found]
        self._followed[repo.scope] = sorted(set(pulls))
        return [replace(found, has_lists=False)]

    def readings(self, reading: Reading) -> Iterable[Callable[[], Awaitable[list[Walk]]]]:
        return [partial(self._lists, reading, name) for name in self.scopes()]

    async def _lists(self, reading: Reading, name: str) -> list[Walk]:
        found = await find(reading, REPOSITORY, name, name.lower())
        if found is None:
            return []
        repos = [each.place for each in self.found(found) if each.has_lists]
        return [
            Walk("", found.scope, found.batches()),
            *(
                Walk(name, repo.scope, walk(repo, self.config))
                for repo in repos
                for name, walk in LISTS.items()
                if name in self.surfaces
            ),
        ]

    def beside(self, reading: Reading) -> Iterator[Walk]:
        """The pull requests that are followed by themselves."""
        for scope, numbers in self._followed.items():
            for number in numbers:
                yield Walk("", scope, self._one_pull(self.places[scope], number))

    def rechecks(self, reading: Reading, suspects: list[Row]) -> Iterator[Walk]:
        """None, where lists were left out in which may be what does not add up."""
        return rechecks(self.places, suspects if self.surfaces == SURFACES else [])

    def retries(self, reading: Reading, due: list[Unread]) -> Iterator[Walk]:
        return retries(self.places, due)

    def suspect_values(self, reading: Reading) -> dict[str, object]:
        reads = self.config.reads_threads
        return {"floor": self.config.floor, "reads_threads": reads, "threads_at_once": THREADS_AT_ONCE}

    @property
    def default_place(self) -> str:
        return ""

    def only(self, names: list[str]) -> "Github":
        """This source, with less to read."""
        wanted = {name.lower() for name in names}
        pulls = {name: numbers for name, numbers in self.config.pulls.items() if name.lower() in wanted}
        return replace(self, config=replace(self.config, repos=names, pulls=pulls))

    async def place(self, reading: Reading, name: str, scope: str | None) -> Scope:
        if scope:
            return place_of(scope, name, reading.api.now, reading)
        return (await look_up(reading, REPOSITORY, name, name.lower()))[0]

    async def fetch(self, place: Scope, target: Target) -> Fetched:
        return await fetch(place, target, reads_threads=self.config.reads_threads)

    async def _one_pull(self, repo: Scope, number: int) -> AsyncIterator[Batch]:
        surfaces = {
            "issues": opener(repo, number),
            "pull_requests": pull_request(repo, number),
            "issue_comments": issue_comments(repo, self.config, number),
            "review_comments": review_comments(repo, self.config, number),
        }
        for surface, batches in surfaces.items():
            if surface in self.surfaces and ("absent", f"{repo.scope}/{number}") not in repo.reading.sightings:
                async for batch in repo.reading.walked(surface, repo.scope, batches):
                    yield batch


async def issues(repo: Scope, config: GithubConfig) -> AsyncIterator[Batch]:
    """All issues and pull requests, as /issues tells them; the sweep reads them all, for their counts of comments."""
    ask = repo.asks("issues", "issues", state="all", sort="updated", direction="asc")
    surface = Surface("issues", ask, rows.issue_version, lambda found: issue_rows(repo, found.items))
    async for batch in _follow(repo, surface, config, reread=repo.reading.sweep):
        yield batch


async def issue_comments(repo: Scope, config: GithubConfig, number: int | None = None) -> AsyncIterator[Batch]:
    """Conversation comments, of the repository or of one PR (whose list cannot be sorted by time)."""
    path = f"issues/{number}/comments" if number else "issues/comments"
    order = {} if number else {"sort": "updated", "direction": "asc"}
    surface = Surface(
        "issue_comments", repo.asks("issue_comments", path, **order), rows.comment_version,
        lambda found: comment_rows(repo, found.items, found.rivals), number, seeks=not number,
    )  # fmt: skip
    async for batch in _follow(repo, surface, config):
        yield batch


async def review_comments(repo: Scope, config: GithubConfig, number: int | None = None) -> AsyncIterator[Batch]:
    """Comments on diffs. No list counts them, so the sweep reads all and compares ids."""
    path = f"pulls/{number}/comments" if number else "pulls/comments"
    surface = Surface(
        "review_comments", repo.asks("review_comments", path, sort="updated", direction="asc"), rows.comment_version,
        lambda found: review_comment_rows(repo, found.items, found.rivals), number,
    )  # fmt: skip
    async for batch in _follow(repo, surface, config, reread=repo.reading.sweep):
        yield batch


async def opener(repo: Scope, number: int) -> AsyncIterator[Batch]:
    """A pull request followed by itself. One that was there and is not any more is looked after as any other is; what
    answers again then is news, whatever it says."""
    reading, scope = repo.reading, f"{repo.scope}/{number}"
    try:
        async for issue, cursor in _changed(repo, "issues", f"issues/{number}", number):
            yield Batch("issues", scope, issue_rows(repo, [issue]), cursor)
    except Failure as failure:
        if failure.code != "NOT_FOUND" or scope not in reading.saved.get("issues", {}):
            raise
        reading.sightings["absent", scope] = set()
        yield Batch("issues", scope, {}, {"etag": None, "shown": None})
        return
    if reading.sweep:
        reading.sightings["issues", scope] = set()  # it answered; its reviews are looked at


async def pull_request(repo: Scope, number: int) -> AsyncIterator[Batch]:
    read = set[int]()
    async for pull, cursor in _changed(repo, "pull_requests", f"pulls/{number}", number):
        if not instant(pull.get("updated_at")) < repo.now - SETTLE:
            cursor = {"etag": None, "shown": None}  # its reviews may still grow within this second
        for batch in await pull_batches(repo, [pull], "pull_requests", f"{repo.scope}/{number}", cursor):
            yield batch
        read.add(number)
    async for batch in owed_reviews(repo, read, number):
        yield batch


async def _changed(repo: Scope, surface: str, path: str, number: int) -> AsyncIterator[tuple[Json, Json]]:
    """A single record, if it changed, with its ETag as cursor."""
    saved = repo.reading.raw_cursor(surface, f"{repo.scope}/{number}")
    known = saved if isinstance(saved, dict) else {}
    answer = await repo.get(surface, path, etag=known.get("etag"))
    if not answer.not_modified:
        record = repo.record(path, answer)
        shown = fingerprint(repr(record))
        if shown != known.get("shown"):
            yield record, {"etag": answer.etag, "shown": shown}


@dataclass(frozen=True)
class Surface:
    """One list: how it is asked, what makes a version of its records, what rows they become."""

    name: str
    ask: Ask
    version: Callable[[Json], str]
    shape: Callable[[Changes], dict[str, list[Row]]]
    number: int | None = None
    seeks: bool = True


async def _follow(repo: Scope, surface: Surface, config: GithubConfig, *, reread: bool = False) -> AsyncIterator[Batch]:
    scope = f"{repo.scope}/{surface.number}" if surface.number else repo.scope
    start = repo.reading.cursor(surface.name, scope, now=repo.now, floor=config.floor)
    sight, seen, is_told = identify_by(surface.version), set[int](), True
    news = follow(
        surface.ask, sight, start, overlap=config.overlap, seeks=surface.seeks, reread=reread, floor=config.floor
    )
    async for found in news:
        ids = [id_ for item in found.items if isinstance(id_ := item.get("id"), int)]
        seen.update(ids if reread else ())
        is_told = is_told and len(ids) == len(found.items)
        yield Batch(surface.name, scope, surface.shape(found), found.cursor.json())
    if reread and is_told:  # one who does not tell who it is makes everybody's absence doubtful
        repo.reading.sightings[surface.name, scope] = seen


LISTS: dict[str, Callable[[Scope, GithubConfig], AsyncIterator[Batch]]] = {
    "issues": issues,
    "pull_requests": lambda repo, config: pull_requests(repo, config.overlap, config.floor),
    "issue_comments": issue_comments,
    "review_comments": review_comments,
}
LATER: dict[str, Callable[[Scope, GithubConfig], AsyncIterator[Batch]]] = {  # in a run, what the warehouse says is due
    "review_threads": lambda repo, config: along(repo, config.overlap, config.floor),
}
