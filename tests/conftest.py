"""Fixtures that more than one file asks for."""

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.asked import demo, demo_home, own, worlds
from tests.in_memory import found_in_memory, in_memory, let_go
from tests.read_before import gitlab_read, gitlab_story, small_world_read
from tests.recorded import same_headers
from tests.servers import Cluster, cluster
from tests.small_gitlab import small_gitlab_in_memory, small_gitlab_read
from tests.speaker import heard, heard_in_memory, speaker

__all__ = [
    "demo", "demo_home", "gitlab_read", "gitlab_story", "heard", "heard_in_memory", "own", "server", "small_gitlab_in_memory",
    "small_gitlab_read", "small_world_read", "speaker", "worlds",
]  # fmt: skip


MEMORY, ROOM = Path("/dev/shm"), 4 << 30


def pytest_configure() -> None:
    """Where there is room, files lie in memory, for programs too: a run waits some thirty times until the disk has what
    it wrote. A kill leaves there what it leaves on a disk.
    """
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def pytest_xdist_auto_num_workers() -> int:
    """A sixth of their time tests wait for others: one worker more than there are processors."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever wants a server, or dlt and files for what others ask of memory, runs in CI, wherever it stands."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()) or item.get_closest_marker("on_disk"):
            item.add_marker("ci")


def pytest_collection_finish() -> None:
    """What stays until the end is not looked through again and again: a twentieth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def what_lies_in_memory_is_read_there() -> Iterator[None]:
    with found_in_memory():
        yield


@pytest.fixture(autouse=True)
def warehouses_end_with_their_test() -> Iterator[None]:
    with let_go():
        yield


def pytest_recording_configure(config: pytest.Config, vcr: Any) -> None:
    """Headers are part of what is asked."""
    vcr.register_matcher("same headers", same_headers)


@pytest.fixture
def placed(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Where a desk's warehouse is: in memory, but for tests that are marked `on_disk`."""
    return (lambda desk: desk) if request.node.get_closest_marker("on_disk") else in_memory


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """A real Postgres; without one installed, whatever asks for it is skipped and says so."""
    with cluster() as running:
        yield running
