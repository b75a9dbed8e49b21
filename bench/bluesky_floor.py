"""The floor of Bluesky: the least a program has to do for the same rows: httpx, orjson, Arrow, DuckDB, nothing else.

One page of every account's feed, as wide as we ask. No dlt, no retries, no cursors, no strict parsing, no models, no
published copy.

python -m bench.bluesky_floor URL ACCOUNTS FILE    prints {"rows": …}
"""

import asyncio
import json
import sys
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import orjson
import pyarrow as pa

from bench.floor_land import land

AT_ONCE = 20
TEXT, TIME = pa.string(), pa.timestamp("us", "UTC")
ITEM = {"did": TEXT, "uri": TEXT, "cid": TEXT, "parent_key": TEXT}
SCHEMAS = {
    "posts": ITEM | dict.fromkeys(
        ("event_key", "scope", "handle", "kind", "post_uri", "author_did", "author", "text", "created_claim", "langs",
         "reply_parent_uri", "reply_root_uri", "quote_uri", "embed_type"), TEXT,
    ) | {"created_at": TIME, "indexed_at": TIME, "said_at": TIME, "seen_at": TIME, "labels": TEXT,
         "is_unlisted": pa.bool_()},
    "post_links": ITEM | {"url": TEXT, "said_url": TEXT, "domain": TEXT, "title": TEXT, "position": pa.int64()},
    "post_images": ITEM | {"position": pa.int64(), "kind": TEXT, "alt": TEXT, "url": TEXT},
}  # fmt: skip
Json = dict[str, Any]
Tables = dict[str, list[Json]]


async def read(url: str, accounts: int) -> Tables:
    tables: Tables = {name: [] for name in SCHEMAS}
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=32)
    gate = asyncio.Semaphore(AT_ONCE)

    async def feed(handle: str) -> None:
        params: dict[str, str | int] = {"actor": handle, "limit": 100, "filter": "posts_with_replies"}
        async with gate:
            answer = await client.get(f"{url}/xrpc/app.bsky.feed.getAuthorFeed", params=params)
        items = orjson.loads(answer.raise_for_status().content)["feed"]
        own = next(i["post"]["author"]["did"] for i in items if i["post"]["author"]["handle"] == handle)
        for item in items:
            take(tables, item, own, handle, parsedate_to_datetime(answer.headers["date"]))

    async with httpx.AsyncClient(limits=limits, timeout=30) as client:
        await asyncio.gather(*(feed(f"person-{n:04}.bsky.social") for n in range(accounts)))
    return tables


def take(tables: Tables, item: Json, owner: str, handle: str, seen_at: datetime) -> None:
    post, reason = item["post"], item.get("reason")
    record = post["record"]
    reply, embed = record.get("reply", {}), record.get("embed", {})
    root, quote = reply.get("root", {}).get("uri"), embed.get("record", {}).get("uri")
    key = {"did": owner, "uri": reason["uri"] if reason else post["uri"], "cid": post["cid"],
           "parent_key": f"bluesky:{root or post['uri']}"}  # fmt: skip
    created, indexed = datetime.fromisoformat(record["createdAt"]), datetime.fromisoformat(post["indexedAt"])
    shown = datetime.fromisoformat(reason["indexedAt"]) if reason else indexed
    kind = "repost" if reason else "reply" if root else "quote" if quote else "post"
    parts = (part.replace(":", "%3A") for part in (kind, owner, key["uri"], key["cid"]))
    tables["posts"].append({
        **key, "scope": owner, "handle": handle, "post_uri": post["uri"], "author_did": post["author"]["did"],
        "event_key": ":".join(("bluesky", *parts)), "kind": kind, "seen_at": seen_at,
        "author": post["author"]["handle"], "text": record["text"], "created_claim": record["createdAt"],
        "langs": orjson.dumps(record.get("langs", [])).decode(), "reply_root_uri": root, "quote_uri": quote,
        "reply_parent_uri": reply.get("parent", {}).get("uri"), "embed_type": embed.get("$type"),
        "labels": "[]", "is_unlisted": False,
        "created_at": created, "indexed_at": shown, "said_at": shown if reason else min(created, indexed),
    })  # fmt: skip
    if "external" in embed:
        url = embed["external"]["uri"]
        tables["post_links"].append({**key, "url": url, "said_url": url, "domain": url.split("/")[2],
                                     "title": embed["external"]["title"], "position": 0})  # fmt: skip
    for n, image in enumerate(embed.get("images", ())):
        tables["post_images"].append({**key, "position": n, "kind": "image", "alt": image["alt"],
                                      "url": post["embed"]["images"][n]["fullsize"]})  # fmt: skip


def main() -> None:
    url, accounts, file = sys.argv[1:]
    schemas = {table: pa.schema(columns.items()) for table, columns in SCHEMAS.items()}
    keys = dict.fromkeys(SCHEMAS, ("did", "uri", "cid"))
    print(json.dumps({"rows": land(file, asyncio.run(read(url, int(accounts))), schemas, keys)}))


if __name__ == "__main__":
    main()
