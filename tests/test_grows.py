"""Thirty runs with news later (a hundred with EARSHOT_LONG=1): dlt's working directory, and what every publish copies, are
no larger for it.
"""

import shutil
from pathlib import Path

import duckdb
import pytest

from pipelines.warehouse.data_dir import DataDir
from sources.core.reading import Batch
from sources.core.values import fingerprint
from tests.landed import landed as land
from tests.landed import opened
from tests.long import LONG
from tests.test_landing import FILLS, TABLES, home, talk

__all__ = ["home"]

pytestmark = pytest.mark.ci

RUNS, SCOPES = 100 if LONG else 30, 300
Measured = dict[str, int]


def landed(home: DataDir, run: int) -> None:
    """One note, and the cursors of all its list's scopes, of which one has moved."""
    scopes = range(SCOPES) if run == 0 else (run % SCOPES,)
    rows = [{"id": run, "words": f"note {run}", "parent_key": "a:1"}]
    batches = [Batch("notes", f"scope-{n}", {}, {"since": "2026-03-01", "etag": fingerprint(n, run)}) for n in scopes]
    land(opened(home, TABLES, FILLS, quick=True), Batch("notes", "1", {"notes": rows}), *batches)


def measured(home: DataDir) -> Measured:
    files = [path for path in home.working.rglob("*") if path.is_file()]
    with duckdb.connect(str(home.warehouse), read_only=True) as connection:
        (states,) = connection.execute("SELECT count(*) FROM talk._dlt_pipeline_state").fetchone() or (0,)
    return {
        "files": len(files), "bytes": sum(path.stat().st_size for path in files), "states": states,
        "warehouse": home.warehouse.stat().st_size,
    }  # fmt: skip


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataDir, Measured, Measured]:
    place = DataDir(tmp_path_factory.mktemp("grows") / "data")
    place.create()
    for run in range(5):
        landed(place, run)
    early = measured(place)
    for run in range(5, RUNS):
        landed(place, run)
    return place, early, measured(place)


def test_many_runs_leave_what_five_leave(grown: tuple[DataDir, Measured, Measured]) -> None:
    """Files and bytes of dlt, its states in the warehouse, and the warehouse's own size but for what was said."""
    _, early, late = grown
    assert late["files"] <= early["files"] <= 40, (early, late)
    assert late["bytes"] <= early["bytes"] + 10_000, (early, late)
    assert late["states"] <= 2, (early, late)
    assert late["warehouse"] <= early["warehouse"] + 2 * 2**20, (early, late)


def test_nothing_that_was_said_lies_in_the_working_directory(grown: tuple[DataDir, Measured, Measured]) -> None:
    """It may be deleted upstream by now."""
    place, *_ = grown
    assert not list(place.working.rglob("*.parquet")) and not list(place.working.rglob("*.jsonl*"))


def test_dlt_still_tells_and_restores(grown: tuple[DataDir, Measured, Measured], tmp_path: Path) -> None:
    """`dlt pipeline NAME info` and `trace` need the last package and its trace; what is lost comes back."""
    place, *_ = grown
    pipeline = talk(place).pipeline
    (last,) = pipeline.list_completed_load_packages()[-1:]
    assert pipeline.get_load_package_info(last).state == "loaded" and pipeline.last_trace is not None
    cursors = dict(talk(place).cursors["notes"])
    shutil.rmtree(place.working)
    assert talk(place).cursors["notes"] == cursors and len(cursors) == SCOPES
