"""`python -m tests.storm`: rounds without end, until there were enough operations and kills, or something is wrong."""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.storm.child import warm
from tests.storm.oracle import Finding
from tests.storm.plan import Plan, draw
from tests.storm.round import Round, Tally, mobs_of
from tests.storm.shrink import shrink
from tests.storm.story import story

SAVED = Path("build/storm")
EVERY = 20.0  # seconds between lines of progress


def main() -> int:
    asked = _asked()
    if asked.folder:
        return _asked_for(asked, Path(asked.folder))
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a kill leaves there what it leaves on a disk
    with tempfile.TemporaryDirectory(prefix="earshot-storm-", dir=fast, ignore_cleanup_errors=True) as folder:
        return _asked_for(asked, Path(folder))


def _asked_for(asked: argparse.Namespace, folder: Path) -> int:
    return _replay(asked, folder) if asked.replay else _storm(asked, folder)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000, help="at least so many")
    parser.add_argument("--kills", type=int, default=0, help="at least so many")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minutes", type=float, default=None, help="at the most")
    parser.add_argument("--workers", type=int, default=1, help="processes, each with rounds of its own")
    parser.add_argument("--runs", type=int, default=24, help="a round")
    parser.add_argument("--density", type=float, default=1.0, help="of operations, relative to the usual")
    parser.add_argument("--without", default="", help="operations or troubles to leave out, with commas: shut,sick,…")
    parser.add_argument("--replay", default="", help="a round (SEED.WORKER.ROUND) or a saved plan (a .json file)")
    parser.add_argument("--memory", action="store_true", help="warehouses in memory: faster, and nothing is killed")
    parser.add_argument("--shrink", type=float, default=0, metavar="MINUTES", help="make the replayed plan smaller")
    parser.add_argument("--folder", default=None, help="where data is kept, also afterwards")
    asked = parser.parse_args()
    asked.without = frozenset(filter(None, asked.without.split(",")))
    return asked


# One round again


def _replay(asked: argparse.Namespace, folder: Path) -> int:
    plan = (
        Plan.load(Path(asked.replay))
        if asked.replay.endswith(".json")
        else draw(asked.replay, asked.runs, asked.density, asked.without)
    )
    _warm(folder)
    if asked.shrink:
        plan = shrink(plan, folder, asked.shrink * 60, in_memory=asked.memory)
        plan.save(SAVED / f"{plan.seed}.small.json")
        print(f"saved as {SAVED / f'{plan.seed}.small.json'}")
    trace = folder / "trace"
    played = Round(plan, _fresh(folder), asked.memory, trace=str(trace))
    found = played.play()
    print(story(played, found, trace.read_text(encoding="utf-8")))
    return 1 if found else 0


# Many rounds


def _storm(asked: argparse.Namespace, folder: Path) -> int:
    """Workers tell their tally after each round; the first that finds something stops all."""
    context = multiprocessing.get_context("fork")
    told: Any = context.SimpleQueue()
    workers = [
        context.Process(target=_work, args=(asked, n, folder / str(n), told), daemon=False)
        for n in range(asked.workers)
    ]
    for worker in workers:
        worker.start()
    total, started, last, findings = Tally(), time.monotonic(), 0.0, []
    try:
        while any(worker.is_alive() for worker in workers) or not told.empty():
            if told.empty():
                time.sleep(0.2)
                continue
            tally, seed, found = told.get()
            total.add(tally)
            if found:
                findings.append((seed, found))
                break
            is_enough = sum(total.operations.values()) >= asked.operations and total.kills >= asked.kills
            is_late = asked.minutes is not None and time.monotonic() - started > asked.minutes * 60
            if is_enough or is_late:
                break
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                print(_line(total, last - started), flush=True)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    print(_figures(asked, total, time.monotonic() - started))
    for seed, found in findings:
        print(f"\n{len(found)} found in round {seed}:", *(f"  {each}" for each in found[:10]), sep="\n")
        more = f" --runs {asked.runs} --density {asked.density}" + (
            f" --without {','.join(asked.without)}" if asked.without else ""
        )
        print(f"again, with its history: python -m tests.storm --replay {seed}{more}")
    return 1 if findings else 0


def _work(asked: argparse.Namespace, worker: int, folder: Path, told: Any) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _warm(folder)
    number = 0
    while True:
        seed = f"{asked.seed}.{worker}.{number}"
        plan = draw(seed, asked.runs, asked.density, asked.without)
        played = Round(plan, _fresh(folder), asked.memory, tell=partial(_tell, told, seed))
        try:
            found = played.play()
        except Exception as error:  # the storm's own fault is told with the round it came in
            found = [Finding("failed", ("storm", type(error).__name__, str(error)))]
        told.put((played.tally, seed, found))
        if found:
            return
        number += 1


def _tell(told: Any, seed: str, tally: Tally) -> None:
    told.put((tally, seed, []))


def _warm(folder: Path) -> None:
    mobs = mobs_of({})
    for mob in mobs:
        for name in mob.operations:
            mob.do((name, 12345))
    played = _fresh(folder)
    from pipelines.warehouse.data_dir import DataDir

    warm(DataDir(played / "data"), mobs)


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder / "round", ignore_errors=True)
    (folder / "round").mkdir(parents=True)
    return folder / "round"


def _line(total: Tally, seconds: float) -> str:
    done = sum(total.operations.values())
    return (
        f"{seconds / 60:5.1f} min  {total.rounds} rounds, {total.runs} runs, {done:,} operations, {total.kills} kills,"
        f" {total.checked} checked; {done / max(seconds, 1):,.0f} operations a second"
    )


def _figures(asked: argparse.Namespace, total: Tally, seconds: float) -> str:
    told = {
        "seed": asked.seed, "workers": asked.workers, "minutes": round(seconds / 60, 1), "rounds": total.rounds,
        "runs": total.runs, "kills": total.kills, "operations": sum(total.operations.values()),
        "by source": dict(total.operations), "amid a run": total.amid, "runs compared with a full scan": total.checked,
        "exits": dict(total.exits), "faults": dict(total.faults.most_common()), "cores": os.cpu_count(),
    }  # fmt: skip
    return json.dumps(told, indent=1)


if __name__ == "__main__":
    sys.exit(main())
