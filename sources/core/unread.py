"""What could not be read: a list or a scope, and single records as a reading meets them and as they lie in quarantine
between the runs."""

from dataclasses import dataclass

from pendulum import DateTime

from sources.core.http.client import Failure
from sources.core.values import Json, Unreadable, fingerprint, json_record

__all__ = ["Problem", "Quarantined", "Unread", "not_understood", "quarantine_key"]


@dataclass(frozen=True)
class Problem:
    """Something that was not read, for the ledger, the exit code and people."""

    scope: str
    surface: str
    code: str
    message: str
    until: DateTime | None = None


@dataclass(frozen=True)
class Quarantined:
    """A record that could not be parsed, kept raw."""

    scope: str
    surface: str
    key: str
    reason: str
    raw: Json
    parent_key: str | None = None  # the issue or the like that it is, or hangs on


@dataclass(frozen=True)
class Unread:
    """A record in quarantine, as earlier runs left it."""

    scope: str
    surface: str
    key: str
    reason: str
    raw: str
    parent_key: str | None
    is_let_be: bool = False  # somebody has said that nobody will ever read it
    is_due: bool = True  # to be asked for by this run

    def again(self, reason: str | None = None) -> Quarantined:
        """Asked for, and still not read."""
        return Quarantined(
            self.scope, self.surface, self.key, reason or self.reason, json_record(self.raw), self.parent_key
        )


def quarantine_key(surface: str, scope: str, item: Json) -> str:
    """By its number or its uri; what has neither is known by all that it says."""
    id_ = item.get("id")
    is_id = isinstance(id_, int) or (isinstance(id_, str) and "://" in id_ and len(id_) <= 256)
    return f"{surface}:{scope}:{id_ if is_id else fingerprint(repr(item))}"


def not_understood(error: Unreadable) -> Failure:
    return Failure("FETCH_ERROR", f"an answer could not be understood: {error}")
