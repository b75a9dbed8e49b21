"""What a first run costs, from what the lists' headers tell: requests, and time. Pure arithmetic."""

from dataclasses import dataclass

from pipelines.ask.setup.checks.heard import Heard
from sources.core.http.client import Answer
from sources.core.http.limits import rows_left
from sources.core.scope import PER_PAGE

__all__ = ["Cost", "Count", "counted_by", "told_time"]

ROWS_A_SECOND = 3000  # landed, modelled and indexed, on two slow cores
START_SECONDS = 3.0
HOUR = 3600.0


@dataclass(frozen=True)
class Count:
    """Of a list's rows. `is_least`: the service stops counting there."""

    rows: int
    is_least: bool = False

    @property
    def pages(self) -> int:
        return max(1, -(-self.rows // PER_PAGE))

    def told(self, one: str, many: str = "") -> str:
        noun = one if self.rows == 1 and not self.is_least else many or f"{one}s"
        return f"{self.rows:,}{' or more' if self.is_least else ''} {noun}"


def counted_by(heard: Heard, most: int) -> Count | None:
    """The rows of a list of which one was asked for; None where nothing tells. `most`: no service counts further."""
    if not isinstance(heard, Answer) or not isinstance(heard.data, list):
        return None
    rows = len(heard.data)
    left = rows_left(heard.headers, 1, 1, rows)
    if left is not None:
        return Count(left, left >= most)
    return Count(most, True) if heard.next_link else Count(rows)


@dataclass(frozen=True)
class Cost:
    """Of one place, or of several together."""

    requests: int = 0
    in_turn: int = 0  # of them one after the other: the pages of the longest list
    at_once: int = 1  # of the others
    rows: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        requests, rows = self.requests + other.requests, self.rows + other.rows
        return Cost(requests, max(self.in_turn, other.in_turn), max(self.at_once, other.at_once), rows)

    def seconds(self, latency: float, a_minute: int | None = None) -> float:
        """As far as the network, the service's pace (so many requests a minute) and our own work go."""
        network = latency * (self.in_turn + max(0, self.requests - self.in_turn) / self.at_once)
        paced = (self.requests - a_minute) / a_minute * 60 if a_minute and self.requests > a_minute else 0.0
        return START_SECONDS + max(network + self.rows / ROWS_A_SECOND, paced)


def told_time(seconds: float) -> str:
    if seconds < 60:
        return "less than a minute"
    if seconds < 1.5 * HOUR:
        minutes = round(seconds / 60)
        return "about a minute" if minutes == 1 else f"about {minutes} minutes"
    return f"about {round(seconds / HOUR)} hours"
