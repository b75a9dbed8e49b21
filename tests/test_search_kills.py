"""Killed while it makes documents and their index: the next run finishes it, also if it finds nothing new."""

import signal
import sqlite3
from typing import Any

import duckdb
import pytest

from pipelines.search.documents import document
from pipelines.search.query import search
from pipelines.warehouse.data_dir import DataDir
from tests.long import LONG
from tests.read_before import GitLabStory
from tests.test_gitlab_kills import SETTLED

pytestmark = pytest.mark.ci


def indexed(home: DataDir) -> list[Any]:
    with sqlite3.connect(home.search) as connection:
        return connection.execute(
            "SELECT d.document_key, d.row_hash, w.body FROM documents AS d JOIN words AS w ON w.rowid = d.id ORDER BY 1"
        ).fetchall()


STAGES = [
    ("pipelines.search.documents:document", "before", 1), ("pipelines.search.documents:build.regenerate", "after", 1),
    ("pipelines.search.index:Index._put", "after", 1), ("pipelines.search.index:Index.replace", "after", 1),
    ("pipelines.search.documents:_index", "before", 1), ("pipelines.search.documents:document", "after", 1),
    ("pipelines.warehouse.data_dir:DataDir.publish", "after", 1),
]  # fmt: skip
SURGICAL = ["--issue", "1", "--mr", "1"]
KILLS = [
    (*s, targets)
    for n, s in enumerate(STAGES)
    for targets in ([], SURGICAL)
    if LONG or n % 6 == 0 or (not targets and n % 3 == 0)
]


@pytest.mark.parametrize(("where", "moment", "call", "targets"), KILLS)
def test_a_killed_run_is_finished_by_the_next(
    gitlab_story: GitLabStory, where: str, moment: str, call: int, targets: list[str]
) -> None:
    project, world, place = gitlab_story.project, gitlab_story.world, gitlab_story.place
    world.advance(seconds=61)
    place.comment(place.merge_requests[1], "maya", "the zebrafish swims")
    place.comment(place.issues[1], "maya", "the zebrafish dives")
    world.advance(seconds=SETTLED)
    killed = project.killed_at(where, *targets, moment=moment, call=call)
    assert killed.code == -signal.SIGKILL, killed.said
    assert project.quick().code == 0
    home = DataDir(project.data)
    assert len([hit for hit in search("zebrafish", data=home.path) if hit.has_all_words]) == 2
    with duckdb.connect(str(home.published), read_only=True) as connection:
        assert connection.execute(
            "SELECT count(*) FROM feedback.documents WHERE body LIKE '%zebrafish%'"
        ).fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM ops.dirty_documents").fetchone() == (0,)
    kept = indexed(home)
    home.search.unlink()
    document(home)
    assert indexed(home) == kept
