"""What every repository of a demo GitHub shares: the clock, the people, and how ids and changes are counted."""

from collections import Counter
from typing import Any

from pendulum import DateTime

from pipelines.demo.github.state import User, Version

__all__ = ["Around"]

FIRST_ID = 1000


class Around:
    def __init__(self, now: DateTime) -> None:
        self.now = now
        self.users: dict[str, User] = {}
        self.names: dict[str, Any] = {}  # of repositories, lower case, as GitHub compares them
        self.former_names: dict[str, Any] = {}
        self.history: list[Version] = []
        self.deletions_move_parent = False
        self._ids: Counter[str] = Counter()

    @property
    def now(self) -> DateTime:
        return self._now

    @now.setter
    def now(self, value: DateTime) -> None:
        self._now = value.in_timezone("UTC")
        self.second = self._now.replace(microsecond=0)

    def advance(self, seconds: float = 0) -> None:
        self.now = self._now.add(seconds=seconds)

    def next_id(self, kind: str) -> int:
        self._ids[kind] += 1
        return FIRST_ID + self._ids[kind]

    def user(self, login: str, bot: bool = False) -> User:
        if login not in self.users:
            self.users[login] = User(self.next_id("user"), login, bot or login.endswith("[bot]"))
        return self.users[login]
