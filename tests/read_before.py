"""Projects beside a server whose past was read once a session: what a process does next begins with a copy of that."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.demo.gitlab.project import Project as World
from pipelines.demo.gitlab.world import GitLabWorld
from tests import test_gitlab_kills as on_gitlab
from tests.once import once
from tests.story import served, small_world

__all__ = ["GitLabStory", "gitlab_read", "gitlab_story", "small_world_read"]


@dataclass
class GitLabStory:
    project: on_gitlab.GitLabProject
    world: GitLabWorld
    place: World


@pytest.fixture(scope="session")
def gitlab_read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of who has read `past()`."""

    def make(folder: Path) -> None:
        with on_gitlab.served(on_gitlab.past()[0], folder) as project:
            assert project.quick().code == 0

    return once(tmp_path_factory, "gitlab", make) / "data"


@pytest.fixture
def gitlab_story(gitlab_read: Path, tmp_path: Path) -> Iterator[GitLabStory]:
    world, place = on_gitlab.past()
    with on_gitlab.served(world, tmp_path) as project:
        shutil.copytree(gitlab_read, project.data)
        yield GitLabStory(project, world, place)


@pytest.fixture(scope="session")
def small_world_read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of who has read `small_world()`."""

    def make(folder: Path) -> None:
        with served(small_world()[0], folder) as project:
            assert project.quick().code == 0

    return once(tmp_path_factory, "small world", make) / "data"
