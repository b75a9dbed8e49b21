"""The three services as somebody who sets up meets them: what they call their places, where their tokens are, what is
checked.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pendulum import DateTime

from pipelines.ask.setup.checks import bluesky, github, gitlab
from pipelines.ask.setup.checks.cost import Cost, told_time
from pipelines.ask.setup.checks.findings import Finding, is_wrong, note, well
from pipelines.ask.setup.checks.heard import Line
from pipelines.settings import HttpSource
from sources.bluesky.accounts import called
from sources.bluesky.source import BlueskyConfig
from sources.core.http.client import Api
from sources.core.http.limits import Quota
from sources.core.http.pauses import MAX_PAUSE
from sources.github.source import GithubConfig
from sources.gitlab.lists import GitlabConfig

__all__ = ["SERVICES", "Service", "checked", "named"]

SKEWED = 60.0  # seconds
LITTLE = 0.1  # of a quota


@dataclass(frozen=True)
class Service:
    """One service, in the order in which it is asked about."""

    name: str  # [sources.NAME]
    title: str
    key: str  # the setting that lists its places
    places: str
    example: str
    variable: str  # where its token usually is in the environment; nothing where none is needed
    needs_token: bool
    api_url: str  # by itself
    make: Callable[[str], str]  # where people make a token, by that address
    check: Callable[..., Awaitable[tuple[list[Finding], Cost]]]
    a_minute: int | None = None  # requests that it takes in one, where no answer tells


SERVICES = (
    Service(
        "github", "GitHub", "repos", "repositories", "owner/name", "GITHUB_TOKEN", False, GithubConfig.api_url,
        lambda api_url: github.make(github.web(api_url)), github.check, a_minute=github.A_MINUTE,
    ),
    Service(
        "gitlab", "GitLab", "projects", "projects", "group/name", "GITLAB_TOKEN", True, GitlabConfig.api_url,
        gitlab.make, gitlab.check,
    ),
    Service(
        "bluesky", "Bluesky", "actors", "accounts", "handle.example", "", False, BlueskyConfig.api_url,
        str, bluesky.check,
    ),
)  # fmt: skip


def named(service: Service, words: list[str]) -> tuple[list[str], str]:
    """Places as they are configured, of what people write or copy from a browser; and the address of the service's API
    where a link leads to a server of one's own.
    """
    places, api_url = list[str](), ""
    for word in words:
        if service.name == "bluesky":
            places.append(called(word))
            continue
        link = re.fullmatch(r"(?:(https?)://|git@)([^/:@]+(?::\d+)?)[/:]([^@]+?)(?:\.git)?/?", word)
        path = (link[3] if link else word).partition("/-/")[0].strip("/")
        places.append("/".join(path.split("/")[:2]) if service.name == "github" and link else path)
        if link and link[2].lower() != f"{service.name}.com":
            api_url = f"{link[1] or 'https'}://{link[2]}{'/api/v3' if service.name == 'github' else ''}"
    return list(dict.fromkeys(filter(None, places))), api_url


def checked(service: Service, connected: HttpSource, *, is_first: bool) -> list[Finding]:
    """All that can be told of it now. Nothing is written anywhere. `is_first`: nothing was read of it yet."""

    logging.getLogger("stamina").setLevel(logging.ERROR)  # what is tried again is no news here
    once = replace(connected.config, max_retries=min(1, connected.config.max_retries))  # somebody waits

    async def ask() -> list[Finding]:
        async with replace(connected, config=once).connect() as api:
            line = Line(api)
            findings, cost = await service.check(line, connected.source, is_first=is_first)
            if is_first and is_wrong(findings):
                return findings
            if is_first:
                return [*findings, *judge_cost(service, cost, line.latency, api.quota, api.now)]
            return [*findings, *judge_quota(service, api.quota, api.now), *judge_clock(api)]

    return asyncio.run(ask())


def judge_cost(service: Service, cost: Cost, latency: float, quota: Quota | None, now: DateTime) -> list[Finding]:
    """A limit that ends within seconds is waited for, and sets the pace; at a longer one a run stops."""
    if not cost.requests:
        return []
    until, left = (quota.reset_at, quota.remaining) if quota else (None, None)
    is_short = until is not None and (until - now).total_seconds() <= MAX_PAUSE
    message = f"a first run: about {cost.requests:,} {'request' if cost.requests == 1 else 'requests'}"
    if left is not None and cost.requests > left and not is_short:
        when = f" until {until.format('HH:mm')} UTC" if until else ""
        told = f"{message}, and {left:,} are left{when}"
        return [note(service.title, told, "a run stops there and the next one goes on; a token or `since` helps")]
    pace = quota.limit if quota and is_short else service.a_minute
    told = "" if left is None or is_short else f"; {left:,} are left in this hour"
    return [well(service.title, f"{message}, {told_time(cost.seconds(latency, pace))}{told}")]


def judge_quota(service: Service, quota: Quota | None, now: DateTime) -> list[Finding]:
    """What is left of an hour's; one that is given back within seconds is no matter."""
    if quota is None or quota.remaining is None or not quota.limit or quota.reset_at is None:
        return []
    if (quota.reset_at - now).total_seconds() <= MAX_PAUSE:
        return []
    told = f"{quota.remaining:,} of {quota.limit:,} requests are left until {quota.reset_at.format('HH:mm')} UTC"
    if quota.remaining >= quota.limit * LITTLE:
        return [well(service.title, told)]
    return [note(service.title, told, "runs stop there and go on later; see who else uses this token")]


def judge_clock(api: Api) -> list[Finding]:
    ahead = api.ahead or 0.0
    if abs(ahead) < SKEWED:
        return []
    way = "ahead of" if ahead > 0 else "behind"
    message = f"this machine's is {told_time(abs(ahead)).removeprefix('about ')} {way} that of {api.base.host}"
    return [note("clock", message, "set it (NTP); cursors go by the service's, so nothing is lost")]
