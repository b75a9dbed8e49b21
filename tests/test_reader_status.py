"""`earshot status`: what a person sees, what a monitor is told."""

import re
from typing import Any

import duckdb
import pytest

from pipelines.ask.query import health, times
from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from sources.core.reading import Problem, Quarantined
from tests.asked import REAL_NOW, Reader, at_its_time


@pytest.fixture(autouse=True)
def real_time(demo: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are dated by this machine's clock, whatever the story's says."""
    at_its_time(monkeypatch, REAL_NOW())


def codes(reader: Reader, *words: str) -> set[str]:
    return {each["code"] for each in reader.json("status", "--check", *words)["data"]["troubles"]}


def test_cursors_of_all_lists_stand_side_by_side(demo: Reader, worlds: dict[str, Any]) -> None:
    """Merge requests beside issues and the rest, each with its place's own name and how far it was read."""
    lines = [" ".join(line.split()) for line in demo.ask("status", "-v", width=160).lines]
    assert any(re.match(r"#1 done bulk \d{4}-.* 0 seconds|#1 done bulk", line) for line in lines)
    console, lantern = worlds["gitlab"].paths["lantern/console"], worlds["github"].names["lantern/lantern"]
    for place, rows in (
        ("gitlab lantern/console merge_requests", console.merge_requests),
        ("gitlab lantern/console issues", console.issues),
        ("github lantern/lantern issue_comments", lantern.comments.rows),
    ):
        newest = max(row.updated_at for row in rows.values())
        assert any(line.startswith(f"{place} {newest.to_datetime_string()}") for line in lines), place
    assert any(re.match(r"bluesky lantern\.example posts 2026-", line) for line in lines)
    assert any(re.match(r"Complete: (\d+) of \1 threads hold all", line) for line in lines)
    assert any(re.match(r"Quota left: github 4,9\d\d of 5,000", line) for line in lines)


def test_healthy_lists_are_folded(demo: Reader) -> None:
    """How many there are, and their newest word; -v names them. What can be typed stands on one line."""
    for words in ((), ("-v",)):
        out = demo.ask("status", *words, width=80).out
        assert max(map(len, out.splitlines())) <= 80 and "earshot sync --sweep --deep\n" in out
    rows = [line.split() for line in demo.ask("status", width=80).lines]
    assert [row[:5] for row in rows if row[0] in ("bluesky", "github", "gitlab")] == [
        ["bluesky", "16", "places", "16", "lists"],
        ["github", "3", "places", "11", "lists"],
        ["gitlab", "3", "places", "5", "lists"],
    ]


def test_a_fresh_and_whole_warehouse_passes(demo: Reader) -> None:
    """Exit 0, nothing to look at."""
    asked = demo.ask("status", "--check", "--interval", "1h")
    assert asked.code == 0 and asked.lines[0].startswith("All is well: the last run ended ")


def test_staleness_is_judged_by_the_interval(demo: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two intervals and half a minute; without --check it is told, and the exit code stays 0."""
    finished = health.moment(demo.data("status")["runs"][0]["finished_at"])
    for late, expected in ((140, set()), (160, {"STALE"})):
        at_its_time(monkeypatch, finished.add(seconds=late))
        assert codes(demo, "--interval", "60s") == expected
        assert demo.ask("status", "--check", "--interval", "60").code == bool(expected)
        assert codes(demo, "--interval", "5m") == set()
    told = demo.ask("status", "--interval", "60s")
    assert told.code == 0 and "promised: within 2 min 30 s" in told.out


def test_what_fails_is_named_with_what_to_do(own: Reader) -> None:
    """Failures of lists, unreadable records, broken runs: of now, also before anything of them is published."""
    with Ledger.open(own.home.control) as ledger:
        ledger.record_problems(
            9, "github", [Problem("1001", "issues", "AUTH_FAILED", "401 Unauthorized")], {"1001": "a/b"}
        )
        Quarantine(ledger, "gitlab").keep([Quarantined("1", "issues", "k", "no id", {"x": 1})])
        ledger.finish(ledger.begin("bulk", ["github"]), "failed", 1, error="disk full")
    asked = own.ask("status", "--check", "--interval", "1h", width=160)
    assert asked.code == 1
    assert "! a/b issues: 401 Unauthorized" in asked.out and "check the token" in asked.out
    assert "1 record of gitlab cannot be read" in asked.out and "the last run failed: disk full" in asked.out
    assert asked.lines[0] == "3 things to look at", "first what is wrong"
    assert re.search(r"github +a?\S* +\S*issues", asked.out), "a list that fails is not folded"
    narrow = own.ask("status", width=40).out.partition("\n\n")[0].splitlines()
    assert len(narrow) > 6 and all(line.startswith("  ") for line in narrow[1:]), narrow
    assert codes(own, "--interval", "1h") == {"AUTH_FAILED", "QUARANTINE", "FAILED_RUN"}
    assert own.json("status", "--check", "--interval", "1h")["ok"] is False
    assert own.ask("status", "--check", "--prometheus").code == 1 and own.ask("status", "--prometheus").code == 0


def test_named_targets_make_nothing_fresh_and_nothing_sick(own: Reader) -> None:
    """A surgical run reads what somebody named: done or failed, it says nothing of the rest."""
    with Ledger.open(own.home.control) as ledger:
        ledger.finish(ledger.begin("surgical", ["github"]), "failed", 6, error="NOT_FOUND")
        assert codes(own, "--interval", "1h") == set()
        ledger.finish(ledger.begin("surgical", ["github"]), "done", 0)
        ledger.connection.execute("UPDATE runs SET finished_at = '2026-01-01T00:00:00Z' WHERE mode = 'bulk'")
    assert codes(own, "--interval", "1h") == {"STALE"}


@pytest.mark.parametrize("width", [80, 160])
def test_a_long_error_takes_nothing_from_the_other_columns(own: Reader, width: int) -> None:
    with Ledger.open(own.home.control) as ledger:
        ledger.finish(ledger.begin("surgical", ["gitlab"]), "failed", 6, error="!999: NOT_FOUND " + "not found " * 40)
    shown = next(line for line in own.ask("status", width=width).lines if "#2" in line)
    assert re.match(r"#2 +failed  surgical  \d{4}-\d\d-\d\d \d\d:\d\d.* +!999", shown) and len(shown) <= width


def test_a_list_without_a_word_has_no_newest(own: Reader) -> None:
    """It is no list of 1970, 56 years behind."""
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute("UPDATE ops.cursors SET newest = '1970-01-01T00:00:00Z' WHERE surface = 'issues'")
    told = [row["newest"] for row in own.data("status")["cursors"] if row["surface"] == "issues"]
    assert told and set(told) == {None}
    assert "1970" not in own.ask("status", "-v").out


def test_what_is_missing_is_counted(own: Reader) -> None:
    """A thread that lacks a comment, a list read in part: incomplete, by name."""
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute("UPDATE gitlab.merge_requests SET user_notes_count = 99 WHERE number = 9")
        connection.execute("UPDATE gitlab.threads SET user_notes_count = 98 WHERE number = 9")
        connection.execute(
            "UPDATE ops.cursors SET is_complete = false WHERE surface = 'issue_comments' AND scope = '1001'"
        )
    assert codes(own, "--interval", "1h") == {"INCOMPLETE", "UNFINISHED"}
    out = own.ask("status", width=160).out
    assert "lantern/console 9 holds" in out and "of 99" in out and "issue_comments (in part)" in out


def test_the_slo_is_about_what_was_said_after_we_came(own: Reader) -> None:
    """p95 of seen − said; history read at the first run is no delay of ours."""
    assert own.data("status")["lag_p95"] is None
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "UPDATE feedback.events SET updated_at = seen_at + INTERVAL 1 HOUR, seen_at = seen_at + INTERVAL 61 MINUTE"
            " WHERE kind = 'note'"
        )
    told = own.data("status")
    assert told["lag_p95"] == pytest.approx(60) and told["lag_events"] > 100
    assert codes(own, "--interval", "1h") == set() and "Lag (p95):   1 min over" in own.ask("status").out
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute("UPDATE feedback.events SET seen_at = seen_at + INTERVAL 3 HOUR WHERE kind = 'note'")
    assert codes(own, "--interval", "1h") == {"SLOW"}


def test_metrics_are_prometheus_text(own: Reader) -> None:
    """In Prometheus' text format: every sample under its HELP and TYPE, labels quoted, numbers that parse."""
    with Ledger.open(own.home.control) as ledger:
        ledger.connection.execute("UPDATE requests SET lag_seconds = 12.5 WHERE surface = 'issue_comments'")
        ledger.connection.execute("UPDATE requests SET surface = 'od\"d\\' WHERE surface = 'reviews'")
    text = own.ask("status", "--prometheus").out
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            found = re.fullmatch(r'([a-z_0-9]+)(\{(?:,?[a-z]+="(?:[^"\\]|\\.)*")+\})? (\S+)', line)
            assert found and f"# TYPE {found[1]} " in text and f"# HELP {found[1]} " in text, line
            samples[found[1] + (found[2] or "")] = float(found[3])
    costs = own.data("status")["costs"]
    comments = next(row for row in costs if (row["source"], row["surface"]) == ("github", "issue_comments"))
    for column, name in (("requests", "fetch_requests"), ("pages", "fetch_pages"), ("fetched", "fetched"),
                         ("new", "new"), ("replayed", "replay")):  # fmt: skip
        labels = 'source="github",surface="issue_comments"'
        assert samples[f"earshot_comment_{name}_total{{{labels}}}"] == comments[column]
    assert samples[f"earshot_comment_cursor_lag_seconds{{{labels}}}"] == 12.5
    assert samples["earshot_feedback_events_ingested_total"] == own.json("list", "events")["meta"]["total"]
    assert "earshot_feedback_events_deduped_total" in samples and 'surface="od\\"d\\\\"' in text
    assert own.json("status", "--prometheus")["data"]["text"] == text


def test_a_run_in_progress_is_shown(own: Reader) -> None:
    """While it writes, and before it has anything to show."""
    with Ledger.open(own.home.control) as ledger:
        ledger.begin("full", ["github"])
        ledger.connection.execute("BEGIN IMMEDIATE")
        assert re.search(r"#2\s+running\s+full", own.ask("status").out)
        ledger.connection.execute("ROLLBACK")
    own.home.published.unlink()
    assert "NOTHING_YET" in codes(own)


def test_lengths_are_said_as_people_say_them() -> None:
    told = {0: "0 s", 0.44: "0.4 s", 17.43: "17.4 s", 59.97: "1 min", 60: "1 min", 150: "2 min 30 s", 3600: "1 h",
            11_130: "3 h 5 min", 187_200: "2 d 4 h", 3.2e7: "370 d 8 h"}  # fmt: skip
    assert {seconds: times.length(seconds) for seconds in told} == told
