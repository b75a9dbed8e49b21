"""A small GitLab project that was read once, as fixtures: its world, itself, and the desk beside it."""

from pathlib import Path

import pendulum
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
PLACE = "lantern/console"


@pytest.fixture
def world() -> GitLabWorld:
    made = GitLabWorld(NOW)
    made.fill(made.add_project(PLACE), merge_requests=4, discussions=2, notes=2, issues=3, days=10)
    made.advance(seconds=300)
    return made


@pytest.fixture
def project(world: GitLabWorld) -> Project:
    return world.projects[next(iter(world.projects))]


@pytest.fixture
def gitlab(tmp_path: Path, world: GitLabWorld) -> GitLabDesk:
    made = gitlab_desk(tmp_path / "data", world, PLACE)
    made.run()
    return made
