"""What `[sources.github]` may say."""

import re
from dataclasses import dataclass, field
from datetime import timedelta

from pendulum import DateTime

from sources.core.config import ConfigError, Secret, check_address, check_token
from sources.core.cursor import start_of

__all__ = ["GithubConfig"]


@dataclass(frozen=True)
class GithubConfig:
    api_url: str = "https://api.github.com"
    token: Secret = Secret()
    write_token: Secret = Secret()  # without one, nothing is ever answered
    repos: list[str] = field(default_factory=list)
    pulls: dict[str, list[int]] = field(default_factory=dict)
    since: str = ""
    overlap_seconds: int = 120
    fetch_review_threads: bool = True  # which are resolved: GraphQL tells whoever has a token

    def __post_init__(self) -> None:
        check_address("[sources.github]", self.api_url)
        for key in ("token", "write_token"):
            check_token(f"[sources.github] {key}", getattr(self, key))
        for name in [*self.repos, *self.pulls]:
            if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
                raise ConfigError(f"[sources.github] repos: {name!r} is not of the form owner/name")
        if self.overlap_seconds < 1:
            raise ConfigError("[sources.github] overlap_seconds: at least 1, or same-second edits are lost")
        self.floor  # noqa: B018  a wrong date is refused at once

    @property
    def floor(self) -> DateTime | None:
        """The configured start. An epoch `since` would return an empty list: before 1971 means from the beginning."""
        start = start_of("[sources.github]", self.since)
        return start if start and start.year > 1970 else None

    @property
    def reads_threads(self) -> bool:
        return self.fetch_review_threads and bool(self.token)

    @property
    def overlap(self) -> timedelta:
        return timedelta(seconds=self.overlap_seconds)
