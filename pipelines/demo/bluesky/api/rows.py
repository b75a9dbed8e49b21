"""Accounts and posts as the AppView shows them: the lexicons' views, for a reader who is not signed in."""

from collections.abc import Callable

from pipelines.demo.bluesky.names import Json, cid_of, iso
from pipelines.demo.bluesky.state import Account, Item, Post, Repost, Shared

CDN = "https://cdn.bsky.app/img"
DEFS = "app.bsky.feed.defs"
THREADGATE = "app.bsky.feed.threadgate"
CURATED = "app.bsky.graph.defs#curatelist"
MODERATION = "did:plc:ar7c4by46qjdydhdevvrndac"


def basic(account: Account) -> Json:
    row: Json = {"did": account.did, "handle": account.handle}
    if account.display_name:
        row["displayName"] = account.display_name
    labels = [
        {
            "src": account.did,
            "uri": f"at://{account.did}/app.bsky.actor.profile/self",
            "val": value,
            "cts": iso(account.created_at),
        }
        for value in sorted(account.labels)
    ]
    return row | {"labels": labels, "createdAt": iso(account.created_at)}


def profile(account: Account) -> Json:
    row = basic(account) | {
        "description": account.description,
        "associated": {"lists": 0, "feedgens": 0, "starterPacks": 0, "labeler": False},
        "followersCount": 0,
        "followsCount": 0,
        "postsCount": account.posts_count,
        "indexedAt": iso(account.created_at),
    }
    if account.pinned:
        row["pinnedPost"] = {"cid": account.pinned.cid, "uri": account.pinned.uri}
    return row


def post(shown: Post) -> Json:
    row: Json = {"uri": shown.uri, "cid": shown.cid, "author": basic(shown.author), "record": shown.record}
    if view := _embed(shown, shown.record.get("embed")):
        row["embed"] = view
    return (
        row
        | {
            "bookmarkCount": 0,
            "replyCount": shown.replies,
            "repostCount": len(shown.reposts),
            "likeCount": 0,
            "quoteCount": shown.quotes,
            "indexedAt": iso(shown.indexed_at),
            "labels": _labels(shown),
        }
        | ({} if shown.gate is None else {"threadgate": _gate(shown, shown.gate)})
    )


def feed_item(item: Item, is_pin: bool = False) -> Json:
    """A reason says why the post is in this feed when it is not simply its author's."""
    shown = item.post
    row: Json = {"post": post(shown)}
    if isinstance(item, Repost):
        row["reason"] = {
            "$type": f"{DEFS}#reasonRepost",
            "by": basic(item.author),
            **({"uri": item.uri, "cid": item.cid} if item.is_named else {}),
            "indexedAt": iso(item.indexed_at),
        }
    elif is_pin:
        row["reason"] = {"$type": f"{DEFS}#reasonPin"}
    if shown.parent and shown.root and not isinstance(item, Repost):
        by = shown.author
        row["reply"] = {"root": _thread_post(shown.root, by), "parent": _thread_post(shown.parent, by)}
    return row


def _thread_post(shown: Post, by: Account) -> Json:
    """What a reply of `by` answers."""
    if not shown.is_shown:
        return {"$type": f"{DEFS}#notFoundPost", "uri": shown.uri, "notFound": True}
    if by.did in shown.author.blocks or shown.author.did in by.blocks:
        return {"$type": f"{DEFS}#blockedPost", "uri": shown.uri, "blocked": True, "author": {"did": shown.author.did}}
    return {"$type": f"{DEFS}#postView"} | post(shown)


def _gate(shown: Post, rules: tuple[str, ...]) -> Json:
    record: Json = {"$type": THREADGATE, "post": shown.uri, "createdAt": iso(shown.indexed_at)}
    record |= {"allow": [{"$type": f"{THREADGATE}#{rule}"} for rule in rules]}
    uri = f"at://{shown.author.did}/{THREADGATE}/{shown.rkey}"
    return {"uri": uri, "cid": cid_of(record), "record": record, "lists": []}


def _labels(shown: Post) -> list[Json]:
    own = [one["val"] for one in shown.record.get("labels", {}).get("values", [])]
    sources = [(shown.author.did, value) for value in own] + [(MODERATION, value) for value in sorted(shown.labels)]
    return [
        {"src": source, "uri": shown.uri, "cid": shown.cid, "val": value, "cts": iso(shown.indexed_at)}
        for source, value in sources
    ]


def _embed(shown: Post, embed: Json | None, depth: int = 0) -> Json | None:
    """A kind that the AppView does not know has no view: it is in the record only."""
    view = VIEWS.get(embed["$type"]) if embed else None
    return view(shown, embed, depth) if view and embed else None


def _images(shown: Post, embed: Json, depth: int) -> Json:
    rows = []
    for image in embed["images"]:
        path = f"{shown.author.did}/{image['image']['ref']['$link']}@jpeg"
        urls = {"thumb": f"{CDN}/feed_thumbnail/plain/{path}", "fullsize": f"{CDN}/feed_fullsize/plain/{path}"}
        rows.append(urls | {"alt": image["alt"], "aspectRatio": image["aspectRatio"]})
    return {"$type": "app.bsky.embed.images#view", "images": rows}


def _gallery(shown: Post, embed: Json, depth: int) -> Json:
    """As pictures of old, but every item has a kind, and `thumb` another name."""
    items = []
    for item in embed["items"]:
        path = f"{shown.author.did}/{item['image']['ref']['$link']}@jpeg"
        urls = {"thumbnail": f"{CDN}/feed_thumbnail/plain/{path}", "fullsize": f"{CDN}/feed_fullsize/plain/{path}"}
        told = {"alt": item["alt"], "aspectRatio": item["aspectRatio"]}
        items.append({"$type": "app.bsky.embed.gallery#viewImage"} | urls | told)
    return {"$type": "app.bsky.embed.gallery#view", "items": items}


def _external(shown: Post, embed: Json, depth: int) -> Json:
    return {"$type": "app.bsky.embed.external#view", "external": embed["external"]}


def _video(shown: Post, embed: Json, depth: int) -> Json:
    cid = embed["video"]["ref"]["$link"]
    place = f"https://video.bsky.app/watch/{shown.author.did.replace(':', '%3A')}/{cid}"
    row = {"$type": "app.bsky.embed.video#view", "cid": cid, "playlist": f"{place}/playlist.m3u8"}
    return row | {"thumbnail": f"{place}/thumbnail.jpg"} | ({"alt": embed["alt"]} if "alt" in embed else {})


def _record(shown: Post, embed: Json, depth: int) -> Json:
    """A quote of a quote is told without its own: views end after two."""
    quoted = shown.quoted
    view: Json
    if shown.shared:
        view = _shared(shown.shared)
    elif quoted is None or not quoted.is_shown:
        uri = embed["record"]["uri"]
        view = {"$type": "app.bsky.embed.record#viewNotFound", "uri": uri, "notFound": True}
    else:
        view = {"$type": "app.bsky.embed.record#viewRecord", "uri": quoted.uri, "cid": quoted.cid}
        view |= {"author": basic(quoted.author), "value": quoted.record, "labels": _labels(quoted)}
        view |= {"likeCount": 0, "replyCount": quoted.replies, "repostCount": len(quoted.reposts)}
        view |= {"quoteCount": quoted.quotes, "indexedAt": iso(quoted.indexed_at)}
        if depth == 0:
            inner = _embed(quoted, quoted.record.get("embed"), depth + 1)
            view["embeds"] = [inner] if inner else []
    return {"$type": "app.bsky.embed.record#view", "record": view}


def _shared(shared: Shared) -> Json:
    """What is no post has a view of its own kind."""
    row: Json = {"uri": shared.uri, "cid": shared.cid, "creator": basic(shared.owner), "indexedAt": iso(shared.at)}
    if shared.kind == "starter pack":
        record = {"$type": "app.bsky.graph.starterpack", "name": shared.name, "list": f"{shared.uri}-list"}
        return {"$type": "app.bsky.graph.defs#starterPackViewBasic", "record": record} | row
    if shared.kind == "list":
        return {"$type": "app.bsky.graph.defs#listView", "name": shared.name, "purpose": CURATED} | row
    if shared.kind == "feed":
        return {"$type": f"{DEFS}#generatorView", "did": f"did:web:feeds.example#{shared.rkey}"} | row | {
            "displayName": shared.name
        }  # fmt: skip
    return {"$type": "app.bsky.labeler.defs#labelerView"} | row


def _record_with_media(shown: Post, embed: Json, depth: int) -> Json:
    media = _embed(shown, embed["media"], depth)
    record = {"record": _record(shown, embed["record"], depth)["record"]}
    return {"$type": "app.bsky.embed.recordWithMedia#view", "record": record, "media": media}


VIEWS: dict[str, Callable[[Post, Json, int], Json]] = {
    "app.bsky.embed.images": _images,
    "app.bsky.embed.gallery": _gallery,
    "app.bsky.embed.external": _external,
    "app.bsky.embed.video": _video,
    "app.bsky.embed.record": _record,
    "app.bsky.embed.recordWithMedia": _record_with_media,
}
