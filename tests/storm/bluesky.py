"""Everybody on Bluesky: what the followed and some strangers do, and what of it only a sweep, or a deep one, can see."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pendulum import DateTime

from pipelines.demo.bluesky.api.app import BlueskyApp
from pipelines.demo.bluesky.state import Account, Post, Repost
from pipelines.demo.bluesky.world import BlueskyWorld
from sources.bluesky.source import Bluesky, BlueskyConfig
from tests.storm.said import DEEP, Fact, Key, Operation, Unseen, Words, nth, words_of

__all__ = ["BlueskyMob"]

FOLLOWED = tuple(f"person-{n}.bsky.social" for n in range(6))
STRANGERS = ("stranger-1.bsky.social", "stranger-2.bsky.social")
MOST = 45  # items a feed
OVERLAP = 24 * 3600
FAR_BACK = (30 * 3600, 5 * 24 * 3600, 400 * 24 * 3600)  # seconds
BAD: tuple[dict[str, Any], ...] = ({"indexedAt": "soon"}, {"cid": 5}, {"record": None}, {"author": 7})


@dataclass
class BlueskyMob:
    now: DateTime
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = "bluesky"
    unseen: Unseen = field(default_factory=Unseen)
    touched: set[str] = field(default_factory=set)
    operations: dict[str, int] = field(default_factory=lambda: {name: weight for name, weight, _ in OPERATIONS})
    is_met: bool = False  # a run was there: the handles have been looked up
    _told: int = 0
    _cids: dict[str, list[str]] = field(default_factory=dict)  # every version of a post
    _passed_on: dict[str, str] = field(default_factory=dict)  # repost → post
    _reposts: dict[str, list[str]] = field(default_factory=dict)  # post → reposts, also those taken back

    def __post_init__(self) -> None:
        self.world = BlueskyWorld(self.now)
        self.people = [self.world.account(handle) for handle in FOLLOWED + STRANGERS]
        self.followed = {account.did: account for account in self.people[: len(FOLLOWED)]}
        self.app = BlueskyApp(self.world)

    def source(self) -> Bluesky:
        """Followed by DID or by the handle of the beginning."""
        actors = [account.did if n % 2 else FOLLOWED[n] for n, account in enumerate(self.followed.values())]
        told = {"initial_lookback_hours": 24.0 * 3650, **self.settings}
        return Bluesky(BlueskyConfig(api_url="http://bsky.test", actors=actors, **told))

    def do(self, operation: Operation) -> int:
        what, pick = operation
        before, account = len(self.world.history), nth(self.people, pick // 3)
        if account.is_active or what == "return_":
            if pick % 5:
                self.world.advance(seconds=(1 + pick % 997) / 1000)
            DEEDS[what](self, account, pick)
        for said in self.world.history[before:]:
            if said.kind != "account" or what in ("leave", "return_"):
                self.touched |= {said.uri, said.text if said.kind == "repost" else said.uri}
        return len(self.world.history) > before

    # What is true

    def exists(self) -> dict[Key, Fact]:
        """In the feeds of those who are there. Of the others, nothing can be asked; nothing of them goes."""
        truth, found = self.world.truth(), {}
        for did, account in self.followed.items():
            for uri, cid in truth.feeds.get(did, ()) if account.is_active else ():
                about = account.reposts[uri.rpartition("/")[2]].post.uri if "feed.repost" in uri else uri
                found["bluesky", "item", uri] = Fact(cid, about)
        return found

    def is_doubtful(self, key: Key, about: str, touched: set[str]) -> bool:
        """Its owner, or the author of what was reposted, is away, or came or went meanwhile."""
        names = (key[2].split("/")[2], about.split("/")[2])
        return any(did in touched or not self.world.accounts[did].is_active for did in names)

    def news(self) -> list[tuple[Key, Words]]:
        """A repost says each version of its post."""
        said, found = self.world.history[self._told :], []
        self._told = len(self.world.history)
        for version in said:
            if version.kind == "post":
                self._cids.setdefault(version.uri, []).append(version.cid)
                items = [version.uri, *self._reposts.get(version.uri, ())]
                found += [(("bluesky", "item", uri), version.cid) for uri in items]
            elif version.kind == "repost":
                self._passed_on[version.uri] = version.text
                self._reposts.setdefault(version.text, []).append(version.uri)
                found += [(("bluesky", "item", version.uri), cid) for cid in self._cids[version.text]]
        return found

    def event(
        self, kind: str, scope: str, id_: str, number: int, title: str, version: str, parent: str
    ) -> tuple[Key, Fact]:
        """What an event of the warehouse says, in the same words: a version of a post is named by its content."""
        return ("bluesky", "item", id_), Fact(version, self._passed_on.get(id_, id_))

    def states(self, sql: Callable[[str], list[tuple[Any, ...]]]) -> dict[Key, Words]:
        return {}

    def is_dead(self, key: Key) -> bool:
        return False

    def paths(self, pick: int) -> tuple[list[str], list[Key]]:
        return [], []

    def spoil(self, key: Key, how: int, path: str, data: Any) -> bool:
        """Makes the record unreadable wherever an answer shows it."""
        if not isinstance(data, dict):
            return False
        hit = [item["post"] for item in data.get("feed", ()) if _uri_of(item) == key[2]]
        hit += [post for post in data.get("posts", ()) if post["uri"] == key[2]]
        for post in hit:
            post |= nth(BAD, how)
        return bool(hit)

    # What they do

    def post(self, account: Account, pick: int) -> None:
        self._is_full(account, pick) or self.world.post(account, words_of(pick))

    def reply(self, account: Account, pick: int) -> None:
        if (posts := self._posts()) and not self._is_full(account, pick):
            self.world.reply(account, nth(posts, pick // 11), words_of(pick))

    def quote(self, account: Account, pick: int) -> None:
        if (posts := self._posts()) and not self._is_full(account, pick):
            self.world.quote(account, nth(posts, pick // 11), words_of(pick))

    def repost(self, account: Account, pick: int) -> None:
        if (posts := self._posts()) and not self._is_full(account, pick):
            self.world.repost(account, nth(posts, pick // 11))

    def back_date(self, account: Account, pick: int) -> None:
        """Below the head of the feed, and within what every poll reads again."""
        if not self._is_full(account, pick):
            self.world.post(account, words_of(pick), created=self.world.now.subtract(seconds=pick % (20 * 3600)))

    def far_back(self, account: Account, pick: int) -> None:
        """Older than the overlap when it arrives, or of no date at all: below what any poll reads again."""
        if not self._is_full(account, pick):
            claim: Any = self.world.now.subtract(seconds=nth(FAR_BACK, pick)) if pick % 4 else "yesterday"
            made = self.world.post(account, words_of(pick), created=claim)
            self.unseen.add(_key(made), DEEP)

    def future(self, account: Account, pick: int) -> None:
        if not self._is_full(account, pick):
            self.world.post(account, words_of(pick), created=self.world.now.add(days=1 + pick % 400))

    def edit(self, account: Account, pick: int) -> None:
        """Its place stays, and so does that of all who passed it on."""
        if posts := list(account.posts.values()):
            made = self.world.edit(nth(posts, pick // 11), words_of(pick))
            self._changes(made)

    def delete(self, account: Account, pick: int) -> None:
        if posts := list(account.posts.values()):
            self._delete(nth(posts, pick // 11))

    def unrepost(self, account: Account, pick: int) -> None:
        """Only its own record tells that it is gone."""
        if reposts := list(account.reposts.values()):
            self._unrepost(nth(reposts, pick // 11))

    def leave(self, account: Account, pick: int) -> None:
        """Away for a while. What it posted cannot be asked for, reposts of it are hidden everywhere."""
        if account is not self.people[0]:
            nth((self.world.deactivate, self.world.suspend, self.world.take_down), pick)(account)

    def return_(self, account: Account, pick: int) -> None:
        """What others passed on meanwhile, or before anybody could read it, is there again, at its old place. What it
        deleted shows only in a sweep that can read it."""
        if not account.is_active:
            self.world.reactivate(account)
            there, own = self.exists(), f"at://{account.did}/"
            for said in self.world.history:
                if said.uri.startswith(own) and ("bluesky", "item", said.uri) not in there:
                    self.unseen.add(("bluesky", "item", said.uri))
            for post in account.posts.values():
                for repost in post.reposts:
                    self.unseen.add(_key(repost), DEEP)

    def rename(self, account: Account, pick: int) -> None:
        if self.is_met:
            self.world.rename(account, f"renamed-{len(self.world.history)}.bsky.social")

    def tick(self, account: Account, pick: int) -> None:
        self.world.advance(seconds=pick % 40)

    def long_tick(self, account: Account, pick: int) -> None:
        self.world.advance(seconds=pick % 4000)

    def _is_full(self, account: Account, pick: int) -> bool:
        if len(account.feed) < MOST:
            return False
        rows: list[Post | Repost] = [*account.posts.values(), *account.reposts.values()]
        gone = nth(rows, pick // 13)
        self._unrepost(gone) if isinstance(gone, Repost) else self._delete(gone)
        return True

    def _unrepost(self, repost: Repost) -> None:
        self.world.unrepost(repost)
        self.unseen.add(_key(repost), DEEP)

    def _delete(self, post: Post) -> None:
        self._changes(post)
        self.world.delete(post)

    def _changes(self, post: Post) -> None:
        for item in (post, *post.reposts):
            self.unseen.add(_key(item))

    def _posts(self) -> list[Post]:
        return [post for account in self.people if account.is_active for post in account.posts.values()]


def _uri_of(item: dict[str, Any]) -> str:
    return str(item.get("reason", item["post"])["uri"])


def _key(item: Post | Repost) -> Key:
    return "bluesky", "item", item.uri


M = BlueskyMob
OPERATIONS: list[tuple[str, int, Callable[[BlueskyMob, Account, int], None]]] = [
    ("post", 30, M.post), ("reply", 14, M.reply), ("quote", 5, M.quote), ("repost", 8, M.repost),
    ("back_date", 4, M.back_date), ("far_back", 1, M.far_back), ("future", 2, M.future), ("edit", 8, M.edit),
    ("delete", 8, M.delete), ("unrepost", 3, M.unrepost), ("leave", 1, M.leave), ("return_", 3, M.return_),
    ("rename", 1, M.rename), ("tick", 12, M.tick), ("long_tick", 3, M.long_tick),
]  # fmt: skip
DEEDS = {name: deed for name, _, deed in OPERATIONS}
