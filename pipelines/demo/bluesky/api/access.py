"""What the demo Bluesky asks of a request, what it refuses and how, and which of its habits a test may change."""

import re
from dataclasses import dataclass, field
from typing import Literal

from pipelines.demo.bluesky.names import is_actor, is_at_uri, is_handle
from pipelines.demo.server.web import Request, Response

WINDOW = 300
MOST, MOST_LISTED = 100, 25


class Refused(Exception):
    """Raised where an answer is worked out, to end it."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def refused(message: str, error: str = "InvalidRequest", status: int = 400) -> Refused:
    return Refused(Response(status, {"error": error, "message": message}))


def broken() -> Refused:
    return refused("Internal Server Error", "InternalServerError", 500)


@dataclass
class Throttled:
    """Refuses the next `times` requests to the AppView, which never told that it counts."""

    retry_after: int | None = 30
    times: int = 1


@dataclass
class Quirks:
    """Defaults are production's. `keyset` cursors are those of the open AppView: no millisecond is skipped."""

    cursors: Literal["timestamps", "keyset"] = "timestamps"
    skips_same_millisecond: bool = True  # False: a timestamp cursor comes back to its own millisecond's items
    cursor_after_full_page: bool = False  # also when nothing follows: the last page is then empty


@dataclass
class Access:
    pds_limit: int = 3000  # requests in five minutes, per PDS
    throttled: Throttled | None = None
    blocked: dict[str, Literal["BlockedActor", "BlockedByActor"]] = field(default_factory=dict)  # by DID
    quirks: Quirks = field(default_factory=Quirks)
    _used: dict[tuple[str, int], int] = field(default_factory=dict)

    def admit(self) -> None:
        if self.throttled and self.throttled.times > 0:
            self.throttled.times -= 1
            refusal = refused("Rate Limit Exceeded", "RateLimitExceeded", 429)
            if self.throttled.retry_after is not None:
                refusal.response.headers["retry-after"] = str(self.throttled.retry_after)
            raise refusal

    def count(self, host: str, second: int) -> dict[str, str]:
        """One more request to a PDS; the headers that tell what is left."""
        window = host, second // WINDOW
        used = self._used[window] = self._used.get(window, 0) + 1
        headers = {
            "ratelimit-limit": str(self.pds_limit),
            "ratelimit-remaining": str(max(0, self.pds_limit - used)),
            "ratelimit-reset": str((second // WINDOW + 1) * WINDOW),
            "ratelimit-policy": f"{self.pds_limit};w={WINDOW}",
        }
        if used > self.pds_limit:
            refusal = refused("Rate Limit Exceeded", "RateLimitExceeded", 429)
            refusal.response.headers = headers
            raise refusal
        return headers

    def let_through(self, did: str) -> None:
        """Who asks without an account is never blocked; a test may still have it."""
        if error := self.blocked.get(did):
            which = "has blocked" if error == "BlockedActor" else "is blocked by"
            raise refused(f"Requester {which} actor: {did}", error)


# Parameters, as the lexicons' validation reads them


def text(request: Request, name: str) -> str:
    if name not in request.query:
        raise refused(f'Error: Params must have the property "{name}"')
    return request.query[name]


def actor(request: Request, name: str = "actor") -> str:
    return _actor(text(request, name), name)


def handle(request: Request) -> str:
    given = text(request, "handle")
    if not is_handle(given):
        raise refused("Error: handle must be a valid handle")
    return given


def actors(request: Request) -> list[str]:
    return [_actor(given, f"actors/{n}") for n, given in enumerate(_several(request, "actors"))]


def uris(request: Request) -> list[str]:
    found = _several(request, "uris")
    for n, given in enumerate(found):
        if not is_at_uri(given):
            raise refused(f"Error: uris/{n} must be a valid at-uri")
    return found


def limit(request: Request) -> int:
    given = request.query.get("limit", "50")
    if not re.fullmatch(r"-?[0-9]{1,15}", given):
        raise refused("Error: limit must be an integer")
    if int(given) < 1:
        raise refused("Error: limit can not be less than 1")
    if int(given) > MOST:
        raise refused(f"Error: limit can not be greater than {MOST}")
    return int(given)


def flag(request: Request, name: str) -> bool:
    given = request.query.get(name, "false")
    if given not in {"true", "false"}:
        raise refused(f"Error: {name} must be a boolean")
    return given == "true"


def _actor(given: str, name: str) -> str:
    if not is_actor(given):
        raise refused(f"Error: {name} must be a valid did or a handle")
    return given


def _several(request: Request, name: str) -> list[str]:
    """One parameter, many times over; `name[]` is another name."""
    found = [value for key, value in request.pairs if key == name]
    if not found:
        raise refused(f'Error: Params must have the property "{name}"')
    if len(found) > MOST_LISTED:
        raise refused(f"Error: {name} must not have more than {MOST_LISTED} elements")
    return found
