"""The warehouse in memory, in which most stories are told, holds what the real one holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.settings import landed_tables
from pipelines.warehouse.data_dir import as_dicts
from sources.core.values import ORDER
from tests.in_memory import in_memory
from tests.synced import Desk, bluesky_desk, desk, gitlab_desk

pytestmark = pytest.mark.ci  # the longest that are in one process: a real warehouse beside each in memory
NOW = pendulum.datetime(2026, 3, 1, 12)
TOLD = """
SELECT * EXCLUDE (seen_at) FROM feedback.events ORDER BY event_key
"""


def github(folder: Path) -> tuple[Desk, Callable[[], None]]:
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    world.fill(repo, pulls=4, issues=2, comments=12, review_comments=6, reviews=4, days=10, burst_second=3)

    def news() -> None:
        comments = sorted(repo.comments.rows)
        repo.edit_comment(comments[0], "Edited.")
        repo.delete_comment(comments[1])
        repo.label(repo.comments.rows[comments[0]].number, "answered")
        repo.merge(min(issue.number for issue in repo.issues.rows.values() if issue.pull), "maya")
        world.advance(seconds=3600)

    return desk(folder, world), news


def gitlab(folder: Path) -> tuple[Desk, Callable[[], None]]:
    world = GitLabWorld(NOW)
    project = world.add_project("lantern/console")
    world.fill(project, merge_requests=4, discussions=2, notes=2, issues=3, days=10)
    world.advance(seconds=300)

    def news() -> None:
        mr = next(iter(project.merge_requests.values()))
        project.edit_note(mr.threads[0].notes[0], "Edited.")
        project.delete_note(mr.threads[1].notes[-1])
        project.label(mr, "maya", add=("theme",))
        project.comment(mr, "maya", "News.")
        world.advance(seconds=3600)

    return gitlab_desk(folder, world), news


def bluesky(folder: Path) -> tuple[Desk, Callable[[], None]]:
    world = BlueskyWorld(NOW)
    for handle in ("maya.example", "odile.example"):
        world.account(handle, handle[:4].title())
    first = world.post("maya.example", "Read https://docs.lantern.example/purge #caching", tags=["http"])
    world.reply("odile.example", first, "why?")
    world.advance(seconds=60)

    def news() -> None:
        world.repost("odile.example", first)
        world.quote("odile.example", first, "this")
        world.advance(seconds=60)

    return bluesky_desk(folder, world, "maya.example", "odile.example"), news


@pytest.mark.parametrize("made", [github, gitlab, bluesky])
def test_memory_holds_what_the_real_warehouse_holds(
    made: Callable[[Path], tuple[Desk, Callable[[], None]]], tmp_path: Path
) -> None:
    """After a first run, news, a sweep and a run without news: every landed row, every event, and what each run said."""
    (real, real_news), (other, other_news) = made(tmp_path / "real"), made(tmp_path / "memory")
    memory = in_memory(other)
    for options in ({}, {}, {"sweep": True}, {}):
        told = [desk.run(**options) for desk in (real, memory)]
        assert told[0].exit_code == told[1].exit_code == 0
        assert told[0].sources[0].rows == told[1].sources[0].rows
        assert landed(real) == landed(memory)
        assert real.sql(TOLD) == memory.sql(TOLD)
        real_news(), other_news()
    assert len(real.sql(TOLD)) > 5


def landed(desk: Desk) -> dict[str, list[str]]:
    """All rows of all tables of the source, but for dlt's own columns and our clock's."""
    source = desk.source(desk.names).name
    tables = {name: t for root in landed_tables()[source] for name, t in root.family().items()}
    ours = {"noticed_at", ORDER}  # by a clock that goes on between the two; which list was first
    with desk.home.destination.looking(desk.home) as connection:
        held = {name: list(as_dicts(connection.execute(f"FROM {source}.{name}"))) for name in tables}
    return {
        name: sorted(repr([row[c] for c in table.columns if c not in ours]) for row in held[name])
        for name, table in tables.items()
    }


def test_what_memory_is_compared_by_would_tell(tmp_path: Path) -> None:
    """A row less, or another word, is seen."""
    made, _ = github(tmp_path)
    memory: Any = in_memory(made)
    memory.run()
    before = landed(memory)
    memory.home.destination.db.execute(
        "UPDATE github.issue_comments SET body = 'x' WHERE id = (SELECT min(id) FROM github.issue_comments)"
    )
    assert landed(memory) != before
