"""GitHub as a dlt source.

Each surface is one list of a repository, walked by a cursor of its own (source.py says how, and what it costs). What
one resource fills:

    repositories     repositories                                    issues           issues, openers
    pull_requests    pull_requests, reviews, latest_versions         issue_comments   issue_comments, latest_versions
    review_comments  review_comments, review_comment_anchors, latest_versions
    review_threads   review_threads (threads, closes): which are resolved; wants a token

Issues and pull requests have child tables for what they are given (`issues__labels`, …). Comment tables keep every
version (`id`, `version`). What could not be read lies in `quarantine`, raw.
"""

from typing import Any

import dlt
from dlt.extract.source import DltSource

from sources.core.http.client import connect
from sources.core.scope import Found
from sources.core.surfaces import Surface
from sources.declared import needs, settings
from sources.extraction import Extraction, without_rechecks
from sources.github.repository import REPOSITORY
from sources.github.source import Github, GithubConfig
from sources.github.tables import BY_DUE, FILLS, SURFACES
from sources.pipes import places, rest, surface

__all__ = ["declared", "github"]


def github(
    repos: list[str] | None = None,
    *,
    token: str | None = None,
    api_url: str | None = None,
    since: str | None = None,
    overlap_seconds: int | None = None,
    fetch_review_threads: bool | None = None,
    max_rows: int | None = None,
    max_seconds: float | None = None,
) -> DltSource:
    """Issues, pull requests with their reviews, and both kinds of comments of some repositories.

    What is not given is read from `[sources.github]` of dlt's configuration. `max_rows` and `max_seconds` bound one
    extraction: every list stops where the next one goes on.
    """
    config = settings(
        GithubConfig,
        "github",
        repos=repos,
        token=token,
        api_url=api_url,
        since=since,
        overlap_seconds=overlap_seconds,
        fetch_review_threads=fetch_review_threads,
    )
    needs("github", "repos", config.repos)
    service, fills = Github(config), without_rechecks(FILLS)
    return declared(service, Extraction(lambda: connect(config.api_url, service.headers), fills, max_rows, max_seconds))


@dlt.source(name="github")
def declared(service: Github, extraction: Extraction) -> Any:
    """Its resources, in order."""
    found = places(extraction, service.scopes(), REPOSITORY, str.lower, service.found)

    def listed(each: Surface) -> Any:
        return surface(extraction, found, each.name, lambda found: each.walk(found.place, service.config))

    return [
        found,
        surface(extraction, found, "repositories", Found.batches, is_list=False),
        *map(listed, SURFACES),
        *(map(listed, BY_DUE) if extraction.is_runs or service.config.reads_threads else ()),
        *rest(extraction),
    ]
