"""Scopes split over runners: repositories, projects and accounts by a stable hash of their names."""

from dataclasses import dataclass
from hashlib import blake2b

from sources.core.config import ConfigError

__all__ = ["ALONE", "Shard"]


@dataclass(frozen=True)
class Shard:
    """One of so many runners. Which scopes are its own follows from their names alone, on every machine, for ever."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        number, slash, of = text.strip().partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 999):
            raise ConfigError(f"--shard {text!r}: expected K/N, e.g. 2/4, with K from 1 to N")
        return cls(int(number), int(of))

    @property
    def is_all(self) -> bool:
        return self.of == 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def suffix(self) -> str:
        """For names of pipelines and directories; none where nothing is split."""
        return "" if self.is_all else f"_{self.number}_of_{self.of}"

    def owns(self, scope: str) -> bool:
        """A name is the same scope in any case: two spellings of one must not get two owners."""
        said = scope.strip().removeprefix("@").casefold().encode()
        return int.from_bytes(blake2b(said, digest_size=8).digest()) % self.of == self.number - 1


ALONE = str(Shard())
