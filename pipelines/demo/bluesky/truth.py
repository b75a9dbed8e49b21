"""The plain truth about a demo Bluesky, in its own terms: what a full scan ought to end with.

A test that compares a warehouse with it does not lean on the encoding that the API uses.
"""

from dataclasses import dataclass, field
from typing import Any

from pipelines.demo.bluesky.names import iso
from pipelines.demo.bluesky.people import People
from pipelines.demo.bluesky.state import Account, Item, Post, Repost

Fact = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """Everything that exists now. `feeds`: per DID the items newest first, also of accounts that are away."""

    accounts: dict[str, Fact] = field(default_factory=dict)
    posts: dict[str, Fact] = field(default_factory=dict)
    reposts: dict[str, Fact] = field(default_factory=dict)
    feeds: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # (which item, post's cid)


def tell(world: People) -> Truth:
    truth = Truth()
    for account in world.accounts.values():
        truth.accounts[account.did] = account_fact(account)
        if account.status == "deleted":
            continue
        for post in account.posts.values():
            truth.posts[post.uri] = post_fact(post)
        for repost in account.reposts.values():
            truth.reposts[repost.uri] = repost_fact(repost)
        truth.feeds[account.did] = [
            (_which(item), item.post.cid) for item in account.feed.newest_first() if _is_shown_to_all(item)
        ]
    return truth


def account_fact(account: Account) -> Fact:
    return {
        "handle": account.handle,
        "status": account.status,
        "display_name": account.display_name,
        "labels": sorted(account.labels),
        "posts": account.posts_count,
        "pinned": account.pinned.uri if account.pinned and not account.pinned.is_deleted else None,
    }


def post_fact(post: Post) -> Fact:
    embed = post.record.get("embed", {}).get("$type", "")
    return {
        "author": post.author.did,
        "cid": post.cid,
        "text": post.text,
        "created": post.record.get("createdAt"),  # as claimed
        "indexed_at": iso(post.indexed_at),
        "sort_at": iso(post.sort_at),
        "langs": post.record.get("langs", []),
        "parent": post.parent.uri if post.parent else None,
        "root": post.root.uri if post.root else None,
        "quote": post.content.quote,
        "shares": post.shared.uri if post.shared else None,
        "links": list(post.content.links),
        "mentions": list(post.content.mentions),
        "tags": list(post.content.tags),
        "alts": [image.alt for image in post.content.images],
        "embed": embed or None,
        "labels": sorted(post.labels | {one["val"] for one in post.record.get("labels", {}).get("values", [])}),
        "is_indexed": post.is_indexed,
    }


def repost_fact(repost: Repost) -> Fact:
    return {
        "author": repost.author.did,
        "post": repost.post.uri,
        "created": repost.record.get("createdAt"),
        "indexed_at": iso(repost.indexed_at),
        "is_named": repost.is_named,
        "is_shown": repost.post.is_shown,  # not while the post is gone, or its author away
    }


def _which(item: Item) -> str:
    """Its uri; of a repost that feeds do not name: what was passed on, and when."""
    is_named = isinstance(item, Post) or item.is_named
    return item.uri if is_named else f"{item.post.uri} at {iso(item.indexed_at)}"


def _is_shown_to_all(item: Item) -> bool:
    """As if the feed's owner were there."""
    return isinstance(item, Post) or item.post.is_shown
