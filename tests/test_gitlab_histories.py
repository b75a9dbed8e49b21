"""Promises 1 and 2 on GitLab, which hides most of what happens: whatever order notes, edits, deletions, resolved threads,
pushes, kills and runs come in, once the world is quiet a sweep ends equal to a full scan, and nothing is left to write.

What is not asked for: a thread resolved on what is already closed moves nothing that any list shows; `--full` finds it.
"""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pendulum
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import sync
from pipelines.demo.gitlab_project import Project
from pipelines.demo.gitlab_state import Issuable, Note, Position, Spot
from pipelines.demo.gitlab_world import GitLabWorld
from pipelines.demo.web import Switches
from pipelines.warehouse import Home
from sources.reading import Batch
from sources.record import Row, Table
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)
SETTLED = 300  # seconds after which nothing can hide any more
LONG = os.environ.get("EARSHOT_LONG") == "1"

WORDS = st.sampled_from(["why?", "because", "LGTM", "please rename", "no", "ok"])
OPERATION = st.tuples(st.sampled_from(
    ["open_mr", "open_issue", "comment", "comment", "comment", "whisper", "thread", "thread", "diff_thread", "reply",
     "reply", "edit_note", "edit_note", "delete_note", "delete_note", "resolve", "resolve", "unresolve", "label",
     "unlabel", "title", "push", "close", "reopen", "tick", "tick", "moment", "minute", "while"]
), st.integers(0, 10_000), WORDS)  # fmt: skip


@dataclass
class Actor:
    """Turns drawn numbers into things that can happen in the project as it is now."""

    project: Project

    def do(self, operation: tuple[str, int, str]) -> None:
        what, pick, words = operation
        getattr(self, what)(pick, words)

    def tick(self, pick: int, _: str) -> None:
        self.project.world.advance(seconds=pick % 4)

    def moment(self, pick: int, _: str) -> None:
        self.project.world.advance(seconds=5 + pick % 50)

    def minute(self, pick: int, _: str) -> None:
        """About the minute in which notes hide, and the time after which they are believed to be all."""
        self.project.world.advance(seconds=58 + pick % 16)

    def _while(self, pick: int, _: str) -> None:
        self.project.world.advance(seconds=100 * (1 + pick % 20))

    def open_mr(self, pick: int, words: str) -> None:
        self.project.open_merge_request("benji", f"Change {pick}", words)

    def open_issue(self, pick: int, words: str) -> None:
        self.project.open_issue("maya", f"Issue {pick}", words)

    def comment(self, pick: int, words: str) -> None:
        if parent := _picked(self._parents(), pick):
            self.project.comment(parent, "odile", f"{words} {pick}")

    def whisper(self, pick: int, words: str) -> None:
        """Counted in the list, and not shown to us."""
        if parent := _picked(self._parents(), pick):
            self.project.comment(parent, "odile", f"{words} {pick}", internal=True)

    def thread(self, pick: int, words: str) -> None:
        if parent := _picked(self._parents(), pick):
            self.project.start_thread(parent, "sanvi", f"{words} {pick}")

    def diff_thread(self, pick: int, words: str) -> None:
        if mr := _picked(list(self.project.merge_requests.values()), pick):
            place = Position("a.go", "a.go", mr.refs, Spot(pick % 9, 1 + pick % 9, "new"))
            self.project.start_thread(mr, "sanvi", f"{words} {pick}", place)

    def reply(self, pick: int, words: str) -> None:
        if note := _picked([n for n in self._notes() if not n.discussion.notes[0].is_system], pick):
            self.project.reply(note, "kofi", f"{words} {pick}")

    def edit_note(self, pick: int, words: str) -> None:
        if note := _picked(self._notes(), pick):
            self.project.edit_note(note, f"{words} {pick % 3}")

    def delete_note(self, pick: int, _: str) -> None:
        if note := _picked(self._notes(), pick):
            self.project.delete_note(note)

    def resolve(self, pick: int, _: str) -> None:
        if note := _picked(self._resolvable(), pick):
            self.project.resolve(note, "maya")

    def unresolve(self, pick: int, _: str) -> None:
        if note := _picked([n for n in self._resolvable() if n.resolved_at], pick):
            self.project.unresolve(note)

    def label(self, pick: int, words: str) -> None:
        if parent := _picked(self._parents(), pick):
            self.project.label(parent, "maya", add=(words,))

    def unlabel(self, pick: int, _: str) -> None:
        if parent := _picked([p for p in self._parents() if p.labels], pick):
            self.project.label(parent, "maya", remove=(parent.labels[pick % len(parent.labels)].name,))

    def title(self, pick: int, words: str) -> None:
        if parent := _picked(self._parents(), pick):
            self.project.edit(parent, "benji", title=f"{words} {pick % 3}")

    def push(self, pick: int, words: str) -> None:
        if mr := _picked(list(self.project.merge_requests.values()), pick):
            self.project.push(mr, "benji", said="added 1 commit" if pick % 2 else None)

    def close(self, pick: int, _: str) -> None:
        if parent := _picked([p for p in self._parents() if p.state == "opened"], pick):
            self.project.close(parent, "maya")

    def reopen(self, pick: int, _: str) -> None:
        if parent := _picked([p for p in self._parents() if p.state == "closed"], pick):
            self.project.reopen(parent, "maya")

    def _parents(self) -> list[Issuable]:
        return [*self.project.merge_requests.values(), *self.project.issues.values()]

    def _notes(self) -> list[Note]:
        return [note for parent in self._parents() for note in parent.notes if not note.is_system]

    def _resolvable(self) -> list[Note]:
        return [note for note in self._notes() if note.is_resolvable and note.parent.state == "opened"]


setattr(Actor, "while", Actor._while)


def _picked(found: list[Any], pick: int) -> Any:
    return found[pick % len(found)] if found else None


class Killed(BaseException):
    """The process ended here; what was landed before stays."""


@dataclass
class BareLanding:
    """Lands as pipelines/landing.py does, without dlt: a package takes 5 ms and not 300. Dies in between if told."""

    home: Home
    source: str
    tables: tuple[Table, ...]
    dies_after: int | None = None
    cursors: dict[str, dict[str, object]] = field(default_factory=dict)
    packages: int = 0

    def is_shaped(self) -> bool:
        return True

    def open(self, home: Home, source: str, tables: tuple[Table, ...]) -> "BareLanding":
        """In place of the class method of the real one: this landing is kept over runs, as dlt's state is."""
        if not home.warehouse.exists():
            with duckdb.connect(str(home.warehouse)) as db:
                db.execute(f"CREATE SCHEMA {source}")
                for root in tables:
                    for name, member in root.family().items():
                        empty = _schema(member).empty_table()  # noqa: F841  DuckDB sees it by its name
                        db.execute(f"CREATE TABLE {source}.{name} AS FROM empty")
        return self

    def land(self, batches: list[Batch]) -> None:
        """Flat tables before those whose rows vouch for them, each in a transaction; cursors with the last."""
        flat = [table for table in self.tables if not table.children]
        self._package(flat, batches)
        self._package([table for table in self.tables if table.children], batches)
        for batch in batches:
            if batch.cursor is not None:
                cursor = orjson.loads(orjson.dumps(batch.cursor))
                self.cursors.setdefault(batch.surface, {})[batch.scope] = cursor

    def _package(self, tables: list[Table], batches: list[Batch]) -> None:
        if self.dies_after is not None and self.packages >= self.dies_after:
            raise Killed
        self.packages += 1
        with duckdb.connect(str(self.home.warehouse)) as db:
            db.begin()
            for table in tables:
                rows = table.unique([row for batch in batches for row in batch.rows.get(table.name, [])])
                if rows:
                    self._merge(db, table, rows)
            db.commit()

    def _merge(self, db: duckdb.DuckDBPyConnection, table: Table, rows: list[Row]) -> None:
        keep = table.keeps == "versions"
        known = {key for (key,) in db.execute(f"SELECT _dlt_root_id FROM {self.source}.{table.name}").fetchall()}
        found: dict[str, list[Row]] = {}
        for row in rows:
            key = orjson.dumps([row[part] for part in table.key]).decode()
            if not (keep and key in known):
                _take_apart(table.name, table, row, {"_dlt_root_id": key, "_dlt_load_id": str(self.packages)}, found)
        for name, member in table.family().items():
            if not keep:
                keys = [row["_dlt_root_id"] for row in found[table.name]]
                db.execute(f"DELETE FROM {self.source}.{name} WHERE _dlt_root_id IN (SELECT unnest(?))", [keys])
            if found.get(name):
                landed = pa.Table.from_pylist(found[name], schema=_schema(member))  # noqa: F841
                db.execute(f"INSERT INTO {self.source}.{name} BY NAME FROM landed")


def _schema(table: Table) -> pa.Schema:
    return pa.schema([*table.schema, ("_dlt_load_id", pa.string()), ("_dlt_root_id", pa.string())])


def _take_apart(name: str, table: Table, row: Row, more: Row, found: dict[str, list[Row]]) -> None:
    found.setdefault(name, []).append({column: row.get(column) for column in table.columns} | more)
    for inner, child in table.children.items():
        for row_ in row.get(inner) or []:  # type: ignore[attr-defined]
            _take_apart(f"{name}__{inner}", child, row_, more, found)


def moving(actor: Actor, meanwhile: list[tuple[str, int, str]], cap: int | None) -> Switches:
    """One operation before each answer, until they are used up."""
    left = list(meanwhile)

    def before(_: object) -> None:
        if left:
            actor.do(left.pop(0))

    return Switches(before=before, max_per_page=cap)


def judge_what_hangs_on(desk: GitLabDesk) -> None:
    """Events of labels and states, and the head of every merge request, wherever it is told."""
    truth = desk.world.truth(reader="earshot")
    for name, facts in (("labels", truth.label_events), ("states", truth.state_events)):
        held = [row["id"] for row in desk.rows(f"gitlab.resource_events__{name}")]
        assert sorted(held) == sorted(facts), name
    heads = sorted(fact["sha"] for fact in truth.merge_requests.values())
    for table in ("merge_requests", "diffs", "threads"):
        assert sorted(row["head_sha"] for row in desk.rows(f"gitlab.{table}") if row["head_sha"]) == heads, table


def ends_well(desk: GitLabDesk) -> None:
    """Quiet at last: one sweep reaches the truth, and then there is nothing left to write."""
    desk.world.advance(seconds=SETTLED)
    swept = desk.run(sweep=True)
    assert swept.exit_code == 0, swept
    desk.judge()
    judge_what_hangs_on(desk)
    files = (desk.home.warehouse, desk.home.published)
    before = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    quiet = desk.run()
    assert (quiet.exit_code, quiet.sources[0].packages) == (0, 0)
    assert [hashlib.sha256(path.read_bytes()).digest() for path in files] == before
    assert not [call.path for call in desk.app.log if "_requests/" in call.path or "issues/" in call.path]


RUN = st.tuples(st.lists(OPERATION, max_size=25), st.lists(OPERATION, max_size=12), st.none() | st.integers(0, 8))


@settings(
    max_examples=1500 if LONG else 40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG,
)  # fmt: skip
@given(runs=st.lists(RUN, min_size=1, max_size=4), cap=st.none() | st.integers(1, 9), chunk=st.integers(1, 40))
def test_any_history_ends_equal_to_a_full_scan(runs, cap, chunk):  # type: ignore[no-untyped-def]
    """Random operations between runs, during them and around kills; pages and landings of any size."""
    world = GitLabWorld(NOW)
    actor, folder = Actor(world.add_project("lantern/console")), Path(tempfile.mkdtemp(prefix="earshot-history-"))
    desk = gitlab_desk(folder, world)
    landing = BareLanding(desk.home, "gitlab", desk.source(desk.names).tables)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sync, "Landing", landing)
        for before, meanwhile, dies_after in runs:
            for operation in before:
                actor.do(operation)
            desk.app.switches = moving(actor, meanwhile, cap)
            landing.dies_after = None if dies_after is None else landing.packages + dies_after
            try:
                desk.run(chunk_rows=chunk)
            except* Killed:
                pass
        desk.app.switches, landing.dies_after = Switches(max_per_page=cap), None
        ends_well(desk)
    shutil.rmtree(folder)


@settings(
    max_examples=200 if LONG else 5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG,
)  # fmt: skip
@given(runs=st.lists(RUN, min_size=1, max_size=2))
def test_any_history_through_dlt_ends_equal_to_a_full_scan(runs):  # type: ignore[no-untyped-def]
    """The same through the real landing, where a package takes its time: fewer of them."""
    world = GitLabWorld(NOW)
    actor, folder = Actor(world.add_project("lantern/console")), Path(tempfile.mkdtemp(prefix="earshot-history-"))
    desk = gitlab_desk(folder, world)
    for before, meanwhile, _ in runs:
        for operation in before:
            actor.do(operation)
        desk.app.switches = moving(actor, meanwhile, None)
        desk.run()
    desk.app.switches = Switches()
    ends_well(desk)
    shutil.rmtree(folder)
