"""Which threads of a review are resolved, and which issues a pull request closes. REST tells neither.

Query   repository.pullRequest.reviewThreads and .closingIssuesReferences of up to 25 pull requests at once, all their
        pages: a point of GraphQL's own quota for a hundred threads. It wants a token, also for what is public.
Due     pull requests that changed since they were asked for (`read_for_updated_at`), or were asked for within the
        seconds in which they changed (`is_settled`); open ones in a sweep, because resolving moves no `updated_at`.
        A run asks the warehouse who is due (recheck.py); a pipeline without one goes along the list of pull requests
        with a cursor of its own, which also says who is owed.
Tables  review_threads (parent_key; threads, closes), replaced whole. What says nothing new lands nothing.

A pull request that cannot be told fails by itself, by name, and stays due. A query that fails as a whole is halved, so
that none is kept from being read by another that is too much.
"""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from pendulum import DateTime

from sources.core.http.client import Failure
from sources.core.http.given_up import GivenUp
from sources.core.http.graphql import answered
from sources.core.reading import Batch, not_understood
from sources.core.scope import Scope
from sources.core.surfaces import Surface
from sources.core.values import (
    Json,
    Row,
    Unreadable,
    fingerprint,
    flag,
    held_instant,
    instant,
    integer,
    maybe,
    need,
    text,
)
from sources.github.config import GithubConfig
from sources.github.surfaces.parts import inner, parent_key
from sources.github.surfaces.pull_requests import SETTLE, changed_pulls
from sources.github.surfaces.review_thread_rows import REVIEW_THREADS, closed_row, thread_row

__all__ = ["AT_ONCE", "NO_TOKEN", "SURFACE", "Due", "due_of", "graphql_url", "question", "read_due", "read_threads"]

AT_ONCE = 25  # pull requests in a query: 2,500 threads and as many comments, of 500,000 nodes that are allowed
NO_TOKEN = "GitHub tells only with a token which review threads are resolved"

HELD = """
SELECT p.number, p.parent_key, p.updated_at, r.shown FROM github.pull_requests AS p
LEFT JOIN github.review_threads AS r ON r.parent_key = p.parent_key
WHERE p.parent_key IN (SELECT unnest($keys))
"""
HELD_THREADS = """
SELECT parent_key, id, is_resolved, seen_resolved_at FROM github.review_threads__threads
WHERE parent_key IN (SELECT unnest($keys))
"""
THREADS, CLOSES = "reviewThreads", "closingIssuesReferences"
COMMENTS = "comments(first: 1) { nodes { fullDatabaseId } }"
LISTS = {  # of a pull request: how many at once, and what of each
    THREADS: (100, f"id isResolved isOutdated isCollapsed resolvedBy {{ login }} {COMMENTS}"),
    CLOSES: (50, "number title repository { databaseId nameWithOwner }"),
}
PASSING = ("FETCH_ERROR", "TIMEOUT")  # a query that is too much for the service fails so


@dataclass
class Due:
    """One pull request: for which state it is read, what is held of it, and what was read of it so far."""

    number: int
    read_for: DateTime
    shown: str | None = None  # fingerprint of what landed
    before: dict[str, tuple[bool, DateTime | None]] = field(default_factory=dict)  # thread → resolved, seen when
    left: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(LISTS))  # list → behind which cursor
    found: dict[str, list[Json]] = field(default_factory=lambda: {name: [] for name in LISTS})

    def take(self, told: object) -> int:
        """What a page brought. A pull request without its lists was not told."""
        if not isinstance(told, dict):
            raise Unreadable("a pull request is missing from the answer")
        count = 0
        for name in list(self.left):
            page = inner(told, name)
            nodes, info = need(page, "nodes"), inner(page, "pageInfo")
            if not isinstance(nodes, list):
                raise Unreadable(f"{name} is not a list")
            self.found[name] += [node for node in nodes if node is not None]  # what this token may not see is null
            count += len(nodes)
            if flag(need(info, "hasNextPage")):
                self.left[name] = text(need(info, "endCursor"))
            else:
                del self.left[name]
        return count

    def row(self, repo: Scope, now: DateTime) -> Row:
        key = parent_key(repo.scope, self.number)
        nodes = {text(need(node, "id")): node for node in self.found[THREADS]}
        closed = [closed_row(node, key) for node in self.found[CLOSES]]
        row: Row = {
            "parent_key": key,
            "scope": repo.scope,
            "repo": repo.name,
            "number": self.number,
            "read_for_updated_at": self.read_for,
            "is_settled": self.read_for < now - SETTLE,
            "threads": [thread_row(node, key, self.before, now) for node in nodes.values()],
            "closes": list({str(each["issue_key"]): each for each in closed}.values()),
        }
        return {**row, "read_at": now, "shown": fingerprint(row)}


def graphql_url(api: str) -> str:
    """Beside `/api/v3` of an Enterprise server, below the address otherwise."""
    return re.sub(r"(/api)/v3$", r"\1", api.rstrip("/")) + "/graphql"


async def along(repo: Scope, config: GithubConfig) -> AsyncIterator[Batch]:
    """All that changed in the list of pull requests, and whoever is owed."""
    if not config.reads_threads:
        return
    saved = repo.reading.raw_cursor("review_threads", repo.scope)
    owed = _owed(saved)

    async def batch(due: list[Due], cursor: Json | None) -> Batch:
        found = list[Row]()
        for first in range(0, len(due), AT_ONCE):
            some = due[first : first + AT_ONCE]
            rows, failures = await read_due(repo, some)
            found += rows
            for each in some:
                owed.pop(each.number, None)
                if each.number in failures:
                    owed[each.number] = each.read_for
        kept = {str(number): at.to_iso8601_string() for number, at in sorted(owed.items())}
        return Batch("review_threads", repo.scope, {"review_threads": found}, cursor and {**cursor, "owed": kept})

    if owed and isinstance(saved, dict):
        yield await batch([Due(number, at) for number, at in owed.items()], saved)
    async for mark, pulls in changed_pulls(repo, "review_threads", config):
        yield await batch([each for pull in pulls if (each := _due(pull))], mark.json() if mark else None)


async def due_of(repo: Scope, numbers: list[int]) -> list[Due]:
    """Those of them that the warehouse holds, with what it holds of them."""
    due, keys = dict[str, Due](), {"keys": [parent_key(repo.scope, number) for number in numbers]}
    for row in await repo.reading.look(HELD, keys):
        if moved := held_instant(row["updated_at"]):
            due[str(row["parent_key"])] = Due(integer(row["number"]), moved, maybe(text, row["shown"]))
    for row in await repo.reading.look(HELD_THREADS, keys):  # by itself: a child table is there from its first row on
        if each := due.get(str(row["parent_key"])):
            each.before[text(row["id"])] = (row["is_resolved"] is True, held_instant(row["seen_resolved_at"]))
    return list(due.values())


async def read_due(repo: Scope, due: list[Due]) -> tuple[list[Row], dict[int, Failure]]:
    """Rows of those that say something new; who could not be told is recorded by name."""
    rows, failures = await read_threads(repo, due)
    for number, failure in failures.items():
        repo.reading.fail(repo.scope, f"threads of #{number}", failure)
    return rows, failures


async def read_threads(repo: Scope, due: list[Due]) -> tuple[list[Row], dict[int, Failure]]:
    """The same, and the failures for whoever asks for one alone."""
    rows, failures, left = list[Row](), dict[int, Failure](), list(due)
    while left:
        now, failed = await _ask(repo, left)
        failures |= failed
        for each in left:
            if each.number in failures or each.left:
                continue
            try:
                row = each.row(repo, now)
            except Unreadable as error:
                failures[each.number] = not_understood(error)
                continue
            if row["shown"] != each.shown or repo.reading.full:
                rows.append(row)
        left = [each for each in left if each.number not in failures and each.left]
    return rows, failures


async def _ask(repo: Scope, due: list[Due]) -> tuple[DateTime, dict[int, Failure]]:
    """The next page of each, and who cannot be told."""
    try:
        return await _asked(repo, due)
    except Failure as failure:
        if failure.code not in PASSING or isinstance(failure, GivenUp):
            raise
        if len(due) == 1:
            return repo.now, {due[0].number: failure}
    half = len(due) // 2
    at, first = await _ask(repo, due[:half])
    later, second = await _ask(repo, due[half:])
    return max(at, later), first | second


async def _asked(repo: Scope, due: list[Due]) -> tuple[DateTime, dict[int, Failure]]:
    tally = repo.reading.tally("review_threads", repo.scope)
    owner, _, name = repo.name.partition("/")
    body = {"query": question(due), "variables": {"owner": owner, "name": name}}
    answer = await repo.api.query(graphql_url(str(repo.api.base)), body, tally)
    told, failures = answered(answer, "repository", may_miss=CLOSES)
    if str(told.get("databaseId")) != repo.scope:
        raise Failure("PROJECT_MISMATCH", f"{repo.name} is another repository now")
    tally.pages += 1
    failed = dict[int, Failure]()
    for each in due:
        alias = f"pr{each.number}"
        if alias in failures:
            failed[each.number] = failures[alias]
            continue
        try:
            tally.fetched += each.take(told.get(alias))
        except Unreadable as error:
            failed[each.number] = not_understood(error)
    return answer.date, failed


def question(due: list[Due]) -> str:
    """One query for the next page of each."""
    asked = " ".join(f"pr{each.number}: pullRequest(number: {each.number}) {{ {_lists(each)} }}" for each in due)
    return (
        "query($owner: String!, $name: String!) { rateLimit { cost remaining resetAt } "
        f"repository(owner: $owner, name: $name) {{ databaseId {asked} }} }}"
    )


def _lists(due: Due) -> str:
    return " ".join(
        f"{name}(first: {LISTS[name][0]}{f', after: {json.dumps(after)}' if after else ''}) "
        f"{{ pageInfo {{ hasNextPage endCursor }} nodes {{ {LISTS[name][1]} }} }}"
        for name, after in due.left.items()
    )


def _due(pull: Json) -> Due | None:
    """None of a record that cannot be read: it lies in quarantine."""
    try:
        return Due(integer(pull.get("number")), instant(pull.get("updated_at")))
    except Unreadable:
        return None


def _owed(saved: object) -> dict[int, DateTime]:
    kept = saved.get("owed") if isinstance(saved, dict) else None
    try:
        return {int(number): instant(at) for number, at in kept.items()} if isinstance(kept, dict) else {}
    except (Unreadable, ValueError):
        return {}


SURFACE = Surface("review_threads", (REVIEW_THREADS,), along)
