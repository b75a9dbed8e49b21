"""What headers say about limits, as pure functions."""

import pytest

from sources.limits import limit_wait, quota

NOW = {"date": "Sun, 01 Mar 2026 12:00:00 GMT"}
RESET = "1772366430"  # 30 s later


@pytest.mark.parametrize(("status", "headers", "body", "wait"), [
    (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", None),
    (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 31.0),
    (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 31.0),
    (429, {"ratelimit-remaining": "0", "ratelimit-reset": "30"}, b"", 31.0),
    (403, {"retry-after": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 7.0),
    (429, {"retry-after": "Sun, 01 Mar 2026 12:00:09 GMT"}, b"", 9.0),
    (429, {}, b"", 60.0),
    (403, {}, b'{"message": "You have exceeded a secondary rate limit"}', 60.0),
    (403, {"x-ratelimit-remaining": "4000"}, b'{"message": "Resource not accessible"}', None),
    (403, {}, b'{"message": "Must have admin rights"}', None),
    (422, {}, b'{"message": "rate limit"}', None),
])  # fmt: skip
def test_what_is_a_limit_and_how_long_it_lasts(
    status: int, headers: dict[str, str], body: bytes, wait: float | None
) -> None:
    """By the server's clock. A 403 for lack of rights and a 422 for depth are no limits: waiting would not help."""
    assert limit_wait(status, {**NOW, **headers}, body) == wait


def test_the_quota_is_read_in_either_dialect() -> None:
    """GitHub's and GitLab's names; headers that are no numbers say nothing."""
    assert quota({**NOW, "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999"}).remaining == 4999
    assert quota({**NOW, "ratelimit-limit": "600", "ratelimit-remaining": "1"}).limit == 600
    assert quota({**NOW, "x-ratelimit-remaining": "many"}).remaining is None
