"""A run as its user starts it: own folder, own configuration, own data, one command."""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import ROOT, BenchError, Usage, median, run
from bench.outcome import Line
from bench.world import Asked, World

__all__ = ["Earshot", "Sample", "differing_tables", "line", "run_floor", "say"]


@dataclass(frozen=True)
class Sample:
    """One run, or one of the floor's."""

    usage: Usage
    asked: Asked
    rows: int = 0
    packages: int | None = None
    files_same: bool | None = None


@dataclass(frozen=True)
class Earshot:
    """`source` as `config` (its section of config.toml) describes it, reading from `world`."""

    folder: Path
    world: World
    source: str
    config: str

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def run(self) -> Sample:
        dlt = self.folder / ".dlt"
        dlt.mkdir(parents=True, exist_ok=True)
        section = f"[sources.{self.source}]\napi_url = {json.dumps(self.world.url)}\n{self.config}\n"
        (dlt / "config.toml").write_text(section, encoding="utf-8")
        before = self._files()
        self.world.forget()
        usage = run(
            [sys.executable, str(ROOT / "pipelines" / "run.py"), self.source, "--json"],
            folder=self.folder,
            environ={"EARSHOT_DATA": str(self.data)},
        )
        asked, told = self.world.asked(), json.loads(usage.stdout)["data"]["sources"][0]
        if (told["requests"], told["not_modified"]) != (asked.requests, asked.not_modified):
            raise BenchError(f"the run says {told['requests']} requests, the service counted {asked.requests}")
        return Sample(usage, asked, sum(told["rows"].values()), told["packages"], self._files() == before)

    def _files(self) -> dict[str, str]:
        """The databases by their content."""
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.data.glob("*.duckdb")}


def run_floor(folder: Path, world: World, module: str, *arguments: str) -> Sample:
    """The bare program of this source, into `floor.duckdb` in a folder of its own."""
    folder.mkdir()
    world.forget()
    argv = [sys.executable, "-m", module, world.url, *arguments, str(folder / "floor.duckdb")]
    usage = run(argv, folder=ROOT)
    return Sample(usage, world.asked(), rows=json.loads(usage.stdout)["rows"])


def differing_tables(floor_folder: Path, ours: Earshot) -> list[str]:
    """Tables in which the floor's rows are not ours."""
    files = (str(floor_folder / "floor.duckdb"), str(ours.data / "warehouse.duckdb"))
    found = run([sys.executable, "-m", "bench.same", *files, ours.source], folder=ROOT)
    told: list[str] = json.loads(found.stdout)
    return told


def say(what: str) -> None:
    print(what, "…", file=sys.stderr, flush=True)


def line(name: str, samples: Sequence[Sample], floor: float | None = None, *, show_files: bool = False) -> Line:
    wall = median(sample.usage.wall for sample in samples)
    packages = [sample.packages for sample in samples if sample.packages is not None]
    return Line(
        name=name,
        runs=len(samples),
        wall=wall,
        fastest=min(sample.usage.wall for sample in samples),
        cpu=median(sample.usage.cpu for sample in samples),
        rss_mb=max(sample.usage.rss_mb for sample in samples),
        requests=max(sample.asked.requests for sample in samples),
        not_modified=min(sample.asked.not_modified for sample in samples),
        at_once=max(sample.asked.at_once for sample in samples),
        rows=max(sample.rows for sample in samples),
        packages=max(packages) if packages else None,
        files_same=all(sample.files_same for sample in samples) if show_files else None,
        ratio=wall / floor if floor else None,
    )
