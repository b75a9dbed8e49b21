"""What a post holds besides its words: its facets and its embed, as far as their kinds are known; the others stay raw.

New lexicons come every few months. What is of a type that is not known here, or lacks what its type holds, is kept as
it was written (`other_embeds`) and named (`other_types`), so that nothing vanishes without a sign.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sources.core.values import COUNT, TEXT, Json, Row, json_text, text

__all__ = ["MEDIUM", "OTHERS", "Held", "inner", "listed", "read", "words"]

EMBED, FACET = "app.bsky.embed", "app.bsky.richtext.facet"
UNTYPED = "untyped"
# what an embed of each kind holds; one of old may lack its type and is told by that
HOLDS: dict[str, tuple[str, type]] = {
    f"{EMBED}.recordWithMedia": ("media", dict),
    f"{EMBED}.images": ("images", list),
    f"{EMBED}.gallery": ("items", list),
    f"{EMBED}.video": ("video", dict),
    f"{EMBED}.external": ("external", dict),
    f"{EMBED}.record": ("record", dict),
}
PICTURE = f"{EMBED}.gallery#image"
OTHERS = {"other_embeds": TEXT, "other_types": TEXT}
MEDIUM = {"position": COUNT, "kind": TEXT, "alt": TEXT, "url": TEXT}


@dataclass
class Held:
    links: list[tuple[str, str | None]] = field(default_factory=list)  # address and title, facets first
    media: list[Row] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    embed_uri: str | None = None  # of the record that is embedded
    others: list[Json] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.links or self.media or self.tags or self.mentions)

    @property
    def others_row(self) -> Row:
        if not self.others:
            return {"other_embeds": None, "other_types": None}
        types = dict.fromkeys(words(other.get("$type")) or UNTYPED for other in self.others)
        return {"other_embeds": json_text(self.others), "other_types": json_text(list(types))}


def read(record: Json, view: Json) -> Held:
    """`view`: the embed as the AppView shows it, with addresses to get its pictures from."""
    held = Held()
    for facet in listed(record, "facets"):
        for feature in listed(facet, "features") if isinstance(facet, dict) else ():
            if isinstance(feature, dict):
                _feature(held, feature)
    held.tags += [text(tag) for tag in listed(record, "tags") if isinstance(tag, str)]
    if embed := inner(record, "embed"):
        _embed(held, embed, view)
    return held


def _feature(held: Held, feature: Json) -> None:
    match feature:
        case {"$type": "app.bsky.richtext.facet#link", "uri": str(uri)}:
            held.links.append((text(uri), None))
        case {"$type": "app.bsky.richtext.facet#mention", "did": str(did)}:
            held.mentions.append(text(did))
        case {"$type": "app.bsky.richtext.facet#tag", "tag": str(tag)}:
            held.tags.append(text(tag))
        case _:
            held.others.append(feature)


def _embed(held: Held, embed: Json, view: Json) -> None:
    match _kind(embed):
        case "recordWithMedia":
            held.embed_uri = words(inner(inner(embed, "record"), "record").get("uri"))
            _embed(held, inner(embed, "media"), inner(view, "media"))
        case "record":
            held.embed_uri = words(inner(embed, "record").get("uri"))
        case "external":
            external = inner(embed, "external")
            if uri := words(external.get("uri")):
                held.links.append((uri, words(external.get("title"))))
        case "images":
            held.media += _pictures(listed(embed, "images"), listed(view, "images"))
        case "gallery":
            items = listed(embed, "items")
            held.others += [item for item in items if isinstance(item, dict) and not _is_picture(item)]
            held.media += _pictures([one if _is_picture(one) else None for one in items], listed(view, "items"))
        case "video":
            held.media.append(_medium(0, "video", embed.get("alt"), view.get("playlist")))
        case _:
            held.others.append(embed)


def _kind(embed: Json) -> str | None:
    told = embed.get("$type")
    for name in HOLDS if told is None else (told,):
        what, of = HOLDS.get(str(name), ("", dict))
        if isinstance(embed.get(what), of):
            return str(name).rpartition(".")[2]
    return None


def _is_picture(item: object) -> bool:
    return isinstance(item, dict) and item.get("$type") in (None, PICTURE)


def _pictures(images: list[object], shown: list[object]) -> Iterator[Row]:
    """At the place of each; None is none."""
    for n, image in enumerate(images):
        if image is not None:
            view = shown[n] if n < len(shown) else None
            url = view.get("fullsize") if isinstance(view, dict) else None
            yield _medium(n, "image", image.get("alt") if isinstance(image, dict) else None, url)


def _medium(position: int, kind: str, alt: object, url: object) -> Row:
    return {"position": position, "kind": kind, "alt": words(alt), "url": words(url)}


def words(value: object) -> str | None:
    """Text, if it is: what identifies nothing keeps no post from being read."""
    return text(value) if isinstance(value, str) else None


def inner(record: Json, name: str) -> Json:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def listed(record: Json, name: str) -> list[object]:
    found = record.get(name)
    return found if isinstance(found, list) else []
