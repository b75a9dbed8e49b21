"""A Bluesky in memory: its accounts, its clock, and everything that anybody ever posted.

Time is the world's; what authors claim about theirs is their business, and stands in the record as they wrote it.
"""

from pipelines.demo.bluesky import fill as bluesky_fill
from pipelines.demo.bluesky import truth as bluesky_truth
from pipelines.demo.bluesky.posts import Posts
from pipelines.demo.bluesky.state import Account
from pipelines.demo.bluesky.truth import Truth


class BlueskyWorld(Posts):
    def truth(self) -> Truth:
        return bluesky_truth.tell(self)

    def fill(self, accounts: int = 342, posts: int = 50, days: int = 60) -> list[Account]:
        """Past activity in bulk; see `bluesky_fill`."""
        return bluesky_fill.fill(self, accounts, posts, days)
