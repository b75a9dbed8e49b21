"""Airflow: one task a shard, each a process of its own. Exit 4 (somebody else is at it) is a skip, 3 is a warning."""

from datetime import timedelta

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

SHARDS = 4
SYNC = ".venv/bin/earshot sync --destination postgres --shard {shard} || (code=$?; test $code -eq 3 || exit $code)"

with DAG(
    "earshot",
    schedule=timedelta(minutes=10),
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=2), "execution_timeout": timedelta(hours=2)},
):
    for number in range(1, SHARDS + 1):
        BashOperator(
            task_id=f"shard_{number}",
            cwd="/opt/earshot",
            bash_command=SYNC.format(shard=f"{number}/{SHARDS}"),
            skip_on_exit_code=4,
            append_env=True,
        )
