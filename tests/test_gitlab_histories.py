"""Promises 1 and 2 on GitLab: whatever is said, edited, deleted, resolved, labelled or pushed, between runs and during them,
once the world is quiet and has settled a sweep ends equal to a full scan.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pendulum
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.demo.server.web import Switches
from tests.in_memory import in_memory
from tests.long import LONG
from tests.synced import gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
OPERATION = st.tuples(st.sampled_from(
    ["open_mr", "open_issue", "comment", "comment", "thread", "reply", "reply", "edit", "delete", "resolve", "unresolve",
     "label", "title", "push", "close", "tick", "tick", "long_tick"]
), st.integers(0, 10_000))  # fmt: skip
RUN = st.tuples(st.lists(OPERATION, max_size=14), st.lists(OPERATION, max_size=6))


@dataclass
class Actor:
    """Turns drawn numbers into things that can happen in the project as it is now."""

    project: Project

    def do(self, operation: tuple[str, int]) -> None:
        what, pick = operation
        project, world = self.project, self.project.world
        mrs = sorted(project.merge_requests.values(), key=lambda mr: mr.iid)
        parents = [*mrs, *sorted(project.issues.values(), key=lambda issue: issue.iid)]
        notes = [n for p in parents for t in p.threads for n in t.notes if not n.is_system]
        resolvable = [note for note in notes if note.is_resolvable]
        words = f"words {pick % 50}"
        if what == "tick":
            world.advance(seconds=1 + pick % 50)
        elif what == "long_tick":
            world.advance(seconds=61 + pick % 500)
        elif what == "open_mr":
            project.open_merge_request("benji", f"Change {pick}", words)
        elif what == "open_issue":
            project.open_issue("freja", f"Issue {pick}", words)
        elif what == "comment" and parents:
            project.comment(parents[pick % len(parents)], "odile", words)
        elif what == "thread" and mrs:
            mr = mrs[pick % len(mrs)]
            project.start_thread(mr, "maya", words, Position("a.ts", "a.ts", mr.refs, Spot(1, 2 + pick % 9, "new")))
        elif what == "reply" and notes:
            project.reply(notes[pick % len(notes)], "kofi", words)
        elif what == "edit" and notes:
            project.edit_note(notes[pick % len(notes)], f"{words}, edited")
        elif what == "delete" and notes:
            project.delete_note(notes[pick % len(notes)])
        elif what == "resolve" and resolvable:
            project.resolve(resolvable[pick % len(resolvable)], "maya")
        elif what == "unresolve" and resolvable:
            project.unresolve(resolvable[pick % len(resolvable)])
        elif what == "label" and parents:
            label, there = f"l{pick % 3}", parents[pick % len(parents)]
            has = any(known.name == label for known in there.labels)
            project.label(there, "maya", remove=(label,)) if has else project.label(there, "maya", add=(label,))
        elif what == "title" and parents:
            project.edit(parents[pick % len(parents)], "maya", title=f"Title {pick % 4}")
        elif what == "push" and mrs:
            project.push(mrs[pick % len(mrs)], "benji")
        elif what == "close" and parents and parents[pick % len(parents)].state == "opened":
            project.close(parents[pick % len(parents)], "maya")


def moving(actor: Actor, meanwhile: list[tuple[str, int]], cap: int | None) -> Switches:
    left = list(meanwhile)

    def before(_request: object) -> None:
        if left:
            actor.do(left.pop(0))

    return Switches(before=before, max_per_page=cap)


@pytest.mark.ci
@settings(
    max_examples=400 if LONG else 6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG,
)  # fmt: skip
@given(runs=st.lists(RUN, min_size=1, max_size=3), cap=st.none() | st.integers(2, 9))
def test_any_history_ends_equal_to_a_full_scan(runs, cap):  # type: ignore[no-untyped-def]
    """And a further run finds nothing and writes nothing."""
    folder = Path(tempfile.mkdtemp())
    try:
        world = GitLabWorld(NOW)
        actor = Actor(world.add_project("lantern/console"))
        desk = in_memory(gitlab_desk(folder, world))
        for before, meanwhile in runs:
            for operation in before:
                actor.do(operation)
            desk.app.switches = moving(actor, meanwhile, cap)
            desk.run({"fetch_resource_events": False, "fetch_closes_issues": False, "fetch_diffs": False})
        desk.app.switches = Switches(max_per_page=cap)
        world.advance(seconds=300)
        quick = {"fetch_resource_events": False, "fetch_closes_issues": False, "fetch_diffs": False}
        report = desk.run(quick, sweep=True)
        assert report.exit_code == 0, report
        desk.judge()
        assert desk.run(quick).sources[0].packages == 0
    finally:
        shutil.rmtree(folder)
