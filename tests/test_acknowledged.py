"""What consumers acknowledged, as SQL sees it after a publish: all of it, and only what is new is copied."""

import asyncio
from pathlib import Path

import pendulum
import pytest

from pipelines.state import decisions, mirror
from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from tests.elsewhere import ENGINES, place

NOON = pendulum.datetime(2026, 11, 2, 12)


@pytest.fixture(params=["duckdb", *ENGINES])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> DataDir:
    """With models over nothing."""
    is_file = request.param == "duckdb"
    home = DataDir(tmp_path) if is_file else place(request.param, request.getfixturevalue("server"), tmp_path)
    assert asyncio.run(sync(home, [], Options())).exit_code == 0
    return home


def acknowledge(home: DataDir, key: str, *, minutes: float) -> None:
    with decisions.writing(home) as decided:
        at = NOON.add(seconds=minutes * 60).to_iso8601_string()
        decided.rows("INSERT INTO acknowledgements VALUES ('bot', ?, ?) RETURNING event_key", [key, at])


def mirrored(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    """What SQL sees then, and how many rows were copied for it."""
    copied, insert = list[int](), mirror._insert
    with home.destination.building(home, {}) as connection, monkeypatch.context() as patch:
        patch.setattr(
            mirror, "_insert",
            lambda on, table, rows: (table == mirror.ACKNOWLEDGED and copied.append(len(rows)), insert(on, table, rows)),
        )  # fmt: skip
        mirror.mirror_decisions(connection, home)
        rows = connection.execute("SELECT event_key FROM ops.acknowledgements ORDER BY event_key").fetchall()
    return [key for (key,) in rows], sum(copied)


def test_only_what_is_new_is_copied(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mirrored(home, monkeypatch) == ([], 0)
    for minutes, key in enumerate("abcdef"):
        acknowledge(home, key, minutes=minutes * 30)
    assert mirrored(home, monkeypatch) == ([*"abcdef"], 6)
    assert mirrored(home, monkeypatch) == ([*"abcdef"], 0)
    acknowledge(home, "g", minutes=151.5)
    assert mirrored(home, monkeypatch) == ([*"abcdefg"], 2)  # with the one of a moment before


def test_what_a_slow_clock_says_was_earlier_is_copied_too(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """By some minutes, and by more than anybody looks back."""
    acknowledge(home, "a", minutes=0)
    acknowledge(home, "b", minutes=60)
    mirrored(home, monkeypatch)
    acknowledge(home, "c", minutes=55)
    assert mirrored(home, monkeypatch) == ([*"abc"], 2)
    acknowledge(home, "d", minutes=-60)
    keys, _ = mirrored(home, monkeypatch)
    assert keys == [*"abcd"]


def test_what_an_older_backup_does_not_know_is_gone(home: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    acknowledge(home, "a", minutes=0)
    acknowledge(home, "b", minutes=60)
    mirrored(home, monkeypatch)
    with decisions.writing(home) as decided:
        decided.rows("DELETE FROM acknowledgements WHERE event_key = 'a' RETURNING event_key")
    assert mirrored(home, monkeypatch)[0] == ["b"]
