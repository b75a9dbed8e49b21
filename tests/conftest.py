"""Fixtures that more than one file asks for."""

from tests.asked import demo, demo_home, own, worlds
from tests.speaker import heard, speaker

__all__ = ["demo", "demo_home", "heard", "own", "speaker", "worlds"]
