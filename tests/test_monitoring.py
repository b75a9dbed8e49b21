"""What watches over Earshot is told the truth: no alarm of what is well, one of whatever is not."""

import pytest

from pipelines.state.ledger import Ledger
from sources.core.config import ConfigError
from tests.asked import REAL_NOW, Reader, at_its_time


@pytest.fixture(autouse=True)
def real_time(demo: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    at_its_time(monkeypatch, REAL_NOW())


def ran(reader: Reader, *minutes_ago: float, status: str = "done", mode: str = "bulk") -> None:
    """Instead of all runs so far, each a second long."""
    with Ledger.open(reader.home.control) as ledger:
        ledger.connection.execute("DELETE FROM runs")
        for minutes in minutes_ago:
            at = REAL_NOW().subtract(seconds=int(minutes * 60))
            ledger.connection.execute(
                "INSERT INTO runs (started_at, finished_at, status, exit_code, mode, sources, seconds)"
                " VALUES (?, ?, ?, 0, ?, '[]', 1.5)",
                (at.to_iso8601_string(), at.add(seconds=1).to_iso8601_string(), status, mode),
            )


def codes(reader: Reader, *words: str, **environ: str) -> set[str]:
    return {each["code"] for each in reader.json("status", "--check", *words, **environ)["data"]["troubles"]}


@pytest.mark.parametrize(
    ("minutes_ago", "is_stale"),
    [
        ((4,), False),  # one good run, and nobody has said how often
        ((25 * 60,), False),
        ((3 * 24 * 60,), True),
        ((6, 5, 4), False),  # by hand, one after the other
        ((20, 15, 10, 5), False),  # every five minutes, by cron
        ((32, 27, 22, 17), True),
        ((300, 240, 180, 120), False),  # hourly
        ((371, 311, 251, 191, 131), True),
        ((4000, 65, 60, 55, 50, 45, 40, 35, 30), True),  # one long pause of long ago is no rhythm
        ((5, 4, 3, 2, 1, -60), False),  # a clock was wrong once
    ],
)
def test_how_often_is_learned_from_the_runs(own: Reader, minutes_ago: tuple[float, ...], is_stale: bool) -> None:
    """Where neither --interval nor [earshot] interval tells; never less than five minutes."""
    ran(own, *minutes_ago)
    assert ("STALE" in codes(own)) is is_stale


def test_what_is_promised_is_told_once(own: Reader) -> None:
    """[earshot] interval; and whoever asks may ask for another."""
    ran(own, 9, 4)
    for promised, is_stale in (("60s", True), ("1h", False)):
        assert ("STALE" in codes(own, EARSHOT__INTERVAL=promised)) is is_stale
    assert "STALE" in codes(own, "--interval", "60s", EARSHOT__INTERVAL="1h")
    assert own.json("status", EARSHOT__INTERVAL="2m")["data"]["slo_seconds"] == 270


def test_an_interval_that_is_none_is_refused(own: Reader) -> None:
    from pipelines.settings import EarshotConfig

    with pytest.raises(ConfigError, match=r"\[earshot\] interval: 'soon'"):
        EarshotConfig(interval="soon")
    assert own.ask("status", EARSHOT__INTERVAL="soon").code == 2


def test_a_run_in_progress_does_not_hide_that_the_last_one_failed(own: Reader) -> None:
    """An alarm that goes and comes with every run is heard by nobody."""
    ran(own, 12, 7)
    with Ledger.open(own.home.control) as ledger:
        ledger.finish(ledger.begin("bulk", ["github"]), "failed", 1, error="disk full")
        assert codes(own) == {"FAILED_RUN"}
        ledger.begin("bulk", ["github"])
        assert codes(own) == {"FAILED_RUN"}


def samples(reader: Reader) -> dict[str, float]:
    text = reader.ask("status", "--prometheus").out
    found = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def test_all_metrics_have_one_prefix_and_tell_of_the_last_run(own: Reader) -> None:
    ran(own, 22, 17, 12, 7)
    told = samples(own)
    assert all(name.startswith("earshot_") for name in told)
    assert told["earshot_last_run_success"] == 1 and told["earshot_last_run_duration_seconds"] == 1.5
    assert told["earshot_interval_seconds"] == 300 and told["earshot_troubles"] == 0
    assert abs(told["earshot_last_run_timestamp_seconds"] - (REAL_NOW().timestamp() - 419)) < 60
    with Ledger.open(own.home.control) as ledger:
        ledger.finish(ledger.begin("bulk", ["github"]), "failed", 1, error="disk full", seconds=7.0)
    told = samples(own)
    assert told["earshot_last_run_success"] == 0 and told["earshot_last_run_duration_seconds"] == 7
    assert told["earshot_troubles"] == told['earshot_trouble{code="FAILED_RUN"}'] == 1
