"""Where this project's data is: the directory, the destination, the shard; for runs and for readers alike."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.settings import EarshotConfig, HttpSource, checked, configured, data_dir, load
from pipelines.sync.shards import Shard
from pipelines.warehouse.choice import DEFAULT, destination
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.files import Files
from sources.core.config import ConfigError, Settings, read_settings, section

if TYPE_CHECKING:
    from pipelines.demo import DemoSource

__all__ = ["connected", "home_of", "its_config", "its_home", "real"]


def home_of(
    folder: Path,
    settings: Settings,
    config: EarshotConfig,
    environ: Mapping[str, str] = os.environ,
    *,
    named: str = "",
    shard: str = "",
    demo: bool = False,
) -> DataDir:
    """A demo stays in a file of its own unless told otherwise: invented words are not to get among real ones.

    Every shard has a directory below the data directory: its ledger and dlt's working files are nobody else's.
    """
    data = data_dir(folder, environ, config)
    part = Shard.parse(shard or config.shard) if shard or config.shard else Shard()
    where = destination(named or (DEFAULT if demo else config.destination), settings, folder)
    if not part.is_all and not where.is_shared:
        raise ConfigError(f"--shard {part}: several runners need a destination that they share: postgres, ducklake")
    if demo and not Files(data).is_demo:
        data = data / "demo"
    return DataDir(checked(data if part.is_all else data / "shards" / part.suffix.strip("_")), where, part)


def real(home: DataDir) -> DataDir:
    """Whose sources are read must be the world's: the demo's are told by names that others may bear."""
    if home.is_demo:
        raise ConfigError(
            f"{home.path} holds the demo's invented words: nothing real is read into it or compared with it;"
            " unset EARSHOT_DATA or name another directory (`earshot sync --demo` goes on with the demo)"
        )
    return home


def connected(home: DataDir, source: str) -> "HttpSource | DemoSource":
    """The source as it is configured here, to be asked again or answered; of a demo, the demo's."""
    if home.is_demo:
        from pipelines.demo import of_last_run

        return of_last_run(home.path, source)
    settings, config = load(Path.cwd())
    return configured(settings, config, (source,))[0]


def its_home(folder: Path, environ: Mapping[str, str] = os.environ) -> DataDir:
    """As readers are told: by the settings alone."""
    return home_of(folder, read_settings(folder / ".dlt", environ), its_config(folder, environ), environ)


def its_config(folder: Path, environ: Mapping[str, str] = os.environ) -> EarshotConfig:
    return section(read_settings(folder / ".dlt", environ), "earshot", EarshotConfig)
