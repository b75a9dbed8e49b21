"""Whom to follow: names as people write them, the accounts (DIDs) that they mean, and what has become of these.

An account is followed by its DID. The DID that a name meant when it was first looked up is remembered, so a renamed
account keeps its history; if its old handle is somebody else's later, that is said, not followed. An account can be
away (deactivated, suspended, taken down) and come back: it is skipped, and nothing of it is deleted.
"""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pendulum import DateTime

from sources.bluesky.rows import identity, item_rows
from sources.core.config import ConfigError
from sources.core.http.client import Failure
from sources.core.reading import Batch, Reading
from sources.core.source import side_by_side
from sources.core.values import FLAG, INSTANT, TEXT, Json, Row, Table, Unreadable, instant, maybe

__all__ = [
    "ACTORS",
    "AT_ONCE",
    "MOST_LISTED",
    "XRPC",
    "Account",
    "names_in",
    "profiles",
    "resolve",
    "shaped",
    "why_away",
]

log = logging.getLogger("earshot.bluesky")

XRPC = "/xrpc"
MOST_LISTED = 25
AT_ONCE = 20
KEPT = ("floor", "status", "told", "name", "taken_by", "deep", "compared")  # of what was committed, with --full, too
DID = re.compile(r"did:(plc:[a-z2-7]{24}|web:[a-zA-Z0-9._%-]+)")
HANDLE = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
GONE = {
    "AccountDeactivated": "deactivated",
    "AccountTakedown": "taken down",
    "BlockedActor": "blocked",
    "BlockedByActor": "blocked",
}

ACTOR = {
    "did": TEXT,
    "scope": TEXT,
    "handle": TEXT,
    "display_name": TEXT,
    "is_unlisted": FLAG,
    "configured_as": TEXT,
    "status": TEXT,
    "handle_taken_by": TEXT,
    "watermark": INSTANT,
    "deep_swept_at": INSTANT,
    "changed_at": INSTANT,
}
ACTORS = Table("actors", ("did",), ACTOR, shown=("handle", "is_unlisted"))


@dataclass
class Account:
    did: str
    name: str  # as configured
    saved: object = None  # the feed's trail, as it was committed
    profile: Json | None = None  # as it is now, where it was asked for
    taken_by: str | None = None  # who holds the configured handle now, if that is somebody else
    looked_up: list[str] = field(default_factory=list)  # names that were first asked for now
    told: Json = field(default_factory=dict)  # who they are, as last landed
    is_behind: bool = False  # an earlier run has left some of their feed unread, and this one has not walked it whole
    _met: Json | None = None  # what of theirs was last looked at

    @property
    def state(self) -> Json:
        """What was committed, as far as it can be understood."""
        return self.saved if isinstance(self.saved, dict) else {}

    @property
    def handle(self) -> str:
        known = self.told.get("handle")
        return known if isinstance(known, str) and known else self.name

    @property
    def scope(self) -> str:
        return self.did

    def names_known(self) -> list[Batch]:
        """Whom the names meant is remembered from now on."""
        return [Batch("actors", name, {}, {"did": self.did}) for name in self.looked_up]

    def row(self, status: str, watermark: DateTime | None, now: DateTime) -> Row:
        who = {"handle": self.handle, "display_name": None, "is_unlisted": False, **self.told}
        return {
            "did": self.did,
            "scope": self.did,
            **who,
            "configured_as": self.name,
            "status": status,
            "handle_taken_by": self.taken_by,
            "watermark": watermark,
            "deep_swept_at": self.instant("compared"),
            "changed_at": now,
        }

    def row_again(self, now: DateTime) -> Row:
        """As it was committed last."""
        return self.row(str(self.state.get("status", "active")), self.instant("watermark"), now)

    def instant(self, name: str) -> DateTime | None:
        try:
            return maybe(instant, self.state.get(name))
        except Unreadable:
            return None

    def meet(self, author: Json) -> None:
        """Who they are now. What cannot be read of it leaves them who they were; their posts land all the same."""
        if author.get("did") != self.did or author == self._met:  # the same in most items of a feed
            return
        self._met = author
        try:
            self.told = identity(author)
        except Unreadable as error:
            log.warning("%s shows a profile that cannot be read: %s", self.did, error)


def called(name: str) -> str:
    """One spelling of what people write: `@Maya.Example`, `https://bsky.app/profile/maya.example`, a DID."""
    name = name.strip().removeprefix("https://bsky.app/profile/").rstrip("/").removeprefix("at://").removeprefix("@")
    return name if name.startswith("did:") else name.lower()


def names_in(actors: Iterable[str], file: str) -> list[str]:
    """Configured names and those of the file (one a line, # for comments), each once."""
    found = list(actors)
    if file:
        try:
            lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"[sources.bluesky] actors_file: cannot read {file!r}: {error}") from None
        found += [line.partition("#")[0] for line in lines]
    return list(dict.fromkeys(name for name in map(called, found) if name))


async def resolve(reading: Reading, names: list[str]) -> list[Account]:
    """The accounts behind the names, each once. A name that means nobody is a problem of its own."""
    remembered = reading.saved.get("actors", {})  # also with --full: whom a name meant is no matter of how far was read
    known = {name: did for name in names if (did := _did(remembered.get(name)))}
    fresh = [name for name in names if name not in known]
    good = [name for name in fresh if DID.fullmatch(name) or HANDLE.fullmatch(name)]
    for name in set(fresh) - set(good):
        reading.skip(name, "neither a handle nor a DID")
    found: dict[str, Json] = {}
    for profile in await profiles(reading, good + (list(known) if reading.sweep or reading.full else [])):
        found[str(profile.get("handle", "")).lower()] = found[str(profile["did"])] = profile
    asked = {name: did for name in good if (did := _did(found.get(name)))}
    await side_by_side((_ask(reading, name, asked) for name in good if name not in asked), AT_ONCE)
    accounts: dict[str, Account] = {}
    for name in names:
        did = known.get(name) or asked.get(name)
        if did is None:
            continue
        if did in accounts:
            accounts[did].looked_up += [name] if name in asked else []
            log.info("%s and %s are one account (%s); it is read once", accounts[did].name, name, did)
            continue
        account = accounts[did] = Account(did, name, begun(reading, did), found.get(did))
        account.looked_up += [name] if name in asked else []
        _remember(account, found.get(name))
        reading.names[did] = account.handle
    return list(accounts.values())


def begun(reading: Reading, did: str) -> object:
    """What was committed. With --full it is forgotten how far was read: not who they are, nor since when they are
    followed.
    """
    saved, known = reading.raw_cursor("posts", did), reading.saved.get("posts", {}).get(did)
    if saved is None and isinstance(known, dict):
        return {name: known[name] for name in KEPT if name in known}
    return saved


async def profiles(reading: Reading, actors: list[str]) -> list[Json]:
    """As many as are there: those away or unknown are left out without a word."""
    found: list[Json] = []

    async def ask(some: list[str]) -> None:
        try:
            answer = await reading.api.get(
                f"{XRPC}/app.bsky.actor.getProfiles", {"actors": some}, tally=reading.tally("profiles", "*")
            )
        except Failure as failure:
            reading.fail("*", "profiles", failure)
            return
        listed = answer.data.get("profiles") if isinstance(answer.data, dict) else None
        found.extend(one for one in listed or () if isinstance(one, dict) and isinstance(one.get("did"), str))

    await side_by_side((ask(actors[n : n + MOST_LISTED]) for n in range(0, len(actors), MOST_LISTED)), AT_ONCE)
    return found


async def why_away(reading: Reading, did: str, failure: Failure) -> str | None:
    """The reason why an account shows no feed; None if it is there and the failure was another one."""
    if failure.said in GONE:
        return GONE[failure.said]
    if failure.status != 400:
        return None
    try:
        await reading.api.get(f"{XRPC}/app.bsky.actor.getProfile", {"actor": did}, tally=reading.tally("profiles", "*"))
    except Failure as told:
        if told.said in GONE:
            return GONE[told.said]
        return "not found" if told.status == 400 else None
    return None


def shaped(reading: Reading, account: Account, items: list[Json]) -> dict[str, list[Row]]:
    """Rows by table. What cannot be read is kept raw; the trail may pass it then."""
    now, found = reading.api.now, dict[str, list[Row]]()
    for rows in reading.shape(
        account.did, "posts", items, lambda item: item_rows(item, account.did, account.handle, now)
    ):
        for table, some in rows.items():
            if some and not (reading.is_new and table == "post_states"):
                found.setdefault(table, []).extend(some)
    return found


async def _ask(reading: Reading, name: str, asked: dict[str, str]) -> None:
    """An account that no profile was shown of may be away; its handle still leads to it."""
    if name.startswith("did:"):
        asked[name] = name
        return
    try:
        answer = await reading.api.get(
            f"{XRPC}/com.atproto.identity.resolveHandle", {"handle": name}, tally=reading.tally("profiles", "*")
        )
        did = _did(answer.data)
        if did is None:
            raise Failure("FETCH_ERROR", f"{name} was resolved to something that is no DID")
        asked[name] = did
    except Failure as failure:
        if failure.status in (400, 404):
            reading.skip(name, "nobody is called so")
        else:
            reading.fail(name, "actors", failure)


def _remember(account: Account, holder: Json | None) -> None:
    told, taken = account.state.get("told"), account.state.get("taken_by")
    account.told = dict(told) if isinstance(told, dict) else {}
    account.taken_by = taken if isinstance(taken, str) else None
    if account.profile:
        account.meet(account.profile)
    if holder and not account.name.startswith("did:"):
        account.taken_by = str(holder["did"]) if holder["did"] != account.did else None
        if account.taken_by:
            log.warning(
                "%s is now the handle of another account (%s); %s is followed on as %s",
                account.name,
                account.taken_by,
                account.did,
                account.handle,
            )


def _did(known: object) -> str | None:
    did = known.get("did") if isinstance(known, dict) else None
    return did if isinstance(did, str) and did.startswith("did:") and did.isprintable() else None
