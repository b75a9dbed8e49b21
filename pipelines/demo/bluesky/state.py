"""What the demo Bluesky holds: accounts, posts, reposts, and every state that they were in."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Any, Literal

from pendulum import DateTime

from pipelines.demo.bluesky.names import Json

# "hidden": the AppView has lost sight of it for a while, and says of it what it says of one that is deleted
Status = Literal["active", "deactivated", "suspended", "takendown", "hidden", "deleted"]
ShareKind = Literal["starter pack", "list", "feed", "labeler"]
COLLECTIONS: dict[ShareKind, str] = {
    "starter pack": "app.bsky.graph.starterpack", "list": "app.bsky.graph.list", "feed": "app.bsky.feed.generator",
    "labeler": "app.bsky.labeler.service",
}  # fmt: skip
POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"


@dataclass(eq=False, slots=True)
class Account:
    did: str
    handle: str
    display_name: str
    description: str
    pds: str  # the host that keeps the records
    created_at: DateTime
    labels: set[str] = field(default_factory=set)
    status: Status = "active"
    pinned: "Post | None" = None
    posts: "dict[str, Post]" = field(default_factory=dict)  # by record key: what the PDS holds
    reposts: "dict[str, Repost]" = field(default_factory=dict)
    feed: "Feed" = field(default_factory=lambda: Feed())
    posts_count: int = 0  # as the AppView counts
    blocks: set[str] = field(default_factory=set)  # DIDs

    @property
    def is_active(self) -> bool:
        return self.status == "active"


@dataclass(frozen=True, slots=True)
class Image:
    alt: str
    width: int = 1200
    height: int = 800


@dataclass(frozen=True, slots=True)
class Card:
    """A link with a preview: an external embed."""

    uri: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a post says besides its text, in plain terms."""

    links: tuple[str, ...] = ()  # of facets, then of the card
    mentions: tuple[str, ...] = ()  # DIDs
    tags: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    card: Card | None = None
    quote: str | None = None  # uri


@dataclass(frozen=True, slots=True)
class Shared:
    """Something else than a post that a post can embed."""

    owner: Account
    kind: ShareKind
    rkey: str
    cid: str
    name: str
    at: DateTime

    @property
    def uri(self) -> str:
        return f"at://{self.owner.did}/{COLLECTIONS[self.kind]}/{self.rkey}"


@dataclass(eq=False, slots=True)
class Post:
    author: Account
    rkey: str
    cid: str
    record: Json  # as its author's client wrote it
    content: Content
    indexed_at: DateTime
    sort_at: int  # milliseconds
    parent: "Post | None" = None
    root: "Post | None" = None
    quoted: "Post | None" = None
    shared: Shared | None = None
    labels: set[str] = field(default_factory=set)  # by a moderator
    reposts: "list[Repost]" = field(default_factory=list)
    replies: int = 0
    quotes: int = 0
    is_deleted: bool = False
    is_indexed: bool = True  # False: only the PDS has it
    gate: tuple[str, ...] | None = None  # rules of who may answer

    @property
    def uri(self) -> str:
        return f"at://{self.author.did}/{POST}/{self.rkey}"

    @property
    def text(self) -> str:
        return str(self.record.get("text", ""))

    @property
    def post(self) -> "Post":
        return self

    @property
    def is_shown(self) -> bool:
        return self.is_indexed and not self.is_deleted and self.author.is_active


@dataclass(eq=False, slots=True)
class Repost:
    author: Account
    rkey: str
    cid: str
    record: Json
    post: Post
    indexed_at: DateTime
    sort_at: int
    is_named: bool = True  # False: feeds do not tell which record it is

    @property
    def uri(self) -> str:
        return f"at://{self.author.did}/{REPOST}/{self.rkey}"

    @property
    def is_shown(self) -> bool:
        return self.post.is_shown and self.author.is_active


Item = Post | Repost


class Feed:
    """One account's items, oldest first, by (sort_at, cid): the order that the AppView pages through."""

    __slots__ = ("_keys", "_rows")

    def __init__(self) -> None:
        self._keys: list[tuple[int, str, str]] = []
        self._rows: dict[str, Item] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, item: Item) -> None:
        insort(self._keys, (item.sort_at, item.cid, item.uri))
        self._rows[item.uri] = item

    def remove(self, item: Item) -> None:
        if self._rows.pop(item.uri, None):
            del self._keys[bisect_left(self._keys, (item.sort_at, item.cid, item.uri))]

    def __contains__(self, item: Item) -> bool:
        return item.uri in self._rows

    def newest_first(self, below: tuple[Any, ...] | None = None) -> "FeedWalk":
        end = len(self._keys) if below is None else bisect_left(self._keys, below)
        return FeedWalk(self, end)


class FeedWalk:
    """An iterator, so that a page of a long feed costs a page."""

    def __init__(self, feed: Feed, end: int) -> None:
        self._feed, self._end = feed, end

    def __iter__(self) -> "FeedWalk":
        return self

    def __next__(self) -> Item:
        if self._end == 0:
            raise StopIteration
        self._end -= 1
        return self._feed._rows[self._feed._keys[self._end][2]]


@dataclass(frozen=True, slots=True)
class Version:
    """One state that something was in; a deletion is its last."""

    kind: str  # post, repost, account
    uri: str  # of an account: its DID
    cid: str
    text: str  # of a repost: the post's uri; of an account: handle and status
    at: DateTime
    is_deleted: bool = False
