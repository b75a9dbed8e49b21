"""`python -m bench` measures what it says, on worlds small enough to try it."""

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.long import LONG

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not LONG, reason="EARSHOT_LONG=1: half a minute of processes")
def test_the_quick_bench_meets_its_targets_and_says_so() -> None:
    """Exit 0 and one envelope: requests, packages and files are as promised; times are not judged on a busy machine."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--json"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    envelope = orjson.loads(ended.stdout)
    assert envelope["ok"] and set(envelope["data"]) == {"github", "gitlab", "bluesky", "reader", "search", "surgical"}


def test_an_unknown_bench_is_refused_by_name() -> None:
    """Exit 2 and the known ones, before anything is measured."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench", "githb"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 2 and "githb" in ended.stderr and "github" in ended.stderr
