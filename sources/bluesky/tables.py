"""What is kept of Bluesky: the landed tables. Their columns stand beside the rows that fill them.

An item of a feed is a post of its owner or a repost of somebody's; `uri` is the item's own, `post_uri` that of the post
it shows. `posts` and what a post holds (links, images, tags, mentions) never change for one `cid`, so they are kept by
version; what can change under a `cid` (its labels, which version is the present one) is in `post_states`, where it was
seen again: a first reading has nothing to say there.

What a post holds is no child table: dlt knows the children of a row that is kept by version by their place in the list.
Read again by code that knows one embed more, a link that was first is landed twice, and the new one not at all. By
their own keys all are there, once; and a first reading costs a quarter less.
"""

from sources.bluesky.accounts import ACTORS
from sources.bluesky.recheck import DELETIONS
from sources.bluesky.rows import IMAGES, LINKS, MENTIONS, POST_STATES, POSTS, TAGS
from sources.core.surfaces import Fills

__all__ = ["FILLS", "TABLES"]

HELD = (LINKS, IMAGES, TAGS, MENTIONS)
TABLES = (ACTORS, POSTS, POST_STATES, *HELD, DELETIONS)
FILLS: Fills = {"posts": (POSTS, *HELD, POST_STATES, ACTORS), "rechecks": (DELETIONS,)}
