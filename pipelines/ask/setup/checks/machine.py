"""What stands on this machine: the data directory, room on its disk, who runs, versions, where rows live."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from pipelines.ask.format.answer import Refusal
from pipelines.ask.query.published import published
from pipelines.ask.setup.checks.findings import Finding, note, well, wrong
from pipelines.warehouse.data_dir import DataDir
from pipelines.warehouse.errors import LandingError, Unavailable
from pipelines.warehouse.version import OtherVersion
from sources.core.config import ConfigError

__all__ = ["Place", "judge_pins", "judge_place", "judge_secrets", "kept_by_git", "look"]

PACKAGE = "earshot-warehouse"
PINNED = re.compile(r"(dlt|duckdb)==([\w.]+)")
SPARE = 64 * 2**20  # that a run wants beside the copy: logs, the ledger, what is being loaded
GIT_SECONDS = 5
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Place:
    """The data directory, as it is on the disk."""

    path: str
    is_there: bool
    is_directory: bool
    is_writable: bool  # it, or where it is to be made
    is_private: bool
    free: int
    warehouse: int  # bytes, which the next publish copies


def look(home: DataDir, secrets: Path) -> list[Finding]:
    """All of it, in the order in which a run meets it."""
    found = judge_place(place_of(home))
    if secrets.is_file():
        found += [*judge_secrets(secrets.stat().st_mode, secrets), *kept_by_git(secrets)]
    if holder := home.held_by():
        found.append(note("lock", holder, "wait till it is done; a second run would end with exit 4"))
    found += judge_pins(dict(_pins()), dict(_installed()))
    return [*found, *_rows(home)]


def place_of(home: DataDir) -> Place:
    path = home.path
    there = next(each for each in (path, *path.parents) if each.exists())
    warehouse = home.warehouse.stat().st_size if home.warehouse.is_file() else 0
    return Place(
        str(path), path.exists(), there.is_dir(), os.access(there, os.W_OK | os.X_OK),
        not path.exists() or not path.stat().st_mode & OTHERS, shutil.disk_usage(there).free, warehouse,
    )  # fmt: skip


def judge_place(place: Place) -> list[Finding]:
    about = "data directory"
    if not place.is_directory:
        return [wrong(about, f"{place.path} is or lies below a file", "move that away, or set [earshot] data_dir")]
    if not place.is_writable:
        return [wrong(about, f"{place.path} cannot be written to", "chown or chmod it, or set [earshot] data_dir")]
    found = [well(about, place.path if place.is_there else f"{place.path}, which the first run makes")]
    if not place.is_private:
        found = [note(about, f"others on this machine can look into {place.path}", f"chmod 700 {place.path}")]
    needed = place.warehouse + SPARE
    told = f"{_size(place.free)} free; the next publish needs {_size(needed)}"
    if place.free < needed:
        return [*found, wrong("disk", told, "make room there, or move the data directory to a larger disk")]
    return [*found, well("disk", told)]


def judge_secrets(mode: int, file: Path) -> list[Finding]:
    return [note("secrets", f"others on this machine can read {file}", f"chmod 600 {file}")] if mode & OTHERS else []


def judge_pins(pins: Mapping[str, str], installed: Mapping[str, str]) -> list[Finding]:
    """The versions that Earshot was tried with, and those that are here."""
    told = [f"{name} {installed.get(name, 'missing')} (wants {pin})" for name, pin in pins.items()
            if installed.get(name) != pin]  # fmt: skip
    if told:
        return [wrong("versions", f"not as tried: {', '.join(told)}", "pip install -c constraints.txt -e .")]
    return [well("versions", ", ".join(f"{name} {each}" for name, each in installed.items()))]


def _pins() -> Iterator[tuple[str, str]]:
    try:
        declared = requires(PACKAGE) or []
    except PackageNotFoundError:  # run from a folder without an installation
        return
    for each in declared:
        if pin := PINNED.match(each):
            yield pin[1], pin[2]


def _installed() -> Iterator[tuple[str, str]]:
    for name in (PACKAGE, "dlt", "duckdb"):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _rows(home: DataDir) -> list[Finding]:
    """Where they live: reached, and of this version."""
    about, where = "warehouse", home.destination.told(home)
    try:
        home.refuse_another_version()
        with published(home):
            return [well(about, f"{where} can be read")]
    except OtherVersion as error:
        return [wrong(about, str(error), "move it aside; the next run reads everything anew")]
    except (LandingError, Unavailable, ConfigError) as error:
        return [wrong(about, str(error), home.destination.remedy(home))]
    except Refusal as refusal:
        if refusal.code == "NOTHING_YET":
            return [note(about, "nothing was read yet", "earshot sync")]
        return [wrong(about, refusal.message, refusal.hint)]


def kept_by_git(secrets: Path) -> list[Finding]:
    """Nothing to say outside of a repository, without git, or where it is ignored."""
    if not secrets.is_file() or (git := shutil.which("git")) is None:
        return []
    asked = [git, "-C", str(secrets.parent), "check-ignore", "--quiet", "--", secrets.name]
    with suppress(subprocess.TimeoutExpired):
        if subprocess.run(asked, capture_output=True, timeout=GIT_SECONDS, check=False).returncode == 1:
            told = f"the next commit may take {secrets.parent.name}/{secrets.name} along: git does not ignore it"
            return [note("secrets", told, "echo '.dlt/*secrets.toml' >> .gitignore")]
    return []


def _size(count: int) -> str:
    return f"{count / 2**30:,.1f} GB" if count >= 2**30 else f"{count / 2**20:,.0f} MB"
