"""Bluesky: what accounts post, reply, quote and repost."""

from sources.bluesky.source import Bluesky, BlueskyConfig

__all__ = ["Bluesky", "BlueskyConfig"]
