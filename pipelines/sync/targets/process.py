"""`earshot sync --mr …` as a process of its own, for who serves and must go on: bounded in time, its answer a value."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pipelines.warehouse.data_dir import DataDir

__all__ = ["Ended", "refreshed"]

GRACE = 30  # seconds for a clean ending


@dataclass(frozen=True)
class Ended:
    """What the run told: its envelope, and how it ended."""

    told: dict[str, Any]
    exit_code: int


def refreshed(home: DataDir, targets: Mapping[str, Sequence[int]], project: str | None, seconds: float) -> Ended:
    """Reads the targets anew; of a demo's directory, in the demo. Out of time it is told to end, and ends cleanly."""
    words = [f"--{kind}={number}" for kind, numbers in targets.items() for number in numbers]
    words += [f"--project={project}"] if project else []
    words += ["--demo"] if home.is_demo else []
    command = [sys.executable, "-P", "-m", "pipelines.cli", "sync", "--json", *words]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            out, _ = process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
    code = process.returncode
    silent = {"ok": False, "data": None, "error": {"code": "FAILED", "message": "it ended without a word"}}
    return Ended(orjson.loads(out) if out.startswith(b"{") else silent, code)
