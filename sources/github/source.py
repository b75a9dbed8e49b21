"""GitHub: issues, pull requests, and the three kinds of comment on them.

Cost    five conditional requests a repository when nothing happened, whatever its history: repository-wide lists, not
        one per PR. A repository in `pulls` is read per named PR instead, for those who follow a few of a giant's.
Cursor  issues, issue_comments, review_comments: seek on `updated_at` with `since` (sources/core/cursor.py).
        pull_requests: no `since` exists; newest first, down to the last complete walk's newest less the overlap.
        reviews: no list of their own; read with their pull request whenever that changed (reviews.py).
        review_threads: asked of GraphQL, with a token, for those that the warehouse says are due (review_threads.py).
Tables  repositories (id), issues (id; pull requests are issues too; labels, assignees), openers, issue_comments,
        review_comments, reviews (id, version), review_comment_anchors (id), pull_requests (id; labels, assignees,
        requested_reviewers, requested_teams), review_threads (parent_key; threads, closes), deletions (kind, id),
        thread_checks (parent_key)
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from sources.core.reading import Batch, Reading, Unread, Walk
from sources.core.scope import Found, Scope, find, look_up
from sources.core.surfaces import Fills
from sources.core.targets import Fetched, Target
from sources.core.values import Row, Table
from sources.github.config import GithubConfig
from sources.github.recheck.again import retries
from sources.github.recheck.gone import rechecks
from sources.github.recheck.suspects import SUSPECTS
from sources.github.reply import GithubAnswers
from sources.github.repository import REPOSITORY, place_of
from sources.github.surfaces.issue_comments import issue_comments
from sources.github.surfaces.issues import opener
from sources.github.surfaces.pull_requests import pull_request
from sources.github.surfaces.review_comments import review_comments
from sources.github.surfaces.review_threads import AT_ONCE as THREADS_AT_ONCE
from sources.github.surfaces.review_threads import NO_TOKEN
from sources.github.tables import FILLS, SURFACES, TABLES
from sources.github.targets import HELD, fetch

__all__ = ["Github", "GithubConfig"]

TYPES = {
    "issues": frozenset({"issues"}),
    "prs": frozenset({"pull_requests"}),
    "reviews": frozenset({"pull_requests"}),
    "comments": frozenset({"issue_comments", "review_comments"}),
    "repositories": frozenset(),
}
ALL = frozenset(surface.name for surface in SURFACES)
HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}


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
    surfaces: frozenset[str] = ALL  # those of them that are read
    at_once: int = 10
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
                Walk(each.name, repo.scope, each.walk(repo, self.config))
                for repo in repos
                for each in SURFACES
                if each.name in self.surfaces
            ),
        ]

    def beside(self, reading: Reading) -> Iterator[Walk]:
        """The pull requests that are followed by themselves."""
        for scope, numbers in self._followed.items():
            for number in numbers:
                yield Walk("", scope, self._one_pull(self.places[scope], number))

    def rechecks(self, reading: Reading, suspects: list[Row]) -> Iterator[Walk]:
        """None, where lists were left out in which may be what does not add up."""
        return rechecks(self.places, suspects if self.surfaces == ALL else [])

    def retries(self, reading: Reading, due: list[Unread]) -> Iterator[Walk]:
        return retries(self.places, due)

    def suspect_values(self, reading: Reading) -> dict[str, object]:
        return {
            "floor": self.config.floor,
            "full": reading.full,
            "reads_threads": self.config.reads_threads,
            "threads_at_once": THREADS_AT_ONCE,
        }

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
