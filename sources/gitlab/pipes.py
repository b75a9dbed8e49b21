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
from sources.core.values import Table
from sources.gitlab import tables as t
from sources.gitlab.hanging import READ, hanging, once
from sources.gitlab.source import PROJECT, Gitlab, GitlabConfig, listed
from sources.gitlab.threads import DEPENDENTS
from sources.pipes import QUARANTINE, Extraction, Found, needs, places, settings, shared, surface

__all__ = ["gitlab"]


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
        GitlabConfig, "gitlab", projects=projects, token=token, api_url=api_url, since=since,
        settle_seconds=settle_seconds, dependent_concurrency=dependent_concurrency,
        fetch_resource_events=fetch_resource_events, fetch_closes_issues=fetch_closes_issues, fetch_diffs=fetch_diffs,
    )  # fmt: skip
    needs("gitlab", "projects", config.projects)
    return _gitlab(config, max_rows, max_seconds)


@dlt.source(name="gitlab")
def _gitlab(config: GitlabConfig, max_rows: int | None, max_seconds: float | None) -> Any:
    service = Gitlab(config)
    extraction = Extraction(lambda: connect(config.api_url, service.headers), max_rows, max_seconds)
    common = shared(extraction, t.OPENERS, QUARANTINE)
    found = places(extraction, service.scopes(), PROJECT, str)

    def list_of(*tables: Table) -> Any:
        name = tables[0].name

        def walk(found: Found) -> AsyncIterator[Batch]:
            return listed(found.place, name, config, partial(once, found.place, name))

        return surface(extraction, found, walk, *tables)

    def hanging_on(*tables: Table) -> Any:
        return surface(extraction, found, lambda found: hanging(found.place, tables[0].name, config), *tables)

    dependents = [hanging_on(t.THREADS, t.NOTE_VERSIONS)]
    for table in (t.RESOURCE_EVENTS, t.CLOSES_ISSUES, t.DIFFS):
        switch, _ = DEPENDENTS[READ[table.name]]
        dependents += [hanging_on(table)] if switch is None or getattr(config, switch) else []
    return [
        found,
        surface(extraction, found, Found.batches, t.PROJECTS),
        list_of(t.MERGE_REQUESTS, t.OPENERS),
        list_of(t.ISSUES, t.OPENERS),
        *dependents,
        *common,
    ]
