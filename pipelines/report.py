"""What a run did, as numbers: for the exit code, the summary, the ledger."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sources.reading import Problem, Reading

__all__ = ["Report", "SourceReport", "Watch", "totals"]


@dataclass
class SourceReport:
    source: str
    scopes: int = 0
    completed: int = 0  # lists read to their end
    requests: int = 0
    not_modified: int = 0
    fetched: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    replayed: int = 0
    packages: int = 0
    waited: float = 0.0
    quota_left: int | None = None
    quota: int | None = None
    swept: bool = False
    quarantined: int = 0
    problems: list[Problem] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)


@dataclass
class Report:
    run_id: int
    sources: list[SourceReport]
    seconds: float = 0.0
    published_bytes: int | None = None
    new_events: dict[tuple[str, str], int] = field(default_factory=dict)  # (source, kind) → versions not seen before
    error: str | None = None

    @property
    def exit_code(self) -> int:
        """0 all done · 1 failed · 3 some scopes failed, the rest landed."""
        problems = sum(len(s.problems) for s in self.sources)
        if self.error or (problems and not any(s.completed for s in self.sources)):
            return 1
        return 3 if problems or any(s.quarantined for s in self.sources) else 0


@dataclass
class Watch:
    """What a screen may look at while the run goes on."""

    phase: str = "starting"
    readings: dict[str, Reading] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    on_change: Callable[["Watch"], None] = lambda watch: None

    def at(self, phase: str) -> None:
        self.phase = phase
        self.on_change(self)


def totals(report: Report) -> dict[str, object]:
    return {
        "requests": sum(s.requests for s in report.sources),
        "not_modified": sum(s.not_modified for s in report.sources),
        "rows_new": sum(sum(s.rows.values()) for s in report.sources),
        "rows_replayed": sum(s.replayed for s in report.sources), "packages": sum(s.packages for s in report.sources),
        "published_bytes": report.published_bytes, "seconds": report.seconds,
    }  # fmt: skip
