"""What a sweep looks for on Bluesky: posts that are gone, and posts that no walk could show.

Neither an edit nor a label moves a post's place or anything at the head of its feed: the sweep asks for the posts of
the last weeks by name, reposted ones too, and sees which are others now. A deleted post vanishes; `getPosts` leaves
it out without a word, but so it does with the posts of an account that is away. What is left out is believed to be
deleted only if its author is there afterwards, and it is left out again. What was marked deleted and is shown again
is no longer marked.

Rarely (every DEEP_EVERY) an account's own records are listed where they are kept: the one list with a true "since". It
shows reposts that were taken back, and posts that no feed ever led to (dates that nobody can read, imports of years).
Only what the AppView shows is landed, in the shape of a feed item: a record that moderators took down stays out.
"""

import ipaddress
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pendulum import DateTime

from sources.bluesky_accounts import AT_ONCE, MOST_LISTED, XRPC, Account, profiles, shaped
from sources.bluesky_rows import feed_item, standing
from sources.http import Api, Failure
from sources.reading import Batch, Reading, Unread, side_by_side
from sources.record import Json, Row, Unreadable, instant, json_record, maybe

__all__ = ["LOOKED_AT", "SUSPECTS", "retry", "settle", "tid"]

SORTABLE = "234567abcdefghijklmnopqrstuvwxyz"
POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
MOST_PAGES = 10_000
LOOKED_AT = 30  # days; older posts are compared by the deep sweep only

# One row per account whose feed this run's sweep walked: what it holds of the last weeks, and where its own records are
# due too, all of it.
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
SELECT j.did AS scope,
    list({'uri': j.post_uri, 'author': j.author_did, 'parent_key': j.parent_key, 'is_gone': j.is_post_gone,
           'cid': j.cid, 'labels': j.labels, 'is_unlisted': j.is_unlisted,
           'repost': CASE WHEN j.uri <> j.post_uri THEN j.uri END,
           'reposted_at': CASE WHEN j.uri <> j.post_uri
               THEN strftime(j.indexed_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') END})
        FILTER (WHERE j.indexed_at > $since AND NOT (j.is_gone AND j.uri <> j.post_uri))
        AS posts,
    list({'uri': j.uri, 'cid': j.cid, 'parent_key': j.parent_key, 'is_gone': j.is_gone})
        FILTER (WHERE r.scope IS NOT NULL) AS records,
    any_value(r.scope) IS NOT NULL AS is_deep
FROM judged AS j
LEFT JOIN swept AS r ON r.surface = 'records' AND r.scope = j.did
GROUP BY j.did
"""


async def settle(reading: Reading, accounts: Mapping[str, Account], suspects: Iterable[Row], directory: str) -> None:
    def jobs() -> Iterator[Coroutine[object, object, object]]:
        for suspect in suspects:
            account = accounts.get(str(suspect["scope"]))
            if account:
                yield reading.surface("rechecks", account.did, recheck(reading, account, suspect))
                if suspect["is_deep"]:
                    yield reading.surface("records", account.did, deep(reading, account, suspect, directory))

    await side_by_side(jobs(), AT_ONCE)


async def retry(reading: Reading, accounts: Mapping[str, Account], due: Iterable[Unread]) -> None:
    """A post that could not be read, asked for again by its uri."""
    known = ((accounts.get(record.scope), record) for record in due)
    jobs = [reading.surface("rechecks", a.did, again(reading, a, record)) for a, record in known if a]
    await side_by_side(jobs, AT_ONCE)


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
        as_item(account, there[item["uri"]], item["repost"], item["reposted_at"]) for item in items
        if item["uri"] in there and standing(there[item["uri"]]) != (item["cid"], item["labels"], item["is_unlisted"])
    ]  # fmt: skip
    if other:
        yield Batch("rechecks", account.did, shaped(reading, account, other))


async def deep(reading: Reading, account: Account, suspect: Row, directory: str) -> AsyncIterator[Batch]:
    """The account's own records since it is followed, against what is held of them."""
    first = tid(instant(account.state.get("floor")))
    pds = await keeper(reading, account, directory)
    begun = reading.api.now
    records: list[dict[str, Any]] = suspect["records"] or []  # type: ignore[assignment]
    held = {record["uri"]: record for record in records}
    for collection in (POST, REPOST):
        listed = {str(r["uri"]): r async for r in records_since(reading, pds, account, collection, first)}
        mine = f"at://{account.did}/{collection}/"
        lost = [
            uri for uri, r in held.items()
            if uri.startswith(mine) and uri > mine + first and uri not in listed and not r["is_gone"]
        ]  # fmt: skip
        back = [uri for uri in listed if uri in held and held[uri]["is_gone"]]
        if collection == POST:  # what the AppView shows is there, and what it does not show is not, whatever is listed
            there = await shown(reading, account, lost + back)
            lost, back = [uri for uri in lost if uri not in there], [uri for uri in back if uri in there]
        rows = [gone(account, held[uri], "record deleted", begun) for uri in lost]
        rows += [{**gone(account, held[uri], "record listed again", begun), "is_deleted": False} for uri in back]
        if rows:
            yield Batch("records", account.did, {"deletions": rows})
        unheld = [
            r
            for uri, r in listed.items()
            if uri not in held or (collection == POST and held[uri]["cid"] != r.get("cid"))
        ]
        if unheld:
            yield Batch(
                "rechecks", account.did, shaped(reading, account, await as_items(reading, account, collection, unheld))
            )
    cursor = {**account.state, "deep": begun.to_iso8601_string()}
    account.saved = cursor
    yield Batch("posts", account.did, {}, cursor)


async def keeper(reading: Reading, account: Account, directory: str) -> Api:
    """The server that keeps the account's records, as its DID document names it."""
    kind, _, rest = account.did.removeprefix("did:").partition(":")
    if kind == "plc":
        api, path = reading.api.beside(directory), f"/{account.did}"
    else:
        api, path = reading.api.beside(believed(f"https://{rest}", directory)), "/.well-known/did.json"
    answer = await api.get(path, tally=reading.tally("records", account.did))
    services = answer.data.get("service") if isinstance(answer.data, dict) else None
    for service in services if isinstance(services, list) else ():
        if isinstance(service, dict) and str(service.get("id", "")).endswith("#atproto_pds"):
            return reading.api.beside(believed(service.get("serviceEndpoint"), directory))
    raise Failure("FETCH_ERROR", f"the DID document of {account.handle} names no server")


def believed(endpoint: object, directory: str) -> str:
    """An address out of somebody else's document: a public host over TLS, or the very host that the directory is on."""
    parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
    host = (parts.hostname or "") if parts else ""
    if parts and (parts.scheme, parts.netloc) == urlsplit(directory)[:2]:
        return parts.geturl()
    if not parts or parts.scheme != "https" or parts.username or "." not in host or _is_address(host):
        raise Failure("FETCH_ERROR", f"a DID document names no public address: {endpoint!r:.80}; not followed")
    return parts.geturl()


async def records_since(
    reading: Reading, pds: Api, account: Account, collection: str, first: str
) -> AsyncIterator[dict[str, Any]]:
    cursor, asked, tally = first, set[str](), reading.tally("records", account.did)
    for _ in range(MOST_PAGES):
        params: dict[str, str | int | list[str]] = {
            "repo": account.did, "collection": collection, "limit": 100, "reverse": "true", "cursor": cursor
        }  # fmt: skip
        answer = await pds.get(f"{XRPC}/com.atproto.repo.listRecords", params, tally=tally)
        data = answer.data if isinstance(answer.data, dict) else {}
        records, after = data.get("records"), data.get("cursor")
        if not isinstance(records, list) or not all(
            isinstance(r, dict) and isinstance(r.get("uri"), str) for r in records
        ):
            raise Failure("FETCH_ERROR", f"{answer.url.host} answered something that is no list of records")
        tally.pages, tally.fetched = tally.pages + 1, tally.fetched + len(records)
        for record in records:
            yield record
        if not isinstance(after, str) or not after:
            return
        if after in asked:
            raise Failure("FETCH_ERROR", f"{answer.url.host} leads in circles: cursor {after!r:.60} again")
        asked.add(after)
        cursor = after
    raise Failure("FETCH_ERROR", f"{account.handle} has records without end")


async def as_items(reading: Reading, account: Account, collection: str, records: list[dict[str, Any]]) -> list[Json]:
    """Records as feed items, of what the AppView shows."""
    if collection == POST:
        views = await shown(reading, account, [r["uri"] for r in records])
        return [as_item(account, view) for view in views.values()]
    subjects = {r["uri"]: _subject(r) for r in records}
    views = await shown(reading, account, [uri for uri in subjects.values() if uri])
    items = []
    for record in records:
        view = views.get(subjects[record["uri"]] or "")
        if view:
            at = _claimed(record) or reading.api.now
            items.append(as_item(account, view, record["uri"], at.to_iso8601_string()))
    return items


def as_item(account: Account, view: Json, repost: str | None = None, at: str | None = None) -> Json:
    """A post as the feed shows it, or a repost of it."""
    reason = {"reason": {"uri": repost, "by": {"did": account.did}, "indexedAt": at}} if repost else {}
    return feed_item({"post": view, **reason})


async def shown(reading: Reading, account: Account, uris: Iterable[str]) -> dict[str, Json]:
    """The posts that the AppView shows of those asked for, by uri."""
    asked, found = list(dict.fromkeys(uris)), dict[str, Json]()
    for n in range(0, len(asked), MOST_LISTED):
        answer = await reading.api.get(
            f"{XRPC}/app.bsky.feed.getPosts", {"uris": asked[n : n + MOST_LISTED]},
            tally=reading.tally("rechecks", account.did),
        )  # fmt: skip
        posts = answer.data.get("posts") if isinstance(answer.data, dict) else None
        if not isinstance(posts, list):  # an error that looks like an empty answer would delete everything
            raise Failure("FETCH_ERROR", f"{answer.url.path} answered something that is no list of posts")
        found |= {str(post["uri"]): post for post in posts if isinstance(post, dict) and "uri" in post}
    return found


def gone(account: Account, held: dict[str, Any], cause: str, now: DateTime) -> Row:
    return {"uri": held["uri"], "did": account.did, "parent_key": held["parent_key"], "is_deleted": True,
            "cause": cause, "noticed_at": now}  # fmt: skip


def tid(at: DateTime) -> str:
    """The record key of a moment: keys sort by the time at which they were made."""
    number = max(0, int(at.timestamp())) * 1_000_000 << 10
    return "".join(SORTABLE[number >> shift & 31] for shift in range(60, -1, -5))


def _subject(record: dict[str, Any]) -> str | None:
    value = record.get("value")
    subject = value.get("subject") if isinstance(value, dict) else None
    uri = subject.get("uri") if isinstance(subject, dict) else None
    return uri if isinstance(uri, str) else None


def _claimed(record: dict[str, Any]) -> DateTime | None:
    value = record.get("value")
    try:
        return maybe(instant, value.get("createdAt")) if isinstance(value, dict) else None
    except Unreadable:
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith((".local", ".internal", ".localhost"))
    return True
