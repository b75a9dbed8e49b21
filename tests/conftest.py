"""Fixtures that more than one file asks for."""

from collections.abc import Iterator

import pytest

from tests.asked import demo, demo_home, own, worlds
from tests.servers import Cluster, cluster
from tests.speaker import heard, speaker

__all__ = ["demo", "demo_home", "heard", "own", "server", "speaker", "worlds"]


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """A real Postgres; without one installed, whatever asks for it is skipped and says so."""
    with cluster() as running:
        yield running
