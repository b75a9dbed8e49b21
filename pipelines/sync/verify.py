"""A shadow reading: the source read in full beside the warehouse, into one that is thrown away, and what differs.

It walks the very path of a run, from nothing, so what it holds is what a first run of today would. Ours is only read.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from pendulum import DateTime

from pipelines.state.ledger import Ledger
from pipelines.state.quarantine import Quarantine
from pipelines.sync.mending import DELETED, Difference, Mend, mends
from pipelines.sync.output.report import SourceReport
from pipelines.sync.run import Connected, Options, sync
from pipelines.warehouse.data_dir import DataDir
from sources.core.reading import Problem, Unread

__all__ = ["DELETED", "Difference", "Verdict", "in_doubt", "verify"]

HELD = """
SELECT source, kind, scope, id, count(*) AS times, min(event_key) AS event_key, any_value(scope_name) AS scope_name,
    any_value(url) AS url, any_value(title) AS title, any_value(body) AS body, min(created_at) AS created_at,
    bool_or(is_unlisted) AS is_unlisted, any_value(parent_key) AS parent_key, any_value(parent_kind) AS parent_kind,
    any_value(parent_number) AS parent_number
FROM {file}.feedback.events
WHERE is_latest AND NOT is_deleted AND list_contains($sources, source)
GROUP BY source, kind, scope, id
"""
STOOD = "state, is_draft, list_sort(labels), list_sort(assignees), milestone, head_sha, target_branch"
# Before the start that a place is read from, nobody knows what is gone. A source that cannot tell where that lies walks
# back from the newest: what is older than all that the shadow saw there is beyond it.
DIFFERENCES = f"""
WITH ours AS ({HELD.format(file="ours")}),

theirs AS ({HELD.format(file="theirs")}),

reach AS (
    SELECT source, scope, coalesce(began_at, '-infinity') AS began_at FROM whole
    UNION ALL
    SELECT source, scope, min(created_at) AS began_at FROM theirs
    WHERE source NOT IN (SELECT source FROM whole) GROUP BY source, scope
),

said AS (
    SELECT
        CASE
            WHEN o.id IS NULL THEN 'missing'
            WHEN o.times > 1 THEN 'doubled'
            WHEN t.id IS NULL AND o.created_at >= reach.began_at THEN 'not noticed as deleted'
            WHEN t.id IS NOT NULL AND (o.title IS DISTINCT FROM t.title OR o.body <> t.body) THEN 'stale'
            WHEN t.id IS NOT NULL AND o.is_unlisted <> t.is_unlisted THEN 'in another state'
        END AS what,
        coalesce(t.source, o.source) AS source,
        coalesce(t.scope, o.scope) AS scope,
        coalesce(t.scope_name, o.scope_name) AS scope_name,
        coalesce(t.kind, o.kind) AS kind,
        coalesce(o.event_key, t.event_key) AS event_key,
        coalesce(t.url, o.url) AS url,
        coalesce(t.parent_key, o.parent_key) AS parent_key,
        coalesce(t.parent_kind, o.parent_kind) AS parent_kind,
        coalesce(t.parent_number, o.parent_number) AS parent_number
    FROM ours AS o
    FULL JOIN theirs AS t ON t.source = o.source AND t.kind = o.kind AND t.scope = o.scope AND t.id = o.id
    LEFT JOIN reach ON reach.source = o.source AND reach.scope = o.scope
),

stood AS (
    SELECT 'in another state', t.source, t.scope, t.scope_name, t.kind, t.parent_key, t.url, t.parent_key, t.kind,
        t.number
    FROM (SELECT parent_key, row({STOOD}) AS stands FROM ours.feedback.parents) AS o
    JOIN (SELECT *, row({STOOD}) AS stands FROM theirs.feedback.parents) AS t ON t.parent_key = o.parent_key
    WHERE o.stands IS DISTINCT FROM t.stands AND list_contains($sources, t.source)
),

resolved AS (
    SELECT 'resolved or not', t.source, t.scope, t.scope_name, 'thread', t.thread_id, t.url, t.parent_key,
        t.parent_kind, t.parent_number
    FROM ours.feedback.threads AS o
    JOIN theirs.feedback.threads AS t ON t.thread_id = o.thread_id
    WHERE o.is_resolved IS DISTINCT FROM t.is_resolved AND list_contains($sources, t.source)
),

compared AS (FROM said WHERE what IS NOT NULL UNION ALL FROM stood UNION ALL FROM resolved)

SELECT c.*, p.parent_key IS NOT NULL AS is_parent_there
FROM compared AS c LEFT JOIN theirs.feedback.parents AS p ON p.parent_key = c.parent_key
ORDER BY c.source, c.scope_name, c.what, c.event_key
"""
LET_BE = "LET_BE"


@dataclass
class Verdict:
    read: int = 0  # utterances that the source says now
    requests: int = 0
    differences: list[Difference] = field(default_factory=list)
    problems: list[tuple[str, Problem]] = field(default_factory=list)  # (source, what could not be read)
    mends: list[Mend] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What could not be read comes first: then the comparison itself is in doubt."""
        return 3 if self.problems else 1 if self.differences else 0


def verify(home: DataDir, sources: Sequence[Connected], options: Options) -> Verdict:
    """Nothing is written into `home`; the shadow lies in the system's temporary directory."""
    names = [connected.source.name for connected in sources]
    with TemporaryDirectory(prefix="earshot-verify-") as folder:
        shadow = DataDir(Path(folder))
        report = asyncio.run(sync(shadow, sources, replace(options, docs=False, embedder=None)))
        problems = [(each.source, problem) for each in report.sources for problem in each.problems]
        problems += [(each.source, problem) for each in report.sources for problem in _unreadable(home, each)]
        if report.error:
            problems.append(("*", Problem("*", "publishing", "FAILED", report.error)))
        verdict = Verdict(requests=sum(each.requests for each in report.sources), problems=problems)
        if shadow.published.exists():
            whole = [(told.source, *read) for told in report.sources for read in told.whole.items()]
            verdict.read, found = _compare(home, shadow, names, whole)
            verdict.differences = [each for each in found if not in_doubt(each, problems)]
            verdict.mends = mends(
                verdict.differences, {connected.source.name: connected.source for connected in sources}
            )
        verdict.problems = [each for each in problems if each[1].code != LET_BE]
        return verdict


def _unreadable(home: DataDir, report: SourceReport) -> Iterator[Problem]:
    """What the shadow could not read is not gone for that; what was let be is nothing to tell of."""
    known: Mapping[str, Unread] = {}
    if report.unread and home.control.exists():
        with Ledger.open(home.control) as ledger:
            known = Quarantine(ledger, report.source).unread()
    for each in report.unread:
        code = LET_BE if each.key in known and known[each.key].is_let_be else "UNREADABLE"
        yield Problem(each.scope, each.surface, code, f"{each.key} cannot be read: {each.reason}")


def in_doubt(difference: Difference, problems: Sequence[tuple[str, Problem]]) -> bool:
    """What could not be read today is not gone for that."""
    unread = {problem.scope for source, problem in problems if source in (difference.source, "*")}
    unread |= {scope.partition("/")[0] for scope in unread if scope[:1].isdigit()}  # one pull request of a repository
    return difference.what == DELETED and bool(unread & {difference.scope, difference.scope_name.lower(), "*"})


def _compare(
    ours: DataDir, theirs: DataDir, sources: list[str], whole: list[tuple[str, str, DateTime | None]]
) -> tuple[int, list[Difference]]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE whole (source VARCHAR, scope VARCHAR, began_at TIMESTAMPTZ)")
        for row in whole:
            connection.execute("INSERT INTO whole VALUES (?, ?, ?)", row)
        for name, home in (("ours", ours), ("theirs", theirs)):
            home.destination.attach(connection, home, name, read_only=True)
        rows = connection.execute(DIFFERENCES, {"sources": sources}).fetchall()
        held = f"SELECT count(*) FROM ({HELD.format(file='theirs')})"
        read = connection.execute(held, {"sources": sources}).fetchone()
    return (int(read[0]) if read else 0), [Difference(*row) for row in rows]
