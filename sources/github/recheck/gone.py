"""Issues and pull requests that are missing, gone or back on GitHub; and whatever else a run has to read again.

The death of an issue takes two runs. One that answers 404 while its repository is readable is *missing*: permissions
flap, accounts are hidden and return. It is kept as it was and asked for by the next run; only if it answers 404 then,
too, it is deleted. The next three runs ask for it all the same, and a list that shows it brings it back. What answers
410 was deleted, what redirects elsewhere was moved: that is sure at once, and for good.

What is back is read as if it were named, with all that hangs on it: no list may ever show what changed meanwhile.
"""

from collections.abc import AsyncIterator, Iterator, Mapping

from sources.core.http.client import Failure
from sources.core.reading import Batch, Walk
from sources.core.scope import Scope, noticed
from sources.core.targets import Target
from sources.core.values import Row, integer
from sources.github.recheck.again import (
    ABSENT,
    LISTS,
    comments,
    ids_in,
    marks,
    pull_request,
    review_comments,
    reviews,
    threads,
)
from sources.github.recheck.marks import deletion_row
from sources.github.surfaces.issues import issue_rows
from sources.github.surfaces.parts import parent_key
from sources.github.targets import HELD, fetch

__all__ = ["rechecks"]


def rechecks(repositories: Mapping[str, Scope], suspects: list[Row]) -> Iterator[Walk]:
    """Every suspect of the repositories that this run could read; the others stay suspect."""
    for suspect in suspects:
        if repo := repositories.get(str(suspect["scope"])):
            yield Walk("rechecks", repo.scope, _read(repo, suspect))


async def _read(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """By its task. Where that answers 404, its issue may be what is missing."""
    task = str(suspect["task"])
    try:
        async for batch in TASKS[task](repo, suspect):
            yield batch
    except Failure as failure:
        if failure.code not in ABSENT or task in ("issue", "orphans", "threads"):
            raise
        if task == "back":  # a list has shown it since: this is the first time again
            was = suspect["was"] if suspect["was"] == "deleted" else None
            yield await _absent(repo, {**suspect, "was": was}, failure)
            return
        told = [batch async for batch in issue(repo, suspect)]
        if not any(batch.rows.get("deletions") for batch in told):
            raise
        for batch in told:
            yield batch


async def issue(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """Asked for by itself: nothing new, if it is there as it was; all of it, if it was thought missing or deleted."""
    number, was = integer(suspect["number"]), suspect["was"]
    try:
        found = await repo.one("rechecks", f"issues/{number}")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        mark = await _absent(repo, suspect, failure)
        if was != "deleted":
            yield mark
        return
    if was:
        async for batch in back(repo, suspect):
            yield batch
    else:
        yield Batch("rechecks", repo.scope, issue_rows(repo, [found]))


async def back(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """Told again after it was thought missing or gone: it and all that hangs on it, as they are now."""
    number, key = integer(suspect["number"]), parent_key(repo.scope, integer(suspect["number"]))
    target = Target("pr" if suspect["is_pull_request"] else "issue", number)
    fetched = await fetch(repo, target, reads_threads=suspect["reads_threads"] is True)
    repo.reading.tell(f"{repo.name}#{number} is back")
    yield fetched.batch
    yield Batch("rechecks", repo.scope, {"deletions": marks(repo, _kind(suspect), number, set(), {_id(suspect)})})
    held = await repo.reading.look(HELD, {"keys": [key]})
    for dependent in fetched.dependents.values():
        async for batch in dependent(held[0] if held else {}):
            yield batch


async def orphans(repo: Scope, suspect: Row) -> AsyncIterator[Batch]:
    """Comments whose issue never landed: it was opened while the lists were read, or a load broke off between tables.

    Were it deleted before the next run, no list and no count would ever speak of its comments again. As long as it is
    only missing, the first of them bears the mark.
    """
    number, ids = integer(suspect["number"]), ids_in(suspect, "ids")
    try:
        found = await repo.one("rechecks", f"issues/{number}")
    except Failure as failure:
        if failure.code not in ABSENT:
            raise
        await repo.still_lists("rechecks", LISTS[False])
        is_sure = suspect["was"] == "missing" or failure.status != 404
        if suspect["was"] == "deleted":
            return
        told = [
            deletion_row(
                "issue_comment",
                id_,
                repo.scope,
                number,
                repo.now,
                f"its issue answers {failure.status}",
                gone=is_sure,
                run=_followed(repo, failure),
                is_missing=not is_sure,
            )
            for id_ in (sorted(ids) if is_sure else [min(ids)])
        ]
        yield Batch("rechecks", repo.scope, {"deletions": told})
    else:
        shaped = issue_rows(repo, [found])
        again = marks(repo, "issue_comment", number, set(), ids) if suspect["was"] else []
        yield Batch("rechecks", repo.scope, {**shaped, "deletions": again})


async def _absent(repo: Scope, suspect: Row, failure: Failure) -> Batch:
    """Its mark, if its repository is readable."""
    number, was, kind = integer(suspect["number"]), suspect["was"], _kind(suspect)
    await repo.still_lists("rechecks", LISTS[kind == "pull_request"])
    is_sure = bool(was) or failure.status != 404
    cause = f"answers {failure.status}" if failure.code == "NOT_FOUND" else "moved to another repository"
    if was != "deleted":
        repo.reading.absent_is(f"{repo.name}#{number}", parent_key(repo.scope, number), cause, is_sure=is_sure)
    mark = deletion_row(
        kind,
        _id(suspect),
        repo.scope,
        number,
        noticed(repo.api.now, suspect["held_at"]),
        cause,
        gone=is_sure,
        is_missing=not is_sure,
        run=_followed(repo, failure),
    )
    return Batch("rechecks", repo.scope, {"deletions": [mark]})


def _followed(repo: Scope, failure: Failure) -> int | None:
    """The run, after which three more ask; none where the answer was final."""
    return repo.reading.run if failure.status == 404 else None


def _kind(suspect: Row) -> str:
    return "pull_request" if suspect["is_pull_request"] else "issue"


def _id(suspect: Row) -> int:
    return integer(suspect["id"])


TASKS = {
    "comments": comments,
    "pull_request": pull_request,
    "reviews": reviews,
    "issue": issue,
    "review_comments": review_comments,
    "orphans": orphans,
    "back": back,
    "threads": threads,
}
