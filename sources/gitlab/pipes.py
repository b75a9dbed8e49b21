"""GitLab as a dlt source.

`merge_requests` and `issues` are lists of a project; `threads`, `resource_events`, `closes_issues` and `diffs` are read
along them, each with a cursor of its own (hanging.py), one row a merge request or issue with all that belongs to it in
child tables, replaced whole:

    merge_requests   labels, assignees, reviewers          resource_events  states, labels, milestones
    issues           labels, assignees                     closes_issues    issues
    threads          discussions → notes; note_versions    diffs            files

`openers` keeps every version of what merge requests and issues say, `note_versions` of every note. What could not be
read lies in `quarantine`, raw. Discussions want a token, also those of public projects.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import dlt
from dlt.extract.source import DltSource

from sources.core.http.client import connect
from sources.core.reading import Batch
from sources.core.scope import Found
from sources.declared import needs, settings
from sources.extraction import Extraction, without_rechecks
from sources.gitlab.hanging import READ, hanging, once
from sources.gitlab.lists import GitlabConfig, listed
from sources.gitlab.source import PROJECT, Gitlab
from sources.gitlab.tables import FILLS
from sources.gitlab.threads import DEPENDENTS
from sources.pipes import places, rest, surface

__all__ = ["declared", "gitlab"]


def gitlab(
    projects: list[str] | None = None,
    *,
    token: str | None = None,
    api_url: str | None = None,
    since: str | None = None,
    settle_seconds: int | None = None,
    dependent_concurrency: int | None = None,
    fetch_resource_events: bool | None = None,
    fetch_closes_issues: bool | None = None,
    fetch_diffs: bool | None = None,
    max_rows: int | None = None,
    max_seconds: float | None = None,
) -> DltSource:
    """Merge requests and issues of some projects, with all that hangs on them.

    What is not given is read from `[sources.gitlab]` of dlt's configuration. `max_rows` and `max_seconds` bound one
    extraction: every list stops where the next one goes on.
    """
    config = settings(
        GitlabConfig,
        "gitlab",
        projects=projects,
        token=token,
        api_url=api_url,
        since=since,
        settle_seconds=settle_seconds,
        dependent_concurrency=dependent_concurrency,
        fetch_resource_events=fetch_resource_events,
        fetch_closes_issues=fetch_closes_issues,
        fetch_diffs=fetch_diffs,
    )
    needs("gitlab", "projects", config.projects)
    service, fills = Gitlab(config), without_rechecks(FILLS)
    return declared(service, Extraction(lambda: connect(config.api_url, service.headers), fills, max_rows, max_seconds))


@dlt.source(name="gitlab")
def declared(service: Gitlab, extraction: Extraction) -> Any:
    """Its resources, in order."""
    config = service.config
    found = places(extraction, service.scopes(), PROJECT, str, service.found)

    def list_of(name: str) -> Any:
        def walk(found: Found) -> AsyncIterator[Batch]:
            return listed(found.place, name, config, partial(once, found.place, name))

        return surface(extraction, found, name, walk)

    def hanging_on(name: str) -> Any:
        return surface(extraction, found, name, lambda found: hanging(found.place, name, config))

    return [
        found,
        surface(extraction, found, "projects", Found.batches, is_list=False),
        list_of("merge_requests"),
        list_of("issues"),
        # what is switched off is no walk, but its tables are there: a run makes all of them
        *(hanging_on(name) for name, kind in READ.items() if extraction.is_runs or is_wanted(kind, config)),
        *rest(extraction),
    ]


def is_wanted(kind: str, config: GitlabConfig) -> bool:
    switch, _ = DEPENDENTS[kind]
    return switch is None or bool(getattr(config, switch))
