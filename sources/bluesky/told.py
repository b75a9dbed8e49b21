"""What a run says of an account, a line each: `[INITIAL]` for the first walk, `[POLL]` where there is news, `[SKIP]`
(`Reading.skip`) when it is found away. What is no news is told to who asks for all.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from sources.bluesky.accounts import Account
from sources.bluesky.trail import FeedCursor
from sources.core.values import Row

__all__ = ["Told"]

log = logging.getLogger("earshot.accounts")


@dataclass
class Told:
    account: Account
    trail: FeedCursor  # before this walk
    posts: int = 0
    links: int = 0
    pages: int = 0
    is_full: bool = False  # all of the first page was news

    def add(self, rows: Mapping[str, list[Row]], replayed: Mapping[str, int], page: int) -> None:
        """What a page brought, and how much of it came again."""
        new = {table: len(some) - replayed.get(table, 0) for table, some in rows.items()}
        self.posts, self.links = self.posts + new.get("posts", 0), self.links + new.get("post_links", 0)
        if self.trail.head and self.is_full and page > self.pages:
            log.info("[POLL] %s: high volume detected, fetching more pages", self.account.handle)
        self.is_full = self.pages == 0 and 0 < new.get("posts", 0) == len(rows.get("posts", ()))
        self.pages = page

    def all(self, after: FeedCursor) -> None:
        """At the end of a walk."""
        handle, is_first = self.account.handle, self.trail.head is None
        counts = f"{_of(self.posts, 'post')}, {_of(self.links, 'URL')} across {_of(self.pages, 'page')}"
        if is_first or self.posts:
            log.info("[%s] %s: %s", "INITIAL" if is_first else "POLL", handle, counts)
        else:
            log.debug("[POLL] %s: nothing new", handle)
        if after.unread and after != self.trail:
            log.info("[POLL] %s: stopped after %s; the next run goes on there", handle, _of(self.pages, "page"))


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
