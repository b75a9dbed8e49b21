"""What a surgical run was asked for, and what became of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from pendulum import DateTime

from pipelines.report import Report
from pipelines.sync import Connected
from sources.http import Failure
from sources.target import Target, Targeted

__all__ = ["MOST", "PARTIAL", "Order", "Outcome", "Surgery"]

MOST = 100  # targets
PARTIAL = 3  # exit code


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
    exit_code: int = 0
    outcomes: dict[Target, Outcome] = field(default_factory=dict)
    timings_ms: dict[str, int] = field(default_factory=dict)
    report: Report | None = None
    error: str | None = None

    @property
    def completion(self) -> str:
        if self.exit_code not in (0, PARTIAL):
            return "failed"
        if self.order.preflight_only:
            return "preflight_only"
        if all(outcome.is_stale for outcome in self.outcomes.values()):
            return "skipped_stale"
        return "partial" if self.exit_code == PARTIAL else "complete"

    @property
    def failures(self) -> list[tuple[Target, str, Failure]]:
        return [(o.target, stage, why) for o in self.outcomes.values() for stage, why in o.failures]

    def counters(self) -> dict[str, object]:
        told = self.outcomes.values()
        return {
            "targets": [str(target) for target in self.outcomes], "place": self.order.place,
            "fetched": sum(o.fetched for o in told), "ingested": sum(o.ingested for o in told),
            "skipped_stale": sum(o.is_stale for o in told), "failures": len(self.failures),
            **(self.report or Report(self.run_id, [])).stages,
            "completion_status": self.completion, "stage_timings_ms": self.timings_ms,
        }  # fmt: skip
