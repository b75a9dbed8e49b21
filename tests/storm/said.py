"""What is said in a world, as the storm compares it: keys, words, and what hangs on what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

__all__ = ["Fact", "Key", "Mob", "Operation", "Unseen", "Words", "nth", "words_of"]

Key = tuple[str, str, str]  # source, kind, id
Words = str
Operation = tuple[str, int]  # what, and a number that says to whom and how
T = TypeVar("T")

# Whatever it takes to see it: a run that sweeps, one that compares all records, one that reads everything again.
SWEEP, DEEP, FULL = "sweep", "deep", "full"
ORDER = (SWEEP, DEEP, FULL)

SAID = [
    "why?", "because", "LGTM", "please rename", "no", "ok", "", "ünï¢ode 🪷 \u202e", "```suggestion\nx\n```",
    "/earshot fix now=yes", "a long one " * 40, "'); DROP TABLE notes; --", "> quoted\n\nand answered", "null", "1e3",
]  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One utterance (or the state of something) that exists now. `about`: the place it hangs on."""

    words: Words
    about: str


@dataclass
class Unseen:
    """What the last runs could not see, by the facts: for each key what it takes, or how many clean runs are left."""

    takes: dict[Key, str | int] = field(default_factory=dict)

    def add(self, key: Key, takes: str | int = SWEEP) -> None:
        """What it took before it takes all the same: a sweep is not spared because its place was shut, too."""
        known = self.takes.get(key)
        if isinstance(known, str) and (isinstance(takes, int) or ORDER.index(known) > ORDER.index(takes)):
            return
        self.takes[key] = takes

    def clean_run(self, *, sweeps: bool, deep: bool, full: bool, dead: Callable[[Key], bool]) -> None:
        """A run over a world that stood still ended well. The death of a place takes one more."""
        done = {SWEEP: sweeps, DEEP: sweeps and deep, FULL: sweeps and full}
        for key, takes in list(self.takes.items()):
            if isinstance(takes, str):
                if done[takes]:
                    self._less(key, 1 if dead(key) else 0)
            else:
                self._less(key, takes - 1)

    def _less(self, key: Key, left: int) -> None:
        if left > 0:
            self.takes[key] = left
        else:
            del self.takes[key]

    def __contains__(self, key: Key) -> bool:
        return key in self.takes


class Mob(Protocol):
    """Everybody who does something in one service's world, and what is true there."""

    name: str
    world: Any
    app: Any
    unseen: Unseen
    touched: set[str]  # keys' ids and places that something happened to since it was last cleared
    operations: Mapping[str, int]  # name → how often, relative to the others

    def do(self, operation: Operation) -> int: ...  # how many deeds became of it

    def source(self) -> Any: ...

    def exists(self) -> dict[Key, Fact]: ...

    def news(self) -> list[tuple[Key, Words]]: ...  # everything said since it was last asked

    def held(self, sql: Callable[[str], list[tuple[Any, ...]]]) -> dict[Key, Words]: ...

    def paths(self, pick: int) -> tuple[str, list[Key]]: ...  # a place that may be shut, and what is in doubt then

    def is_dead(self, key: Key) -> bool: ...


def nth(rows: Sequence[T], pick: int) -> T:
    return rows[pick % len(rows)]


def words_of(pick: int) -> str:
    """Some repeat, so that an edit may bring old words back."""
    return f"{nth(SAID, pick)} {pick // 7 % 50}".strip() if pick % 5 else nth(SAID, pick)
