"""Answers of ours that were heard: the run that reads one marks it observed in the outbox.

Anybody can copy a marker. A copy by another than the one whose answer it is says nothing: not by the author that the
service named when it was posted, nor, where that answer was lost, by one whose answers were posted there before.
"""

import logging
from typing import Any

import duckdb
import pyarrow as pa

from pipelines import control
from pipelines.warehouse import Home

__all__ = ["observe"]

log = logging.getLogger("earshot")

SEEN = """
SELECT seen.token, seen.event_key, seen.source, seen.id, seen.author, seen.url FROM feedback.tokens AS seen
WHERE seen.token IN (SELECT token FROM waiting) AND NOT seen.is_deleted
ORDER BY seen.token, seen.created_at, seen.event_key
"""
HEARD = """
UPDATE answers SET status = 'observed', observed_at = ?, observed_key = ?, is_unsure = 0,
    remote_id = coalesce(remote_id, ?), author = coalesce(author, ?), url = coalesce(url, ?),
    posted_at = coalesce(posted_at, attempted_at), code = NULL, error = NULL
WHERE token = ?
"""


def observe(connection: duckdb.DuckDBPyConnection, home: Home) -> int:
    """How many answers were heard for the first time."""
    with control.writing(home) as outbox:
        waiting = {row["token"]: row for row in control.dicts(outbox, "answers", "WHERE status <> 'observed'")}
        ours = outbox.rows("SELECT DISTINCT source, author FROM answers WHERE author IS NOT NULL")
    if not waiting:
        return 0
    connection.register("waiting", pa.table({"token": list(waiting)}))
    seen = connection.execute(SEEN).fetchall()
    connection.unregister("waiting")
    heard: dict[str, tuple[Any, ...]] = {}
    for token, event_key, source, id_, author, url in seen:
        row, known = waiting[token], {name for where, name in ours if where == source}
        is_ours = author in ({row["author"]} if row["author"] else known or {author})
        if token not in heard and row["source"] == source and is_ours:
            heard[token] = (control.now(), event_key, id_, author, url, token)
            log.info("token_observed token=%s event=%s", token, event_key)
    if heard:
        with control.writing(home) as outbox:
            for values in heard.values():
                outbox.rows(HEARD, values)
    return len(heard)
