"""Instants as people say them: `3d`, `2026-01-01`, "3 days ago"."""

import re
from datetime import datetime

import click
import pendulum
from pendulum import DateTime
from pendulum.tz import local_timezone

__all__ = ["ago", "ago_short", "day", "instant", "length", "now", "period", "since"]

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks", "mo": "months", "y": "years"}
PERIOD = re.compile(r"(\d{1,6})(s|mo|m|h|d|w|y)")


def now() -> DateTime:
    return pendulum.now("UTC")


def since(text: str) -> DateTime:
    """How long ago, or a date (midnight here), or an instant."""
    try:
        if found := PERIOD.fullmatch(text.strip()):
            return now().subtract(**{UNITS[found[2]]: int(found[1])})
        parsed = pendulum.parse(text.strip(), tz=local_timezone()) if text[:4].isdigit() else None
    except (ValueError, OverflowError):
        parsed = None
    if not isinstance(parsed, DateTime):
        raise click.BadParameter(f"{text!r}: expected a period like 3d, 12h, 2w or a date like 2026-01-31")
    return parsed


def period(text: str) -> int:
    """A length of time in seconds: `60`, `60s`, `5m`, `1h`."""
    found = PERIOD.fullmatch(f"{text.strip()}s" if text.strip().isdigit() else text.strip())
    if not found or int(found[1]) == 0:
        raise click.BadParameter(f"{text!r}: expected a period like 60s, 5m or 1h")
    return int(pendulum.duration(**{UNITS[found[2]]: int(found[1])}).total_seconds())


def ago(moment: datetime | None) -> str:
    """Beside the instant itself, or where space is dear: how long that is from now."""
    if moment is None:
        return ""
    length = pendulum.instance(moment).diff_for_humans(now(), absolute=True)
    return f"{length} ago" if moment <= now() else f"in {length}"


def ago_short(moment: datetime) -> str:
    """Where there is no room: `3d`, `2w`, `5mo`."""
    gone = now() - pendulum.instance(moment)
    for unit, size in (("y", 365 * 86400), ("mo", 30 * 86400), ("w", 7 * 86400), ("d", 86400), ("h", 3600), ("m", 60)):
        if gone.total_seconds() >= size:
            return f"{gone.total_seconds() // size:.0f}{unit}"
    return "now"


def length(seconds: float) -> str:
    """As people say it: `0.4 s`, `2 min 30 s`, `3 h 5 min`, `2 d 4 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 59.95 and seconds % 1 else f"{whole} s"
    for name, size, rest, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            more = whole % size // part
            return f"{whole // size:,} {name}{f' {more} {rest}' if more else ''}"
    return "0 s"


def instant(moment: datetime | None) -> str:
    """In this machine's zone, to the second."""
    return _local(moment).format("YYYY-MM-DD HH:mm:ss") if moment else ""


def day(moment: datetime | None) -> str:
    return _local(moment).format("YYYY-MM-DD") if moment else ""


def _local(moment: datetime) -> DateTime:
    return pendulum.instance(moment).in_timezone(local_timezone())
