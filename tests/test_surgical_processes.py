"""Surgical runs as their users start them: the command line, the lock, signals and kills. Numbers as in tests/README.md."""

import fcntl
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pipelines.demo.server.web import Bent, Request
from tests.read_before import GitLabStory
from tests.story import Ended
from tests.test_gitlab_kills import PLACE, SETTLED, GitLabProject, judge

pytestmark = pytest.mark.ci

PUBLISH = "pipelines.warehouse.data_dir:DataDir.publish"


@pytest.fixture
def project(gitlab_story: GitLabStory) -> GitLabProject:
    return gitlab_story.project


def refused(ended: Ended, *words: str) -> None:
    assert ended.code == 2 and ended.calls == [], ended.said
    for word in words:
        assert word in ended.said


def test_08_27_28_one_envelope_for_programs(project: GitLabProject) -> None:
    """Outcomes, timings, what to run next; a failed preflight is an error of its own with a code for every target."""
    ended = project.quick("--mr", "1", "--json", "-p", PLACE)
    told = json.loads(ended.out)
    assert ended.code == 0 and told["ok"] and told["meta"]["exit_code"] == 0
    assert told["data"]["entity_outcomes"] == [
        {"kind": "mr", "number": 1, "fetched": True, "ingested": True, "stale_skipped": False, "failures": []}
    ]
    assert {"preflight", "ingest", "dependents", "publish"} <= told["data"]["stage_timings_ms"].keys()
    ended = project.quick("--mr", "1", "--mr", "999", "--json")
    told = json.loads(ended.out)
    assert ended.code == 6 and not told["ok"] and told["error"]["code"] == "PREFLIGHT_FAILED"
    assert [(f["number"], f["code"]) for f in told["data"]["entity_failures"]] == [(999, "NOT_FOUND")]
    assert told["data"]["recovery_actions"] == [f"earshot sync --mr 1 -p {PLACE}"]


def test_09_18_where_a_target_is(project: GitLabProject, tmp_path: Path) -> None:
    """By -p (also the last part of a path), by default_project, or as the only project there is; else it is asked for."""
    assert project.quick("--mr", "1").code == 0, "there is only one project"
    assert project.quick("--mr", "1", "-p", PLACE.rpartition("/")[2]).code == 0
    refused(project.quick("--mr", "1", "-p", "nowhere"), "nowhere", PLACE)
    config = tmp_path / ".dlt" / "config.toml"
    project.configure = lambda: None  # type: ignore[method-assign]
    two = config.read_text().replace(f'["{PLACE}"]', f'["{PLACE}", "lantern/charts"]')
    config.write_text(two)
    refused(project.quick("--mr", "1"), "-p", PLACE, "lantern/charts")
    config.write_text(f'{two}default_project = "{PLACE}"\n')
    assert project.quick("--mr", "1").code == 0
    config.write_text(f'{two}\n[sources.github]\nrepos = ["lantern/lantern"]\napi_url = "{project.url}"\n')
    refused(project.quick("--issue", "1", "-p", "lantern/lantern", "--mr", "2"), "lantern/console")
    refused(project.quick("--pr", "1", "--mr", "2"), "--mr", "--pr", "together")
    refused(project.quick("--pr", "1", "gitlab"), "(gitlab) has --pr")


@pytest.mark.parametrize(("arguments", "word"), [
    (["--full", "--mr", "1"], "--full"), (["--sweep", "--mr", "1"], "--sweep"), (["--mr", "1", "--every", "5s"], "--every"),
    (["--issue", "0"], "0"), (["--issue", "-1"], "-1"), (["--mr", "x"], "x"), (["--preflight-only"], "--preflight-only"),
    (["--mr", "1", "--no-docs"], "--no-embed"), ([f for n in range(1, 102) for f in ("--issue", str(n))], "101"),
])  # fmt: skip
def test_20_22_23_25_35_what_makes_no_sense_is_refused_before_anything_happens(
    project: GitLabProject, arguments: list[str], word: str
) -> None:
    before = project.files()
    refused(project.quick(*arguments), word)
    assert project.files() == before


def test_30_a_target_named_twice_is_one(project: GitLabProject) -> None:
    ended = project.quick("--mr", "1", "--mr", "1", "--json")
    assert [o["number"] for o in json.loads(ended.out)["data"]["entity_outcomes"]] == [1]
    assert len(ended.asked("/merge_requests/1")) == 1


def test_34_a_dry_run_leaves_everything_byte_identical(project: GitLabProject) -> None:
    """No lock, no database, no network."""
    before = project.files()
    ended = project.quick("--dry-run", "--mr", "1", "--issue", "2", "--json")
    told = json.loads(ended.out)
    assert ended.code == 0 and ended.calls == [] and project.files() == before
    assert told["data"]["would_fetch"] == [{"source": "gitlab", "place": PLACE, "targets": ["#2", "!1"]}]


def test_19_39_a_held_lock_ends_it_at_once_and_nothing_is_written(project: GitLabProject) -> None:
    """Another run, bulk or surgical, is at it: exit 4, who holds it, what to do."""
    before = {name: told for name, told in project.files().items() if not name.startswith(("control", "earshot"))}
    with open(project.data / "earshot.lock", "a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = project.quick("--mr", "1", "--json")
    told = json.loads(ended.out)
    assert ended.code == 4 and told["error"]["code"] == "LOCKED"
    assert told["data"]["recovery_actions"] == [f"earshot sync --mr 1 -p {PLACE}"]
    after = {name: told for name, told in project.files().items() if not name.startswith(("control", "earshot"))}
    assert after == before


def test_40_the_lock_is_free_during_the_preflight(project: GitLabProject) -> None:
    """A bulk run can take it while the network is waited for."""
    free = []

    def look(request: Request) -> None:
        if request.path.endswith("/merge_requests/1"):
            with open(project.data / "earshot.lock", "a+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free.append(True)

    project.app.switches.before = look
    assert project.quick("--mr", "1").code == 0 and free == [True]


@pytest.mark.parametrize(("signalled", "tail"), [
    (signal.SIGINT, "/merge_requests/1"), (signal.SIGINT, "/merge_requests/1/discussions"), (signal.SIGTERM, "/merge_requests/1/diffs"),
], ids=["preflight", "dependents", "term"])  # fmt: skip
def test_33_47_cancelled_at_any_phase(project: GitLabProject, signalled: int, tail: str) -> None:
    """Exit 130, the ledger says cancelled with its end, the lock is free, nothing of it is published."""
    running: list[Any] = []
    published = project.published.read_bytes()

    def strike(request: Request) -> None:
        if request.path.endswith(tail) and running:
            running[0].send_signal(signalled)
            time.sleep(0.3)

    project.app.switches.before = strike
    before = len(project.app.log)
    running.append(project.start("--mr", "1"))
    ended = project.ended(running[0], before)
    project.app.switches.before = None
    assert ended.code == 130, ended.said
    assert project.ledger(
        "SELECT status, phase, exit_code, finished_at IS NOT NULL FROM runs ORDER BY run_id DESC LIMIT 1"
    ) == [("cancelled", "cancelled", 130, 1)]
    assert project.published.read_bytes() == published
    assert project.quick("--mr", "1").code == 0


def test_46_killed_before_it_published_it_leaves_nothing_torn(gitlab_story: GitLabStory) -> None:
    """The next run of any kind heals it; its row in the ledger then says that it was killed."""
    project, world, place = gitlab_story.project, gitlab_story.world, gitlab_story.place
    world.advance(seconds=61)
    place.comment(place.merge_requests[1], "maya", "a word")
    world.advance(seconds=SETTLED)
    killed = project.killed_at(PUBLISH, "--mr", "1")
    assert killed.code == -signal.SIGKILL
    assert project.quick().code == 0
    judge(project, world)
    assert project.ledger("SELECT status FROM runs WHERE mode = 'surgical'") == [("killed",)]


def test_a_bulk_run_in_another_process_is_not_called_killed(project: GitLabProject) -> None:
    """A surgical preflight begins beside it, without the lock that would tell."""
    began = threading.Event()

    def slow(request: Request) -> Bent | None:
        if not request.path.endswith("/merge_requests"):
            return None
        began.set()
        return Bent(delay=4.0)

    before = len(project.app.log)
    project.app.switches.fault = slow
    bulk = project.start()
    assert began.wait(20)
    assert project.quick("--mr", "1", "--preflight-only").code == 0
    states = project.ledger("SELECT status FROM runs WHERE mode = 'bulk' ORDER BY run_id DESC LIMIT 1")
    ended = project.ended(bulk, before)
    assert states == [("running",)]
    assert ended.code == 0, ended.said
    assert project.ledger("SELECT mode, status FROM runs ORDER BY run_id DESC LIMIT 2") == [
        ("preflight", "done"),
        ("bulk", "done"),
    ]
