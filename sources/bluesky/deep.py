"""The deep sweep of an account: its own records, listed where they are kept, against what is held of them.

That list is the only one with a true "since". It shows reposts that were taken back, and posts that no walk of a feed
ever led to: dated back by more than the overlap, imported with the dates of years, with dates that nobody can read.
Only what the AppView shows is landed, in the shape of a feed item: a record that moderators took down stays out.

- What was said since the walk of this very run began is the next poll's: a feed may show it under another name.
- A repost that feeds do not name is held by who, what and when. Of the records that repost the same, the nearest in
  time must be it. Where none is left it was taken back; but a client's clock may have given its record a key from
  before all that was listed, so all of them are listed once before that is believed.
- A server that lists less than there is for once deletes no post: the AppView is asked. A repost that is listed again
  is there again.
"""

import ipaddress
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pendulum import DateTime

from sources.bluesky.accounts import XRPC, Account, shaped
from sources.bluesky.recheck import as_item, gone, shown
from sources.bluesky.rows import POST, REPOST
from sources.core.http.client import Api, Failure
from sources.core.reading import Batch, Reading, Walk
from sources.core.values import Json, Row, Unreadable, instant, maybe

__all__ = ["compare", "paired", "tid"]

SORTABLE = "234567abcdefghijklmnopqrstuvwxyz"
MOST_PAGES = 10_000
Record = dict[str, Any]


def compare(
    reading: Reading, accounts: Mapping[str, Account], suspects: Iterable[Row], directory: str
) -> Iterator[Walk]:
    """Of each account whose own records are due, all that it holds."""
    for suspect in suspects:
        account = accounts.get(str(suspect["scope"]))
        if account and suspect["is_deep"]:
            yield Walk("records", account.did, deep(reading, account, suspect, directory))


async def deep(reading: Reading, account: Account, suspect: Row, directory: str) -> AsyncIterator[Batch]:
    """The account's own records since it is followed, against what is held of them."""
    pds = await keeper(reading, account, directory)
    begun = reading.api.now
    held: dict[str, Record] = {record["uri"]: record for record in suspect["records"] or []}  # type: ignore[attr-defined]
    for collection in (POST, REPOST):
        found = await compared(reading, pds, account, collection, held)
        rows = [gone(account, held[uri], "record deleted", begun) for uri in found.lost]
        rows += [{**gone(account, held[uri], "record listed again", begun), "is_deleted": False} for uri in found.back]
        if rows:
            yield Batch("records", account.did, {"deletions": rows})
        if found.unheld:
            items = await as_items(reading, account, collection, found.unheld)
            yield Batch("rechecks", account.did, shaped(reading, account, items))
    cursor = {**account.state, "deep": begun.to_iso8601_string(), "compared": begun.to_iso8601_string()}
    account.saved = cursor
    yield Batch("posts", account.did, {"actors": [account.row_again(begun)]}, cursor)


@dataclass(frozen=True)
class Compared:
    """What a list of records says of what is held."""

    lost: list[str]  # uris of what is held
    back: list[str]
    unheld: list[Record]


async def compared(reading: Reading, pds: Api, account: Account, collection: str, held: dict[str, Record]) -> Compared:
    mine, floor = f"at://{account.did}/{collection}/", tid(instant(account.state.get("floor")))
    news = mine + tid(instant(account.state.get("head")))
    listed = {str(r["uri"]): r async for r in records_since(reading, pds, account, collection, floor)}
    lost = [
        uri
        for uri, r in held.items()
        if uri.startswith(mine) and uri > mine + floor and uri not in listed and not r["is_gone"]
    ]
    back = [uri for uri in listed if uri in held and held[uri]["is_gone"]]
    if collection == POST:  # what the AppView shows is there, and what it does not show is not, whatever is listed
        there = await shown(reading, account, lost + back)
        lost, back = [uri for uri in lost if uri not in there], [uri for uri in back if uri in there]
        others = [r for uri, r in listed.items() if uri not in held or held[uri]["cid"] != r.get("cid")]
        return Compared(lost, back, [r for r in others if str(r["uri"]) < news])
    nameless = {uri: r for uri, r in held.items() if uri.startswith(mine.rstrip("/") + "#")}
    pairs = paired(nameless.values(), [r for uri, r in listed.items() if uri not in held])
    if any(uri not in pairs and not r["is_gone"] for uri, r in nameless.items()):
        whole = [r async for r in records_since(reading, pds, account, collection, "")]
        pairs = paired(nameless.values(), [r for r in whole if str(r["uri"]) not in held])
    lost += [uri for uri, r in nameless.items() if uri not in pairs and not r["is_gone"]]
    back += [uri for uri in pairs if held[uri]["is_gone"]]
    known = held.keys() | set(pairs.values())
    return Compared(lost, back, [r for uri, r in listed.items() if uri not in known and uri < news])


def paired(nameless: Iterable[Record], listed: Iterable[Record]) -> dict[str, str]:
    """Reposts without a name and the records that they must be: of the same post, the nearest in time first."""
    by_subject: dict[str | None, list[Record]] = {}
    for record in listed:
        by_subject.setdefault(_subject(record), []).append(record)
    near = sorted(
        (_apart(repost, record), repost["uri"], str(record["uri"]))
        for repost in nameless
        for record in by_subject.get(repost["post_uri"], ())
    )
    found, taken = dict[str, str](), set[str]()
    for _, repost, uri in near:
        if repost not in found and uri not in taken:
            found[repost] = uri
            taken.add(uri)
    return found


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
            "repo": account.did,
            "collection": collection,
            "limit": 100,
            "reverse": "true",
            **({"cursor": cursor} if cursor else {}),
        }
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


def tid(at: DateTime) -> str:
    """The record key of a moment: keys sort by the time at which they were made."""
    number = max(0, int(at.timestamp())) * 1_000_000 << 10
    return "".join(SORTABLE[number >> shift & 31] for shift in range(60, -1, -5))


def _apart(repost: Record, record: Record) -> float:
    claimed = _claimed(record)
    return abs((claimed - instant(repost["at"])).total_seconds()) if claimed else math.inf


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
