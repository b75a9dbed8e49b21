"""The project's settings, and the one place that knows which sources there are."""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import BadParameter

from pipelines.ask.query.times import period
from sources.core.config import (
    ConfigError,
    Secret,
    Settings,
    check_address,
    check_token,
    read_settings,
    refuse_unknown,
    section,
)

if TYPE_CHECKING:
    from sources.core.surfaces import Fills
    from sources.core.values import Table

__all__ = [
    "PAGE",
    "SOURCES",
    "EarshotConfig",
    "EmbedConfig",
    "checked",
    "configured",
    "data_dir",
    "known_sources",
    "landed_fills",
    "landed_tables",
    "load",
    "source_of",
    "usual_token",
]

TABLES = ("sources", "earshot", "destination")
SOURCES = ("github", "gitlab", "bluesky")
UNLOADABLE = "='?%"  # key=value partitions, quotes, and what ends a file's name or formats a statement


PAGE = "http://127.0.0.1:2718"  # where `marimo run` serves the first page
PROVIDERS = ("", "off", "local", "ollama", "openai")


@dataclass(frozen=True)
class EmbedConfig:
    """Who turns words into vectors. By itself the embedded model, where the extra `[semantic]` is installed."""

    provider: str = ""
    model: str = ""
    url: str = ""
    api_key: Secret = Secret("")
    timeout_seconds: float = 30.0
    budget_seconds: float = 300.0  # of one run; the rest is for the next

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ConfigError(f"[earshot.embed] provider: {self.provider!r} is none of {', '.join(PROVIDERS[1:])}")
        if self.provider in ("ollama", "openai") and not self.model:
            raise ConfigError(f"[earshot.embed] model: which one {self.provider} is to be asked for")
        if self.provider == "openai" and not self.url:
            raise ConfigError("[earshot.embed] url: where the server is, e.g. http://localhost:8000")
        if self.url:
            check_address("[earshot.embed]", self.url, "url")
        check_token("[earshot.embed] api_key", self.api_key)
        for name in ("timeout_seconds", "budget_seconds"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"[earshot.embed] {name}: more than 0")


@dataclass(frozen=True)
class EarshotConfig:
    data_dir: str = "data"
    timeout_seconds: float = 30.0
    max_retries: int = 3
    retry_backoff_ms: float = 500.0
    sweep_hours: float = 24.0
    safe_backfill_hours: float = 24.0
    interval: str = ""  # how often runs are promised, for those who watch over them
    entity_timeout_seconds: float = 30.0
    authors: list[str] = field(default_factory=list)
    team: list[str] = field(default_factory=list)
    command_prefix: str = "/earshot"
    keep_payloads: bool = True
    destination: str = ""
    shard: str = ""
    page: str = PAGE
    embed: EmbedConfig = EmbedConfig()

    def __post_init__(self) -> None:
        for name, least in (("max_retries", 0), ("sweep_hours", 0), ("safe_backfill_hours", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"[earshot] {name}: at least {least}")
        for name in ("timeout_seconds", "entity_timeout_seconds", "retry_backoff_ms"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"[earshot] {name}: more than 0")
        _ = self.interval_seconds
        check_address("[earshot]", self.page, "page")
        if not re.fullmatch(r"[!-~]{1,50}", self.command_prefix) or self.command_prefix[0].isalnum():
            raise ConfigError(f"[earshot] command_prefix: {self.command_prefix!r} is not a word like /earshot")

    @property
    def interval_seconds(self) -> int | None:
        try:
            return period(self.interval) if self.interval else None
        except BadParameter as error:
            raise ConfigError(f"[earshot] interval: {error.message}") from None


@dataclass(frozen=True)
class HttpSource:
    """A source reached over HTTP as it is configured."""

    source: Any
    config: EarshotConfig

    def connect(self) -> AbstractAsyncContextManager[Any]:
        return self._connect(self.source.headers)

    def connect_to_write(self) -> AbstractAsyncContextManager[Any]:
        """With the token that may write, which reading never has."""
        return self._connect(self.source.answers.write_headers)

    def _connect(self, headers: Mapping[str, str]) -> AbstractAsyncContextManager[Any]:
        from sources.core.http.client import connect

        config = self.config
        return connect(
            self.source.config.api_url,
            headers,
            timeout=config.timeout_seconds,
            max_retries=config.max_retries,
            retry_backoff_ms=config.retry_backoff_ms,
        )


def load(folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[Settings, EarshotConfig]:
    settings = read_settings(folder / ".dlt", environ)
    for name in settings:  # what else is there is dlt's
        near = difflib.get_close_matches(name.casefold(), TABLES, n=1, cutoff=0.8)
        if near and name not in TABLES:
            raise ConfigError(f"[{name}]: unknown table; did you mean [{near[0]}]?")
    named = settings.get("sources", {})
    if isinstance(named, dict):
        refuse_unknown("[sources]", named, SOURCES)
    return settings, section(settings, "earshot", EarshotConfig)


def data_dir(folder: Path, environ: Mapping[str, str] = os.environ, config: EarshotConfig | None = None) -> Path:
    """Where the data lies: EARSHOT_DATA, else `[earshot] data_dir`, below the project."""
    if environ.get("EARSHOT_DATA"):
        return Path(environ["EARSHOT_DATA"]).expanduser().resolve()
    config = config or section(read_settings(folder / ".dlt", environ), "earshot", EarshotConfig)
    return (folder / Path(config.data_dir).expanduser()).resolve()


def checked(data: Path) -> Path:
    """The data directory, unless it lies where DuckDB cannot load from: better said now than by a syntax error."""
    wrong = next((sign for sign in UNLOADABLE if sign in str(data)), None)
    if wrong:
        raise ConfigError(
            f"the data directory {str(data)!r} has a {wrong!r} in its path, from which DuckDB cannot load;"
            " choose another with EARSHOT_DATA or [earshot] data_dir"
        )
    return data


def configured(settings: Settings, config: EarshotConfig, names: tuple[str, ...] = ()) -> list[HttpSource]:
    """The sources that have something to read, or those named (which then must have)."""
    known_sources(names)
    found = []
    for name in dict.fromkeys(names or SOURCES):  # each once, however often it is named
        source = source_of(name, settings)
        if source.scopes():
            found.append(HttpSource(source, config))
        elif names:
            raise ConfigError(f"[sources.{name}] names nothing to read yet; set it in .dlt/config.toml")
    if not found:
        raise ConfigError(
            "nothing to read yet: `earshot init` asks what; or set [sources.github] repos ="
            ' ["owner/name"] in .dlt/config.toml, or try `python pipelines/run.py --demo`'
        )
    return found


def known_sources(names: Iterable[str]) -> None:
    """Refuses a name that is none of them, in the demo world too."""
    for name in names:
        if name not in SOURCES:
            raise ConfigError(f"unknown source {name!r}; known: {', '.join(SOURCES)}")


def landed_tables() -> dict[str, "tuple[Table, ...]"]:
    """What every source lands, configured or not: models are built over all of them."""
    return {name: told.TABLES for name, told in _told_tables().items()}


def landed_fills() -> "dict[str, Fills]":
    """What the walks of every source fill."""
    return {name: told.FILLS for name, told in _told_tables().items()}


def _told_tables() -> dict[str, Any]:
    from sources.bluesky import tables as bluesky_tables
    from sources.github import tables as github_tables
    from sources.gitlab import tables as gitlab_tables

    return {"github": github_tables, "gitlab": gitlab_tables, "bluesky": bluesky_tables}


def usual_token(
    settings: Settings, name: str, variable: str, address: str, environ: Mapping[str, str] = os.environ
) -> Settings:
    """The service's usual environment variable, where our key is not set; never for another host than the service's."""
    table = dict(settings.get("sources", {}).get(name, {}))  # type: ignore[attr-defined]
    is_there = str(table.get("api_url") or address).rstrip("/") == address
    if not table.get("token") and is_there and environ.get(variable):
        table["token"] = Secret(environ[variable])
    return {**settings, "sources": {**settings.get("sources", {}), name: table}}  # type: ignore[dict-item]


def source_of(name: str, settings: Settings) -> Any:
    """One source as it is set, whether it names anything to read or not."""
    if name == "github":
        from sources.github.source import Github, GithubConfig

        told = usual_token(settings, name, "GITHUB_TOKEN", GithubConfig.api_url)
        return Github(section(told, f"sources.{name}", GithubConfig))
    if name == "gitlab":
        from sources.gitlab.lists import GitlabConfig
        from sources.gitlab.source import Gitlab

        told = usual_token(settings, name, "GITLAB_TOKEN", GitlabConfig.api_url)
        return Gitlab(section(told, f"sources.{name}", GitlabConfig))
    from sources.bluesky.source import Bluesky, BlueskyConfig

    return Bluesky(section(settings, f"sources.{name}", BlueskyConfig))
