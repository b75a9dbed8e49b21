"""A plan that goes wrong, made smaller as long as it goes wrong in the same way."""

import shutil
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

from tests.storm.plan import Plan, Step
from tests.storm.round import Round

__all__ = ["shrink"]

PARTS = ("weather", "amid", "shut", "sick", "options")


def shrink(plan: Plan, folder: Path, seconds: float, *, in_memory: bool) -> Plan:
    """Whole runs go first, then what disturbs them, then operations, half of them at a time."""
    deadline = time.monotonic() + seconds
    wanted = _wrong(plan, folder, in_memory)
    if not wanted:
        print("nothing went wrong this time")
        return plan
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for candidate in _smaller(plan):
            if time.monotonic() > deadline:
                break
            if wanted & _wrong(candidate, folder, in_memory):
                plan, is_smaller = candidate, True
                print(f"{len(plan.steps)} runs, {_size(plan)} operations", flush=True)
                break
    return plan


def _wrong(plan: Plan, folder: Path, in_memory: bool) -> set[tuple[str, str]]:
    """What goes wrong, by kind and source."""
    place = folder / "smaller"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return {(each.what, each.key[0]) for each in Round(plan, place, in_memory).play()}


def _smaller(plan: Plan) -> Iterator[Plan]:
    size = len(plan.steps)
    while size > 0:
        for start in range(0, len(plan.steps), size):
            yield _with(plan, plan.steps[:start] + plan.steps[start + size :])
        size //= 2
    for source in ("github", "gitlab", "bluesky"):
        if any(step.before.get(source) for step in plan.steps):
            yield _changed(plan, lambda step, source=source: step.before.update({source: []}))  # type: ignore[misc]
    for part in PARTS:
        if any(getattr(step, part) for step in plan.steps):
            yield _changed(plan, lambda step, part=part: setattr(step, part, {}))  # type: ignore[misc]
    if any(step.kill or step.skew for step in plan.steps):
        yield _changed(plan, lambda step: (setattr(step, "kill", None), setattr(step, "skew", 0.0)))
    for n, step in enumerate(plan.steps):
        yield from _one_smaller(plan, n, step)


def _one_smaller(plan: Plan, n: int, step: Step) -> Iterator[Plan]:
    for part in ("kill", *PARTS):
        if getattr(step, part):
            yield _step(plan, n, **{part: None if part == "kill" else {}})
    for part in ("before", "amid"):
        for source, operations in getattr(step, part).items():
            size = len(operations)
            while size > 0:
                for start in range(0, len(operations), size):
                    less = operations[:start] + operations[start + size :]
                    yield _step(plan, n, **{part: {**getattr(step, part), source: less}})
                size //= 4


def _with(plan: Plan, steps: list[Step]) -> Plan:
    return Plan(plan.seed, plan.settings, deepcopy(steps))


def _changed(plan: Plan, change: Callable[[Step], object]) -> Plan:
    smaller = deepcopy(plan)
    for step in smaller.steps:
        change(step)
    return smaller


def _step(plan: Plan, n: int, **values: object) -> Plan:
    smaller = deepcopy(plan)
    for name, value in values.items():
        setattr(smaller.steps[n], name, value)
    return smaller


def _size(plan: Plan) -> int:
    return sum(len(operations) for step in plan.steps for operations in (*step.before.values(), *step.amid.values()))
