"""One list of a repository, or of one pull request in it, followed by time."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from sources.core.cursor import Changes, follow
from sources.core.paging import Ask
from sources.core.reading import Batch
from sources.core.scope import Scope, identify_by
from sources.core.values import Json, Row, fingerprint
from sources.github.config import GithubConfig

__all__ = ["Listed", "changed", "followed"]


@dataclass(frozen=True)
class Listed:
    """How it is asked, what makes a version of its records, what rows they become."""

    name: str
    ask: Ask
    version: Callable[[Json], str]
    shape: Callable[[Changes], dict[str, list[Row]]]
    number: int | None = None
    seeks: bool = True


async def followed(repo: Scope, surface: Listed, config: GithubConfig, *, reread: bool = False) -> AsyncIterator[Batch]:
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


async def changed(repo: Scope, surface: str, path: str, number: int) -> AsyncIterator[tuple[Json, Json]]:
    """A single record, if it changed, with its ETag as cursor."""
    saved = repo.reading.raw_cursor(surface, f"{repo.scope}/{number}")
    known = saved if isinstance(saved, dict) else {}
    answer = await repo.get(surface, path, etag=known.get("etag"))
    if not answer.not_modified:
        record = repo.record(path, answer)
        shown = fingerprint(repr(record))
        if shown != known.get("shown"):
            yield record, {"etag": answer.etag, "shown": shown}
