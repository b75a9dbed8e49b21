"""What a sweep looks for on Bluesky: posts that are gone, and posts that are others now.

Neither an edit nor a label moves a post's place or anything at the head of its feed: the sweep asks for the posts of
the last weeks by name, reposted ones too, and sees which are others now. A deleted post vanishes; `getPosts` leaves
it out without a word, but so it does with the posts of an account that is away. What is left out is believed to be
deleted only if its author is there afterwards, and it is left out again. What was marked deleted and is shown again
is no longer marked. What is older, and reposts that were taken back: deep.py
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from pendulum import DateTime

from sources.bluesky.accounts import MOST_LISTED, XRPC, Account, profiles, shaped
from sources.bluesky.rows import feed_item, standing
from sources.core.http.client import Failure
from sources.core.reading import Batch, Reading, Unread, Walk
from sources.core.values import FLAG, INSTANT, TEXT, Json, Row, Table, json_record

__all__ = ["DELETIONS", "LOOKED_AT", "SUSPECTS", "as_item", "gone", "rechecks", "retries", "shown"]


DELETION = {
    "uri": TEXT,
    "did": TEXT,
    "parent_key": TEXT,
    "is_deleted": FLAG,
    "cause": TEXT,
    "noticed_at": INSTANT,
}
DELETIONS = Table("deletions", ("uri",), DELETION)
LOOKED_AT = 30  # days; older posts are compared by the deep sweep only

# One row per account whose feed this run's sweep walked: what is held of its last weeks, and where its own records are
# due too, all of it; then also of one of whom nothing is held.
SUSPECTS = """
WITH items AS (
    SELECT p.did, p.uri, coalesce(any_value(s.cid), arg_max(p.cid, p.indexed_at)) AS cid,
        max(p.indexed_at) AS indexed_at, any_value(p.parent_key) AS parent_key, any_value(p.post_uri) AS post_uri,
        any_value(p.author_did) AS author_did,
        coalesce(any_value(s.labels), arg_max(p.labels, p.indexed_at)) AS labels,
        coalesce(any_value(s.is_unlisted), arg_max(p.is_unlisted, p.indexed_at), false) AS is_unlisted
    FROM bluesky.posts AS p LEFT JOIN bluesky.post_states AS s ON s.did = p.did AND s.uri = p.uri
    WHERE p.did IN (SELECT scope FROM swept WHERE surface = 'posts')
    GROUP BY p.did, p.uri
),
judged AS (
    SELECT i.*, coalesce(d.is_deleted, false) AS is_gone, coalesce(g.is_deleted, false) AS is_post_gone
    FROM items AS i
    LEFT JOIN bluesky.deletions AS d ON d.uri = i.uri
    LEFT JOIN bluesky.deletions AS g ON g.uri = i.post_uri
)
SELECT s.scope,
    list({'uri': j.post_uri, 'author': j.author_did, 'parent_key': j.parent_key, 'is_gone': j.is_post_gone,
           'cid': j.cid, 'labels': j.labels, 'is_unlisted': j.is_unlisted,
           'repost': CASE WHEN j.uri <> j.post_uri THEN j.uri END,
           'reposted_at': CASE WHEN j.uri <> j.post_uri
               THEN strftime(j.indexed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') END})
        FILTER (WHERE j.indexed_at > $since AND NOT (j.is_gone AND j.uri <> j.post_uri))
        AS posts,
    list({'uri': j.uri, 'cid': j.cid, 'parent_key': j.parent_key, 'is_gone': j.is_gone, 'post_uri': j.post_uri,
           'at': strftime(j.indexed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')})
        FILTER (WHERE r.scope IS NOT NULL AND j.uri IS NOT NULL) AS records,
    r.scope IS NOT NULL AS is_deep
FROM swept AS s
LEFT JOIN judged AS j ON j.did = s.scope
LEFT JOIN swept AS r ON r.surface = 'records' AND r.scope = s.scope
WHERE s.surface = 'posts' AND (j.uri IS NOT NULL OR r.scope IS NOT NULL)
GROUP BY s.scope, r.scope
"""


def rechecks(reading: Reading, accounts: Mapping[str, Account], suspects: Iterable[Row]) -> Iterator[Walk]:
    """Of each account that was walked, the posts of its last weeks."""
    for suspect in suspects:
        account = accounts.get(str(suspect["scope"]))
        if account and suspect["posts"]:
            yield Walk("rechecks", account.did, recheck(reading, account, suspect))


def retries(reading: Reading, accounts: Mapping[str, Account], due: Iterable[Unread]) -> Iterator[Walk]:
    """A post that could not be read, asked for again by its uri."""
    for record in due:
        if account := accounts.get(record.scope):
            yield Walk("rechecks", account.did, again(reading, account, record))


async def again(reading: Reading, account: Account, record: Unread) -> AsyncIterator[Batch]:
    """One that still cannot be read lands nothing; one that is not shown, though its author is there, is gone."""
    item = json_record(record.raw)
    post = item.get("post")
    uri = post.get("uri") if isinstance(post, dict) else None
    if not isinstance(uri, str) or not uri.startswith("at://"):  # nothing to ask for it by
        reading.keep(record.again())
        return
    views = await shown(reading, account, [uri])
    if not views:
        author = uri.removeprefix("at://").partition("/")[0]
        is_there = any(author in (p["did"], p.get("handle")) for p in await profiles(reading, [author]))
        reading.absent(record, "not shown") if is_there else reading.keep(record.again("its author is away"))
    for view in views.values():
        reading.quarantined.pop(record.key, None)
        rows = shaped(reading, account, [feed_item({**item, "post": view})])
        if reading.is_read(record):
            yield Batch("rechecks", account.did, rows)


async def recheck(reading: Reading, account: Account, suspect: Row) -> AsyncIterator[Batch]:
    items: list[dict[str, Any]] = suspect["posts"] or []  # type: ignore[assignment]
    held = {item["uri"]: item for item in items}  # the same post may be an item and be reposted, even twice
    there = await shown(reading, account, held)
    missing = [uri for uri, post in held.items() if uri not in there and not post["is_gone"]]
    if missing:
        present = {p["did"] for p in await profiles(reading, sorted({held[uri]["author"] for uri in missing}))}
        missing = [uri for uri in missing if held[uri]["author"] in present]
        still = await shown(reading, account, missing)
        missing = [uri for uri in missing if uri not in still]
    back = [uri for uri, post in held.items() if uri in there and post["is_gone"]]
    rows = [gone(account, held[uri], "not shown", reading.api.now) for uri in missing]
    rows += [{**gone(account, held[uri], "shown again", reading.api.now), "is_deleted": False} for uri in back]
    if rows:
        yield Batch("rechecks", account.did, {"deletions": rows})
    other = [
        as_item(account, there[item["uri"]], item["repost"], item["reposted_at"])
        for item in items
        if item["uri"] in there and standing(there[item["uri"]]) != (item["cid"], item["labels"], item["is_unlisted"])
    ]
    if other:
        yield Batch("rechecks", account.did, shaped(reading, account, other))


def as_item(account: Account, view: Json, repost: str | None = None, at: str | None = None) -> Json:
    """A post as the feed shows it, or a repost of it."""
    reason = {"reason": {"uri": repost, "by": {"did": account.did}, "indexedAt": at}} if repost else {}
    return feed_item({"post": view, **reason})


async def shown(reading: Reading, account: Account, uris: Iterable[str]) -> dict[str, Json]:
    """The posts that the AppView shows of those asked for, by uri."""
    asked, found = list(dict.fromkeys(uris)), dict[str, Json]()
    for n in range(0, len(asked), MOST_LISTED):
        params, tally = {"uris": asked[n : n + MOST_LISTED]}, reading.tally("rechecks", account.did)
        answer = await reading.api.get(f"{XRPC}/app.bsky.feed.getPosts", params, tally=tally)
        posts = answer.data.get("posts") if isinstance(answer.data, dict) else None
        if not isinstance(posts, list):  # an error that looks like an empty answer would delete everything
            raise Failure("FETCH_ERROR", f"{answer.url.path} answered something that is no list of posts")
        found |= {str(post["uri"]): post for post in posts if isinstance(post, dict) and "uri" in post}
    return found


def gone(account: Account, held: dict[str, Any], cause: str, now: DateTime) -> Row:
    return {
        "uri": held["uri"],
        "did": account.did,
        "parent_key": held["parent_key"],
        "is_deleted": True,
        "cause": cause,
        "noticed_at": now,
    }
