"""Beyond one machine: the same reading by one runner and by four at once, on every engine; and many accounts.

The network must be what is waited for, so merge requests are read one at a time a runner. With two cores for four
runners, a server and the world, what is gained is waiting, not work: the CPU column says what a runner costs.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from bench.earshot import say
from bench.measure import ROOT, BenchError, Usage, run
from bench.outcome import Line, Outcome, Target
from bench.world import World

__all__ = ["measure"]

SHARDS = 4
MAX_OF_ONE = 0.6
MAX_RSS_MB = 300
ENGINES = ("duckdb", "postgres", "ducklake")
PLACES = [f"lantern/part-{n:02}" for n in (2, 7, 0, 1, 3, 6, 4, 8)]  # two for each of four shards


@dataclass(frozen=True)
class Size:
    merge_requests: int = 80
    latency: float = 0.02
    accounts: int = 10_000


FULL = Size()
QUICK = Size(merge_requests=2, latency=0.0, accounts=40)


class Databases:
    """A server for as long as the benchmark lasts; a new database each time it is asked."""

    def __enter__(self) -> "Databases":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.scale_server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not self._process.stdout or self._process.stdout.readline().strip() != "ready":
            raise BenchError("Debian's package `postgresql` is not installed")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=30)

    def new(self) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@dataclass(frozen=True)
class Team:
    """Runners of one configuration on one database."""

    folder: Path
    world: World
    source: str
    engine: str
    url: str

    def run(self, shards: int) -> tuple[list[Usage], float]:
        """All at once; how long the slowest took."""
        with ThreadPoolExecutor(shards) as threads:
            jobs = [threads.submit(self._one, f"{n}/{shards}") for n in range(1, shards + 1)]
            used = [job.result() for job in jobs]
        return used, max(usage.wall for usage in used)

    def configure(self, settings: str) -> "Team":
        (self.folder / ".dlt").mkdir(parents=True)
        section = f"[sources.{self.source}]\napi_url = {json.dumps(self.world.url)}\n{settings}\n"
        (self.folder / ".dlt" / "config.toml").write_text(
            f"{section}[earshot]\nkeep_payloads = false\n", encoding="utf-8"
        )
        return self

    def _one(self, shard: str) -> Usage:
        options = [] if self.engine == "duckdb" else ["--destination", self.engine, "--shard", shard]
        return run(
            [sys.executable, str(ROOT / "pipelines" / "run.py"), self.source, "--json", "--no-embed", *options],
            folder=self.folder,
            environ={
                "EARSHOT_DATA": str(self.folder / "data"), "DESTINATION__POSTGRES__CREDENTIALS": self.url,
                "DESTINATION__DUCKLAKE__CREDENTIALS__CATALOG": self.url,
                "DESTINATION__DUCKLAKE__CREDENTIALS__STORAGE": str(self.folder / "lake"),
            },
        )  # fmt: skip


def measure(quick: bool) -> Outcome:
    size = QUICK if quick else FULL
    lines, targets = list[Line](), list[Target]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="earshot-bench-")))
        databases = stack.enter_context(Databases())
        options = {"project": ",".join(PLACES), "merge_requests": size.merge_requests, "discussions": 3, "notes": 2}
        world = stack.enter_context(World(service="gitlab", latency=size.latency, **options))  # type: ignore[arg-type]
        for engine in ENGINES:
            found, ratio = _engine(folder, world, engine, databases, size)
            lines += found
            if ratio is not None:
                target = f"{engine}: {SHARDS} shards at most {MAX_OF_ONE} x one runner's time"
                targets.append(Target(target, f"{ratio:.2f} x", None if quick else ratio <= MAX_OF_ONE))
        many = stack.enter_context(World(service="bluesky", accounts=size.accounts, posts=3))  # type: ignore[arg-type]
        found, peak = _accounts(folder, many, databases, size)
        lines += found
        target = f"{size.accounts:,} accounts over {SHARDS} shards: at most {MAX_RSS_MB} MB each"
        targets.append(Target(target, f"{peak:.0f} MB", None if quick else peak <= MAX_RSS_MB))
    about = (
        f"{len(PLACES)} projects x {size.merge_requests} merge requests, one at a time, {size.latency * 1000:.0f} ms"
    )
    return Outcome("scale", about, lines, targets)


def _engine(
    folder: Path, world: World, engine: str, databases: Databases, size: Size
) -> tuple[list[Line], float | None]:
    settings = f'token = "demo-token"\ndependent_concurrency = 1\nprojects = {json.dumps(PLACES)}'

    def team(name: str) -> Team:
        return Team(folder / f"{engine}-{name}", world, "gitlab", engine, databases.new()).configure(settings)

    say(f"{engine}: one runner")
    one, alone = team("one").run(1)
    lines = [_line(f"{engine}, one runner", one, alone)]
    if engine == "duckdb":
        return lines, None
    say(f"{engine}: {SHARDS} shards")
    four = team("four")
    lines.append(_line(f"{engine}, {SHARDS} shards", *(first := four.run(SHARDS))))
    lines.append(_line(f"{engine}, {SHARDS} shards again", *four.run(SHARDS)))
    return lines, first[1] / alone


def _accounts(folder: Path, world: World, databases: Databases, size: Size) -> tuple[list[Line], float]:
    names = [f"person-{n:04}.bsky.social" for n in range(size.accounts)]
    settings = f"directory_url = {json.dumps(world.url + '/plc')}\nactors = {json.dumps(names)}"
    team = Team(folder / "accounts", world, "bluesky", "postgres", databases.new()).configure(settings)
    lines = []
    for what in ("first", "again"):
        say(f"{size.accounts:,} accounts, {what}")
        lines.append(_line(f"{size.accounts:,} accounts, {SHARDS} shards, {what}", *team.run(SHARDS)))
    return lines, max(line.rss_mb for line in lines)


def _line(name: str, used: Sequence[Usage], wall: float) -> Line:
    told = [source for usage in used for source in json.loads(usage.stdout)["data"]["sources"]]
    return Line(
        name=name, runs=len(used), wall=wall, fastest=min(usage.wall for usage in used),
        cpu=sum(usage.cpu for usage in used), rss_mb=max(usage.rss_mb for usage in used),
        requests=sum(each["requests"] for each in told), not_modified=sum(each["not_modified"] for each in told),
        rows=sum(sum(each["rows"].values()) for each in told),
        packages=sum(each["packages"] for each in told if "packages" in each),
    )  # fmt: skip
