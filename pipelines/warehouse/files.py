"""The files of a data directory: what they are called, who may write them, how they are replaced whole."""

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pendulum

from pipelines.warehouse.errors import Locked, Unavailable
from pipelines.warehouse.version import refuse_another

__all__ = ["DEMO_RUN", "Files", "copied", "is_alive", "set_aside"]

log = logging.getLogger("earshot")

LOCKS = Path("/proc/locks")  # Linux tells there who holds what
DEMO_RUN = "demo-run"  # stands in a demo's directory: what it remembers


@dataclass(frozen=True)
class Files:
    """Private to the user."""

    path: Path

    @property
    def is_demo(self) -> bool:
        return (self.path / DEMO_RUN).exists()

    @property
    def warehouse(self) -> Path:
        return self.path / "warehouse.duckdb"

    @property
    def published(self) -> Path:
        return self.path / "published.duckdb"

    @property
    def control(self) -> Path:
        return self.path / "control.sqlite"

    @property
    def payloads(self) -> Path:
        return self.path / "payloads.sqlite"

    @property
    def search(self) -> Path:
        return self.path / "search.sqlite"

    @property
    def vectors(self) -> Path:
        return self.path / "vectors.sqlite"

    @property
    def packed(self) -> Path:
        """The vectors once more, for readers."""
        return self.path / "vectors.packed"

    @property
    def working(self) -> Path:
        """dlt's working directories: `dlt pipeline --pipelines-dir <this> NAME info`."""
        return self.path / "dlt"

    def make(self) -> None:
        """The directory, before anything is written."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            file = next(path for path in (self.path, *self.path.parents) if path.exists())
            raise Unavailable(f"{file} is a file, where a directory is needed: move it away") from None
        self.refuse_another_version()
        self.path.chmod(0o700)

    def refuse_another_version(self) -> None:
        """Raises `OtherVersion`, whether somebody wants to write here or to read."""
        refuse_another(self.control, (self.published, self.warehouse))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The kernel drops this lock with its holder, however that ends."""
        with open(self.path / "earshot.lock", "a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Locked(_holder(self.path / "earshot.lock")) from None
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "since": pendulum.now("UTC").to_iso8601_string()}))
            file.flush()
            self._clear()
            yield

    def held_by(self) -> str | None:
        """Who runs here now. Only looked at: whoever tried the lock would be in a run's way for that moment."""
        file = self.path / "earshot.lock"
        try:
            lock = file.stat()
            locks = LOCKS.read_text(encoding="ascii") if LOCKS.is_file() else None
            is_held = _is_locked(lock, locks) if locks is not None else _is_writer_alive(file)
        except OSError:
            return None
        return _holder(file) if is_held else None

    def _clear(self) -> None:
        """What is in the place of files that are made anew: an empty directory goes (containers make one for a mount
        that is missing), and what may be somebody's is kept beside.
        """
        for path in (self.published, self.search, self.payloads, self.vectors, self.packed):
            if path.is_dir() and not path.is_symlink():
                with suppress(OSError):
                    path.rmdir()
            if path.exists() and not path.is_file():
                log.warning("%s is no file; it is kept as %s", path, set_aside(path).name)
        if self.working.exists() and not self.working.is_dir():
            log.warning("%s is no directory; it is kept as %s", self.working, set_aside(self.working).name)


def set_aside(path: Path) -> Path:
    """Away from where something else belongs, under a name of its own."""
    return path.rename(path.with_name(f"{path.name}.aside-{pendulum.now('UTC').format('YYYYMMDDHHmmssSSSSSS')}"))


def copied(source: Path, target: Path, tidied: Callable[[Path], None] = lambda copy: None) -> int:
    """A closed, checkpointed database file, whole or not at all, and `tidied` before anybody sees it; bytes copied. The
    one cost that grows with history.
    """
    partial = target.with_suffix(".partial")
    log_of_it = partial.with_name(f"{partial.name}.wal")  # a killed run's would be played into this copy
    try:
        log_of_it.unlink(missing_ok=True)
        shutil.copyfile(source, partial)  # by the kernel
        tidied(partial)
        with open(partial, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
        log_of_it.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return target.stat().st_size


def _is_locked(lock: os.stat_result, locks: str) -> bool:
    """`1: FLOCK  ADVISORY  WRITE 4711 08:01:131105 0 EOF`: the device in hexadecimal digits, and the inode."""
    where = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    return any(where in words and "FLOCK" in words for words in map(str.split, locks.splitlines()))


def _is_writer_alive(lock: Path) -> bool:
    """Elsewhere: the process that wrote its number there last."""
    try:
        return is_alive(int(json.loads(lock.read_text(encoding="utf-8"))["pid"]))
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_alive(pid: int) -> bool:
    """Also if it is another user's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _holder(path: Path) -> str:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        since = pendulum.parse(held["since"])
        assert isinstance(since, pendulum.DateTime)
        return f"another run holds {path} (process {held['pid']}, for {since.diff_for_humans(absolute=True)})"
    except (OSError, ValueError, KeyError):
        return f"another run holds {path}"
