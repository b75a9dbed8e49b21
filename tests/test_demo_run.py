"""`python pipelines/run.py --demo`: no network, no token, and something to look at from every source."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from pipelines.run import main
from pipelines.settings import EarshotConfig
from pipelines.whereabouts import DEMO_RUN, home_of
from tests.asked import Reader


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


def test_a_demo_goes_on_in_its_own_directory(tmp_path: Path) -> None:
    """With EARSHOT_DATA=data/demo exported, as its readers are told to, the next run is the next: not a demo's demo."""
    environ = {"EARSHOT_DATA": str(tmp_path)}
    assert home_of(tmp_path, {}, EarshotConfig(), environ, demo=True).path == tmp_path / "demo"
    (tmp_path / DEMO_RUN).write_text("1")
    assert home_of(tmp_path, {}, EarshotConfig(), environ, demo=True).path == tmp_path


@pytest.mark.parametrize("words", [
    ("sync",), ("sync", "--pr", "44"), ("verify",), ("resume", "pr", "44"), ("reply", "--pr", "44", "--body", "Hello"),
])  # fmt: skip
def test_nothing_real_gets_into_a_demo_or_is_answered_from_it(
    own: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """There may be a lantern/lantern on the real github.com: it would have got the answer."""
    (own.home.path / DEMO_RUN).write_text("1")
    (tmp_path / ".dlt").mkdir()
    (tmp_path / ".dlt" / "config.toml").write_text(
        '[sources.github]\nrepos = ["lantern/lantern"]\napi_url = "http://127.0.0.1:1"\nwrite_token = "mine"'
    )
    monkeypatch.chdir(tmp_path)
    told = own.ask(*words)
    assert told.code == 2 and "invented" in told.err, told
