"""What a benchmark finds: lines of a table, and whether each target was reached."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Line", "Outcome", "Target"]


@dataclass(frozen=True)
class Line:
    """One kind of run: medians of the times, the worst of memory and counts."""

    name: str
    runs: int
    wall: float
    fastest: float
    cpu: float
    rss_mb: float
    requests: int = 0  # none: it asks nobody
    not_modified: int = 0
    at_once: int = 0
    rows: int = 0
    packages: int | None = None  # None: the floor knows no packages
    files_same: bool | None = None
    ratio: float | None = None  # to the floor of the same benchmark

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.wall


@dataclass(frozen=True)
class Target:
    """`is_met` None: told, but at this size or on this machine not judged."""

    name: str
    found: str
    is_met: bool | None


@dataclass
class Outcome:
    name: str
    about: str
    lines: list[Line] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        lines = [{**asdict(line), "rows_per_second": line.rows_per_second} for line in self.lines]
        return {"about": self.about, "lines": lines, "targets": [asdict(target) for target in self.targets]}

    def text(self) -> str:
        """Columns that say nothing in this benchmark are left out."""
        heads = [head for head, show in COLUMNS.items() if any(show(line) for line in self.lines)]
        rows = [heads, *([COLUMNS[head](line) for head in heads] for line in self.lines)]
        name, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join([row[0].ljust(name), *map(str.rjust, row[1:], widths)]) for row in rows]
        verdicts = [f"{VERDICTS[t.is_met]:4}  {t.name}: {t.found}" for t in self.targets]
        return "\n".join([f"{self.name}: {self.about}", "", *table, "", *verdicts])


COLUMNS: dict[str, Callable[[Line], str]] = {
    "": lambda line: line.name,
    "wall s": lambda line: f"{line.wall:.2f}",
    "(best)": lambda line: f"{line.fastest:.2f}",
    "x floor": lambda line: f"{line.ratio:.2f}" if line.ratio else "",
    "CPU s": lambda line: f"{line.cpu:.2f}",
    "peak MB": lambda line: f"{line.rss_mb:.0f}",
    "requests": lambda line: f"{line.requests or ''}",
    "304": lambda line: f"{line.not_modified}" if line.requests else "",
    "at once": lambda line: f"{line.at_once}" if line.requests else "",
    "rows": lambda line: f"{line.rows:,}" if line.rows else "",
    "rows/s": lambda line: f"{line.rows_per_second:,.0f}" if line.rows else "",
    "packages": lambda line: "" if line.packages is None else f"{line.packages}",
    "files": lambda line: {None: "", True: "same", False: "changed"}[line.files_same],
}
VERDICTS = {True: "PASS", False: "MISS", None: "  · "}
