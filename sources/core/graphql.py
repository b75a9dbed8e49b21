"""What a GraphQL service answers: data and errors in one body, with 200. Pure functions of the answer.

An error that names a part (its `path`) is that part's failure, and all others are good. One that names none, or comes
without data, is everybody's.
"""

from sources.core.http.response import Answer, Code, Failure
from sources.core.values import Json

__all__ = ["answered"]

CODES: dict[object, Code] = {
    "NOT_FOUND": "NOT_FOUND", "FORBIDDEN": "AUTH_FAILED", "INSUFFICIENT_SCOPES": "AUTH_FAILED",
    "RATE_LIMITED": "RATE_LIMITED", "RATE_LIMIT": "RATE_LIMITED",
}  # fmt: skip


def answered(answer: Answer, under: str) -> tuple[Json, dict[str, Failure]]:
    """The parts below the field `under`, by alias; and the failures of those that could not be told."""
    host = answer.url.host
    body = answer.data if isinstance(answer.data, dict) else {}
    told, failures, whole = body.get("errors"), dict[str, Failure](), list[Failure]()
    for error in told if isinstance(told, list) else []:
        path, failure = _path(error), _failure(error, host)
        if len(path) > 1 and path[0] == under:
            failures.setdefault(path[1], failure)
        else:
            whole.append(failure)
    data = body.get("data")
    found = data.get(under) if isinstance(data, dict) else None
    if whole or not isinstance(found, dict):
        raise (whole or [*failures.values(), Failure("FETCH_ERROR", f"{host} answered a query without its data")])[0]
    return found, failures


def _path(error: object) -> list[str]:
    path = error.get("path") if isinstance(error, dict) else None
    return [str(part) for part in path] if isinstance(path, list) else []


def _failure(error: object, host: str) -> Failure:
    told = error if isinstance(error, dict) else {}
    kind, message = told.get("type"), ascii(str(told.get("message", "an error"))[:160])
    return Failure(CODES.get(kind, "FETCH_ERROR"), f"{host} answered a query with {message}", said=str(kind or "")[:80])
