"""Who may ask, and how often: tokens, the primary and the secondary rate limit, and how a refusal looks."""

from dataclasses import dataclass, field
from typing import Any

from pipelines.demo.server.web import Request, Response

DOCS = "https://docs.github.com"
HOUR = 3600
NEEDS = {  # path of a repository → permissions of a fine-grained token, of which one is enough
    "/issues/comments": frozenset({"issues", "pull_requests"}),
    "/issues": frozenset({"issues"}),
    "/pulls": frozenset({"pull_requests"}),
}
NO_USER_AGENT = (
    "\r\nRequest forbidden by administrative rules. Please make sure your request has a User-Agent header "
    f"({DOCS}/en/rest/overview/resources-in-the-rest-api#user-agent-required). "
    "Check https://developer.github.com for other possible causes.\r\n"
)


def refusal(status: int, message: str, docs: str = "rest", **more: Any) -> Response:
    return Response(status, {"message": message, **more, "documentation_url": f"{DOCS}/{docs}", "status": str(status)})


class Refused(Exception):
    """Raised where an answer is worked out, to end it."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def not_found() -> Refused:
    return Refused(refusal(404, "Not Found"))


def invalid(resource: str, name: str, value: str) -> Refused:
    error = {"value": value, "resource": resource, "field": name, "code": "invalid"}
    return Refused(refusal(422, "Validation Failed", "rest", errors=[error]))


@dataclass
class Secondary:
    """A secondary limit: refuses the next `times` requests, with or without a `retry-after`."""

    status: int = 403
    retry_after: int | None = 60
    times: int = 1


@dataclass
class Window:
    resets_at: int
    used: int = 0


@dataclass(frozen=True)
class Visitor:
    login: str | None
    key: str  # whose budget is spent
    may_write: bool = True
    token: str = ""


@dataclass
class Access:
    """The service's rules for callers; tests may change any of them while it runs."""

    tokens: dict[str, str] = field(default_factory=lambda: {"demo-token": "earshot"})  # token → login
    readers: set[str] = field(default_factory=set)  # tokens that may not write
    scopes: dict[str, str] = field(default_factory=dict)  # of classic tokens; a fine-grained one tells none
    permissions: dict[str, set[str]] = field(default_factory=dict)  # of fine-grained tokens that lack some
    expire: dict[str, str] = field(default_factory=dict)  # token → when, as GitHub writes it
    installations: set[str] = field(default_factory=set)  # tokens of an app (those of Actions, too): no user's
    quota: int = 5000
    points: int = 5000  # GraphQL's own
    anonymous_quota: int = 60
    exhausted_status: int = 403  # GitHub documents 403 and 429
    secondary: Secondary | None = None
    deep_items: int | None = 30_000  # page * per_page beyond this is refused
    deep_issues: int | None = 10_000  # the issue list's own limit, reached, not passed
    windows: dict[str, Window] = field(default_factory=dict)

    def visitor(self, request: Request) -> Visitor:
        if not request.headers.get("user-agent"):
            raise Refused(Response(403, NO_USER_AGENT.encode(), {"content-type": "text/html; charset=utf-8"}))
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return Visitor(None, "anonymous")
        login = self.tokens.get(token.strip()) if scheme.lower() in {"bearer", "token"} else None
        if login is None:
            raise Refused(refusal(401, "Bad credentials"))
        return Visitor(login, login, token.strip() not in self.readers, token.strip())

    def may_enter(self, visitor: Visitor, is_private: bool) -> bool:
        """A classic token needs the scope `repo` for what is private."""
        scopes = self.scopes.get(visitor.token)
        is_wide = scopes is None or "repo" in scopes.split(", ")
        return not is_private or (visitor.login is not None and is_wide)

    def refuse_narrow(self, visitor: Visitor, rest: str) -> None:
        """What a fine-grained token has no permission for, in a repository that it may see."""
        wanted = next((needs for path, needs in NEEDS.items() if f"{rest}/".startswith(f"{path}/")), frozenset())
        held = self.permissions.get(visitor.token)
        if wanted and held is not None and not wanted & held:
            response = refusal(403, "Resource not accessible by personal access token")
            response.headers["x-accepted-github-permissions"] = "; ".join(f"{each}=read" for each in sorted(wanted))
            raise Refused(response)

    def limited(self, visitor: Visitor, second: int) -> Response | None:
        if self.secondary and self.secondary.times > 0:
            self.secondary.times -= 1
            return _secondary(self.secondary)
        if self.window(visitor, second).used < self._quota(visitor):
            return None
        whom = f"user ID {visitor.login}" if visitor.login else "127.0.0.1"
        message, docs = f"API rate limit exceeded for {whom}.", "rest/using-the-rest-api/rate-limits-for-the-rest-api"
        return refusal(self.exhausted_status, message, docs)

    def points_of(self, visitor: Visitor) -> Visitor:
        """Who spends them: the same, from another purse."""
        return Visitor(visitor.login, f"{visitor.key} graphql", visitor.may_write)

    def window(self, visitor: Visitor, second: int) -> Window:
        """The hour that began with its first request."""
        window = self.windows.get(visitor.key)
        if window is None or second >= window.resets_at:
            window = self.windows[visitor.key] = Window(second + HOUR)
        return window

    def budget(self, visitor: Visitor, second: int) -> dict[str, int]:
        is_graphql = visitor.key.endswith(" graphql")
        window, quota = self.window(visitor, second), self.points if is_graphql else self._quota(visitor)
        used = min(window.used, quota)
        return {"limit": quota, "remaining": quota - used, "reset": window.resets_at, "used": used}

    def headers(self, visitor: Visitor, second: int) -> dict[str, str]:
        budget = {f"x-ratelimit-{name}": str(value) for name, value in self.budget(visitor, second).items()}
        resource = "graphql" if visitor.key.endswith(" graphql") else "core"
        return budget | {"x-ratelimit-resource": resource} | self._about(visitor.token)

    def _about(self, token: str) -> dict[str, str]:
        """What every answer tells of the token that asked."""
        told = {
            "github-authentication-token-expiration": self.expire.get(token),
            "x-oauth-scopes": self.scopes.get(token),
        }
        return {name: value for name, value in told.items() if value is not None}

    def _quota(self, visitor: Visitor) -> int:
        return self.quota if visitor.login else self.anonymous_quota


def _secondary(limit: Secondary) -> Response:
    response = refusal(
        limit.status,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        "rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits",
    )
    if limit.retry_after is not None:
        response.headers["retry-after"] = str(limit.retry_after)
    return response
