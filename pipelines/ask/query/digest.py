"""What a digest tells: what is new, whose turn it is, what waits longest, what was settled.

New is what got here in that time: said in it, or said before and read late, as long as we were listening by then. So
digests that follow each other lose nothing that came late, and the first one is not all of history.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.ask.query.filters import places
from pipelines.ask.query.known import refuse_unknown
from pipelines.ask.query.names import names, reference, short_id
from pipelines.ask.query.published import Published, Row, Where

__all__ = ["Digest", "Section", "digest_of"]

BEGAN = "WITH began AS (SELECT source, scope, min(seen_at) AS at FROM feedback.events GROUP BY source, scope)"
# whatever is said on an issue or a change moves its own words' time, too
NEWS = f"""
{BEGAN},

said AS (
    SELECT *, CASE
        WHEN kind NOT IN ('issue', 'pull_request', 'merge_request') THEN updated_at
        WHEN is_edit THEN seen_at
        ELSE created_at
    END AS said_at
    FROM feedback.comments
    WHERE NOT (is_system OR is_bot OR is_own OR kind = 'repost')
),

news AS (
    SELECT said.*, said.is_edit AND said.created_at < ? AS is_changed
    FROM said
    INNER JOIN began ON began.source = said.source AND began.scope = said.scope
    WHERE said.seen_at >= ? AND (said.said_at >= ? OR said.said_at >= began.at)
)
"""
COUNTS = """
SELECT source, count(*) FILTER (NOT is_changed) AS new, count(*) FILTER (is_changed) AS edited,
    list(DISTINCT author) AS people
FROM news WHERE {where} GROUP BY source ORDER BY new DESC, source
"""
THREADS = """
SELECT t.* REPLACE (n.author AS last_author, n.body AS last_words, n.at AS last_at), p.title, n.new,
    count(*) OVER () AS total
FROM (
    SELECT thread_id, count(*) AS new, arg_max(author, said_at) AS author, arg_max(body, said_at) AS body,
        max(said_at) AS at
    FROM news GROUP BY thread_id
) AS n
INNER JOIN feedback.threads AS t ON t.thread_id = n.thread_id
LEFT JOIN (SELECT parent_key AS p_key, title FROM feedback.parents) AS p ON p.p_key = t.parent_key
WHERE {where} ORDER BY n.at DESC, t.thread_id
"""
TURNS = """
SELECT waiting_on AS who, count(*) AS threads FROM feedback.threads AS t
WHERE waiting_on IS NOT NULL AND {where} GROUP BY waiting_on ORDER BY threads DESC, who
"""
WAITING = """
SELECT t.*, p.title, count(*) OVER () AS total FROM feedback.threads AS t
LEFT JOIN (SELECT parent_key AS p_key, title FROM feedback.parents) AS p ON p.p_key = t.parent_key
WHERE t.waiting_on IS NOT NULL AND {where} ORDER BY t.last_at, t.thread_id
"""
# where nobody tells when, a run saw it; what it saw in its first hour here is history
SETTLED = f"""
{BEGAN},

settled AS (
    SELECT source, scope_name, parent_key, number AS parent_number, NULL AS thread_id, title AS last_words,
        state AS how, coalesce(merged_at, closed_at) AS last_at, merged_by AS last_author, url
    FROM feedback.parents WHERE state IN ('merged', 'closed')
    UNION ALL
    SELECT t.source, t.scope_name, t.parent_key, t.parent_number, t.thread_id, t.opening_words, 'resolved',
        CASE
            WHEN t.resolved_at IS NOT NULL THEN t.resolved_at
            WHEN t.seen_resolved_at > began.at + INTERVAL 1 HOUR THEN t.seen_resolved_at
        END, t.resolved_by, t.url
    FROM feedback.threads AS t
    INNER JOIN began ON began.source = t.source AND began.scope = t.scope
    WHERE t.is_resolved
)

SELECT *, count(*) OVER () AS total FROM settled
WHERE last_at >= ? AND {{where}} ORDER BY last_at DESC, parent_key, thread_id
"""


@dataclass(frozen=True)
class Section:
    """The first of them, and how many there are."""

    rows: list[Row]
    total: int


@dataclass(frozen=True)
class Digest:
    """All of it, ready to be written."""

    since: datetime
    until: datetime
    counts: list[Row]  # by source
    new: Section
    turns: list[Row]  # who, and how many threads wait for them
    waiting: Section
    settled: Section
    troubles: int = 0

    @property
    def is_quiet(self) -> bool:
        return not (self.counts or self.settled.total)


def digest_of(warehouse: Published, since: datetime, until: datetime, asked: dict[str, Any], most: int) -> Digest:
    """`most` rows of each section; the names that are asked for must be known."""
    refuse_unknown(warehouse, asked)
    where, known = places(Where.all(), asked), names(warehouse)

    def rows(query: str, *values: Any) -> list[Row]:
        return warehouse.rows(query.format(where=where.sql), [*values, *where.values])

    def section(query: str, *values: Any) -> Section:
        found = rows(f"{query} LIMIT {int(most)}", *values)
        for row in found:
            row["place"] = reference(row, known)
            row["reference"] = short_id(row["thread_id"]) if row["thread_id"] else row["place"]
        return Section(found, found[0]["total"] if found else 0)

    counts = rows(NEWS + COUNTS, since, since, since)
    new = section(NEWS + THREADS, since, since, since)
    return Digest(since, until, counts, new, rows(TURNS), section(WAITING), section(SETTLED, since))
