"""What an answer's status and headers say about limits: pure functions of (status, headers, body).

Three dialects are read as one: `x-ratelimit-*`, `ratelimit-*`, and `retry-after`. The time is always the server's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import pendulum
from pendulum import DateTime

__all__ = ["MOST_WAIT", "UNTOLD_WAIT", "Quota", "limit_wait", "quota", "retry_after", "rows_left", "server_time"]

MOST = 1e11
MOST_WAIT = 1e8  # three years: beyond that a header means nothing
UNTOLD_WAIT = 60.0  # a secondary limit without retry-after asks for at least a minute
_COUNT = re.compile(r"[0-9]{1,12}")
_LAST = re.compile(r'[?&]page=([0-9]{1,9})[^<>]*>;\s*rel="last"')
LIMIT_WORDS = ("rate limit", "abuse detection")


@dataclass(frozen=True)
class Quota:
    limit: int | None
    remaining: int | None
    reset_at: DateTime | None


def server_time(headers: Mapping[str, str]) -> DateTime:
    """The `Date` header; the local clock only where a proxy dropped it."""
    try:
        return pendulum.instance(parsedate_to_datetime(headers["date"])).in_timezone("UTC")
    except (KeyError, ValueError, TypeError):
        return pendulum.now("UTC").start_of("second")


def quota(headers: Mapping[str, str]) -> Quota:
    reset = _number(headers, "reset")
    now = server_time(headers)
    reset_at = None
    if reset is not None:  # some servers send seconds from now, most the epoch
        reset_at = now.add(seconds=int(reset)) if reset < 1_000_000_000 else pendulum.from_timestamp(reset)
    limit, remaining = _number(headers, "limit"), _number(headers, "remaining")
    return Quota(_whole(limit), _whole(remaining), reset_at)


def limit_wait(status: int, headers: Mapping[str, str], body: bytes) -> float | None:
    """Seconds to wait when this answer is a limit, else None. 403 is a limit only if something says so."""
    if status not in (403, 429):
        return None
    after = retry_after(headers)
    if after is not None:
        return after
    left = quota(headers)
    if left.remaining == 0 and left.reset_at is not None:
        return min(MOST_WAIT, max(1.0, (left.reset_at - server_time(headers)).total_seconds() + 1.0))
    said = body[:2000].decode("utf-8", "replace").lower()
    return UNTOLD_WAIT if status == 429 or any(words in said for words in LIMIT_WORDS) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]+", value):
        return min(float(value), MOST_WAIT)
    try:
        return max(0.0, (pendulum.instance(parsedate_to_datetime(value)) - server_time(headers)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def rows_left(headers: Mapping[str, str], page: int, size: int, rows: int) -> int | None:
    """How many rows a list has from this page on, as far as the service tells: it counts them, or names its last page;
    one that is not full is the last.
    """
    total = headers.get("x-total", "")
    if _COUNT.fullmatch(total):
        return max(rows, int(total) - (page - 1) * size)
    if last := _LAST.search(headers.get("link", "")):
        return max(rows, (int(last[1]) - page + 1) * size)
    return rows if rows < size else None


def _number(headers: Mapping[str, str], name: str) -> float | None:
    for prefix in ("x-ratelimit-", "ratelimit-"):
        try:
            value = float(headers[prefix + name])
            return value if 0 <= value < MOST else None  # neither nan nor the end of time
        except (KeyError, ValueError):
            continue
    return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
