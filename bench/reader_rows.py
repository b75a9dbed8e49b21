"""`python -m bench.reader_rows FOLDER EVENTS`: a published warehouse of that many events, made up by the database.

Every tenth event opens a merge request, an issue or a pull request; the rest are said on them, a third on their diffs.
"""

import sys
from pathlib import Path

import duckdb

from pipelines.ask.query.acks import acknowledge
from pipelines.models import build
from pipelines.settings import landed_tables
from pipelines.state import mirror
from pipelines.warehouse.data_dir import DataDir

__all__: list[str] = []

ACKED = 90_000
EVENTS = """
INSERT INTO feedback.events BY NAME
WITH made AS (
    SELECT
        n,
        n // 10 AS number,
        ['merge_request', 'issue', 'pull_request'][1 + (n // 10) % 3] AS parent_kind,
        n % 10 = 0 AS opens,
        n % 3 = 1 AS is_pinned,
        n // 10 % 40 AS scope
    FROM range($events) AS t (n)
)

SELECT
    'bench:' || parent_kind || ':' || scope || ':' || n || ':v1' AS event_key,
    CASE parent_kind WHEN 'pull_request' THEN 'github' ELSE 'gitlab' END AS source,
    CASE WHEN opens THEN parent_kind WHEN is_pinned THEN 'diff_note' ELSE 'note' END AS kind,
    CAST(scope AS VARCHAR) AS scope,
    'group/project-' || scope AS scope_name,
    CAST(n AS VARCHAR) AS id,
    'bench:' || number AS parent_key,
    parent_kind,
    number AS parent_number,
    'bench:' || number || CASE WHEN is_pinned AND NOT opens THEN ':' || n // 5 ELSE ':conversation' END AS thread_id,
    'person-' || hash(n) % 500 AS author,
    false AS is_bot,
    n % 17 = 5 AS is_system,
    false AS is_edit,
    true AS is_latest,
    false AS is_deleted,
    number % 5 = 0 AS is_actionable,
    CASE WHEN opens THEN 'Change number ' || number END AS title,
    'Said ' || n || ': ' || repeat(CAST(hash(n) AS VARCHAR) || ' ', 10) AS body,
    'https://bench.test/' || n AS url,
    TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds(n * 30) AS created_at,
    TIMESTAMPTZ '2025-01-01 00:00:00+00' + to_seconds(n * 30) AS updated_at,
    TIMESTAMPTZ '2025-01-01 00:00:20+00' + to_seconds(n * 30) AS seen_at
FROM made
"""
PARENTS = """
INSERT INTO feedback.parents BY NAME
SELECT
    parent_key, source, parent_kind AS kind, scope, scope_name, parent_number AS number, title,
    ['open', 'merged', 'merged', 'merged', 'closed'][1 + parent_number % 5] AS state,
    parent_number % 7 = 0 AS is_draft,
    author, ['person-1'] AS assignees, ['person-2', 'person-3'] AS reviewers, [] AS requested_teams, ['bug'] AS labels,
    'topic/' || parent_number AS source_branch, 'main' AS target_branch, created_at, updated_at, url
FROM feedback.events
WHERE kind = parent_kind
"""
NOTES = """
INSERT INTO gitlab.note_versions BY NAME
SELECT event_key, CAST(id AS BIGINT) AS id, 'v1' AS version, parent_key FROM feedback.events WHERE kind = 'diff_note'
"""
PLACES = """
INSERT INTO gitlab.threads__discussions__notes BY NAME
SELECT id, version, parent_key, 'src/some/file.py' AS position_new_path, id % 500 AS position_new_line
FROM gitlab.note_versions
"""


def main(folder: Path, events: int) -> None:
    home = DataDir(folder)
    home.create()
    with duckdb.connect(str(home.warehouse)) as connection:
        mirror.prepare(connection, [])
        build.build(connection, landed_tables(), anew=True)
        connection.execute(EVENTS, {"events": events})
        for statement in (PARENTS, NOTES, PLACES):
            connection.execute(statement)
        threads = next(model for model in build.read_models() if model.name == "feedback.threads")
        connection.execute(f"INSERT INTO {threads.name} {threads.sql}")
        connection.execute("CHECKPOINT")
        keys = connection.execute("SELECT event_key FROM feedback.events LIMIT ?", [ACKED]).fetchall()
    home.publish()
    acknowledge(home, "bench", [key for (key,) in keys])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
