"""Who may ask the demo GitLab, and how often: tokens, the throttle, and how its many kinds of refusal look."""

from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from pipelines.demo.server.web import Request, Response

PERIOD = 60
PLAIN = {"content-type": "text/plain"}


class Refused(Exception):
    """Raised where an answer is worked out, to end it."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def told(status: int, message: str) -> Refused:
    """What GitLab's own code refuses says `message`."""
    return Refused(Response(status, {"message": message}))


def invalid(error: str, status: int = 400) -> Refused:
    """What its API framework refuses, before any code of the endpoint, says `error`."""
    return Refused(Response(status, {"error": error}))


def unauthorized() -> Refused:
    return told(401, "401 Unauthorized")


def not_found(what: str = "") -> Refused:
    """By name for a project; "found" in lower case where a row was looked up."""
    return told(404, f"404 {what} Not Found" if what else "404 Not found")


@dataclass
class Throttled:
    """Refuses the next `times` requests; endpoints with limits of their own say nothing about when to return."""

    retry_after: int | None = 30
    times: int = 1


@dataclass
class Window:
    minute: int
    used: int = 0


@dataclass(frozen=True)
class Visitor:
    username: str | None
    may_write: bool = True
    token: str = ""


@dataclass
class Access:
    """The service's rules for callers; tests may change any of them while it runs."""

    tokens: dict[str, str] = field(default_factory=lambda: {"demo-token": "earshot"})  # token → username
    revoked: set[str] = field(default_factory=set)
    expired: set[str] = field(default_factory=set)
    expire: dict[str, str] = field(default_factory=dict)  # token → the day when it will
    readers: set[str] = field(default_factory=set)  # tokens with the scope read_api alone
    scopes: dict[str, list[str]] = field(default_factory=dict)  # of tokens with others
    per_minute: int | None = None  # the throttle; None as on a server of one's own
    tells_budget: bool = True  # RateLimit-* headers on every answer, while there is a throttle
    throttled: Throttled | None = None
    deepest_offset: int | None = 50_000  # page * per_page beyond this is refused
    counted_rows: int = 10_000  # longer lists tell no totals and no last page
    windows: dict[str | None, Window] = field(default_factory=dict)

    def visitor(self, request: Request) -> Visitor:
        """PRIVATE-TOKEN wins over Bearer. A wrong token is refused even where none is needed."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        token = request.headers.get("private-token") or request.query.get("private_token")
        if not token and scheme.lower() == "bearer":
            token = bearer.strip()
        if not token:
            return Visitor(None)
        if token in self.revoked:
            raise Refused(Response(401, {"error": "invalid_token", "error_description": REVOKED}))
        if token in self.expired:
            raise Refused(Response(401, {"error": "invalid_token", "error_description": EXPIRED}))
        if token not in self.tokens:
            raise unauthorized()
        return Visitor(self.tokens[token], token not in self.readers, token)

    def scopes_of(self, visitor: Visitor) -> list[str]:
        return self.scopes.get(visitor.token, ["api" if visitor.may_write else "read_api"])

    def refuse_narrow(self, visitor: Visitor, *enough: str) -> None:
        """Also where nobody needs a token: who shows one is held to it."""
        if visitor.token and not {"api", "read_api", *enough} & set(self.scopes_of(visitor)):
            told = {"error": "insufficient_scope", "error_description": SCOPE, "scope": "api read_api"}
            raise Refused(Response(403, told))

    def admit(self, visitor: Visitor, second: int) -> Response | None:
        """Counts every request, also the one that will be a 304."""
        window = self._window(visitor, second)
        window.used += 1
        if self.throttled and self.throttled.times > 0:
            self.throttled.times -= 1
            return _retry_later(self.throttled.retry_after, {})
        if self.per_minute is not None and window.used > self.per_minute:
            return _retry_later(PERIOD - second % PERIOD, self.headers(visitor, second))
        return None

    def headers(self, visitor: Visitor, second: int) -> dict[str, str]:
        if self.per_minute is None or not self.tells_budget:
            return {}
        used, resets_at = self._window(visitor, second).used, second + PERIOD - second % PERIOD
        return {
            "ratelimit-name": f"throttle_{'' if visitor.username else 'un'}authenticated_api",
            "ratelimit-limit": str(self.per_minute),
            "ratelimit-observed": str(used),
            "ratelimit-remaining": str(max(0, self.per_minute - used)),
            "ratelimit-reset": str(resets_at),
            "ratelimit-resettime": formatdate(resets_at, usegmt=True),
        }

    def _window(self, visitor: Visitor, second: int) -> Window:
        """By the full minute, not by the first request."""
        window = self.windows.get(visitor.username)
        if window is None or window.minute != second // PERIOD:
            window = self.windows[visitor.username] = Window(second // PERIOD)
        return window


REVOKED = "Token was revoked. You have to re-authorize from the user."
EXPIRED = "Token is expired. You can either do re-authorization or token refresh."
SCOPE = "The request requires higher privileges than provided by the access token."


def _retry_later(seconds: int | None, headers: dict[str, str]) -> Response:
    """Plain text: who expects JSON in every answer trips over it."""
    advice: dict[str, Any] = {"retry-after": str(seconds)} if seconds is not None else {}
    return Response(429, b"Retry later\n", PLAIN | headers | advice)
