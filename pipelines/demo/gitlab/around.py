"""What every project of a demo GitLab shares: the clock, the people, quirks, how ids and changes are counted."""

from collections import Counter
from typing import Any, Literal

from pendulum import DateTime

from pipelines.demo.gitlab.state import User, Version

__all__ = ["Around"]

FIRST_ID = 1000

# "current": today's names, with the deprecated ones beside them; "old": only the deprecated ones, and nothing newer;
# "disagreeing": both, and they do not say the same.
FieldNames = Literal["current", "old", "disagreeing"]


class Around:
    def __init__(self, now: DateTime) -> None:
        self.now = now
        self.users: dict[str, User] = {}
        self.paths: dict[str, Any] = {}  # of projects, lower case, as GitLab compares them
        self.former_paths: dict[str, Any] = {}
        self.history: list[Version] = []
        self.field_names: FieldNames = "current"
        self.resolving: Literal["older", "newer"] = "older"  # newer: moves the notes, and is announced when all is done
        self.pushing_moves_parent = False
        self.assigning_moves_parent = True
        self._ids: Counter[str] = Counter()

    @property
    def now(self) -> DateTime:
        return self._now

    @now.setter
    def now(self, value: DateTime) -> None:
        self._now = value.in_timezone("UTC")

    def advance(self, seconds: float = 0) -> None:
        self.now = self._now.add(seconds=seconds)

    def next_id(self, kind: str) -> int:
        self._ids[kind] += 1
        return FIRST_ID + self._ids[kind]

    def user(self, username: str, name: str = "", bot: bool = False) -> User:
        """Whoever speaks for the first time has an account from then on."""
        if username not in self.users:
            readable = name or username.replace("-", " ").title()
            self.users[username] = User(self.next_id("user"), username, readable, bot or "_bot_" in username)
        return self.users[username]
