"""Answers of ours that were heard: the run that reads one marks it observed in the outbox.

Anybody can copy a marker. A copy says nothing: it is elsewhere, or by another than the one whose answer it is, whom the
service named when it was posted, or, where that was lost, when others of ours were. Before we know who we are, nothing
is taken for ours; `reply` asks.
"""

import logging
from collections.abc import Container, Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.state import decisions
from pipelines.warehouse.data_dir import DataDir
from sources.core.values import instant

__all__ = ["observe", "rule_out"]

log = logging.getLogger("earshot")

LONG = 300  # seconds: services may show late what they took, and GitLab does not tell of each note at once
SEEN = """
SELECT seen.token, seen.event_key, seen.parent_key, seen.id, seen.author, seen.url FROM feedback.tokens AS seen
WHERE seen.token IN (SELECT token FROM waiting) AND NOT seen.is_deleted
ORDER BY seen.token, seen.created_at, seen.event_key
"""
THERE = """
SELECT DISTINCT token, parent_key FROM feedback.tokens WHERE NOT is_deleted AND list_contains(?::VARCHAR[], token)
"""
HEARD = """
UPDATE answers SET status = 'observed', observed_at = ?, observed_key = ?, is_unsure = 0,
    remote_id = coalesce(remote_id, ?), author = coalesce(author, ?), url = coalesce(url, ?),
    posted_at = coalesce(posted_at, attempted_at), code = NULL, error = NULL
WHERE token = ?
"""


def observe(connection: duckdb.DuckDBPyConnection, home: DataDir) -> int:
    """How many answers were heard for the first time."""
    with decisions.writing(home) as outbox:
        waiting = {row["token"]: row for row in decisions.dicts(outbox, "answers", "WHERE status <> 'observed'")}
        ours = outbox.rows("SELECT DISTINCT source, author FROM answers WHERE author IS NOT NULL")
    if not waiting:
        return 0
    connection.register("waiting", pa.table({"token": list(waiting)}))
    seen = connection.execute(SEEN).fetchall()
    connection.unregister("waiting")
    heard: dict[str, tuple[Any, ...]] = {}
    for token, event_key, parent_key, id_, author, url in seen:
        row = waiting[token]
        known = {row["author"]} if row["author"] else {name for where, name in ours if where == row["source"]}
        if token not in heard and row["parent_key"] == parent_key and author in known:
            heard[token] = (decisions.now(), event_key, id_, author, url, token)
            log.info("token_observed token=%s event=%s", token, event_key)
    if heard:
        with decisions.writing(home) as outbox:
            for values in heard.values():
                outbox.rows(HEARD, values)
    return len(heard)


def rule_out(home: DataDir, read: Mapping[str, Container[str]], began_at: str) -> None:
    """What a whole run did not read although it had been tried long before is not there: it may be said again. `read`:
    the scopes of each source of which everything was read.

    Not heard is not enough: of our very first answer, or a new account's, nobody knows yet whose words they are.
    """
    with decisions.writing(home) as outbox:
        # a wrong clock's: when it was tried nobody knows, but before now
        outbox.rows("UPDATE answers SET attempted_at = ? WHERE attempted_at > ?", [decisions.now()] * 2)
        _overdue(decisions.dicts(outbox, "answers", "WHERE status IN ('planned', 'posted')"))
        unsure = [
            row
            for row in decisions.dicts(
                outbox, "answers", "WHERE status = 'planned' AND is_unsure = 1 AND attempted_at <> ''"
            )
            if row["scope"] in read.get(row["source"], ())
            and instant(row["attempted_at"]).add(seconds=LONG) < instant(began_at)
        ]
    if not unsure:
        return
    with home.destination.looking(home) as connection:
        tokens = [row["token"] for row in unsure]
        there = set(connection.execute(THERE, [tokens]).fetchall())
    with decisions.writing(home) as outbox:
        for row in unsure:
            if (row["token"], row["parent_key"]) not in there:
                log.info("token_ruled_out token=%s", row["token"])
                gone = "UPDATE answers SET is_unsure = 0, is_over = 1 WHERE token = ? AND attempted_at = ?"
                outbox.rows(gone, [row["token"], row["attempted_at"]])


def _overdue(unheard: Iterable[Mapping[str, Any]]) -> None:
    """What a run over everything should have read by now, and has not."""
    for row in unheard:
        age = (instant(decisions.now()) - instant(row["planned_at"])).total_seconds()
        if age > decisions.UNHEARD:
            log.info("token_reconcile_timeout token=%s status=%s age_seconds=%d", row["token"], row["status"], age)
