"""What the due query takes in a warehouse of many merge requests, all of them read and settled.

python -m bench.gitlab_due FOLDER 10000    prints {"seconds": …, "due": …}
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, cast

import duckdb

from pipelines.models import build
from pipelines.settings import landed_tables
from pipelines.state import mirror
from pipelines.sync.source.recheck import suspects
from pipelines.warehouse.data_dir import DataDir
from sources.core.reading import Reading
from sources.gitlab.lists import GitlabConfig
from sources.gitlab.source import Gitlab

LONG_AGO = "TIMESTAMPTZ '2025-01-01 00:00:00Z' + to_seconds(n)"
PARENT = (
    f"n AS id, '7' AS scope, 'a/b' AS project, n AS number, 'gitlab:7:!' || n AS parent_key, {LONG_AGO} AS updated_at"
)
READ = (
    f"'gitlab:7:!' || n AS parent_key, '7' AS scope, n AS number,"
    f" {LONG_AGO} AS synced_for_updated_at, true AS is_settled"
)
ROWS = {
    "merge_requests": f"{PARENT}, if(n % 5 = 0, 'opened', 'merged') AS state, {LONG_AGO} AS seen_at,"
                      " 30 AS user_notes_count, md5(n::VARCHAR) AS head_sha",
    "threads": f"{READ}, 30 AS user_notes_count, md5(n::VARCHAR) AS head_sha",
    "resource_events": READ, "closes_issues": READ, "diffs": f"{READ}, md5(n::VARCHAR) AS head_sha",
}  # fmt: skip


def main() -> None:
    home, count = DataDir(Path(sys.argv[1])), int(sys.argv[2])
    home.create()
    with duckdb.connect(str(home.warehouse)) as connection:
        mirror.prepare(connection, [])
        build.build(connection, landed_tables(), anew=True)
        connection.execute("CREATE TABLE gitlab._dlt_loads AS SELECT '1' AS load_id")
        for table, columns in ROWS.items():
            rows = f"SELECT {columns}, '1' AS _dlt_load_id FROM range({count}) AS r(n)"
            connection.execute(f"INSERT INTO gitlab.{table} BY NAME {rows}")
    source, reading = Gitlab(GitlabConfig(projects=["a/b"])), Reading(cast(Any, None), {})
    reading.tally("merge_requests", "7")  # it was read
    took = []
    for _ in range(7):
        started = time.perf_counter()
        with home.destination.looking(home) as landed:
            due = suspects(landed, source, reading)
        took.append(time.perf_counter() - started)
    print(json.dumps({"seconds": statistics.median(took), "due": len(due)}))


if __name__ == "__main__":
    main()
