"""What Bluesky's lexicons say of what we read, as facts: field, whether it must be there, of which kind.

From app.bsky.feed.defs, app.bsky.actor.defs, app.bsky.embed.*, app.bsky.richtext.facet, com.atproto.label.defs,
com.atproto.repo.listRecords, as they were in 2026. A record is of kind `unknown` where it is shown: its author's client
wrote it, and only the AppView has looked at it.
"""

from typing import Any

__all__ = ["DEFS", "wrong"]

MUST, MAY = True, False
FEED, GRAPH, EMBED = "app.bsky.feed.defs", "app.bsky.graph.defs", "app.bsky.embed"
POSTS = ("postView", "notFoundPost", "blockedPost")
QUOTES = (
    "viewRecord", "viewNotFound", "viewBlocked", "viewDetached", "generatorView", "listView", "labelerView",
    "starterPackViewBasic",
)  # fmt: skip
MEDIA = ("images#view", "gallery#view", "external#view", "video#view")
EMBEDS = (*MEDIA, "record#view", "recordWithMedia#view")
COUNTS = dict.fromkeys(("bookmarkCount", "replyCount", "repostCount", "likeCount", "quoteCount"), (MAY, int))
LABELLED = {"labels": (MAY, ["label"])}

# kind: a type, a definition, [of a list], (one of several, told by $type); object: anything
DEFS: dict[str, dict[str, tuple[bool, Any]]] = {
    "getAuthorFeed": {"feed": (MUST, ["feedViewPost"]), "cursor": (MAY, str)},
    "getPosts": {"posts": (MUST, ["postView"])},
    "getProfiles": {"profiles": (MUST, ["profileView"])},
    "listRecords": {"records": (MUST, ["record"]), "cursor": (MAY, str)},
    "record": {"uri": (MUST, str), "cid": (MUST, str), "value": (MUST, object)},
    "feedViewPost": {
        "post": (MUST, "postView"), "reply": (MAY, "replyRef"), "reason": (MAY, ("reasonRepost", "reasonPin")),
        "feedContext": (MAY, str), "reqId": (MAY, str),
    },
    "reasonRepost": {"by": (MUST, "profileView"), "uri": (MAY, str), "cid": (MAY, str), "indexedAt": (MUST, str)},
    "reasonPin": {},
    "replyRef": {"root": (MUST, POSTS), "parent": (MUST, POSTS), "grandparentAuthor": (MAY, "profileView")},
    "notFoundPost": {"uri": (MUST, str), "notFound": (MUST, bool)},
    "blockedPost": {"uri": (MUST, str), "blocked": (MUST, bool), "author": (MUST, "blockedAuthor")},
    "blockedAuthor": {"did": (MUST, str), "viewer": (MAY, object)},
    "postView": {
        "uri": (MUST, str), "cid": (MUST, str), "author": (MUST, "profileView"), "record": (MUST, object),
        "embed": (MAY, EMBEDS), **COUNTS, "indexedAt": (MUST, str), "viewer": (MAY, object), **LABELLED,
        "threadgate": (MAY, "threadgateView"),
    },
    "threadgateView": {"uri": (MAY, str), "cid": (MAY, str), "record": (MAY, object), "lists": (MAY, [object])},
    "profileView": {
        "did": (MUST, str), "handle": (MUST, str), "displayName": (MAY, str), "description": (MAY, str),
        "pronouns": (MAY, str), "avatar": (MAY, str), "associated": (MAY, object), "viewer": (MAY, object), **LABELLED,
        "createdAt": (MAY, str), "indexedAt": (MAY, str), "verification": (MAY, object), "status": (MAY, object),
        "followersCount": (MAY, int), "followsCount": (MAY, int), "postsCount": (MAY, int), "pinnedPost": (MAY, "ref"),
    },
    "label": {
        "src": (MUST, str), "uri": (MUST, str), "val": (MUST, str), "cts": (MUST, str), "cid": (MAY, str),
        "neg": (MAY, bool), "ver": (MAY, int), "exp": (MAY, str),
    },
    "ref": {"uri": (MUST, str), "cid": (MUST, str)},
    "images#view": {"images": (MUST, ["image"])},
    "image": {"thumb": (MUST, str), "fullsize": (MUST, str), "alt": (MUST, str), "aspectRatio": (MAY, object)},
    "gallery#view": {"items": (MUST, [("viewImage",)])},
    "viewImage": {"thumbnail": (MUST, str), "fullsize": (MUST, str), "alt": (MUST, str), "aspectRatio": (MUST, object)},
    "external#view": {"external": (MUST, "external")},
    "external": {"uri": (MUST, str), "title": (MUST, str), "description": (MUST, str), "thumb": (MAY, str)},
    "video#view": {
        "cid": (MUST, str), "playlist": (MUST, str), "thumbnail": (MAY, str), "alt": (MAY, str),
        "aspectRatio": (MAY, object),
    },
    "record#view": {"record": (MUST, QUOTES)},
    "recordWithMedia#view": {"record": (MUST, "quote"), "media": (MUST, MEDIA)},
    "quote": {"record": (MUST, QUOTES)},
    "viewRecord": {
        "uri": (MUST, str), "cid": (MUST, str), "author": (MUST, "profileView"), "value": (MUST, object), **LABELLED,
        **COUNTS, "embeds": (MAY, [EMBEDS]), "indexedAt": (MUST, str),
    },
    "viewNotFound": {"uri": (MUST, str), "notFound": (MUST, bool)},
    "viewBlocked": {"uri": (MUST, str), "blocked": (MUST, bool), "author": (MUST, "blockedAuthor")},
    "viewDetached": {"uri": (MUST, str), "detached": (MUST, bool)},
    "starterPackViewBasic": {
        "uri": (MUST, str), "cid": (MUST, str), "record": (MUST, object), "creator": (MUST, "profileView"),
        "indexedAt": (MUST, str),
    },
    "listView": {
        "uri": (MUST, str), "cid": (MUST, str), "creator": (MUST, "profileView"), "name": (MUST, str),
        "purpose": (MUST, str), "indexedAt": (MUST, str),
    },
    "generatorView": {
        "uri": (MUST, str), "cid": (MUST, str), "did": (MUST, str), "creator": (MUST, "profileView"),
        "displayName": (MUST, str), "indexedAt": (MUST, str),
    },
    "labelerView": {
        "uri": (MUST, str), "cid": (MUST, str), "creator": (MUST, "profileView"), "indexedAt": (MUST, str),
    },
}  # fmt: skip


def wrong(value: Any, kind: Any, where: str = "") -> list[str]:
    """What of a value is not as the lexicons have it."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [each for n, one in enumerate(value) for each in wrong(one, kind[0], f"{where}[{n}]")]
    if isinstance(kind, type):
        return [] if isinstance(value, kind) else [f"{where} is {value!r:.40}"]
    if isinstance(kind, tuple):
        told = str(value.get("$type")) if isinstance(value, dict) else ""
        name = next((one for one in kind if told.endswith(f".{one}" if "#" in one else f"#{one}")), None)
        return wrong(value, name, where) if name else [f"{where} is none of {kind}: {told!r}"]
    fields = DEFS[kind]
    found = [f"{where}.{name} is missing" for name, (must, _) in fields.items() if must and name not in value]
    for name, held in value.items():
        if name != "$type":
            found += wrong(held, fields[name][1], f"{where}.{name}") if name in fields else [f"{where}.{name} is new"]
    return found
