"""Is GitHub readable as configured? What its answers say of the token, the repositories, the quota and the cost."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import pendulum
from pendulum import DateTime

from pipelines.ask.setup.checks.cost import Cost, Count, counted_by
from pipelines.ask.setup.checks.findings import Finding, expiring, note, unanswered, well, wrong
from pipelines.ask.setup.checks.heard import Heard, Line
from sources.core.http.client import Answer, Failure, Params
from sources.github.source import Github
from sources.github.surfaces.review_threads import AT_ONCE as THREADS_AT_ONCE

__all__ = [
    "check",
    "expires_in",
    "judge_lists",
    "judge_repository",
    "judge_token",
    "make",
    "newest_number",
    "scopes_of",
    "web",
]

SITE = "https://github.com"
PAGE = "/settings/personal-access-tokens"
A_MINUTE = 900  # points that a minute takes at most
MOST_COUNTED = 30_000  # lists end there
LISTS = {
    "issues": ("/issues", {"state": "all", "sort": "created", "direction": "desc"}),
    "pull requests": ("/pulls", {"state": "all"}),
    "comments": ("/issues/comments", {}),
    "review comments": ("/pulls/comments", {}),
}


async def check(line: Line, source: Github, *, is_first: bool) -> tuple[list[Finding], Cost]:
    """`is_first`: nothing was read yet, what it costs is told; else only lists that a token may be too narrow for."""
    token = str(source.config.token)
    about = await line.ask_all({"limit": ("/rate_limit", None), **({"user": ("/user", None)} if token else {})})
    site = web(source.config.api_url)
    found, total = judge_token(token, about, site), Cost()
    if any(each.level == "wrong" for each in found):
        return found, total
    scopes, followed = scopes_of(about["limit"]), {name.lower(): n for name, n in source.config.pulls.items()}
    places = await line.ask_all({name: (f"/repos/{name}", None) for name in source.scopes()})
    for name, heard in places.items():
        findings = judge_repository(name, heard, bool(token), scopes, site)
        if not findings or findings[0].level != "wrong":
            lists: dict[str, Heard] = {}
            if is_first or _is_private(heard):
                lists = await line.ask_all(_questions(name, source))
            more, cost = judge_lists(
                name, lists, source.at_once, len(followed.get(name.lower(), ())), is_first=is_first, site=site
            )
            findings, total = [*more, *findings] if more else findings or [well(name, "readable")], total + cost
        found += findings
    return found, total


def web(api_url: str) -> str:
    """Where people make their tokens: on the site itself, or on a server of their own."""
    parts = urlsplit(api_url)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def make(site: str) -> str:
    return f"make one that may read Issues and Pull requests: {site}{PAGE}/new"


def judge_token(token: str, about: Mapping[str, Heard], site: str = SITE) -> list[Finding]:
    """Scopes are told of classic tokens only; that of a fine-grained one shows where lists are refused."""
    limit, user = about["limit"], about.get("user")
    heard = user if isinstance(limit, Failure) and limit.code == "NOT_FOUND" and user else limit  # an own server's
    if isinstance(heard, Failure) and heard.status == 401:
        return [wrong("GitHub", "the token is refused: mistyped, expired or revoked", make(site), "token")]
    if isinstance(heard, Failure) and heard.code != "NOT_FOUND":
        return [unanswered("GitHub", heard)]
    if not token:
        return [note("GitHub", "no token: public repositories only, 60 requests an hour", make(site))]
    login = user.data.get("login") if isinstance(user, Answer) and isinstance(user.data, dict) else None
    whose = f" of {login}" if login else ""  # an app's is nobody's
    scopes = scopes_of(heard)
    kind = "" if scopes is None else f" (scopes: {', '.join(sorted(scopes)) or 'none'})"
    return [well("GitHub", f"the token{whose} is good{kind}"), *expiring("GitHub", expires_in(heard), make(site))]


def judge_repository(
    name: str, heard: Heard, has_token: bool, scopes: frozenset[str] | None, site: str = SITE
) -> list[Finding]:
    if isinstance(heard, Failure):
        if heard.code == "NOT_FOUND":
            remedy = _widen(has_token, scopes, site)
            return [wrong(name, "no such repository, or it is private and not shown", remedy, "place")]
        if heard.status == 403:
            return [wrong(name, str(heard), "the token may have to be authorized for the organization (SSO)", "token")]
        return [unanswered(name, heard)]
    row = heard.data if isinstance(heard.data, dict) else {}
    called = str(row.get("full_name", ""))
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", called, re.ASCII):
        return [wrong(name, "what answers there is no repository", "see that api_url is GitHub's API")]
    return [] if called.lower() == name.lower() else [note(name, f"is called {called} now; it is found all the same")]


def judge_lists(
    name: str, lists: Mapping[str, Heard], at_once: int, followed: int = 0, *, is_first: bool = True, site: str = SITE
) -> tuple[list[Finding], Cost]:
    """Which lists can be read, how much there is, and what reading all of it costs: every pull request is asked once
    for its reviews, and many together for their threads.
    """
    refused = [what for what, heard in lists.items() if isinstance(heard, Failure) and heard.status == 403]
    if refused:
        remedy = f"let it read Issues and Pull requests: {site}{PAGE}"
        return [wrong(name, f"the token may not read {', '.join(refused)}", remedy, "token")], Cost()
    if failed := [heard for heard in lists.values() if isinstance(heard, Failure)]:
        return [unanswered(name, failed[0])], Cost()
    if not is_first or not lists:
        return [], Cost()
    if followed:
        return [well(name, f"{followed} of its pull requests are followed")], Cost(5 * followed + 1, 5, at_once)
    counts = {what: counted_by(heard, MOST_COUNTED) or Count(0) for what, heard in lists.items()}
    numbered, pulls = max(newest_number(lists["issues"]), counts["pull requests"].rows), counts["pull requests"]
    counts["issues"] = Count(numbered - pulls.rows)
    pages = [Count(numbered).pages, *(counts[what].pages for what in list(LISTS)[1:])]
    rows = numbered + counts["comments"].rows + counts["review comments"].rows
    issues = numbered - pulls.rows
    shown = [f"up to {issues:,} issues" if issues > 0 else "no issues", pulls.told("pull request")]
    shown += [counts[what].told(what.removesuffix("s")) for what in list(LISTS)[2:]]
    return [well(name, ", ".join(shown))], Cost(
        1 + sum(pages) + pulls.rows + -(-pulls.rows // THREADS_AT_ONCE), max(pages), at_once, rows
    )


def newest_number(heard: Heard) -> int:
    """Issues and pull requests are numbered together: no more of them than that. Their list names no last page."""
    first = heard.data[0] if isinstance(heard, Answer) and isinstance(heard.data, list) and heard.data else {}
    number = first.get("number") if isinstance(first, dict) else 0
    return number if isinstance(number, int) else 0


def scopes_of(heard: Heard) -> frozenset[str] | None:
    """Of a classic token; None of any other."""
    told = heard.headers.get("x-oauth-scopes") if isinstance(heard, Answer) else None
    return None if told is None else frozenset(each.strip() for each in told.split(",") if each.strip())


def expires_in(heard: Heard) -> int | None:
    """Days, as the answer's header tells them: `2026-12-01 00:00:00 UTC`, or with an offset."""
    told = heard.headers.get("github-authentication-token-expiration", "") if isinstance(heard, Answer) else ""
    try:
        end = pendulum.parse(told.replace(" UTC", "Z").replace(" ", "T", 1).replace(" ", ""))
    except ValueError:
        return None
    return (end - heard.date).in_days() if isinstance(end, DateTime) and isinstance(heard, Answer) else None


def _questions(name: str, source: Github) -> dict[str, tuple[str, Params | None]]:
    """One row of each list: its headers tell how many there are."""
    since = {"since": source.config.floor.format("YYYY-MM-DD[T]HH:mm:ss[Z]")} if source.config.floor else {}
    return {
        what: (f"/repos/{name}{path}", {**order, "per_page": 1, **(since if "comments" in path else {})})
        for what, (path, order) in LISTS.items()
    }


def _is_private(heard: Heard) -> bool:
    return isinstance(heard, Answer) and isinstance(heard.data, dict) and heard.data.get("private") is True


def _widen(has_token: bool, scopes: frozenset[str] | None, site: str) -> str:
    if not has_token:
        return "see how it is written; a private one needs a token"
    if scopes is not None:
        lacks = "" if "repo" in scopes else ", which this token lacks"
        return f"see how it is written; a private one needs the scope repo{lacks}"
    return f"see how it is written; a private one must be among the token's repositories: {site}{PAGE}"
