"""Bluesky as a dlt source.

One resource, `posts`: the feeds of the accounts that are followed, each walked by a cursor of its own (feed.py says
how, source.py what it costs). It fills `posts`, what a post holds (`post_links`, `post_images`, `post_tags`,
`post_mentions`), `post_states` and `actors`. Posts are kept by version. What could not be read lies in `quarantine`.
"""

from collections.abc import AsyncIterator
from typing import Any

import dlt
from dlt.extract.source import DltSource

from sources.bluesky.accounts import Account, resolve
from sources.bluesky.source import Bluesky, BlueskyConfig, feed
from sources.bluesky.tables import FILLS
from sources.core.http.client import connect
from sources.core.reading import Batch
from sources.declared import needs, settings
from sources.pipes import Extraction, shared, surface

__all__ = ["bluesky"]


def bluesky(
    actors: list[str] | None = None,
    *,
    actors_file: str | None = None,
    api_url: str | None = None,
    initial_lookback_hours: float | None = None,
    overlap_hours: float | None = None,
    posts_per_page: int | None = None,
    max_pages_per_actor: int | None = None,
    max_rows: int | None = None,
    max_seconds: float | None = None,
) -> DltSource:
    """What some accounts post, reply, quote and repost; they are named by handle or by DID.

    What is not given is read from `[sources.bluesky]` of dlt's configuration. `max_rows` and `max_seconds` bound one
    extraction: feeds that were not begun are the next one's.
    """
    config = settings(
        BlueskyConfig, "bluesky", actors=actors, actors_file=actors_file, api_url=api_url,
        initial_lookback_hours=initial_lookback_hours, overlap_hours=overlap_hours, posts_per_page=posts_per_page,
        max_pages_per_actor=max_pages_per_actor,
    )  # fmt: skip
    needs("bluesky", "actors", Bluesky(config).scopes())
    return _bluesky(config, max_rows, max_seconds)


@dlt.source(name="bluesky")
def _bluesky(config: BlueskyConfig, max_rows: int | None, max_seconds: float | None) -> Any:
    extraction = Extraction(lambda: connect(config.api_url, {}), FILLS, max_rows, max_seconds)

    @dlt.resource(name="accounts", selected=False)
    async def accounts() -> AsyncIterator[Account]:
        reading = await extraction.open()
        for account in await resolve(reading, Bluesky(config).scopes()):
            yield account

    async def walk(account: Account) -> AsyncIterator[Batch]:
        for batch in account.names_known():
            yield batch
        async for batch in feed(extraction.reading, account, config):
            yield batch

    return [accounts, surface(extraction, accounts, "posts", walk), *shared(extraction)]
