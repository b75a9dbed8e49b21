"""A newcomer at a real terminal: `earshot init`, a few answers, and the first threads can be read."""

from pathlib import Path

import pytest

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.server.serve import serving
from tests.story import REPO, TOKEN, judge, small_world
from tests.terminal import terminal


@pytest.mark.ci
def test_from_nothing_to_the_first_threads(tmp_path: Path) -> None:
    """The name mistyped once, the token typed unseen, and read at once; all that was said is there."""
    world, _ = small_world()
    app = GitHubApp(world, public_url="https://api.github.com")
    with serving(app) as url:
        (tmp_path / ".dlt").mkdir()
        (tmp_path / ".dlt" / "config.toml").write_text(f'[sources.github]\napi_url = "{url}"\n', encoding="utf-8")
        with terminal(tmp_path, "init") as at:
            at.until("GitHub repositories")
            at.types(f"{REPO}s")
            at.until("Token for 127.0.0.1")
            at.types(TOKEN)
            assert "no such repository" in at.until("Mend it now?")
            at.types("y")
            at.until("GitHub repositories")
            at.types(f"https://github.com/{REPO}")
            assert "6 pull requests" in at.until("GitLab projects")
            at.types("")
            at.until("Bluesky accounts")
            at.types("")
            assert "which only you can read" in at.until("Read it now?")
            at.types("")
            assert at.ended() == 0, at.screen
            assert TOKEN not in at.screen
        judge(tmp_path / "data" / "published.duckdb", world)
        with terminal(tmp_path, "list", "threads", "--limit", "3") as at:
            assert at.ended() == 0 and "Threads" in at.screen


@pytest.mark.ci
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with terminal(tmp_path, "init") as at:
        at.until("GitHub repositories")
        assert at.interrupted() != 0 and "Traceback" not in at.screen
    assert list(tmp_path.iterdir()) == []
