"""What a run changed of issues, pull and merge requests without a word being said, and how many it left alone.

A label, a merge or a push is no event: nobody said anything. So each that was touched is compared with what it was
before the models were built. How many there are of each place is remembered: a run without news asks no database.
"""

import duckdb

from pipelines.state.ledger import Ledger
from pipelines.state.run_state import Counts
from pipelines.sync.output.report import BECAME, Change, Report

__all__ = ["after", "before", "remembered"]

SHOWN = (
    "CAST(row(state, is_draft, assignees, reviewers, requested_teams, labels, milestone, source_branch, target_branch,"
    " head_sha) AS VARCHAR)"
)
BEFORE = (
    f"CREATE OR REPLACE TEMP TABLE parents_before AS SELECT parent_key, state, {SHOWN} AS shown FROM feedback.parents"
)
CHANGED = f"""
WITH touched AS (
    SELECT parent_key, source, scope, kind, state, {SHOWN} AS shown
    FROM feedback.parents WHERE parent_key IN (SELECT parent_key FROM dirty)
)

SELECT
    touched.source,
    touched.scope,
    touched.kind,
    count(*) AS touched,
    count(*) FILTER (WHERE was.shown <> touched.shown) AS changed,
    count(*) FILTER (WHERE was.state <> touched.state AND touched.state = 'merged') AS merged,
    count(*) FILTER (WHERE was.state <> touched.state AND touched.state = 'closed') AS closed,
    count(*) FILTER (WHERE was.state <> touched.state AND touched.state = 'open') AS reopened
FROM touched
LEFT JOIN parents_before AS was ON was.parent_key = touched.parent_key
GROUP BY touched.source, touched.scope, touched.kind
"""
COUNTED = "SELECT source, scope, count(*) FROM feedback.parents GROUP BY source, scope"


def before(connection: duckdb.DuckDBPyConnection) -> None:
    """Called when it is known what was touched, and nothing of it is built yet."""
    connection.execute(f"{BEFORE} WHERE parent_key IN (SELECT parent_key FROM dirty)")


def after(connection: duckdb.DuckDBPyConnection, ledger: Ledger, report: Report, *, is_compared: bool) -> None:
    """`is_compared`: `before` was called; where all was built anew there was nothing to compare with."""
    if not is_compared:
        connection.execute(f"{BEFORE} WHERE false")
    counted: dict[str, dict[str, int]] = {}
    for source, scope, count in connection.execute(COUNTED).fetchall():
        counted.setdefault(source, {})[scope] = count
    ledger.state.held = counted
    report.changes = [
        Change(source, scope, kind, touched, dict(zip(BECAME, became, strict=True)))
        for source, scope, kind, touched, *became in connection.execute(CHANGED).fetchall()
    ]
    _tell(report, counted)


def remembered(ledger: Ledger, report: Report) -> None:
    """Of a run that built nothing."""
    _tell(report, ledger.state.held)


def _tell(report: Report, counted: Counts) -> None:
    for source in report.sources:
        read = source.names.keys() - source.failed
        source.held = {scope: n for scope, n in counted.get(source.source, {}).items() if scope in read}
