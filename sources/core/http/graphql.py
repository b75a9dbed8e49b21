"""What a GraphQL service answers: data and errors in one body, with 200, a limit too. Pure functions of the answer.

Its limit is another than that of all other requests: it is counted in points. An error that names a part (its `path`)
is that part's failure, and all others are good. One that names none, or comes without data, is everybody's.
"""

from collections.abc import Mapping

from sources.core.http.limits import MOST_WAIT, UNTOLD_WAIT, Quota, limit_wait, quota, retry_after, server_time
from sources.core.http.response import Answer, Code, Failure
from sources.core.values import Json, Unreadable, instant, json_value

__all__ = ["answered", "points_left", "points_wait"]

POINTS_SPENT = ("RATE_LIMITED", "RATE_LIMIT")  # as it is documented, and as it is also met
CODES: dict[str, Code] = {
    "NOT_FOUND": "NOT_FOUND",
    "FORBIDDEN": "AUTH_FAILED",
    "INSUFFICIENT_SCOPES": "AUTH_FAILED",
    **dict.fromkeys(POINTS_SPENT, "RATE_LIMITED"),
}


def answered(answer: Answer, under: str, may_miss: str = "") -> tuple[Json, dict[str, Failure]]:
    """The parts below the field `under`, by alias; and the failures of those that could not be told. Of the list
    `may_miss` members are null that are not for this token.
    """
    host = answer.url.host
    body = answer.data if isinstance(answer.data, dict) else {}
    failures, whole = dict[str, Failure](), list[Failure]()
    for error in _errors(body):
        path, failure = _path(error), _failure(error, host)
        if path[2:4] == [may_miss, "nodes"]:
            continue
        if len(path) > 1 and path[0] == under:
            failures.setdefault(path[1], failure)
        else:
            whole.append(failure)
    data = body.get("data")
    found = data.get(under) if isinstance(data, dict) else None
    if whole or not isinstance(found, dict):
        raise (whole or [*failures.values(), Failure("FETCH_ERROR", f"{host} answered a query without its data")])[0]
    return found, failures


def points_wait(status: int, headers: Mapping[str, str], body: bytes) -> float | None:
    """The same of a GraphQL service. What is left in its headers need not be 0 when it refuses."""
    if status != 200 or b"RATE_LIMIT" not in body:
        return limit_wait(status, headers, body)
    if not any(each.get("type") in POINTS_SPENT for each in _errors(_object(body))):
        return None
    after, reset_at = retry_after(headers), quota(headers).reset_at
    if after is None and reset_at is not None:
        return min(MOST_WAIT, max(1.0, (reset_at - server_time(headers)).total_seconds() + 1.0))
    return UNTOLD_WAIT if after is None else after


def points_left(headers: Mapping[str, str], body: object) -> Quota:
    """As the answer itself says (`rateLimit`), else its headers."""
    told = body.get("data") if isinstance(body, dict) else None
    told = told.get("rateLimit") if isinstance(told, dict) else None
    left, reset_at = (told.get("remaining"), told.get("resetAt")) if isinstance(told, dict) else (None, None)
    if not isinstance(left, int):
        return quota(headers)
    try:
        return Quota(quota(headers).limit, left, instant(reset_at))
    except Unreadable:
        return Quota(quota(headers).limit, left, quota(headers).reset_at)


def _object(body: bytes) -> Json:
    try:
        found = json_value(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _errors(body: Json) -> list[Json]:
    told = body.get("errors")
    return [each if isinstance(each, dict) else {} for each in told] if isinstance(told, list) else []


def _path(error: Json) -> list[str]:
    path = error.get("path")
    return [str(part) for part in path] if isinstance(path, list) else []


def _failure(error: Json, host: str) -> Failure:
    kind, message = error.get("type"), ascii(str(error.get("message", "an error"))[:160])
    return Failure(
        CODES.get(str(kind), "FETCH_ERROR"), f"{host} answered a query with {message}", said=str(kind or "")[:80]
    )
