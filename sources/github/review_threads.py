"""Which threads of a review are resolved, and which issues a pull request closes. REST tells neither.

Query   repository.pullRequest.reviewThreads and .closingIssuesReferences of up to 25 pull requests, all their pages: a
        point of GraphQL's own quota for a hundred threads. It wants a token, also for what is public.
Due     pull requests that changed since they were asked for (`read_for_updated_at`), or were asked for within the
        second in which they changed (`is_settled`); open ones in a sweep, because resolving moves no `updated_at`.
        A run asks the warehouse who is due (recheck.py); a pipeline without one goes along the list of pull requests
        with a cursor of its own, which also says who is owed.
Tables  review_threads (parent_key; threads, closes), replaced whole. What said nothing new lands nothing.

A pull request that cannot be told fails by itself, by name, and stays due. A query that fails as a whole is halved, so
that none is kept from being read by another that is too much.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pendulum import DateTime

from sources.core.graphql import answered
from sources.core.http.client import Failure
from sources.core.http.given_up import GivenUp
from sources.core.reading import Batch, not_understood
from sources.core.scope import Scope
from sources.core.values import (
    COUNT,
    FLAG,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
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
from sources.github.pull_requests import SETTLE, changed_pulls
from sources.github.rows.parts import inner, login, parent_key

__all__ = ["AT_ONCE", "NO_TOKEN", "REVIEW_THREADS", "Due", "along", "due_of", "graphql_url", "read_threads", "recheck"]

AT_ONCE = 25  # pull requests in a query: 2,500 threads and as many comments, of 500,000 nodes that are allowed
NO_TOKEN = "GitHub tells only with a token which review threads are resolved"

THREAD = Table("threads", (), {
    "id": TEXT, "parent_key": TEXT, "first_comment_id": COUNT, "is_resolved": FLAG, "is_outdated": FLAG,
    "is_collapsed": FLAG, "resolved_by": TEXT, "seen_resolved_at": INSTANT,
})  # fmt: skip
CLOSED = Table("closes", (), {
    "parent_key": TEXT, "issue_scope": TEXT, "issue_repo": TEXT, "issue_number": COUNT, "issue_key": TEXT,
    "title": TEXT,
})  # fmt: skip
REVIEW_THREADS = Table("review_threads", ("parent_key",), {
    "parent_key": TEXT, "scope": TEXT, "repo": TEXT, "number": COUNT, "read_for_updated_at": INSTANT,
    "is_settled": FLAG, "read_at": INSTANT, "shown": TEXT,
}, children={"threads": THREAD, "closes": CLOSED})  # fmt: skip

HELD = """
SELECT p.number, p.updated_at, r.shown, t.id, t.is_resolved, t.seen_resolved_at
FROM github.pull_requests AS p
LEFT JOIN github.review_threads AS r ON r.parent_key = p.parent_key
LEFT JOIN github.review_threads__threads AS t ON t.parent_key = p.parent_key
WHERE p.parent_key IN (SELECT unnest($keys))
"""
LISTS = {  # of a pull request, and what is asked of their members
    "reviewThreads": (
        100,
        "id isResolved isOutdated isCollapsed resolvedBy { login } comments(first: 1) { nodes { fullDatabaseId } }",
    ),
    "closingIssuesReferences": (50, "number title repository { databaseId nameWithOwner }"),
}


@dataclass
class Due:
    """One pull request: for which state it is read, what is held of it, and what was read of it so far."""

    number: int
    read_for: DateTime
    shown: str | None = None  # fingerprint of what landed
    before: dict[str, tuple[bool, DateTime | None]] = field(default_factory=dict)  # thread → was resolved, seen when
    left: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(LISTS))  # list → behind which cursor
    found: dict[str, list[Json]] = field(default_factory=lambda: {name: [] for name in LISTS})


def graphql_url(api: str) -> str:
    """Beside `/api/v3` of an Enterprise server, below the address otherwise."""
    return re.sub(r"(/api)/v3$", r"\1", api.rstrip("/")) + "/graphql"


async def recheck(repo: Scope, numbers: list[int]) -> AsyncIterator[Batch]:
    """Of these, as the warehouse holds them."""
    found, _ = await _told_by_name(repo, await due_of(repo, numbers))
    yield Batch("rechecks", repo.scope, {"review_threads": found})


async def _told_by_name(repo: Scope, due: list[Due]) -> tuple[list[Row], dict[int, Failure]]:
    rows, failures = await read_threads(repo, due)
    for number, failure in failures.items():
        repo.reading.fail(repo.scope, f"threads of #{number}", failure)
    return rows, failures


async def along(repo: Scope, overlap: timedelta, floor: DateTime | None) -> AsyncIterator[Batch]:
    """All that changed in the list of pull requests, and whoever is owed."""
    saved = repo.reading.raw_cursor("review_threads", repo.scope)
    owed = _owed(saved)

    async def batch(due: list[Due], cursor: Json | None) -> Batch:
        found = list[Row]()
        for first in range(0, len(due), AT_ONCE):
            some = due[first : first + AT_ONCE]
            rows, failures = await _told_by_name(repo, some)
            found += rows
            for each in some:
                owed.pop(each.number, None)
                if each.number in failures:
                    owed[each.number] = each.read_for
        kept = {str(number): at.to_iso8601_string() for number, at in sorted(owed.items())}
        return Batch("review_threads", repo.scope, {"review_threads": found}, cursor and {**cursor, "owed": kept})

    if owed and isinstance(saved, dict):
        yield await batch([Due(number, at) for number, at in owed.items()], saved)
    async for mark, pulls in changed_pulls(repo, "review_threads", overlap, floor):
        due = [each for pull in pulls if (each := _due(pull))]
        yield await batch(due, mark and mark.json())


async def due_of(repo: Scope, numbers: list[int]) -> list[Due]:
    """Those that are held, with what is held of them."""
    due = dict[int, Due]()
    for row in await repo.reading.look(HELD, {"keys": [parent_key(repo.scope, number) for number in numbers]}):
        number, moved = integer(row["number"]), held_instant(row["updated_at"])
        if moved is None:
            continue
        each = due.setdefault(number, Due(number, moved, maybe(text, row["shown"])))
        if row["id"] is not None:
            each.before[text(row["id"])] = (row["is_resolved"] is True, held_instant(row["seen_resolved_at"]))
    return list(due.values())


async def read_threads(repo: Scope, due: list[Due]) -> tuple[list[Row], dict[int, Failure]]:
    """Rows of those that say something new, and the failures of those that could not be told."""
    rows, failures, left = list[Row](), dict[int, Failure](), list(due)
    while left:
        now, failed = await _ask(repo, left)
        failures |= failed
        for each in left:
            if each.number not in failures and not each.left:
                try:
                    row = review_threads_row(each, repo, now)
                except Unreadable as error:
                    failures[each.number] = not_understood(error)
                    continue
                if row["shown"] != each.shown or repo.reading.full:
                    rows.append(row)
        left = [each for each in left if each.number not in failures and each.left]
    return rows, failures


async def _ask(repo: Scope, due: list[Due]) -> tuple[DateTime, dict[int, Failure]]:
    """The next page of each, and who cannot be told."""
    tally = repo.reading.tally("review_threads", repo.scope)
    owner, _, name = repo.name.partition("/")
    body = {"query": question(due), "variables": {"owner": owner, "name": name}}
    try:
        answer = await repo.api.query(graphql_url(str(repo.api.base)), body, tally)
        told, failures = answered(answer, "repository")
        if str(told.get("databaseId")) != repo.scope:
            raise Failure("PROJECT_MISMATCH", f"{repo.name} is another repository now")
    except Failure as failure:
        if failure.code not in ("FETCH_ERROR", "TIMEOUT") or isinstance(failure, GivenUp) or len(due) == 1:
            if len(due) == 1 and failure.code in ("FETCH_ERROR", "TIMEOUT") and not isinstance(failure, GivenUp):
                return repo.now, {due[0].number: failure}
            raise
        half = len(due) // 2
        _, first = await _ask(repo, due[:half])
        at, second = await _ask(repo, due[half:])
        return at, first | second
    tally.pages += 1
    failed = {each.number: failures[alias] for each in due if (alias := f"pr{each.number}") in failures}
    for each in due:
        if each.number not in failed:
            try:
                tally.fetched += _take(each, told.get(f"pr{each.number}"))
            except Unreadable as error:
                failed[each.number] = not_understood(error)
    return answer.date, failed


def question(due: list[Due]) -> str:
    """One query for the next page of each."""
    return (
        "query($owner: String!, $name: String!) { rateLimit { cost remaining resetAt } "
        "repository(owner: $owner, name: $name) { databaseId "
        + " ".join(f"pr{each.number}: pullRequest(number: {each.number}) {{ {_lists(each)} }}" for each in due)
        + " } }"
    )


def _lists(due: Due) -> str:
    return " ".join(
        f"{name}(first: {LISTS[name][0]}{f', after: {json.dumps(after)}' if after else ''}) "
        f"{{ pageInfo {{ hasNextPage endCursor }} nodes {{ {LISTS[name][1]} }} }}"
        for name, after in due.left.items()
    )


def _take(due: Due, told: object) -> int:
    """What a page brought. A pull request without its lists was not told."""
    if not isinstance(told, dict):
        raise Unreadable("a pull request is missing from the answer")
    count = 0
    for name in list(due.left):
        page = inner(told, name)
        nodes, info = need(page, "nodes"), inner(page, "pageInfo")
        if not isinstance(nodes, list):
            raise Unreadable(f"{name} is not a list")
        due.found[name] += [node for node in nodes if node is not None]  # what this token may not see is null
        count += len(nodes)
        if flag(need(info, "hasNextPage")):
            due.left[name] = text(need(info, "endCursor"))
        else:
            del due.left[name]
    return count


def review_threads_row(due: Due, repo: Scope, now: DateTime) -> Row:
    key = parent_key(repo.scope, due.number)
    threads = {text(need(node, "id")): node for node in due.found["reviewThreads"]}
    row: Row = {
        "parent_key": key, "scope": repo.scope, "repo": repo.name, "number": due.number,
        "read_for_updated_at": due.read_for, "is_settled": due.read_for < now - SETTLE,
        "threads": [thread_row(node, key, due.before, now) for node in threads.values()],
        "closes": [closed_row(node, key) for node in due.found["closingIssuesReferences"]],
    }  # fmt: skip
    return {**row, "read_at": now, "shown": fingerprint(row)}


def thread_row(node: Json, key: str, before: Mapping[str, tuple[bool, DateTime | None]], now: DateTime) -> Row:
    """When it was resolved is told by nobody: known is when we saw that it had been, where it was open before."""
    id_, is_resolved = text(need(node, "id")), flag(need(node, "isResolved"))
    was_resolved, seen_at = before.get(id_, (True, None))
    return {
        "id": id_,
        "parent_key": key,
        "first_comment_id": _first_comment(node),
        "is_resolved": is_resolved,
        "is_outdated": flag(need(node, "isOutdated")),
        "is_collapsed": flag(node.get("isCollapsed")),
        "resolved_by": login(node, "resolvedBy"),  # null of an account that is deleted, too
        "seen_resolved_at": (seen_at if was_resolved else now) if is_resolved else None,
    }


def _first_comment(node: Json) -> int | None:
    """The first that is left. Its id comes as text: it may have more than 32 bits. None is left, or to be seen."""
    nodes = inner(node, "comments").get("nodes")
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    told = first.get("fullDatabaseId") if isinstance(first, dict) else None
    if told is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", text(told)):
        raise Unreadable(f"not an id: {told!r:.60}")
    return int(text(told))


def closed_row(node: Json, key: str) -> Row:
    there, number = inner(node, "repository"), integer(need(node, "number"))
    scope = str(integer(need(there, "databaseId")))
    return {
        "parent_key": key,
        "issue_scope": scope,
        "issue_repo": maybe(text, there.get("nameWithOwner")),
        "issue_number": number,
        "issue_key": parent_key(scope, number),
        "title": maybe(text, node.get("title")),
    }


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
