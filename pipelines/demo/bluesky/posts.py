"""What is posted on a demo Bluesky: posts, replies, quotes, reposts, edits and deletions, as their records."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pendulum import DateTime

from pipelines.demo.bluesky import records
from pipelines.demo.bluesky.names import Json, cid_of, claimed_milliseconds, iso, milliseconds, tid
from pipelines.demo.bluesky.people import People, Who
from pipelines.demo.bluesky.state import POST, REPOST, Card, Image, Post, Repost, Shared, ShareKind, Version

__all__ = ["Posts"]

NOW: Literal["now"] = "now"  # what an honest client claims


class Posts(People):
    def __init__(self, now: DateTime) -> None:
        super().__init__(now)
        self.posts: dict[str, Post] = {}  # by uri, deleted ones too
        # where a `createdAt` that nobody can read puts a post: "epoch" as the open AppView does, or its arrival
        self.unreadable_dates: Literal["epoch", "arrival"] = "epoch"
        self._last_key = 0

    # Posts

    def pin(self, post: Post | None, who: Who | None = None) -> None:
        """None unpins, of `who`."""
        account = post.author if post else self._known(who or "")
        account.pinned = post
        self.revision += 1

    def post(
        self,
        who: Who,
        text: str,
        *,
        created: DateTime | str | None = NOW,
        langs: Sequence[str] = ("en",),
        images: Sequence[Image] = (),
        card: Card | None = None,
        quote: Post | None = None,
        shares: Shared | None = None,
        reply_to: Post | None = None,
        shown: Mapping[str, str] | None = None,
        embed: Json | None = None,
        tags: Sequence[str] = (),
        self_labels: Sequence[str] = (),
        more: Mapping[str, Any] | None = None,
        rkey: str = "",
        indexed: bool = True,
    ) -> Post:
        """`created` is what the author claims (None: nothing); `more` goes into the record as it is.

        Not `indexed`: the AppView never takes it, only the PDS shows it.
        """
        author = self._known(who)
        record: Json = {"$type": POST}
        if created is not None:
            claim = self.now if created == NOW else created
            record["createdAt"] = claim if isinstance(claim, str) else iso(claim)
        if made := embed or records.embed(images, card, quote or shares):
            record["embed"] = made
        if found := records.facets(text, shown or {}, self._did_named):
            record["facets"] = found
        if langs:
            record["langs"] = list(langs)
        root = (reply_to.root or reply_to) if reply_to else None
        if reply_to and root:
            refer = records.reference
            record["reply"] = {"parent": refer(reply_to), "root": refer(root)}
        if tags:
            record["tags"] = list(tags)
        if self_labels:
            values = [{"val": value} for value in self_labels]
            record["labels"] = {"$type": "com.atproto.label.defs#selfLabels", "values": values}
        record |= {"text": text} | dict(more or {})
        content = records.content(record, images, card, quote)
        key = rkey or self._next_key()
        post = Post(
            author,
            key,
            cid_of([key, record]),
            record,
            content,
            self.now,
            0,
            reply_to,
            root,
            quote,
            shares,
            is_indexed=indexed,
        )
        assert post.uri not in self.posts, "a record key is used once"
        post.sort_at = self._sorted_at(record.get("createdAt"))
        author.posts[post.rkey] = self.posts[post.uri] = post
        if indexed:
            author.feed.add(post)
            author.posts_count += 1
            self._count(post, 1)
        return self._told(post)

    def reply(self, who: Who, to: Post, text: str, **more: Any) -> Post:
        return self.post(who, text, reply_to=to, **more)

    def quote(self, who: Who, of: Post, text: str, **more: Any) -> Post:
        return self.post(who, text, quote=of, **more)

    def repost(self, who: Who, post: Post, created: DateTime | str | None = NOW, *, is_named: bool = True) -> Repost:
        """The same post may be reposted again, even by its author: each is a record of its own. Not `is_named`: the
        AppView's feeds tell who and when, as production's long did, but not which record it is.
        """
        author = self._known(who)
        claim = self.now if created == NOW else created
        record: Json = {"$type": REPOST, "subject": records.reference(post)}
        if claim is not None:
            record["createdAt"] = claim if isinstance(claim, str) else iso(claim)
        rkey = self._next_key()
        made = Repost(
            author,
            rkey,
            cid_of([rkey, record]),
            record,
            post,
            self.now,
            self._sorted_at(record.get("createdAt")),
            is_named,
        )
        author.reposts[rkey] = made
        if not post.is_deleted:
            author.feed.add(made)
            post.reposts.append(made)
        self.history.append(Version("repost", made.uri, made.cid, post.uri, self.now))
        self.revision += 1
        return made

    def unrepost(self, repost: Repost) -> None:
        if repost.author.reposts.pop(repost.rkey, None) is None:
            return
        repost.author.feed.remove(repost)
        if repost in repost.post.reposts:
            repost.post.reposts.remove(repost)
        self.history.append(Version("repost", repost.uri, repost.cid, repost.post.uri, self.now, is_deleted=True))
        self.revision += 1

    def edit(self, post: Post, text: str) -> Post:
        """Same uri, new cid; `createdAt` stays, `indexedAt` moves, and a post that claimed the future moves with it."""
        assert not post.is_deleted
        kept = {name: value for name, value in post.record.items() if name not in {"text", "facets"}}
        found = records.facets(text, {}, self._did_named)
        if post in post.author.feed:
            post.author.feed.remove(post)
        post.record = kept | ({"facets": found} if found else {}) | {"text": text}
        post.content = records.content(post.record, post.content.images, post.content.card, post.quoted)
        post.cid, post.indexed_at = cid_of([post.rkey, post.record]), self.now
        post.sort_at = self._sorted_at(post.record.get("createdAt"))
        if post.is_indexed:
            post.author.feed.add(post)
        return self._told(post)

    def delete(self, post: Post) -> None:
        """Reposts of it disappear from everybody's feed; replies and quotes stay and point nowhere."""
        if post.is_deleted:
            return
        post.is_deleted = True
        post.author.posts.pop(post.rkey)
        post.author.feed.remove(post)
        for repost in post.reposts:
            repost.author.feed.remove(repost)
        post.reposts = []
        if post.is_indexed:
            post.author.posts_count -= 1
            self._count(post, -1)
        self.history.append(Version("post", post.uri, post.cid, post.text, self.now, is_deleted=True))
        self.revision += 1

    def label(self, post: Post, *labels: str) -> None:
        """By a moderator; neither cid nor `indexedAt` tells."""
        post.labels = set(labels)
        self.revision += 1

    def share(self, who: Who, kind: ShareKind, name: str) -> Shared:
        """A record that is no post and can be embedded in one: a starter pack, a list, a feed, a labeler."""
        owner, key = self._known(who), "self" if kind == "labeler" else self._next_key()
        return Shared(owner, kind, key, cid_of([key, name]), name, self.now)

    def gate(self, post: Post, *rules: str) -> None:
        """Who may answer: e.g. `mentionRule`, `followingRule`; nobody, without any. Shown with the post."""
        post.gate = rules
        self.revision += 1

    def _told(self, post: Post) -> Post:
        self.history.append(Version("post", post.uri, post.cid, post.text, self.now))
        self.revision += 1
        return post

    def _next_key(self) -> str:
        """Of this moment, or the microsecond after the last one's."""
        self._last_key = max(self._last_key + 1, self.now.int_timestamp * 1_000_000 + self.now.microsecond)
        return tid(self._last_key)

    def _sorted_at(self, claim: Any) -> int:
        arrival, claimed = milliseconds(self.now), claimed_milliseconds(claim)
        if claimed is None:
            return 0 if self.unreadable_dates == "epoch" else arrival
        return min(arrival, claimed)

    def _count(self, post: Post, by: int) -> None:
        if post.parent:
            post.parent.replies += by
        if post.quoted:
            post.quoted.quotes += by
