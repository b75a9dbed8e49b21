"""One process, measured from outside: wall, CPU, peak memory.

The kernel counts a parent's peak for its child until the child's own program starts. So the measuring process stays
small: it imports no library, and whatever needs one is a process of its own.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "BenchError", "Usage", "median", "run"]

ROOT = Path(__file__).resolve().parent.parent


class BenchError(Exception):
    """Something could not be measured."""


@dataclass(frozen=True)
class Usage:
    wall: float
    cpu: float
    rss_mb: float
    stdout: bytes


def run(argv: Sequence[str], *, folder: Path, environ: Mapping[str, str] | None = None) -> Usage:
    """Runs a program to its end; anything but exit 0 is an error, with its last words."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        inherited = {**_clean_environ(), **(environ or {})}
        process = subprocess.Popen(argv, cwd=folder, env=inherited, stdout=out, stderr=err)
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)  # so that it is not waited for again
        out.seek(0)
        err.seek(0)
        if process.returncode:
            said = (err.read() + out.read()).decode(errors="replace").strip()
            raise BenchError(f"{' '.join(argv)} ended with {process.returncode}: {said[-2000:]}")
        return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read())


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _clean_environ() -> dict[str, str]:
    """Ours without the settings of whoever starts the benchmark; what was compiled once is kept, as it usually is."""
    ours = ("EARSHOT", "SOURCES__", "DESTINATION__", "GITHUB_TOKEN", "DLT_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
