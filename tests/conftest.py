"""Fixtures that more than one file asks for."""

from tests.asked import demo, demo_home, own, worlds

__all__ = ["demo", "demo_home", "own", "worlds"]
