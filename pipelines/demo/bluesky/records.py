"""What a client writes into a post's record: text with facets, embeds, reply references."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipelines.demo.bluesky.names import Json, cid_of
from pipelines.demo.bluesky.state import Card, Content, Image, Post, Shared

FACET = re.compile(r"(?P<link>https?://[^\s<>\"]*[\w/#=])|(?<!\w)(?:@(?P<mention>[\w-]+(?:\.[\w-]+)+)|#(?P<tag>\w+))")
RAW, JPEG = 0x55, "image/jpeg"
MOST_IMAGES = 4  # beyond that clients write a gallery


def facets(text: str, shown: Mapping[str, str], did_of: Callable[[str], str | None]) -> list[Json]:
    """Links, mentions and tags that stand in the text, and `shown` words that stand for a link. Offsets are bytes."""
    found = []
    for word, uri in shown.items():
        start = text.index(word)
        found.append((start, start + len(word), {"$type": "app.bsky.richtext.facet#link", "uri": uri}))
    for match in FACET.finditer(text):
        if any(start < match.end() and match.start() < end for start, end, _ in found):
            continue
        if match["link"]:
            feature = {"$type": "app.bsky.richtext.facet#link", "uri": match["link"]}
        elif match["tag"]:
            feature = {"$type": "app.bsky.richtext.facet#tag", "tag": match["tag"]}
        elif did := did_of(match["mention"]):
            feature = {"$type": "app.bsky.richtext.facet#mention", "did": did}
        else:
            continue  # an @ that is nobody's handle stays text
        found.append((match.start(), match.end(), feature))

    def offset(position: int) -> int:
        return len(text[:position].encode("utf-8", "surrogatepass"))

    return [
        {"$type": "app.bsky.richtext.facet", "index": {"byteStart": offset(a), "byteEnd": offset(b)}, "features": [f]}
        for a, b, f in sorted(found, key=lambda one: one[0])
    ]


def embed(images: Sequence[Image], card: Card | None, quote: Post | Shared | None) -> Json | None:
    """A record takes one embed; a quote with a picture or a card is one of its own kind, and so are many pictures."""
    media: Json | None = None
    if len(images) > MOST_IMAGES:
        items = [{"$type": "app.bsky.embed.gallery#image"} | _image(image) for image in images]
        media = {"$type": "app.bsky.embed.gallery", "items": items}
    elif images:
        media = {"$type": "app.bsky.embed.images", "images": [_image(image) for image in images]}
    elif card:
        external = {"uri": card.uri, "title": card.title, "description": card.description}
        media = {"$type": "app.bsky.embed.external", "external": external}
    if quote is None:
        return media
    record = {"$type": "app.bsky.embed.record", "record": reference(quote)}
    return {"$type": "app.bsky.embed.recordWithMedia", "record": record, "media": media} if media else record


def video(alt: str = "") -> Json:
    """An embed for `world.post(embed=…)`."""
    told = {"alt": alt} if alt else {}
    return {"$type": "app.bsky.embed.video", "video": blob(f"video {alt}", "video/mp4")} | told


def reference(embedded: Post | Shared) -> Json:
    return {"cid": embedded.cid, "uri": embedded.uri}


def blob(what: str, mime: str) -> Json:
    return {"$type": "blob", "ref": {"$link": cid_of(what, RAW)}, "mimeType": mime, "size": 40_000 + len(what)}


def content(record: Json, images: Sequence[Image], card: Card | None, quote: Post | None) -> Content:
    features: list[Any] = [feature for facet in record.get("facets", []) for feature in facet["features"]]
    links = [feature["uri"] for feature in features if "uri" in feature] + ([card.uri] if card else [])
    return Content(
        links=tuple(dict.fromkeys(links)),
        mentions=tuple(dict.fromkeys(feature["did"] for feature in features if "did" in feature)),
        tags=tuple(dict.fromkeys([f["tag"] for f in features if "tag" in f] + record.get("tags", []))),
        images=tuple(images),
        card=card,
        quote=quote.uri if quote else None,
    )


def _image(image: Image) -> Json:
    size = {"width": image.width, "height": image.height}
    return {"alt": image.alt, "aspectRatio": size, "image": blob(image.alt, JPEG)}
