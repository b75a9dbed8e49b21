"""What a service's answer is: its data, or the failure that its status and body mean. Pure functions of the answer.

A 200 that carries HTML or half a JSON text is no answer: it never looks like an empty list.
"""

from dataclasses import dataclass
from typing import Literal

import httpx
from pendulum import DateTime

from sources.core.http.limits import retry_after, server_time
from sources.core.values import json_value

__all__ = [
    "Answer",
    "Endless",
    "Failure",
    "OutcomeUnknown",
    "Temporary",
    "TooLarge",
    "accepted",
    "answer_of",
    "decoded",
]

Code = Literal["AUTH_FAILED", "NOT_FOUND", "RATE_LIMITED", "TIMEOUT", "PROJECT_MISMATCH", "FETCH_ERROR"]
GATEWAYS = (502, 504)  # somebody between has given up; the service behind may be at it still


class Failure(Exception):
    """A read that did not happen, as one line for people and a code for programs."""

    def __init__(
        self, code: Code, message: str, *, until: DateTime | None = None, status: int | None = None, said: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.until, self.status = code, until, status
        self.said = said  # the name that the service itself gave to the error, where it has names for them


class Temporary(Failure):
    """A failure that may be gone at the next try."""

    reached = True  # False: not a byte of the request was sent
    wait: float | None = None  # seconds that the service asks for before the next try

    @property
    def is_over(self) -> bool:
        """The service is done with the request, whatever came of it."""
        return self.status is not None and self.status not in GATEWAYS


class OutcomeUnknown(Failure):
    """Something was sent, and nothing says whether it took effect: only looking tells."""

    def __init__(self, code: Code, message: str, *, is_over: bool) -> None:
        super().__init__(code, message)
        self.is_over = is_over  # the service is done with it; else it may still take effect


class Endless(Failure):
    """An answer larger than any that is meant, or one that may be."""


class TooLarge(Endless):
    """An answer beyond the bound, of which only the headers and how it began were kept. A list is asked for less."""

    def __init__(self, message: str, answer: "Answer", begun: bytes) -> None:
        super().__init__("FETCH_ERROR", message, status=answer.status)
        self.answer, self.begun = answer, begun


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes
    data: object
    url: httpx.URL
    next_link: str | None

    @property
    def not_modified(self) -> bool:
        return self.status == 304

    @property
    def etag(self) -> str | None:
        etag: str | None = self.headers.get("etag")
        return etag if etag and etag.isascii() else None

    @property
    def date(self) -> DateTime:
        return server_time(self.headers)


def decoded(response: httpx.Response, body: bytes) -> Answer:
    """The answer with its data; raises for what may pass at the next try (5xx, a 200 that is not JSON)."""
    status, host, data = response.status_code, response.url.host, None
    if status >= 500:
        why = Temporary("FETCH_ERROR", f"{host} answered {status}", status=status)
        why.wait = retry_after(response.headers)
        raise why
    if response.is_success:
        kind = response.headers.get("content-type", "")
        if "json" not in kind:
            raise Temporary("FETCH_ERROR", f"{host} answered {status} with {kind or 'no type'!r} instead of JSON")
        try:
            data = json_value(body)
        except (ValueError, RecursionError) as error:
            raise Temporary("FETCH_ERROR", f"{host} answered {status} with broken JSON: {error}") from None
    return answer_of(response, body, data)


def answer_of(response: httpx.Response, body: bytes = b"", data: object = None) -> Answer:
    link = response.links.get("next", {}).get("url")
    return Answer(response.status_code, response.headers, body, data, response.url, link)


def accepted(answer: Answer) -> Answer:
    """The answer if it is one; else the `Failure` that its status means."""
    status, host, path = answer.status, answer.url.host, answer.url.path
    if status == 304 or 200 <= status < 300:
        return answer
    if status == 401:
        raise Failure("AUTH_FAILED", f"{host} refuses the token (401); is it set, valid, not expired?", status=401)
    if status == 403:
        raise Failure("AUTH_FAILED", f"{host} forbids {path} (403); the token may lack access", status=403)
    if status in (404, 410, 451):
        raise Failure("NOT_FOUND", f"{path} not found on {host} ({status}), or the token cannot see it", status=status)
    said, message = _said(answer.body)
    raise Failure("FETCH_ERROR", f"{host} answered {status} for {path}: {message}", status=status, said=said)


def _said(body: bytes) -> tuple[str, str]:
    """The error's name and message, as far as the body tells."""
    try:
        data = json_value(body)
    except (ValueError, RecursionError):
        return "", ascii(body[:80].decode("utf-8", "replace"))
    if not isinstance(data, dict):
        return "", "an error"
    return str(data.get("error", ""))[:80], ascii(str(data.get("message", ""))[:160])
