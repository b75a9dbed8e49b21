"""What a surgical run was asked for, and what became of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from pendulum import DateTime

from pipelines.sync.output.report import Report
from pipelines.sync.run import Connected
from sources.core.http.client import Failure
from sources.core.targets import Target, Targeted

__all__ = ["CANCELLED", "MOST", "PARTIAL", "UNENDED", "Cancelled", "Order", "Outcome", "Surgery"]

MOST = 100  # targets
PARTIAL, CANCELLED, UNENDED = 3, 130, -1  # exit codes


@dataclass(frozen=True)
class Order:
    """What was asked for."""

    connected: Connected
    place: str  # the repository or project, as configured
    targets: Sequence[Target]
    timeout: float = 30.0
    preflight_only: bool = False
    decide: Callable[[DateTime], None] | None = None  # called with the server's time before models are built

    @property
    def source(self) -> Targeted:
        """Only sources whose things can be named are given an order."""
        return cast(Targeted, self.connected.source)


@dataclass
class Outcome:
    """What became of one target."""

    target: Target
    fetched: bool = False
    ingested: bool = False
    is_stale: bool = False
    failures: list[tuple[str, Failure]] = field(default_factory=list)  # stage, why


@dataclass
class Surgery:
    """The whole run, for people and programs."""

    order: Order
    run_id: int = 0
    exit_code: int = UNENDED
    outcomes: dict[Target, Outcome] = field(default_factory=dict)
    timings_ms: dict[str, int] = field(default_factory=dict)
    report: Report | None = None
    error: str | None = None

    @property
    def completion(self) -> str:
        return self._completion(self.exit_code)

    def _completion(self, exit_code: int) -> str:
        if exit_code not in (0, PARTIAL):
            return {UNENDED: "unfinished", CANCELLED: "cancelled"}.get(exit_code, "failed")
        if self.order.preflight_only:
            return "preflight_only"
        if all(outcome.is_stale for outcome in self.outcomes.values()):
            return "skipped_stale"
        return "partial" if exit_code == PARTIAL else "complete"

    @property
    def failures(self) -> list[tuple[Target, str, Failure]]:
        return [(o.target, stage, why) for o in self.outcomes.values() for stage, why in o.failures]

    def counters(self, exit_code: int | None = None) -> dict[str, object]:
        """As it stands; `exit_code`: as it ends, for who is told before."""
        told, code = self.outcomes.values(), self.exit_code if exit_code is None else exit_code
        return {
            "targets": [str(target) for target in self.outcomes],
            "place": self.order.place,
            "fetched": sum(o.fetched for o in told),
            "ingested": sum(o.ingested for o in told),
            "skipped_stale": sum(o.is_stale for o in told),
            "failures": len(self.failures),
            **(self.report or Report(self.run_id, [])).stages,
            "completion_status": self._completion(code),
            "stage_timings_ms": self.timings_ms,
        }


class Cancelled(asyncio.CancelledError):
    """Somebody stopped it; what had become of it by then."""

    def __init__(self, surgery: Surgery) -> None:
        super().__init__()
        self.surgery = surgery
