"""The time a picture shows, in whole days, weeks or months: the one that is not over yet would look like a fall. And
lengths of time, as people tell them apart.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isinf

from pipelines.charts.questions import Bounds

__all__ = ["LENGTHS", "PERIODS", "Period", "length", "length_of", "period"]

PERIODS = {"4 weeks": 28, "3 months": 92, "6 months": 183, "a year": 365, "everything": 0}
LENGTHS = {
    "1 hour": 3600,
    "4 hours": 14_400,
    "1 day": 86_400,
    "3 days": 259_200,
    "1 week": 604_800,
    "1 month": 2_592_000,
    "longer": 10**12,
}
DAYS, WEEKS = 45, 800  # up to so many days are shown day by day, week by week


@dataclass(frozen=True)
class Period:
    since: datetime  # a step's beginning: the first one is whole
    until: datetime  # the beginning of the step that is not over
    step: str


def period(bounds: Bounds, name: str) -> Period:
    since = max(bounds.until - timedelta(days=PERIODS[name]), bounds.first_at) if PERIODS[name] else bounds.first_at
    days = (bounds.until - since).days
    step = "day" if days <= DAYS else "week" if days <= WEEKS else "month"
    return Period(_begun(since, step), _begun(bounds.until, step), step)


def _begun(moment: datetime, step: str) -> datetime:
    """Weeks begin on Monday, as DuckDB's do."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days={"day": 0, "week": midnight.weekday(), "month": midnight.day - 1}[step])


def length_of(seconds: str, otherwise: str = "not yet") -> str:
    """SQL: the first of LENGTHS that so many seconds fit in; `otherwise` where they are null."""
    cases = " ".join(f"WHEN {seconds} <= {most} THEN '{name}'" for name, most in LENGTHS.items())
    return f"CASE {cases} ELSE '{otherwise}' END"


def length(seconds: float | None) -> str:
    """`3 hours`: a number for a card. What lasts for ever has not ended yet."""
    if seconds is None or isinf(seconds):
        return "–" if seconds is None else "not yet"
    for name, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}{'s' if round(seconds / size) != 1 else ''}"
    return f"{seconds:.0f} seconds"
