"""Bluesky as a dlt source.

One resource, `posts`: the feeds of the accounts that are followed, each walked by a cursor of its own (feed.py says
how, source.py what it costs). It fills `posts`, what a post holds (`post_links`, `post_images`, `post_tags`,
`post_mentions`), `post_states` and `actors`. Posts are kept by version. What could not be read lies in `quarantine`.
"""

from collections.abc import AsyncIterator
from typing import Any

import dlt
from dlt.extract.source import DltSource

from sources.bluesky.source import Bluesky, BlueskyConfig
from sources.bluesky.tables import FILLS
from sources.core.http.client import connect
from sources.core.reading import Walk
from sources.declared import needs, settings
from sources.extraction import Extraction, without_rechecks
from sources.pipes import rest, stoppable, together

__all__ = ["bluesky", "declared"]

TOGETHER = 40  # feeds: an item each would take dlt longer than they are read in


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
        BlueskyConfig,
        "bluesky",
        actors=actors,
        actors_file=actors_file,
        api_url=api_url,
        initial_lookback_hours=initial_lookback_hours,
        overlap_hours=overlap_hours,
        posts_per_page=posts_per_page,
        max_pages_per_actor=max_pages_per_actor,
    )
    service, fills = Bluesky(config), without_rechecks(FILLS)
    needs("bluesky", "actors", service.scopes())
    extraction = Extraction(lambda: connect(config.api_url, {}), fills, max_rows, max_seconds, at_once=service.at_once)
    return declared(service, extraction)


@dlt.source(name="bluesky")
def declared(service: Bluesky, extraction: Extraction) -> Any:
    """Its resources, in order."""

    @dlt.resource(name="accounts", selected=False)
    @stoppable(extraction)
    async def accounts() -> AsyncIterator[list[Walk]]:
        reading = await extraction.open()
        polled = [each for each in await service.found(reading) if (each.did, "posts") not in reading.ended]
        for n in range(0, len(polled), TOGETHER):
            if not await extraction.room():
                return
            yield [service.walk(reading, account) for account in polled[n : n + TOGETHER]]

    return [accounts, together(extraction, accounts, "posts"), *rest(extraction)]
