"""Child tables on Postgres, with EARSHOT_LONG=1 on DuckLake, with real servers: what is taken away upstream is gone
there, too.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pendulum
import pytest

from pipelines.demo.github.world import GitHubWorld
from pipelines.warehouse.data_dir import as_dicts
from tests.elsewhere import IN_CI, place
from tests.memory import judge_children
from tests.servers import Cluster
from tests.synced import desk

pytestmark = pytest.mark.ci
NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.mark.parametrize("engine", IN_CI)
def test_what_an_issue_is_not_given_any_more_is_gone(engine: str, server: Cluster, tmp_path: Path) -> None:
    """Children go with their row: fewer of them, then none; those of others stay. Read again they are what they were."""
    world = GitHubWorld(NOW)
    repo = world.add_repo("lantern/lantern")
    issue = repo.open_issue("maya", "One", "", labels=("bug", "docs"))
    pull = repo.open_pull("maya", "Two", "")
    for number in (issue, pull):
        repo.assign(number, "maya", "odile")
    repo.request_review(pull, "odile", teams=("cache",))
    world.advance(seconds=60)
    github = replace(desk(tmp_path, world), home=place(engine, server, tmp_path))

    def rows(table: str) -> list[dict[str, Any]]:
        with github.home.destination.published(github.home) as connection:
            assert connection is not None
            return list(as_dicts(connection.execute(f"FROM github.{table}")))

    for labels, people in (((), ()), (("bug",), ("odile",)), (("docs",), ("maya",))):
        repo.unlabel(issue, *labels)
        repo.unassign(issue, *people)
        world.advance(seconds=60)
        assert github.run().exit_code == 0
        judge_children(world, rows)
    assert github.run(full=True).exit_code == 0
    judge_children(world, rows)
    assert {row["parent_key"].rpartition(":")[2] for row in rows("issues__assignees")} == {str(pull)}
