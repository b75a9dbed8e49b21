"""What a runner remembers is typed, kept at once and read as it is now."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pendulum
import pytest

from pipelines.state.ledger import Ledger
from pipelines.state.run_state import LONG_AGO, Folded, sources
from pipelines.warehouse.control import to_be_read
from pipelines.warehouse.version import refuse_control
from sources.core.http.limits import Quota

NOW = pendulum.datetime(2026, 11, 19, 21, 2, 3, 456_789)


def test_each_field_comes_back_as_it_was_set(tmp_path: Path) -> None:
    """Of the type that it was set with; what was never set has its default, of one source as of the other."""
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        whole, github = ledger.state, ledger.source_state("github")
        assert (whole.is_unpublished, whole.folded, whole.held) == (False, None, {})
        assert (github.turn, github.swept_at, github.met_sweeping) == (0, None, frozenset())
        whole.is_unpublished, whole.folded, whole.held = True, Folded(7, NOW), {"github": {"1": 3}}
        github.turn, github.swept_at = 4, NOW
        github.met_sweeping = frozenset({("1", "issues"), ("2", "pulls")})
        github.keep_quota(Quota(5000, 4999, NOW))
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        whole, github = ledger.state, ledger.source_state("github")
        assert whole.is_unpublished is True
        assert (whole.folded, whole.held) == (Folded(7, NOW), {"github": {"1": 3}})
        assert (github.turn, github.swept_at) == (4, NOW)
        assert github.met_sweeping == {("1", "issues"), ("2", "pulls")}
        assert github.quota and github.quota["remaining"] == 4999
        github.swept_at = None
        assert github.swept_at is None and ledger.source_state("gitlab").turn == 0
        assert sources(ledger.connection) == ["github"]


def test_no_field_is_set_by_a_wrong_name(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        with pytest.raises(AttributeError):
            ledger.state.unpublished = True  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            ledger.source_state("github").is_unpublished = True  # type: ignore[attr-defined]


def test_what_another_process_sets_is_seen_and_outlives_its_kill(tmp_path: Path) -> None:
    """The first of two writes is there though the second never came; so is what was looked at before."""
    path = tmp_path / "control.sqlite"
    script = f"""
import os, signal
from pathlib import Path
from pipelines.state.ledger import Ledger
with Ledger.open(Path({str(path)!r})) as ledger:
    ledger.state.is_undocumented = True
    os.kill(os.getpid(), signal.SIGKILL)
    ledger.state.is_unembedded = True
"""
    with Ledger.open(path) as ledger:
        state = ledger.state
        assert not state.is_undocumented
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
        assert state.is_undocumented and not state.is_unembedded


def test_what_counts_as_looked_for_is_looked_for_again(tmp_path: Path) -> None:
    """Of sources that were swept or are named; one that was never read to its end is not swept for that."""
    with Ledger.open(tmp_path / "control.sqlite") as ledger:
        github, gitlab, bluesky = map(ledger.source_state, ("github", "gitlab", "bluesky"))
        github.swept_at, github.nothing_due_by, gitlab.turn = NOW, "a rule", 1
        ledger.look_again(["bluesky"])
        assert (github.swept_at, github.nothing_due_by) == (LONG_AGO, None)
        assert gitlab.swept_at is None and bluesky.swept_at == LONG_AGO
        assert ledger.state.is_undocumented and ledger.state.is_unembedded and not ledger.state.is_unpublished


@pytest.mark.parametrize("looks", [refuse_control, lambda file: to_be_read(file).close()])
def test_who_looks_takes_nobodys_locks(tmp_path: Path, looks: Callable[[Path], object]) -> None:
    """A process that closes a file it has opened by itself loses all its locks on it: the next to close the database,
    elsewhere, thinks itself alone and takes the log away. What is committed then, others never see.
    """
    file = tmp_path / "control.sqlite"
    count = "SELECT count(*) FROM runs"
    elsewhere = (
        f"import sqlite3; c = sqlite3.connect({str(file)!r}); print(c.execute({count!r}).fetchone()[0]); c.close()"
    )

    def others_see() -> int:
        return int(subprocess.run([sys.executable, "-c", elsewhere], capture_output=True, text=True, check=True).stdout)

    with Ledger.open(file) as ledger:
        ledger.begin("sync", ["github"])
        looks(file)
        assert others_see() == 1
        ledger.begin("sync", ["github"])
        assert others_see() == 2
