"""An endpoint that answers nothing but errors is left alone: what fails for one merge request after the other fails for
all, each with its retries and the pauses between.

After `AFTER` records in a row that could not be read only the first, second, fourth, eighth … of the others is asked
for, once. One answer, and all are asked for again: so it is noticed when the endpoint is well, and that only the first
were broken. Those that were left out in between are the next run's, which begins at another place.
"""

import re
from dataclasses import dataclass, field

from sources.core.http.response import Failure

__all__ = ["AFTER", "Endpoints", "GivenUp"]

AFTER = 5
NUMBER = re.compile(r"\d+")


class GivenUp(Failure):
    """A record that was not asked for. The endpoint is told once, not each record."""

    def __init__(self, endpoint: str, why: Failure) -> None:
        super().__init__(why.code, f"{endpoint} fails for one after the other ({why}); others were not asked for")
        self.endpoint = endpoint


@dataclass
class _Streak:
    why: Failure
    failed: int = 0
    left_out: int = 0


@dataclass
class Endpoints:
    """Those whose last record could not be read, by their paths without numbers."""

    _streaks: dict[str, _Streak] = field(default_factory=dict)

    def admits(self, path: str) -> bool:
        """Whether to ask with all patience; False: once. Raises `GivenUp` where not at all."""
        endpoint = NUMBER.sub("N", path)
        streak = self._streaks.get(endpoint)
        if streak is None or streak.failed < AFTER:
            return True
        streak.left_out += 1
        if streak.left_out & (streak.left_out - 1):  # no power of two
            raise GivenUp(endpoint, streak.why)
        return False

    def heard(self, path: str, why: Failure | None = None) -> None:
        """What became of it: it was answered, or not."""
        endpoint = NUMBER.sub("N", path)
        if why is None:
            self._streaks.pop(endpoint, None)
        else:
            streak = self._streaks.setdefault(endpoint, _Streak(why))
            streak.failed, streak.why = streak.failed + 1, why
