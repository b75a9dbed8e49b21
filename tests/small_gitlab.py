"""A small GitLab project that was read once, as fixtures: its world, itself, and the desk beside it."""

import shutil
from pathlib import Path

import pendulum
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.world import GitLabWorld
from tests.in_memory import in_memory
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
PLACE = "lantern/console"


def _world() -> GitLabWorld:
    """The same at every call."""
    made = GitLabWorld(NOW)
    made.fill(made.add_project(PLACE), merge_requests=4, discussions=2, notes=2, issues=3, days=10)
    made.advance(seconds=300)
    return made


@pytest.fixture
def world() -> GitLabWorld:
    return _world()


@pytest.fixture
def project(world: GitLabWorld) -> Project:
    return world.projects[next(iter(world.projects))]


@pytest.fixture(scope="session")
def small_gitlab_read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first run left, to be copied: it is the same for all who go on from there."""
    made = gitlab_desk(tmp_path_factory.mktemp("small") / "data", _world(), PLACE)
    assert made.run().exit_code == 0
    return made.home.path


@pytest.fixture
def gitlab(tmp_path: Path, world: GitLabWorld, small_gitlab_read: Path) -> GitLabDesk:
    shutil.copytree(small_gitlab_read, tmp_path / "data")
    return gitlab_desk(tmp_path / "data", world, PLACE)


@pytest.fixture(scope="session")
def small_gitlab_in_memory(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    """Somebody who has read it into memory."""
    made = in_memory(gitlab_desk(tmp_path_factory.mktemp("memory") / "data", _world(), PLACE))
    assert made.run().exit_code == 0
    return made


@pytest.fixture
def placed_gitlab(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    world: GitLabWorld,
    small_gitlab_read: Path,
    small_gitlab_in_memory: GitLabDesk,
) -> GitLabDesk:
    """In memory, but for tests that are marked `on_disk`."""
    made = gitlab_desk(tmp_path / "data", world, PLACE)
    if request.node.get_closest_marker("on_disk") is None:
        return in_memory(made, small_gitlab_in_memory)
    shutil.copytree(small_gitlab_read, made.home.path)
    return made
