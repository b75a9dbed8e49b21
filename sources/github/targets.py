"""One named issue or pull request of GitHub: its comments, and of a pull request its reviews and diff comments."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from sources.core.http.client import Failure
from sources.core.reading import Batch
from sources.core.scope import Scope
from sources.core.targets import Dependent, Fetched, Held, Target, moment
from sources.core.values import Json, Row
from sources.github.recheck.again import counted, ids_of, listed, marks, reviews, thread
from sources.github.surfaces.issues import issue_rows
from sources.github.surfaces.pull_request_rows import pull_request_row
from sources.github.surfaces.review_comments import review_comment_rows
from sources.github.surfaces.review_threads import due_of, read_threads

__all__ = ["HELD", "fetch"]

HELD = """
WITH deleted AS (SELECT kind, id FROM github.deletions WHERE is_deleted),
said AS (
    SELECT 'issue_comment' AS kind, id, parent_key FROM github.issue_comments
    UNION SELECT 'review_comment', id, parent_key FROM github.review_comments
    UNION SELECT 'review', id, parent_key FROM github.reviews
)
SELECT i.parent_key, any_value(i.updated_at) AS updated_at, any_value(i.seen_at) AS seen_at,
    list(s.id) FILTER (WHERE s.kind = 'issue_comment' AND d.id IS NULL) AS comments,
    list(s.id) FILTER (WHERE s.kind = 'issue_comment' AND d.id IS NOT NULL) AS comments_marked,
    list(s.id) FILTER (WHERE s.kind = 'review_comment' AND d.id IS NULL) AS review_comments,
    list(s.id) FILTER (WHERE s.kind = 'review_comment' AND d.id IS NOT NULL) AS review_comments_marked,
    list(s.id) FILTER (WHERE s.kind = 'review' AND d.id IS NULL) AS reviews,
    list(s.id) FILTER (WHERE s.kind = 'review' AND d.id IS NOT NULL) AS reviews_marked
FROM github.issues AS i
LEFT JOIN said AS s ON s.parent_key = i.parent_key
LEFT JOIN deleted AS d ON d.kind = s.kind AND d.id = s.id
WHERE i.parent_key IN (SELECT unnest($keys))
GROUP BY i.parent_key
"""


async def fetch(repo: Scope, target: Target, *, reads_threads: bool = False) -> Fetched:
    """As /issues tells it, and a pull request also as /pulls does. Both must be there before anything is landed."""
    paths = [f"issues/{target.number}"] + ([f"pulls/{target.number}"] if target.kind == "pr" else [])
    answers = await asyncio.gather(*(repo.get("issues", path) for path in paths))
    repo = replace(repo, now=answers[0].date)
    found = [repo.record(path, answer) for path, answer in zip(paths, answers, strict=True)]
    if target.kind == "issue" and "pull_request" in found[0]:
        found.append(await repo.one("issues", f"pulls/{target.number}"))
    _belongs(repo, target, found)
    shaped = issue_rows(repo, found[:1])
    pull = found[1] if len(found) > 1 else None
    if pull:
        shaped["pull_requests"] = repo.shape("pull_requests", [pull], _pull_row(repo, is_whole=False))
    if not all(shaped.values()):
        reasons = [record.reason for record in repo.reading.quarantined.values()] or ["it is another one"]
        raise Failure("FETCH_ERROR", f"{target} of {repo.name} cannot be read: {reasons[-1]}")
    row = shaped["issues"][0]
    dependents = {"comments": _comments(repo, row)}
    if pull:
        dependents |= {"reviews": _reviews(repo, pull), "review_comments": _review_comments(repo, target.number)}
    if pull and reads_threads:
        dependents["review_threads"] = _threads(repo, target.number)
    batch = Batch("issues", repo.scope, shaped)
    return Fetched(target, str(row["parent_key"]), moment(row), repo.now, batch, dependents)


def _belongs(repo: Scope, target: Target, found: list[Json]) -> None:
    said = str(found[0].get("repository_url", "")).rpartition("/repos/")[2]
    if said.casefold() != repo.name.casefold() or found[0].get("number") != target.number:
        raise Failure("PROJECT_MISMATCH", f"{target} came back as #{found[0].get('number')!r:.20} of {said!r:.80}")


def _pull_row(repo: Scope, *, is_whole: bool) -> Callable[[Json, str, str, object], Row]:
    return lambda pull, scope, name, _: pull_request_row(pull, scope, name, repo.now, is_whole)


def _comments(repo: Scope, row: Row) -> Dependent:
    async def read(held: Held) -> AsyncIterator[Batch]:
        ours = {"number": row["number"], "ids": held.get("comments"), "marked": held.get("comments_marked")}
        yield await thread(repo, {**ours, **counted(row)})

    return read


def _reviews(repo: Scope, pull: Json) -> Dependent:
    async def read(held: Held) -> AsyncIterator[Batch]:
        async for batch in reviews(
            repo, {"number": pull["number"], "ids": held.get("reviews"), "marked": held.get("reviews_marked")}
        ):
            yield batch
        row = repo.shape("pull_requests", [pull], _pull_row(repo, is_whole=True))
        yield Batch("rechecks", repo.scope, {"pull_requests": row})

    return read


def _review_comments(repo: Scope, number: int) -> Dependent:
    async def read(held: Held) -> AsyncIterator[Batch]:
        found = await listed(repo, f"pulls/{number}/comments")
        shaped = review_comment_rows(repo, found)
        there = ids_of(found)
        ours, marked = set(held.get("review_comments") or ()), set(held.get("review_comments_marked") or ())  # type: ignore[call-overload]
        deletions = marks(repo, "review_comment", number, ours - there, marked & there)
        yield Batch("rechecks", repo.scope, {**shaped, "deletions": deletions})

    return read


def _threads(repo: Scope, number: int) -> Dependent:
    async def read(held: Held) -> AsyncIterator[Batch]:
        found, failures = await read_threads(repo, await due_of(repo, [number]))
        for failure in failures.values():
            raise failure
        yield Batch("rechecks", repo.scope, {"review_threads": found})

    return read
