"""What an endpoint asks of the service that it belongs to."""

from typing import Protocol

from pipelines.demo.bluesky.api.access import Access
from pipelines.demo.bluesky.world import BlueskyWorld
from pipelines.demo.server.web import Switches

__all__ = ["Service"]


class Service(Protocol):
    world: BlueskyWorld
    access: Access
    switches: Switches
