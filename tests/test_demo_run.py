"""`python pipelines/run.py --demo`: no network, no token, and something to look at from every source."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from pipelines.run import main


def test_a_demo_run_reads_both_forges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its summary names both; diff notes of both show file, line and the commit. (.ci/run runs it twice.)"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EARSHOT_DATA", str(tmp_path / "data"))
    first = CliRunner().invoke(main, ["--demo"])
    assert first.exit_code == 0, first.output
    assert "github" in first.stdout and "gitlab" in first.stdout
    placed = "SELECT source, count(*) > 0 FROM feedback.diff_notes WHERE path <> '' AND head_sha <> '' AND line > 0 GROUP BY 1"
    with duckdb.connect(str(tmp_path / "data" / "demo" / "published.duckdb"), read_only=True) as db:
        assert sorted(db.execute(placed).fetchall()) == [("github", True), ("gitlab", True)]
