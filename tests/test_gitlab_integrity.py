"""What may be asked of the warehouse after any successful read of a GitLab: the data integrity list, in SQL."""

from typing import Any

import pendulum
import pytest

from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import Position, Spot
from pipelines.demo.gitlab.world import GitLabWorld
from pipelines.state.payloads import Payloads
from tests.synced import GitLabDesk, gitlab_desk

NOW = pendulum.datetime(2026, 3, 1, 12)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> GitLabDesk:
    """Two projects with all states, every kind of place in a diff, labels, people, system notes."""
    world = GitLabWorld(NOW)
    console, charts = world.add_project("lantern/console"), world.add_project("lantern/charts")
    world.fill(console, merge_requests=12, discussions=3, notes=2, issues=4, days=30)
    world.fill(charts, merge_requests=3, discussions=1, notes=2, issues=1, days=30)
    mrs = console.merge_requests
    refs = mrs[5].refs
    for position in (Position("a.png", "a.png", refs, image=(9, 9, 1, 1)), Position("b.ts", "b.ts", refs),
                     Position("old.ts", "new.ts", refs, Spot(8, 9, "new"), Spot(4, 5, "new"))):  # fmt: skip
        console.start_thread(mrs[5], "maya", "placed", position)
    console.close(mrs[1], "maya")
    console.merge(mrs[2], "maya")
    console.lock(mrs[3])
    console.set_draft(mrs[4], "maya", True)
    console.assign(mrs[4], "maya", "kofi", "ines")
    world.advance(seconds=300)
    desk = gitlab_desk(tmp_path_factory.mktemp("read"), world, "lantern/console", "lantern/charts")
    report = desk.run()
    assert report.exit_code == 0, report
    desk.judge()
    return desk


def projects(desk: GitLabDesk) -> list[Project]:
    return list(desk.world.projects.values())


def none(desk: GitLabDesk, query: str) -> None:
    assert desk.sql(query) == []


def test_counts_equal_the_source(read: GitLabDesk) -> None:
    for table in ("merge_requests", "issues"):
        theirs = {str(p.id): len(getattr(p, table)) for p in projects(read)}
        assert dict(read.sql(f"SELECT scope, count(*) FROM gitlab.{table} GROUP BY 1")) == theirs
    assert read.sql("SELECT DISTINCT is_complete FROM ops.completeness") == [(True,)]


def test_all_four_states_and_drafts_are_there(read: GitLabDesk) -> None:
    states = {state for (state,) in read.sql("SELECT DISTINCT state FROM gitlab.merge_requests")}
    assert states == {"opened", "closed", "merged", "locked"}
    assert read.sql("SELECT number FROM gitlab.merge_requests WHERE is_draft") == [(4,)]


def test_what_a_current_instance_tells_is_filled(read: GitLabDesk) -> None:
    """Merge status, head sha, references, branches."""
    columns = (
        "detailed_merge_status",
        "head_sha",
        "references_short",
        "references_full",
        "source_branch",
        "target_branch",
    )
    for column in columns:
        none(read, f"SELECT number FROM gitlab.merge_requests WHERE {column} IS NULL OR {column} = ''")


@pytest.mark.parametrize("kind", ["labels", "assignees", "reviewers"])
def test_labels_and_people_equal_the_source(read: GitLabDesk, kind: str) -> None:
    """Name by name, and none hangs on a merge request that is not there."""

    def theirs(mr: Any) -> list[str]:
        if kind == "reviewers":
            return [review.user.username for review in mr.reviews]
        return [label.name for label in mr.labels] if kind == "labels" else [u.username for u in mr.assignees]

    column = "name" if kind == "labels" else "username"
    expected = {
        (f"gitlab:{p.id}:!{mr.iid}", name) for p in projects(read) for mr in p.merge_requests.values() for name in theirs(mr)
    }  # fmt: skip
    assert expected
    assert sorted(read.sql(f"SELECT parent_key, {column} FROM gitlab.merge_requests__{kind}")) == sorted(expected)


def test_every_project_and_list_has_a_cursor(read: GitLabDesk) -> None:
    found = set(read.sql("SELECT scope, surface FROM ops.cursors WHERE surface <> 'projects' AND is_complete"))
    assert found == {(str(p.id), surface) for p in projects(read) for surface in ("merge_requests", "issues")}


def test_every_merge_request_has_its_threads_read_and_settled(read: GitLabDesk) -> None:
    """The watermark is there, equals `updated_at`, and is final."""
    none(read, """
        SELECT p.parent_key FROM gitlab.merge_requests AS p LEFT JOIN gitlab.threads AS t USING (parent_key)
        WHERE t.parent_key IS NULL OR t.synced_for_updated_at <> p.updated_at OR NOT t.is_settled
    """)  # fmt: skip


def test_every_discussion_has_notes_and_its_times_are_theirs(read: GitLabDesk) -> None:
    assert read.one("SELECT count(*) FROM gitlab.threads__discussions WHERE noteable_type = 'MergeRequest'") > 0
    none(read, """
        SELECT d.id FROM gitlab.threads__discussions AS d
        LEFT JOIN gitlab.threads__discussions__notes AS n ON n.discussion_id = d.id AND n.parent_key = d.parent_key
        GROUP BY d.id, d.first_note_at, d.last_note_at
        HAVING count(n.id) = 0 OR d.first_note_at > d.last_note_at
            OR d.first_note_at <> min(n.created_at) OR d.last_note_at <> max(n.created_at)
    """)  # fmt: skip


def test_every_note_on_a_diff_says_where(read: GitLabDesk) -> None:
    """As many as there are; paths, kind and the three shas; a range where there is one."""
    theirs = [n for p in projects(read) for mr in p.merge_requests.values() for n in mr.notes if n.position]
    notes = "gitlab.threads__discussions__notes"
    assert read.one(f"SELECT count(*) FROM {notes} WHERE position_new_path IS NOT NULL") == len(theirs)
    none(read, f"""
        SELECT id FROM {notes} WHERE position_new_path IS NOT NULL AND (position_type IS NULL
            OR position_base_sha IS NULL OR position_start_sha IS NULL OR position_head_sha IS NULL)
    """)  # fmt: skip
    kinds = {
        kind for (kind,) in read.sql(f"SELECT DISTINCT position_type FROM {notes} WHERE position_type IS NOT NULL")
    }
    assert kinds == {"text", "image", "file"}
    ranges = (
        f"SELECT position_line_range_start, position_line_range_end FROM {notes} WHERE position_new_path = 'new.ts'"
    )
    assert read.sql(ranges) == [(5, 9)]


def test_no_instant_is_the_beginning_of_time(read: GitLabDesk) -> None:
    """Times are parsed strictly: what cannot be read is never nought."""
    for table in ("threads__discussions__notes", "note_versions", "merge_requests", "issues"):
        none(read, f"SELECT id FROM gitlab.{table} WHERE created_at < '2000-01-01' OR updated_at < '2000-01-01'")
        none(read, f"SELECT id FROM gitlab.{table} WHERE created_at IS NULL OR updated_at IS NULL")


def test_raw_payloads_are_there_for_what_says_something(read: GitLabDesk) -> None:
    """Every merge request and every discussion; notes unless the system says them about no place in a diff."""
    payloads = Payloads(read.home.payloads)
    for (id_,) in read.sql("SELECT id FROM gitlab.merge_requests"):
        assert payloads.read("gitlab", "merge_request", str(id_))
    notes = "SELECT id, is_system AND position_new_path IS NULL FROM gitlab.threads__discussions__notes"
    assert {bare for _, bare in read.sql(notes)} == {True, False}
    for id_, bare in read.sql(notes):
        assert bool(payloads.read("gitlab", "note", str(id_))) is not bare


def test_a_second_run_fetches_nothing(read: GitLabDesk) -> None:
    """Cursors are current, unchanged merge requests cost no request."""
    report = read.run()
    assert {call.status for call in read.app.log} == {304} and len(read.app.log) == 6
    assert report.sources[0].packages == 0


def test_diff_notes_of_both_forges_are_one_view(read: GitLabDesk) -> None:
    """`feedback.diff_notes`: file and line, range and shas."""
    [row] = read.sql(
        "SELECT path, start_line, line, head_sha IS NOT NULL FROM feedback.diff_notes WHERE path = 'new.ts'"
    )
    assert row == ("new.ts", 5, 9, True)
