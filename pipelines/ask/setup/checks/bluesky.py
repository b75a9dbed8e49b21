"""Are the accounts there, and readable? Bluesky needs no token."""

from collections.abc import Mapping

from pipelines.ask.setup.checks.cost import Cost
from pipelines.ask.setup.checks.findings import Finding, note, unanswered, well, wrong
from pipelines.ask.setup.checks.heard import Heard, Line
from sources.bluesky.accounts import DID, GONE, HANDLE, MOST_LISTED, XRPC
from sources.bluesky.source import Bluesky
from sources.core.http.client import Answer, Failure
from sources.core.values import Json

__all__ = ["check", "judge_account", "judge_missing"]


async def check(line: Line, source: Bluesky, *, is_first: bool) -> tuple[list[Finding], Cost]:
    """Whom no list of profiles shows is asked for alone: only so it is told why."""
    names = source.scopes()
    good = [name for name in names if DID.fullmatch(name) or HANDLE.fullmatch(name)]
    parts = [good[n : n + MOST_LISTED] for n in range(0, len(good), MOST_LISTED)]
    heard = await line.ask_all(
        {str(n): (f"{XRPC}/app.bsky.actor.getProfiles", {"actors": part}) for n, part in enumerate(parts)}
    )
    if failed := [each for each in heard.values() if isinstance(each, Failure)]:
        return [unanswered("Bluesky", failed[0])], Cost()
    profiles = _by_name(heard)
    missing = [name for name in good if name not in profiles]
    why = await line.ask_all({name: (f"{XRPC}/app.bsky.actor.getProfile", {"actor": name}) for name in missing})
    found = [
        judge_account(name, profiles[name]) if name in profiles else judge_missing(name, why.get(name))
        for name in names
    ]
    there = len(profiles.keys() & set(names))
    return found, Cost(len(parts) + there, 2, source.at_once, 10 * there) if is_first else Cost()


def judge_account(name: str, profile: Json) -> Finding:
    posts = profile.get("postsCount")
    told = f"{posts:,} posts so far" if isinstance(posts, int) else "there"
    handle = profile.get("handle")
    return well(name, told if handle in (name, None) or not name.startswith("did:") else f"@{handle}, {told}")


def judge_missing(name: str, heard: Heard | None) -> Finding:
    """Whoever is away may come back, and is skipped till then; who never was is a slip of the pen."""
    if heard is None:
        return wrong(name, "neither a handle nor a DID", "write it like maya.bsky.social", "place")
    if isinstance(heard, Failure) and heard.said in GONE:
        return note(name, f"is away: {GONE[heard.said]}", "it is skipped, and read again when it is back")
    if isinstance(heard, Failure) and heard.status == 400:
        return wrong(name, "nobody is called so", "see how it is written, with its whole domain", "place")
    return unanswered(name, heard) if isinstance(heard, Failure) else note(name, "was there only at a second look")


def _by_name(heard: Mapping[str, Heard]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for answer in heard.values():
        listed = answer.data.get("profiles") if isinstance(answer, Answer) and isinstance(answer.data, dict) else None
        for profile in listed or ():
            if isinstance(profile, dict):
                found[str(profile.get("handle", "")).lower()] = found[str(profile.get("did", ""))] = profile
    return found
