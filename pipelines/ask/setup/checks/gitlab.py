"""Is GitLab readable as configured? What its answers say of the token, the projects and the cost."""

from collections.abc import Mapping
from urllib.parse import quote

import pendulum
from pendulum import Date

from pipelines.ask.setup.checks.cost import Cost, Count, counted_by
from pipelines.ask.setup.checks.findings import Finding, expiring, note, unanswered, well, wrong
from pipelines.ask.setup.checks.heard import Heard, Line
from sources.core.http.client import Answer, Failure
from sources.gitlab.dependent_rows import EVENTS
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab

__all__ = ["check", "judge_lists", "judge_project", "judge_token", "make"]

API = "/api/v4"
ENOUGH = {"api", "read_api"}
MOST_COUNTED = 10_000  # longer lists tell no total
LISTS = ("merge_requests", "issues")


async def check(line: Line, source: Gitlab, *, is_first: bool) -> tuple[list[Finding], Cost]:
    """`is_first`: nothing was read yet, what it costs is told."""
    base, token = source.config.api_url.rstrip("/"), str(source.config.token)
    itself = await line.ask(f"{API}/personal_access_tokens/self") if token else None
    if isinstance(itself, Failure) and itself.status not in (401, 403):  # before 15.5, or another kind of token
        itself = await line.ask(f"{API}/user")
    found, total = judge_token(base, itself), Cost()
    if any(each.level == "wrong" for each in found):
        return found, total
    places = await line.ask_all({name: (f"{API}/projects/{quote(name, safe='')}", None) for name in source.scopes()})
    for name, heard in places.items():
        findings = judge_project(name, heard)
        if not findings or findings[0].level != "wrong":
            root = f"{API}/projects/{quote(name, safe='')}"
            asked: dict[str, str | int] = {"scope": "all", "state": "all", "per_page": 1}
            if source.config.floor:
                asked["updated_after"] = source.config.floor.to_iso8601_string()
            lists = await line.ask_all({each: (f"{root}/{each}", asked) for each in LISTS})
            more, cost = judge_lists(name, heard, lists, source.config, is_first=is_first)
            findings, total = [*more, *findings], total + cost
        found += findings
    return found, total


def make(base: str) -> str:
    return f"make one with read_api: {base.rstrip('/')}/-/user_settings/personal_access_tokens"


def judge_token(base: str, itself: Heard | None) -> list[Finding]:
    """Any token may look at itself; without one GitLab shows discussions to nobody, also of public projects."""
    page = make(base)
    if itself is None:
        return [wrong("GitLab", "no token: discussions are shown to nobody without one", page, "token")]
    if isinstance(itself, Failure):
        if itself.status == 401:
            return [wrong("GitLab", "the token is refused: mistyped, expired or revoked", page, "token")]
        if itself.status == 403:
            return [wrong("GitLab", "the token may not read the API", page, "token")]
        return [unanswered("GitLab", itself)]
    row = itself.data if isinstance(itself.data, dict) else {}
    scopes = row.get("scopes")
    if isinstance(scopes, list) and not ENOUGH & set(map(str, scopes)):
        told = ", ".join(map(str, scopes)) or "none"
        return [wrong("GitLab", f"the token is too narrow (scopes: {told})", page, "token")]
    kind = f" of {row['username']}" if row.get("username") else ""
    told = f" (scopes: {', '.join(map(str, scopes))})" if isinstance(scopes, list) else ""
    days = _days_left(row.get("expires_at"), itself)
    return [well("GitLab", f"the token{kind} is good{told}"), *expiring("GitLab", days, page)]


def judge_project(name: str, heard: Heard) -> list[Finding]:
    if isinstance(heard, Failure):
        if heard.code == "NOT_FOUND":
            remedy = "see how it is written (group/subgroup/name); a private one needs a token of one of its members"
            return [wrong(name, "no such project, or it is private and not shown", remedy, "place")]
        if heard.status == 403:
            return [wrong(name, str(heard), "see that the token may read it", "token")]
        return [unanswered(name, heard)]
    row = heard.data if isinstance(heard.data, dict) else {}
    called = row.get("path_with_namespace")
    if not isinstance(called, str) or not isinstance(row.get("id"), int):
        return [
            wrong(name, "what answers there is no project", "see that api_url is GitLab's address, without /api/v4")
        ]
    if name.isdecimal() or called.lower() == name.strip("/").lower():
        return []
    return [note(name, f"is called {called} now; it is found all the same")]


def judge_lists(
    name: str, project: Heard, lists: Mapping[str, Heard], config: GitlabConfig, *, is_first: bool
) -> tuple[list[Finding], Cost]:
    """Each merge request and issue is asked for what hangs on it. What is switched off in a project costs nothing."""
    row = project.data if isinstance(project, Answer) and isinstance(project.data, dict) else {}
    found, counts = list[Finding](), {each: Count(0) for each in LISTS}
    for each, heard in lists.items():
        what = each.replace("_", " ")
        if isinstance(heard, Answer):
            counts[each] = counted_by(heard, MOST_COUNTED) or Count(0)
        elif heard.status == 403 and row.get(f"{each}_access_level") == "disabled":
            found.append(
                note(name, f"{what} are switched off there", f"runs over it end with exit 3; --type leaves {what} out")
            )
        else:
            remedy = "the token's owner must be a member who may read them" if heard.status == 403 else "try again"
            found.append(
                wrong(name, f"its {what} cannot be read: {heard}", remedy, "token" if heard.status == 403 else "")
            )
    if any(each.level == "wrong" for each in found):
        return found, Cost()
    if not is_first:
        return [well(name, "readable"), *found], Cost()
    merges, issues = counts["merge_requests"], counts["issues"]
    hanging = merges.rows * _hanging(config, is_merge=True) + issues.rows * _hanging(config, is_merge=False)
    cost = Cost(
        1 + merges.pages + issues.pages + hanging, max(merges.pages, issues.pages), config.dependent_concurrency,
        10 * (merges.rows + issues.rows),
    )  # fmt: skip
    return [well(name, f"{merges.told('merge request')}, {issues.told('issue')}"), *found], cost


def _hanging(config: GitlabConfig, *, is_merge: bool) -> int:
    """Requests for what hangs on one, where each of its lists fits a page."""
    shared = 1 + (len(EVENTS) if config.fetch_resource_events else 0)
    return shared + (config.fetch_closes_issues + config.fetch_diffs + config.verify_reviewers if is_merge else 0)


def _days_left(told: object, answer: Answer) -> int | None:
    try:
        end = pendulum.parse(told, exact=True) if isinstance(told, str) else None
    except ValueError:
        return None
    return (end - answer.date.date()).in_days() if isinstance(end, Date) else None
