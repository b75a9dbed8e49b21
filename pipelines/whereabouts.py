"""Where this project's data is: the directory, the destination, the shard; for runs and for readers alike."""

import os
from collections.abc import Mapping
from pathlib import Path

from pipelines.destinations.choice import DEFAULT, destination
from pipelines.settings import EarshotConfig, checked, data_dir
from pipelines.sharding import Shard
from pipelines.warehouse import Home
from sources.config import ConfigError, Settings, read_settings, section

__all__ = ["home_of", "its_home"]


def home_of(
    folder: Path, settings: Settings, config: EarshotConfig, environ: Mapping[str, str] = os.environ,
    *, named: str = "", shard: str = "", demo: bool = False,
) -> Home:  # fmt: skip
    """A demo stays in a file of its own unless told otherwise: invented words are not to get among real ones.

    Every shard has a directory below the data directory: its ledger and dlt's working files are nobody else's.
    """
    data = data_dir(folder, environ, config)
    part = Shard.parse(shard or config.shard) if shard or config.shard else Shard()
    where = destination(named or (DEFAULT if demo else config.destination), settings, folder)
    if not part.is_all and not where.is_shared:
        raise ConfigError(f"--shard {part}: several runners need a destination that they share: postgres, ducklake")
    if demo:
        data = data / "demo"
    return Home(checked(data if part.is_all else data / "shards" / part.suffix.strip("_")), where, part)


def its_home(folder: Path, environ: Mapping[str, str] = os.environ) -> Home:
    """As readers are told: by the settings alone."""
    settings = read_settings(folder / ".dlt", environ)
    return home_of(folder, settings, section(settings, "earshot", EarshotConfig), environ)
