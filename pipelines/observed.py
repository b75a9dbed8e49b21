"""Answers of ours that were heard: the run that reads one marks it observed in the outbox.

Anybody can copy a marker. A copy by another than the one whose answer it is says nothing: not by the author that the
service named when it was posted, nor, where that answer was lost, by one whose answers were posted there before.
"""

import logging
import sqlite3

import duckdb

from pipelines import control

__all__ = ["observe"]

log = logging.getLogger("earshot")

SEEN = """
SELECT token, event_key, source, id, author, url FROM feedback.tokens
WHERE token IN (SELECT unnest($tokens)) AND NOT is_deleted ORDER BY token, created_at, event_key
"""
OPEN = "SELECT * FROM answers WHERE status IN ('planned', 'posted', 'failed')"


def observe(connection: duckdb.DuckDBPyConnection, outbox: sqlite3.Connection) -> int:
    """How many answers were heard for the first time."""
    waiting = {row["token"]: row for row in outbox.execute(OPEN)}
    if not waiting:
        return 0
    ours = {
        (row["source"], row["author"])
        for row in outbox.execute("SELECT DISTINCT source, author FROM answers WHERE author IS NOT NULL")
    }
    heard = 0
    for token, event_key, source, id_, author, url in connection.execute(SEEN, {"tokens": list(waiting)}).fetchall():
        row = waiting.get(token)
        known = {name for where, name in ours if where == source}
        if (
            row is None
            or row["source"] != source
            or author not in ({row["author"]} if row["author"] else known or {author})
        ):
            continue
        outbox.execute(
            "UPDATE answers SET status = 'observed', observed_at = ?, observed_key = ?, is_unsure = 0,"
            " remote_id = coalesce(remote_id, ?), author = coalesce(author, ?), url = coalesce(url, ?),"
            " posted_at = coalesce(posted_at, attempted_at), code = NULL, error = NULL WHERE token = ?",
            (control.now(), event_key, id_, author, url, token),
        )
        log.info("token_observed token=%s event=%s", token, event_key)
        del waiting[token]
        heard += 1
    return heard
