"""Rows of Bluesky's feed items: pure functions of what the AppView shows.

A post's record is whatever its author's client wrote: dates may lie or be missing, embeds may be of kinds that nobody
knows. Only what identifies an item must be right; the rest is kept as far as it can be understood.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pendulum import DateTime

from sources.bluesky.embeds import MEDIUM, OTHERS, inner, listed, read, words
from sources.core.values import (
    COUNT,
    FLAG,
    INSTANT,
    TEXT,
    Json,
    Row,
    Table,
    Unreadable,
    event_key,
    fingerprint,
    instant,
    json_text,
    maybe,
    need,
    stamp,
    text,
)

__all__ = [
    "IMAGES",
    "LINKS",
    "MENTIONS",
    "POST",
    "POSTS",
    "POST_STATES",
    "REPOST",
    "TAGS",
    "UNLISTED",
    "feed_item",
    "identity",
    "item_rows",
    "normal",
    "said_at",
    "sight",
    "standing",
]

POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
REPOSTED = "#reasonRepost"
UNLISTED = "!no-unauthenticated"  # the author asks not to be shown to readers who are not signed in
TRACKERS = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid", "igshid")
Shaped = dict[str, list[Row]]

ITEM = {"did": TEXT, "uri": TEXT, "cid": TEXT, "parent_key": TEXT}
SHOWN = {"labels": TEXT, "is_unlisted": FLAG}
VERSION = ("did", "uri", "cid")
POSTS = Table(
    "posts",
    VERSION,
    {
        **ITEM,
        "event_key": TEXT,
        "scope": TEXT,
        "handle": TEXT,
        "kind": TEXT,
        "post_uri": TEXT,
        "author_did": TEXT,
        "author": TEXT,
        "text": TEXT,
        "created_at": INSTANT,
        "created_claim": TEXT,
        "indexed_at": INSTANT,
        "said_at": INSTANT,
        "langs": TEXT,
        "reply_parent_uri": TEXT,
        "reply_root_uri": TEXT,
        "quote_uri": TEXT,
        "embed_type": TEXT,
        "embed_uri": TEXT,
        **OTHERS,
        **SHOWN,
        "seen_at": INSTANT,
    },
    keeps="versions",
)
POST_STATES = Table("post_states", ("did", "uri"), {**ITEM, **SHOWN, "indexed_at": INSTANT})

LINK = {**ITEM, "url": TEXT, "said_url": TEXT, "domain": TEXT, "title": TEXT, "position": COUNT}
LINKS = Table("post_links", (*VERSION, "url"), LINK, keeps="versions")
IMAGES = Table("post_images", (*VERSION, "position"), {**ITEM, **MEDIUM}, keeps="versions")
TAGS = Table("post_tags", (*VERSION, "tag"), {**ITEM, "tag": TEXT}, keeps="versions")
MENTIONS = Table("post_mentions", (*VERSION, "mentioned_did"), {**ITEM, "mentioned_did": TEXT}, keeps="versions")


def feed_item(item: Json) -> Json:
    """The item with its own uri as `id`, under which it is kept raw if it cannot be read."""
    reason, post = inner(item, "reason"), inner(item, "post")
    return {**item, "id": (reason.get("uri") or _nameless(reason, post)) if _passes_on(reason) else post.get("uri")}


def _passes_on(reason: Json) -> bool:
    """Whether the item is a repost. `uri` does not tell: it is optional there."""
    told = reason.get("$type")
    return told.endswith(REPOSTED) if isinstance(told, str) else "by" in reason


def _nameless(reason: Json, post: Json) -> str | None:
    """A name for a repost that has none: who, when and what, the same in every answer."""
    who, what = inner(reason, "by").get("did"), post.get("uri")
    try:
        at = stamp(instant(reason.get("indexedAt")))
    except Unreadable:
        return None
    return f"at://{text(who)}/{REPOST}#{at}-{fingerprint(what)}" if isinstance(who, str) and what else None


def item_rows(item: Json, owner: str, handle: str, seen_at: DateTime) -> Shaped:
    """Everything that one item says, for all tables; `Unreadable` if it cannot be identified."""
    post, reason = inner(item, "post"), inner(item, "reason")
    record, author = inner(post, "record"), inner(post, "author")
    uri, cid = text(need(item, "id")), text(need(post, "cid"))
    post_uri, author_did = text(need(post, "uri")), text(need(author, "did"))
    reply, held = inner(record, "reply"), read(record, inner(post, "embed"))
    root, quote = words(inner(reply, "root").get("uri")), _quoted(held.embed_uri)
    # what somebody else wrote is not its follower's word, whatever is said of why it stands there
    is_repost = _passes_on(reason) or author_did != owner
    kind = "repost" if is_repost else "reply" if root else "quote" if quote else "post"
    key = {"did": owner, "uri": uri, "cid": cid, "parent_key": f"bluesky:{root or post_uri}"}
    created, indexed = _date(record.get("createdAt")), instant(need(post, "indexedAt"))
    stands_at = _stands_at(reason)
    labels, is_unlisted = _texts(tuple(_labels(post))), UNLISTED in _labels(author)
    row: Row = {
        **key,
        "event_key": event_key("bluesky", kind, owner, uri, cid),
        "scope": owner,
        "handle": handle,
        "kind": kind,
        "post_uri": post_uri,
        "author_did": author_did,
        "author": words(author.get("handle")) or author_did,
        "text": maybe(text, record.get("text")) or "",
        "created_at": created,
        "created_claim": words(record.get("createdAt")),
        "indexed_at": (stands_at if is_repost else None) or indexed,
        "said_at": stands_at or _earlier(created, indexed),
        "langs": _texts(tuple([lang for lang in listed(record, "langs") if isinstance(lang, str)])),
        "reply_parent_uri": words(inner(reply, "parent").get("uri")),
        "reply_root_uri": root,
        "quote_uri": quote,
        "embed_type": words(inner(record, "embed").get("$type")),
        "embed_uri": held.embed_uri,
        **held.others_row,
        "labels": labels,
        "is_unlisted": is_unlisted,
        "seen_at": seen_at,
    }
    state: Row = {**key, "labels": labels, "is_unlisted": is_unlisted, "indexed_at": indexed}
    if held.is_empty:
        return {"posts": [row], "post_states": [state]}
    return {
        "posts": [row],
        "post_states": [state],
        "post_links": [{**key, **link} for link in _links(held.links)],
        "post_images": [{**key, **medium} for medium in held.media],
        "post_tags": [{**key, "tag": tag} for tag in dict.fromkeys(held.tags)],
        "post_mentions": [{**key, "mentioned_did": did} for did in dict.fromkeys(held.mentions)],
    }


def sight(item: Json) -> list[object]:
    """What would be landed of an item if it changed, in short: equal sights mean that there is nothing new in it."""
    post = inner(item, "post")
    author = inner(post, "author")
    return [
        item.get("id"),
        post.get("cid"),
        post.get("indexedAt"),
        _labels(post),
        author.get("handle"),
        author.get("displayName"),
        UNLISTED in _labels(author),
    ]


def standing(post: Json) -> tuple[object, str, bool]:
    """What of a post can change, as it is landed: its version, its labels, whether its author asks not to be shown."""
    return post.get("cid"), _texts(tuple(_labels(post))), UNLISTED in _labels(inner(post, "author"))


def identity(author: Json) -> Row:
    """Who an account is today, as its own posts or its profile show it."""
    return {
        "handle": text(author.get("handle") or ""),
        "display_name": maybe(text, author.get("displayName")),
        "is_unlisted": UNLISTED in _labels(author),
    }


def said_at(item: Json) -> DateTime:
    """Where the item stands in its feed, or later: min(claimed, indexed). A repost carries somebody's old post."""
    post = inner(item, "post")
    stands_at = _stands_at(inner(item, "reason"))
    return stands_at or _earlier(_date(inner(post, "record").get("createdAt")), instant(need(post, "indexedAt")))


def _stands_at(reason: Json) -> DateTime | None:
    return instant(need(reason, "indexedAt")) if _passes_on(reason) else maybe(instant, reason.get("indexedAt"))


def _earlier(created: DateTime | None, indexed: DateTime) -> DateTime:
    """Years 0 to 9, which some clients write for no date at all, are no date to the AppView either."""
    return min(created, indexed) if created and created.year > 9 else indexed


@lru_cache(1024)  # a page that is shared once is shared by many
def normal(url: str) -> str:
    """One spelling for one page: lower-case host, no default port, no fragment, no marks of where it was clicked."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except (ValueError, UnicodeError):
        return url
    if not host:
        return url
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    kept = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not k.lower().startswith(TRACKERS)]
    host = f"[{host}]" if ":" in host else host
    place = host if port in (None, usual) else f"{host}:{port}"
    return urlunsplit((parts.scheme, place, parts.path or "/", urlencode(kept), ""))


def _links(said: Iterable[tuple[str, str | None]]) -> Iterator[Row]:
    """A page that is linked twice is one link."""
    found: dict[str, Row] = {}
    for url, title in said:
        page = normal(url)
        row = found.setdefault(
            page, {"url": page, "said_url": url, "domain": _domain(page), "title": None, "position": len(found)}
        )
        row["title"] = row["title"] or title
    yield from found.values()


def _quoted(uri: str | None) -> str | None:
    """A starter pack, a list, a feed, a labeler is shared by the same kind of embed, and not quoted."""
    return uri if uri and f"/{POST}/" in uri else None


@lru_cache(256)  # the same few in all posts
def _texts(listed: tuple[str, ...]) -> str:
    return json_text(listed)


def _labels(labelled: Json) -> list[str]:
    """Those that hold: `neg` takes one back."""
    if not labelled.get("labels"):
        return []
    given = [one for one in listed(labelled, "labels") if isinstance(one, dict) and one.get("neg") is not True]
    return sorted({value for one in given if isinstance(value := one.get("val"), str)})


def _date(claim: object) -> DateTime | None:
    try:
        return instant(claim)
    except Unreadable:
        return None


def _domain(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
