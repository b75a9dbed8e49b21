"""What is kept of Bluesky: the landed tables.

An item of a feed is a post of its owner or a repost of somebody's; `uri` is the item's own, `post_uri` that of the post
it shows. `posts` and what a post holds (links, images, tags, mentions) never change for one `cid`, so they are kept by
version; what can change under a `cid` (its labels, which version is the present one) is in `post_states`, where it was
seen again: a first reading has nothing to say there.
"""

from sources.core.surfaces import Fills
from sources.core.values import COUNT, FLAG, INSTANT, TEXT, Table

__all__ = ["FILLS", "TABLES"]

_ITEM = {"did": TEXT, "uri": TEXT, "cid": TEXT, "parent_key": TEXT}
_VERSION = ("did", "uri", "cid")

ACTORS = Table("actors", ("did",), {
    "did": TEXT, "scope": TEXT, "handle": TEXT, "display_name": TEXT, "configured_as": TEXT, "status": TEXT,
    "is_unlisted": FLAG, "handle_taken_by": TEXT, "watermark": INSTANT, "deep_swept_at": INSTANT,
    "changed_at": INSTANT,
}, shown=("handle", "is_unlisted"))  # fmt: skip
POSTS = Table("posts", _VERSION, {
    **_ITEM, "event_key": TEXT, "scope": TEXT, "handle": TEXT, "kind": TEXT, "post_uri": TEXT, "author_did": TEXT,
    "author": TEXT, "text": TEXT, "created_at": INSTANT, "created_claim": TEXT, "indexed_at": INSTANT,
    "said_at": INSTANT, "langs": TEXT, "reply_parent_uri": TEXT, "reply_root_uri": TEXT, "quote_uri": TEXT,
    "embed_type": TEXT, "embed_uri": TEXT, "other_embeds": TEXT, "other_types": TEXT, "labels": TEXT,
    "is_unlisted": FLAG, "seen_at": INSTANT,
}, keeps="versions")  # fmt: skip
POST_STATES = Table("post_states", ("did", "uri"), {
    **_ITEM, "labels": TEXT, "is_unlisted": FLAG, "indexed_at": INSTANT,
})  # fmt: skip
LINKS = Table("post_links", (*_VERSION, "url"), {
    **_ITEM, "url": TEXT, "said_url": TEXT, "domain": TEXT, "title": TEXT, "position": COUNT,
}, keeps="versions")  # fmt: skip
IMAGES = Table("post_images", (*_VERSION, "position"), {
    **_ITEM, "position": COUNT, "kind": TEXT, "alt": TEXT, "url": TEXT,
}, keeps="versions")  # fmt: skip
TAGS = Table("post_tags", (*_VERSION, "tag"), {**_ITEM, "tag": TEXT}, keeps="versions")
MENTIONS = Table("post_mentions", (*_VERSION, "mentioned_did"), {**_ITEM, "mentioned_did": TEXT}, keeps="versions")
DELETIONS = Table("deletions", ("uri",), {
    "uri": TEXT, "did": TEXT, "parent_key": TEXT, "is_deleted": FLAG, "cause": TEXT, "noticed_at": INSTANT,
})  # fmt: skip
TABLES = (ACTORS, POSTS, POST_STATES, LINKS, IMAGES, TAGS, MENTIONS, DELETIONS)
FILLS: Fills = {"posts": (POSTS, LINKS, IMAGES, TAGS, MENTIONS, POST_STATES, ACTORS), "rechecks": (DELETIONS,)}
