"""One page of an author's feed: newest first, and a cursor that leads to older items only.

Items stand where min(createdAt, indexedAt) puts them. A page is cut first; what the reader may not see is taken out
afterwards, so pages may be short, or empty, with a cursor that leads on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pipelines.demo.bluesky.api.access import Quirks, broken, refused
from pipelines.demo.bluesky.names import STRICT_DATE, claimed_milliseconds, iso
from pipelines.demo.bluesky.state import Account, Item, Post

Filter = Callable[[Account, Item], bool]


@dataclass(frozen=True)
class Page:
    items: list[Item]
    cursor: str | None


def cut(account: Account, cursor: str | None, size: int, kind: str, quirks: Quirks) -> Page:
    if cursor and "::" in cursor:
        return Page([], None)  # the hallmark of a very old cursor: answered with nothing
    wanted = FILTERS.get(kind, _any)  # an unknown name means no filter
    items = (item for item in _below(account, cursor, quirks) if wanted(account, item))
    found = list(islice(items, size))
    is_full = len(found) == size
    leads_on = is_full and (quirks.cursor_after_full_page or next(items, None) is not None)
    return Page(found, _cursor(found[-1], quirks) if leads_on else None)


def self_threads(items: list[Item]) -> list[Item]:
    """Replies stay only where the page itself holds all that they answer: the rest is lost to this filter."""
    on_page = {item.uri: item for item in items if isinstance(item, Post)}

    def reaches_root(post: Post) -> bool:
        at: Post | None = post
        while at is not None:
            if at.uri not in on_page:
                return False
            at = at.parent
        return True

    return [item for item in items if not isinstance(item, Post) or reaches_root(item)]


def _below(account: Account, cursor: str | None, quirks: Quirks) -> Iterator[Item]:
    if not cursor:
        return account.feed.newest_first()
    if quirks.cursors == "keyset":
        at, _, cid = cursor.partition("__")
        if not at.isdecimal() or not cid:
            raise refused("Malformed cursor")
        return account.feed.newest_first((int(at), cid))
    edge = claimed_milliseconds(cursor) if STRICT_DATE.fullmatch(cursor) else None
    if edge is None:
        raise broken()
    return account.feed.newest_first((edge,) if quirks.skips_same_millisecond else (edge + 1,))


def _cursor(last: Item, quirks: Quirks) -> str:
    return iso(last.sort_at) if quirks.cursors == "timestamps" else f"{last.sort_at}__{last.cid}"


def _any(account: Account, item: Item) -> bool:
    return True


def _no_replies(account: Account, item: Item) -> bool:
    return not isinstance(item, Post) or item.parent is None


def _with(*asked: str) -> Filter:
    def wanted(account: Account, item: Item) -> bool:
        embed: Any = item.post.record.get("embed", {})
        kinds = {embed.get("$type"), embed.get("media", {}).get("$type")}
        return isinstance(item, Post) and bool(kinds & {f"app.bsky.embed.{kind}" for kind in asked})

    return wanted


def _author_threads(account: Account, item: Item) -> bool:
    return not isinstance(item, Post) or item.root is None or item.root.author is account


FILTERS: dict[str, Filter] = {
    "posts_with_replies": _any,
    "posts_no_replies": _no_replies,
    "posts_with_media": _with("images", "gallery"),
    "posts_with_video": _with("video"),
    "posts_and_author_threads": _author_threads,
}
