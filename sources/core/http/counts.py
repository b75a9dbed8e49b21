"""What asking cost, counted while it is asked."""

from dataclasses import dataclass

__all__ = ["RequestCounts"]


@dataclass
class RequestCounts:
    """What one surface cost: the numbers behind `ops.requests`."""

    requests: int = 0
    pages: int = 0
    not_modified: int = 0
    retries: int = 0
    bytes: int = 0
    waited: float = 0.0
    fetched: int = 0
    total: int = 0  # as far as the service tells how many there are; for a screen
    new: int = 0
    replayed: int = 0
    lag_seconds: float | None = None
    is_spared: bool = False  # not asked: a cheaper question told that there is nothing new
