"""Search: the index kept up to date, asked in one process and by a cold command, by words and by meaning; and how much
of a small set of questions over the demo story it answers.

Without the extra `[semantic]` there is nothing to compare by meaning with: those targets are told as not judged.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import ROOT, Usage, median, run
from bench.outcome import Line, Outcome, Target

__all__ = ["measure"]

DOCUMENTS, FEW = 100_000, 5_000
TARGETS = {  # what: (limit in seconds, how it is told)
    "change": (1.0, "100 changed documents: at most 1 s"),
    "p50": (0.020, "keyword query, p50: at most 20 ms"),
    "semantic": (0.300, "first semantic query, the model loaded: at most 300 ms"),
}
COLD = 0.4
INSTALLED = "not installed: the extra [semantic]"


def measure(quick: bool) -> Outcome:
    documents, repeats = (FEW, 1) if quick else (DOCUMENTS, 5)
    with TemporaryDirectory(prefix="earshot-bench-") as folder:
        made = Path(folder) / "made"
        print(f"making up {documents:,} documents …", file=sys.stderr, flush=True)
        rows = [sys.executable, "-m", "bench.search_rows"]
        run([*rows, "make", str(made), str(documents)], folder=ROOT)
        usage = run([*rows, "ask", str(made), str(documents)], folder=ROOT)
        found: dict[str, float] = json.loads(usage.stdout)
        cold = [_ask(made, "w5 w300") for _ in range(repeats)]
        rates = json.loads(run([sys.executable, "-m", "bench.search_recall", f"{folder}/demo"], folder=ROOT).stdout)
    lines = [
        _inside("documents and index made anew", found["build"], found["rss"]),
        _inside("100 changed", found["change"], found["rss"]),
        _inside("compared whole, nothing to do", found["compare"], usage.rss_mb),
        _inside("keyword query, p95", found["p95"], usage.rss_mb),
        _inside("three words that are everywhere", found["worst"], usage.rss_mb),
        *([_inside("semantic query again", found["semantic_again"], usage.rss_mb)] if "semantic" in found else []),
        _cold("earshot search, cold", cold),
    ]
    targets = [_target(told, found.get(name), limit, quick) for name, (limit, told) in TARGETS.items()]
    targets.append(_target(f"earshot search, cold: at most {COLD} s", lines[-1].wall, COLD, quick))
    targets += [Target(f"recall@5 of 20 questions, {mode}", f"{rate:.2f}", None) for mode, rate in rates.items()]
    about = f"{documents:,} documents of ten utterances, {found['megabytes']:.0f} MB of index"
    return Outcome("search", about, lines, targets)


def _target(name: str, seconds: float | None, limit: float, quick: bool) -> Target:
    if seconds is None:
        return Target(name, INSTALLED, None)
    return Target(name, f"{seconds * 1000:.0f} ms", None if quick else seconds <= limit)


def _inside(name: str, seconds: float, rss_mb: float) -> Line:
    """Timed inside one process; its memory is the whole process's up to then."""
    return Line(name=name, runs=1, wall=seconds, fastest=seconds, cpu=seconds, rss_mb=rss_mb)


def _cold(name: str, runs: list[Usage]) -> Line:
    return Line(
        name=name, runs=len(runs), wall=median(each.wall for each in runs), fastest=min(each.wall for each in runs),
        cpu=median(each.cpu for each in runs), rss_mb=max(each.rss_mb for each in runs),
    )  # fmt: skip


def _ask(data: Path, words: str) -> Usage:
    return run(
        [sys.executable, "-m", "pipelines.cli", "search", words], folder=ROOT, environ={"EARSHOT_DATA": str(data)}
    )
