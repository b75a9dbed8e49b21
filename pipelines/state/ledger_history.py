"""What the ledger says of long ago, in short: a run a minute over a hundred lists is fifty million rows a year.

Rows of lists without news are added up into one for each list of a source (run 0), so that every sum stays what it was;
runs that found nothing are forgotten. What was found, by which run and how late, stays; so do failures.
"""

from datetime import timedelta
from typing import TYPE_CHECKING

import pendulum

from pipelines.state.run_state import Folded
from sources.core.values import has_passed

if TYPE_CHECKING:
    from pipelines.state.ledger import Ledger

__all__ = ["EARLIER", "QUIET", "fold", "folded_before"]

DAYS = 30
EVERY = timedelta(days=1)
EARLIER = 0  # the run that stands for those of long ago
QUIET = {  # table → what of it is folded, with the number of the first run that is not
    "requests": "run_id < ? AND new = 0",
    "runs": "run_id < ? AND finished_at IS NOT NULL AND coalesce(rows_new, 0) = 0",
}

COUNTS = ("requests", "pages", "fetched", "new", "replayed", "not_modified", "retries", "bytes", "waited_seconds")
SUMS = f"""
CREATE TEMP TABLE earlier AS
SELECT {EARLIER} AS run_id, source, '*' AS scope, 'earlier runs' AS scope_name, surface,
    {", ".join(f"sum({name}) AS {name}" for name in COUNTS)}, NULL AS lag_seconds
FROM requests WHERE {QUIET["requests"]} GROUP BY source, surface
"""


def fold(ledger: "Ledger") -> None:
    """Once a day, in one transaction."""
    now, connection = pendulum.now("UTC"), ledger.connection
    folded = ledger.state.folded
    if folded and not has_passed(folded.looked_at, EVERY, now):
        return
    since = now.subtract(days=DAYS).to_iso8601_string()
    with ledger.transaction():
        old = (
            "SELECT coalesce(max(run_id), 0) FROM runs WHERE started_at < ?"  # the last of them stays: status tells it
        )
        first = connection.execute(old, (since,)).fetchone()[0]
        connection.execute(SUMS, (first,))
        for table, quiet in QUIET.items():
            connection.execute(f"DELETE FROM {table} WHERE {quiet}", (first,))
        connection.execute("INSERT INTO requests SELECT * FROM earlier")
        connection.execute("DROP TABLE earlier")
        ledger.state.folded = Folded(first, now)


def folded_before(ledger: "Ledger") -> int:
    """The first run that is kept in full."""
    folded = ledger.state.folded
    return folded.first_run if folded else 1
