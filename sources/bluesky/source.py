"""Bluesky: what hundreds to thousands of accounts post, reply, quote and repost.

Cost    one conditional request an account when nothing happened, however many posts it has; with `probe` one per 25
        accounts, and a poll of all every few runs.
Cursor  when the last walk of the feed began; polls start at the head and walk back with overlap: feed.py
Gone    deactivated, suspended, taken down, deleted: skipped and said so; nothing of them is deleted, they may come back
Tables  actors (did); posts, post_links, post_images, post_tags, post_mentions per version (did, uri, cid);
        post_states (did, uri); deletions (uri)
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pendulum import DateTime

from sources.bluesky.accounts import AT_ONCE, Account, begun, names_in, profiles, resolve, shaped, why_away
from sources.bluesky.deep import compare
from sources.bluesky.embeds import inner
from sources.bluesky.feed import Ask, Page, page_of, walk
from sources.bluesky.recheck import LOOKED_AT, SUSPECTS, rechecks, retries
from sources.bluesky.tables import FILLS, TABLES
from sources.bluesky.told import Told
from sources.bluesky.trail import FeedCursor, Plan, anew, load
from sources.core.config import ConfigError, check_address
from sources.core.cursor import BadCursor, differs
from sources.core.http.client import Failure, TooLarge
from sources.core.reading import Batch, Reading, Unread, Walk
from sources.core.surfaces import Fills
from sources.core.values import Json, Row, Table, fingerprint

__all__ = ["Bluesky", "BlueskyConfig"]

log = logging.getLogger("earshot.bluesky")

FEED = "/xrpc/app.bsky.feed.getAuthorFeed"
MOST = 100  # posts a page
LONG_AGO = "1970-01-01T00:00:00Z"
DEEP_EVERY = timedelta(days=7)  # how often a sweep compares an account's own records
FORCED_EVERY = 6  # runs: `postsCount` sees neither reposts nor edits


@dataclass(frozen=True)
class BlueskyConfig:
    api_url: str = "https://public.api.bsky.app"
    directory_url: str = "https://plc.directory"  # where DIDs tell which server keeps an account's records
    actors: list[str] = field(default_factory=list)
    actors_file: str = ""
    initial_lookback_hours: float = 24.0
    overlap_hours: float = 24.0
    posts_per_page: int = 100
    max_pages_per_actor: int = 100
    probe: bool = False

    def __post_init__(self) -> None:
        for key in ("api_url", "directory_url"):
            check_address("[sources.bluesky]", getattr(self, key), key)
        if not 1 <= self.posts_per_page <= MOST:
            raise ConfigError(f"[sources.bluesky] posts_per_page: 1 to {MOST}")
        if self.max_pages_per_actor < 1:
            raise ConfigError("[sources.bluesky] max_pages_per_actor: at least 1")
        if not 0 < self.initial_lookback_hours <= 1e6:
            raise ConfigError("[sources.bluesky] initial_lookback_hours: more than 0, at most 1000000")
        if not 1 <= self.overlap_hours <= 1e6:
            raise ConfigError("[sources.bluesky] overlap_hours: at least 1, or back-dated posts are lost")


@dataclass
class Bluesky:
    config: BlueskyConfig
    name: str = "bluesky"
    tables: tuple[Table, ...] = TABLES
    fills: Fills = field(default_factory=lambda: FILLS)
    suspects: str = SUSPECTS
    types: Mapping[str, frozenset[str]] = field(default_factory=lambda: {"posts": frozenset({"posts"})})
    surfaces: frozenset[str] = frozenset({"posts"})
    at_once: int = AT_ONCE
    accounts: dict[str, Account] = field(default_factory=dict)  # that were found, by DID
    _polled: list[Account] = field(default_factory=list)
    _found_for: Reading | None = None
    _names: list[str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def suspect_values(self, reading: Reading) -> dict[str, object] | None:
        """Only what a sweep has walked can be suspect; nobody else's posts are looked through."""
        if not reading.sightings:
            return None
        return {"since": reading.api.now.subtract(days=LOOKED_AT)}

    def scopes(self) -> list[str]:
        if self._names is None:
            self._names = names_in(self.config.actors, self.config.actors_file)
        return self._names

    def only(self, names: list[str]) -> "Bluesky":
        """This source, with less to read."""
        return replace(self, config=replace(self.config, actors=names, actors_file=""), _names=None)

    @property
    def resources(self) -> tuple[str, ...]:
        return ("posts",)

    async def found(self, reading: Reading) -> list[Account]:
        """The accounts to be polled. Who was found before in this reading goes on from what it has landed since."""
        if self._found_for is reading:
            for account in self._polled:
                account.saved = begun(reading, account.did)
            return self._polled
        self._found_for, self._polled = reading, await resolve(reading, self.scopes())
        self.accounts = {account.did: account for account in self._polled}
        if self.config.probe and not (reading.sweep or reading.full or reading.turn % FORCED_EVERY == 0):
            self._polled = await changed(reading, self._polled)
        return self._polled

    def readings(self, reading: Reading) -> Iterable[Callable[[], Awaitable[list[Walk]]]]:
        async def feeds() -> list[Walk]:
            return [self.walk(reading, account) for account in await self.found(reading)]

        return [feeds]

    def walk(self, reading: Reading, account: Account) -> Walk:
        async def batches() -> AsyncIterator[Batch]:
            for batch in account.names_known():
                yield batch
            async for batch in feed(reading, account, self.config):
                yield batch

        return Walk("posts", account.did, batches())

    def beside(self, reading: Reading) -> Iterable[Walk]:
        return ()

    def rechecks(self, reading: Reading, suspects: list[Row]) -> Iterator[Walk]:
        yield from rechecks(reading, self.accounts, suspects)
        yield from compare(reading, self.accounts, suspects, self.config.directory_url)

    def retries(self, reading: Reading, due: list[Unread]) -> Iterator[Walk]:
        return retries(reading, self.accounts, due)


async def changed(reading: Reading, accounts: list[Account]) -> list[Account]:
    """Those whose profile is not the one that their feed was last read with, or that show none, or that failed."""
    shown = {str(profile["did"]): profile for profile in await profiles(reading, [a.did for a in accounts])}
    due = []
    for account in accounts:
        account.profile = shown.get(account.did)
        saved, has_failed = account.state, (account.did, "posts") in reading.open_failures
        is_unsure = has_failed or saved.get("resume") or saved.get("status", "active") != "active"
        if not account.profile or is_unsure or saved.get("profile") != told_by(account.profile):
            due.append(account)
        else:
            reading.tally("posts", account.did).is_spared = True
    return due


def asks_for(reading: Reading, account: Account, config: BlueskyConfig) -> Ask:
    """How pages of one account's feed are asked for."""
    tally = reading.tally("posts", account.did)

    async def ask(cursor: str | None, etag: str | None, is_large: bool = False) -> Page:
        limit = MOST if is_large else config.posts_per_page
        while True:  # as many as one answer can hold: a record may be of a megabyte, whatever a post may
            params: dict[str, str | int | list[str]] = {
                "actor": account.did,
                "limit": limit,
                "filter": "posts_with_replies",
                **({"cursor": cursor} if cursor else {}),
            }
            try:
                answer = await reading.api.get(FEED, params, etag=etag, tally=tally)
                break
            except TooLarge:
                if limit == 1:
                    raise
                limit //= 2
        page = page_of(answer)
        tally.pages += not answer.not_modified
        tally.fetched += len(page.items)
        return page

    return ask


async def feed(reading: Reading, account: Account, config: BlueskyConfig) -> AsyncIterator[Batch]:
    """What is new in one account's feed. The watermark moves with the last of it, and only if the walk was complete."""
    trail, is_lost = known_trail(account)
    if trail.unread and ("posts", account.did) not in reading.moved:
        account.is_behind = True
    plan = Plan(
        timedelta(hours=config.initial_lookback_hours),
        timedelta(hours=config.overlap_hours),
        timedelta(hours=reading.safe_backfill_hours),
        config.max_pages_per_actor,
        reading.sweep,
        is_lost,
        account.is_behind,
        reading.pauses("posts", account.did),
    )
    after, told = trail, Told(account, trail)
    try:
        async for found in walk(asks_for(reading, account, config), trail, plan):
            if told.pages == 0 and (is_lost or trail.unread):
                goal = trail.unread[-1].goal if trail.unread else reading.api.now - plan.backfill
                reading.backfills("posts", account.did, goal)
            for item in found.items:
                account.meet(author_of(item))
            rows = shaped(reading, account, found.items)
            replayed = replays(rows, trail.newest)
            told.add(rows, replayed, found.page)
            if rows:
                yield Batch("posts", account.did, rows, replayed=replayed)
            after = found.trail or after
        told.all(after)
        account.is_behind = account.is_behind and bool(after.unread)
    except Failure as failure:
        away = await why_away(reading, account.did, failure)
        if away is None:
            raise
        before = account.state.get("status")
        if away == "not found" and before not in ("missing", away):
            away = "missing"  # the AppView may have lost sight of it: the next run asks again
        reading.skip(account.name, away)
        if away != before:
            reading.told.append(f"{account.handle} is {away}: skipped, nothing of it is deleted")
        for batch in standing(reading, account, trail, away):
            yield batch
        return
    is_back = account.state.get("status") not in (None, "active")
    if is_back:  # a sweep may have been while nobody could see what was edited before
        reading.tell(f"{account.handle} is back")
    if is_lost or (trail.head and trail.head > reading.api.now.add(days=1)):  # the walk went back a day from now
        reading.resets.add(("posts", account.did))
        account.saved = {**account.state, "deep": LONG_AGO}
    for batch in standing(reading, account, after, "active"):
        yield batch
    if reading.sweep or is_back:
        reading.sightings["posts", account.did] = set()
    if reading.sweep and account.state.get("floor") and (reading.deep or deep_due(account, reading.api.now)):
        reading.sightings["records", account.did] = set()


def replays(rows: dict[str, list[Row]], newest: DateTime | None) -> dict[str, int]:
    """How many of the rows can have been landed before: those indexed no later than anything then known."""
    if newest is None:
        return {}
    old = {(row["uri"], row["cid"]) for row in rows.get("posts", ()) if row["indexed_at"] <= newest}  # type: ignore[operator]
    return {table: sum((row["uri"], row["cid"]) in old for row in some) for table, some in rows.items()}


def standing(reading: Reading, account: Account, trail: FeedCursor, status: str) -> Iterator[Batch]:
    """The trail and who the account is, where that differs from what is saved by more than an ETag or by that alone."""
    saved = account.state
    cursor: Json = {
        **trail.json(),
        "status": status,
        "told": account.told,
        "name": account.name,
        "taken_by": account.taken_by,
        "profile": told_by(account.profile) if account.profile else saved.get("profile"),
        "deep": saved.get("deep") or (trail.watermark and trail.watermark.to_iso8601_string()),
        "compared": saved.get("compared"),
    }
    if cursor == saved:
        return
    account.saved = cursor
    rows = {"actors": [account.row(status, trail.watermark, reading.api.now)]} if differs(cursor, saved) else {}
    yield Batch("posts", account.did, rows, cursor)


def known_trail(account: Account) -> tuple[FeedCursor, bool]:
    """The committed trail, and whether there was one that cannot be believed."""
    try:
        return load(account.saved), False
    except BadCursor as error:
        log.warning("cursor_invalid surface=posts scope=%s: %s; reset", account.handle, error)
        return anew(account.instant("floor"), account.instant("newest")), True


def deep_due(account: Account, now: DateTime) -> bool:
    """A week after the last one, or after the first walk; an instant in the future or none is due."""
    last = account.instant("deep")
    return last is None or not last <= now < last + DEEP_EVERY


def told_by(profile: Json) -> str:
    return fingerprint([profile.get(name) for name in ("handle", "displayName", "postsCount", "labels", "pinnedPost")])


def author_of(item: Json) -> Json:
    """The author of the item's post, or who reposted it."""
    return inner(inner(item, "reason"), "by") or inner(inner(item, "post"), "author")
