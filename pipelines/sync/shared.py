"""What all parts of one run share."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pipelines.state.ledger import Ledger
from pipelines.sync.after_load import Options
from pipelines.sync.output.report import Watch
from pipelines.warehouse.data_dir import DataDir

__all__ = ["Shared"]


@dataclass
class Shared:
    home: DataDir
    ledger: Ledger
    run_id: int
    options: Options
    worker: ThreadPoolExecutor
    watch: Watch

    async def work(self, job: Callable[..., Any], *args: Any) -> Any:
        """A job in the one thread that may touch DuckDB. Cancelled, it is waited for: it may be writing."""
        running = asyncio.get_running_loop().run_in_executor(self.worker, job, *args)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise
