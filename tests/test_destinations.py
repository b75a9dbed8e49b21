"""The demo world's runs on DuckDB, Postgres and DuckLake, with real servers: the same rows, and readers of all."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo import demo_sources
from pipelines.report import Report
from pipelines.sync import Options, sync
from pipelines.warehouse import Home
from tests.elsewhere import ENGINES, differences, place
from tests.servers import PASSWORD, Cluster


def run(home: Home, number: int, **options: Any) -> Report:
    report = asyncio.run(sync(home, demo_sources(number), Options(**options)))
    assert report.exit_code == 0, (report.error, [source.problems for source in report.sources])
    return report


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("embedded"))
    for number in (0, 1):
        run(home, number)
    return home


@pytest.mark.parametrize("engine", ENGINES)
def test_two_runs_leave_the_same_rows_as_on_duckdb(
    engine: str, server: Cluster, embedded: Home, tmp_path: Path
) -> None:
    """Events, comments, threads, diff notes and all else that readers see; a third run finds nothing to do."""
    home = place(engine, server, tmp_path)
    first, second = run(home, 0), run(home, 1)
    assert sum(first.new_events.values()) > 900 and 0 < sum(second.new_events.values()) < 50
    assert differences(embedded, home) == {}
    third = run(home, 1)
    assert third.published_bytes is None and not any(source.packages for source in third.sources)
    for file in home.path.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), f"{file} holds the password"
