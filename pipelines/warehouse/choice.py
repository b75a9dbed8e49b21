"""Which engine a name means, and why some cannot be.

dlt lands rows in many; a run also merges sets that shrink, in transactions, and builds models whose readers see whole
runs. Those of dlt's that cannot are refused with what they lack, before anything is asked of a source.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.warehouse.destination import Destination
from pipelines.warehouse.embedded.destination import EMBEDDED
from sources.core.config import ConfigError, Secret, Settings, section

if TYPE_CHECKING:
    from dlt.common.destination import DestinationCapabilitiesContext

__all__ = ["DEFAULT", "destination"]

DEFAULT = "duckdb"
ADDRESS = "postgresql://user:password@host:5432/database"


@dataclass(frozen=True)
class PostgresConfig:
    credentials: Secret = Secret("")


@dataclass(frozen=True)
class LakeConfig:
    catalog: Secret = Secret("")
    storage: str = ""


@dataclass(frozen=True)
class DuckLakeConfig:
    credentials: LakeConfig = LakeConfig()


def destination(name: str, settings: Settings, folder: Path) -> Destination:
    found = KNOWN.get(name or DEFAULT)
    if found is None:
        raise ConfigError(_why_not(name))
    return found(settings, folder)


def _embedded(settings: Settings, folder: Path) -> Destination:
    return EMBEDDED


def _postgres(settings: Settings, folder: Path) -> Destination:
    from pipelines.warehouse.postgres.destination import Postgres
    from pipelines.warehouse.postgres.server import Address

    where = "[destination.postgres] credentials"
    config = section(settings, "destination.postgres", PostgresConfig)
    if not config.credentials:
        raise ConfigError(f"{where}: where the database is, {ADDRESS}; best as DESTINATION__POSTGRES__CREDENTIALS")
    _need("psycopg2", "adbc_driver_postgresql", extra="postgres")
    return Postgres(Address.parse(where, config.credentials))


def _ducklake(settings: Settings, folder: Path) -> Destination:
    from pipelines.warehouse.ducklake.destination import DuckLake
    from pipelines.warehouse.postgres.server import Address

    where = "[destination.ducklake.credentials]"
    config = section(settings, "destination.ducklake", DuckLakeConfig).credentials
    if not config.catalog or not config.storage:
        raise ConfigError(f'{where}: catalog = "{ADDRESS}" and storage = "a directory" all runners see')
    if config.catalog.startswith(("sqlite:", "duckdb:")) or "://" not in config.catalog:
        raise ConfigError(
            f"{where} catalog: a file cannot be shared by several runners; it must be a Postgres database: {ADDRESS}"
        )
    _need("psycopg2", extra="ducklake")
    storage = config.storage if "://" in config.storage else f"{(folder / config.storage).resolve()}/"
    return DuckLake(Address.parse(f"{where} catalog", config.catalog), storage)


KNOWN: Mapping[str, Callable[[Settings, Path], Destination]] = {
    DEFAULT: _embedded,
    "postgres": _postgres,
    "ducklake": _ducklake,
}


def _need(*modules: str, extra: str) -> None:
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ConfigError(f"{', '.join(missing)} is not installed: pip install -c constraints.txt -e '.[{extra}]'")


def _why_not(name: str) -> str:
    near = get_close_matches(name, KNOWN, 1)
    ours = f"there is {', '.join(KNOWN)}"
    try:
        from dlt.common.destination import Destination as OfDlt

        capabilities = OfDlt.from_reference(name).capabilities()
    except Exception as error:  # whatever its module or its missing packages raise
        hint = f"did you mean {near[0]!r}?" if near else f"{ours} ({type(error).__name__} of dlt's {name!r})"
        return f"--destination {name!r} is none that can be used; {hint}"
    lacks = "; ".join(_lacking(capabilities)) or "nobody has told Earshot how its models are built there"
    return f"--destination {name!r}: {lacks}; {ours}"


def _lacking(capabilities: "DestinationCapabilitiesContext") -> list[str]:
    strategies = capabilities.supported_merge_strategies or []
    found = []
    if "delete-insert" not in strategies:
        found.append("it cannot drop children that their parent lost: what was deleted would stay (no delete-insert)")
    if "insert-only" not in strategies:
        found.append("it cannot keep versions apart (no insert-only merge)")
    if capabilities.supports_transactions is False:
        found.append("a row and its children are not one transaction there")
    return found
