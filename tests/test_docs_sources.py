"""docs/sources.md: a copy of what it says to copy, and each of its snippets in order, over a demo world on a socket."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.demo.github.api.app import GitHubApp
from pipelines.demo.github.world import GitHubWorld
from pipelines.demo.server.serve import serving
from tests.test_strangers import NOW, stir_github

ROOT = Path(__file__).parents[1]
SNIPPETS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/sources.md").read_text(encoding="utf-8"), re.M | re.S)


def test_the_readme_says_it_in_the_same_lines() -> None:
    lines = [line for line in SNIPPETS[0].splitlines() if "dataset()" not in line]
    (told,) = re.findall(
        r"^```python\n(import dlt\n.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    assert [line for line in told.splitlines() if line] == [
        *(line for line in lines if line and not line.startswith("pipeline")),
        lines[-2].removeprefix("pipeline = ")
        + lines[-1].removeprefix("pipeline").replace("lantern/lantern", "owner/name"),
    ]


@pytest.mark.ci
def test_each_snippet_runs_with_what_was_copied(tmp_path: Path) -> None:
    """Nothing of `pipelines/` is there; the first lands all, and whatever is done to the pipeline, nothing is lost."""
    (tmp_path / "sources").mkdir()
    for file in (ROOT / "sources").glob("*.py"):
        shutil.copy(file, tmp_path / "sources" / file.name)
    for name in ("core", "github"):
        shutil.copytree(ROOT / "sources" / name, tmp_path / "sources" / name)
    world = GitHubWorld(NOW)
    world.add_repo("lantern/lantern")
    world.add_repo("lantern/plugins").open_issue("maya", "Here, too", "Words.")
    stir_github(world)
    world.advance(seconds=600)
    held = """
rows = {name: pipeline.dataset()[name].arrow().num_rows for name in ("issues", "issue_comments", "review_comments")}
"""
    script = [
        "import pathlib, sys",
        SNIPPETS[0], held, "assert rows == {'issues': 2, 'issue_comments': 1, 'review_comments': 1}, rows",
        *SNIPPETS[1:5], held, "assert rows == {'issues': 3, 'issue_comments': 1, 'review_comments': 1}, rows",
        *SNIPPETS[5:], held, "assert rows == {'issues': 2, 'issue_comments': 1, 'review_comments': 1}, rows",
        "ours = {each.__file__ for name, each in sys.modules.items() if name.partition('.')[0] == 'sources'}",
        "assert all(pathlib.Path(file).is_relative_to(pathlib.Path.cwd()) for file in ours), ours",
    ]  # fmt: skip
    script[7:7] = ["pipeline.run(github(repos=['lantern/lantern', 'lantern/plugins']))"]
    with serving(GitHubApp(world, public_url="http://api.test")) as url:
        there = {
            **os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path), "SOURCES__GITHUB__TOKEN": "demo-token",
            "SOURCES__GITHUB__API_URL": url, "RUNTIME__DLTHUB_TELEMETRY": "false",
            "DLT_DATA_DIR": str(tmp_path / "dlt"),
        }  # fmt: skip
        ended = subprocess.run(
            [sys.executable, "-c", "\n".join(script)], cwd=tmp_path, env=there, capture_output=True, timeout=120,
            check=False, text=True,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "failures" in ended.stdout and "[]" in ended.stdout
    assert len(SNIPPETS) == 8
