"""Rows of Bluesky's feed items: pure functions of what the AppView shows.

A post's record is whatever its author's client wrote: dates may lie or be missing, embeds may be of kinds that nobody
knows. Only what identifies an item must be right; the rest is kept as far as it can be understood.
"""

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pendulum import DateTime

from sources.record import Json, Row, Unreadable, event_key, instant, json_text, maybe, need, text

__all__ = ["UNLISTED", "feed_item", "identity", "item_rows", "normal", "said_at", "sight", "standing"]

UNLISTED = "!no-unauthenticated"  # the author asks not to be shown to readers who are not signed in
TRACKERS = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid", "igshid")
Shaped = dict[str, list[Row]]


def feed_item(item: Json) -> Json:
    """The item with its own uri as `id`, under which it is kept raw if it cannot be read."""
    reason, post = _inner(item, "reason"), _inner(item, "post")
    return {**item, "id": reason.get("uri") or post.get("uri")}


def item_rows(item: Json, owner: str, handle: str, seen_at: DateTime) -> Shaped:
    """Everything that one item says, for all tables; `Unreadable` if it cannot be identified."""
    post = _inner(item, "post")
    record, reason = _inner(post, "record"), _inner(item, "reason")
    author, is_repost = _inner(post, "author"), "uri" in reason
    uri, cid = text(need(item, "id")), text(need(post, "cid"))
    post_uri, author_did = text(need(post, "uri")), text(need(author, "did"))
    reply, embed = _inner(record, "reply"), _inner(record, "embed")
    root = _inner(reply, "root").get("uri")
    quote = _quoted(embed)
    kind = "repost" if is_repost else "reply" if root else "quote" if quote else "post"
    key = {"did": owner, "uri": uri, "cid": cid, "parent_key": f"bluesky:{text(root or post_uri)}"}
    claim = record.get("createdAt")
    created, indexed = _date(claim), instant(need(post, "indexedAt"))
    labels, is_unlisted = _texts(tuple(_labels(post))), UNLISTED in _labels(author)
    row: Row = {
        **key, "event_key": event_key("bluesky", kind, owner, uri, cid), "scope": owner, "handle": handle, "kind": kind,
        "post_uri": post_uri, "author_did": author_did, "author": text(author.get("handle") or author_did),
        "text": maybe(text, record.get("text")) or "", "created_at": created,
        "created_claim": text(claim) if isinstance(claim, str) else None,
        "indexed_at": instant(need(reason, "indexedAt")) if is_repost else indexed,
        "said_at": instant(reason["indexedAt"]) if "indexedAt" in reason else _earlier(created, indexed),
        "langs": _texts(tuple([lang for lang in _listed(record, "langs") if isinstance(lang, str)])),
        "reply_parent_uri": maybe(text, _inner(reply, "parent").get("uri")), "reply_root_uri": maybe(text, root),
        "quote_uri": quote, "embed_type": maybe(text, embed.get("$type")), "labels": labels,
        "is_unlisted": is_unlisted, "seen_at": seen_at,
    }  # fmt: skip
    state: Row = {**key, "labels": labels, "is_unlisted": is_unlisted, "indexed_at": indexed}
    if not (embed or record.get("facets") or record.get("tags")):
        return {"posts": [row], "post_states": [state]}
    return {
        "posts": [row], "post_states": [state],
        "post_links": [{**key, **link} for link in _links(record, embed)],
        "post_images": [{**key, **image} for image in _images(embed, _inner(post, "embed"))],
        "post_tags": [{**key, "tag": tag} for tag in dict.fromkeys(_tags(record))],
        "post_mentions": [{**key, "mentioned_did": did} for did in dict.fromkeys(_features(record, "mention", "did"))],
    }  # fmt: skip


def sight(item: Json) -> list[object]:
    """What would be landed of an item if it changed, in short: equal sights mean that there is nothing new in it."""
    post = _inner(item, "post")
    author = _inner(post, "author")
    return [item.get("id"), post.get("cid"), post.get("indexedAt"), _labels(post), author.get("handle"),
            author.get("displayName"), UNLISTED in _labels(author)]  # fmt: skip


def standing(post: Json) -> tuple[object, str, bool]:
    """What of a post can change, as it is landed: its version, its labels, whether its author asks not to be shown."""
    return post.get("cid"), _texts(tuple(_labels(post))), UNLISTED in _labels(_inner(post, "author"))


def identity(author: Json) -> Row:
    """Who an account is today, as its own posts or its profile show it."""
    return {
        "handle": text(author.get("handle") or ""), "display_name": maybe(text, author.get("displayName")),
        "is_unlisted": UNLISTED in _labels(author),
    }  # fmt: skip


def said_at(item: Json) -> DateTime:
    """Where the item stands in its feed, or later: min(claimed, indexed). A repost carries somebody's old post."""
    reason, post = _inner(item, "reason"), _inner(item, "post")
    if "indexedAt" in reason:
        return instant(reason["indexedAt"])
    return _earlier(_date(_inner(post, "record").get("createdAt")), instant(need(post, "indexedAt")))


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


def _links(record: Json, embed: Json) -> Iterator[Row]:
    """Of the text's facets, then of the card; a page that is linked twice is one link."""
    external = next((_inner(part, "external") for part in (embed, _inner(embed, "media")) if "external" in part), {})
    said: list[tuple[str, str | None]] = [(url, None) for url in _features(record, "link", "uri")]
    if isinstance(external.get("uri"), str):
        said.append((text(external["uri"]), maybe(text, external.get("title"))))
    found: dict[str, Row] = {}
    for url, title in said:
        page = normal(url)
        row = found.setdefault(page, {"url": page, "said_url": url, "domain": _domain(page), "title": None,
                                      "position": len(found)})  # fmt: skip
        row["title"] = row["title"] or title
    yield from found.values()


def _images(embed: Json, view: Json) -> Iterator[Row]:
    if not embed:
        return
    media, shown = _inner(embed, "media") or embed, _inner(view, "media") or view
    urls = [one.get("fullsize") if isinstance(one, dict) else None for one in _listed(shown, "images")]
    for n, image in enumerate(_listed(media, "images")):
        alt = image.get("alt") if isinstance(image, dict) else None
        url = urls[n] if n < len(urls) else None
        yield {"position": n, "kind": "image", "alt": maybe(text, alt), "url": maybe(text, url)}
    if "video" in media:
        yield {"position": 0, "kind": "video", "alt": maybe(text, media.get("alt")),
               "url": maybe(text, shown.get("playlist"))}  # fmt: skip


def _tags(record: Json) -> Iterator[str]:
    yield from _features(record, "tag", "tag")
    yield from (text(tag) for tag in _listed(record, "tags") if isinstance(tag, str))


def _features(record: Json, kind: str, name: str) -> Iterator[str]:
    if not record.get("facets"):
        return
    for facet in _listed(record, "facets"):
        for feature in _listed(facet, "features") if isinstance(facet, dict) else ():
            if isinstance(feature, dict) and feature.get("$type") == f"app.bsky.richtext.facet#{kind}":
                value = feature.get(name)
                if isinstance(value, str):
                    yield text(value)


def _quoted(embed: Json) -> str | None:
    """`record` is the quote itself, or holds it where the post has pictures too."""
    if not embed:
        return None
    record = _inner(embed, "record")
    return maybe(text, record.get("uri") or _inner(record, "record").get("uri"))


@lru_cache(256)  # the same few in all posts
def _texts(listed: tuple[str, ...]) -> str:
    return json_text(listed)


def _labels(labelled: Json) -> list[str]:
    if not labelled.get("labels"):
        return []
    return sorted({str(one.get("val")) for one in _listed(labelled, "labels") if isinstance(one, dict)})


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


def _inner(record: Json, name: str) -> Json:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _listed(record: Json, name: str) -> list[object]:
    found = record.get(name)
    return found if isinstance(found, list) else []
