"""Bluesky: what accounts post, reply, quote and repost.

    pipeline.run(bluesky(actors=["maya.example"]))      complete, incremental, resumable; run it again: only the news

`bluesky` is imported with dlt when it is asked for, so that the rest of this folder does without.
"""

from typing import TYPE_CHECKING, Any

from sources.bluesky.source import Bluesky, BlueskyConfig

if TYPE_CHECKING:
    from sources.bluesky.pipes import bluesky

__all__ = ["Bluesky", "BlueskyConfig", "bluesky"]


def __getattr__(name: str) -> Any:
    if name != "bluesky":
        raise AttributeError(name)
    from sources.bluesky.pipes import bluesky

    return bluesky
