"""What a round is to be, drawn from its seed alone, as plain data: so it can be played again, and made smaller."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.storm.bluesky import OPERATIONS as BLUESKY
from tests.storm.github import OPERATIONS as GITHUB
from tests.storm.gitlab import OPERATIONS as GITLAB
from tests.storm.weather import FAULTS, Weather

__all__ = ["SOURCES", "Plan", "Step", "draw"]

SOURCES = ("github", "gitlab", "bluesky")
OPERATIONS = {"github": GITHUB, "gitlab": GITLAB, "bluesky": BLUESKY}
BIG = 2**40
RUNS = 24


@dataclass
class Step:
    """One run, and what comes before it and amid it."""

    before: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    amid: dict[str, list[tuple[int, str, int]]] = field(default_factory=dict)  # requests since the one before it
    only: list[str] = field(default_factory=lambda: list(SOURCES))
    weather: dict[str, dict[str, Any]] = field(default_factory=dict)
    shut: dict[str, tuple[int, int]] = field(default_factory=dict)  # which place, for how many runs
    sick: dict[str, tuple[int, int]] = field(default_factory=dict)  # which record, for how many runs
    options: dict[str, Any] = field(default_factory=dict)
    skew: float = 0.0
    kill: tuple[str, float] | None = None  # by "steps" or by "time": at which part of a whole run
    pauses: float = 0.0  # seconds before it
    is_calm: bool = False  # afterwards everything is quiet, and all has to be right

    def options_told(self) -> str:
        options = [f"{name}={value}" for name, value in self.options.items() if value]
        before = {source: len(operations) for source, operations in self.before.items()}
        clock = f"clock {self.skew:+.0f} s" if self.skew else ""
        return " ".join(filter(None, [*options, f"after {before}", f"kill {self.kill}" if self.kill else "", clock]))


@dataclass
class Plan:
    seed: str
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Plan":
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(told["seed"], told["settings"], [Step(**step) for step in told["steps"]])


def draw(seed: str, runs: int = RUNS, density: float = 1.0, without: Collection[str] = ()) -> Plan:
    """The round of this seed. `without`: operations, faults or other things (shut, sick, kill, skew) that it lacks."""
    random = Random(f"storm {seed}")
    plan = Plan(seed, _settings(random))
    for n in range(runs):
        step = Step(pauses=random.choice((0, 5, 70, 400, 4000, 30_000)))
        if random.random() < 0.25:
            step.only = random.sample(SOURCES, random.choice((1, 2)))
        mood = random.choices((0, 0.02, 0.3, 1, 2.5), (2, 3, 5, 8, 4))[0] * density
        for source in SOURCES:
            step.before[source] = _operations(random, source, int(random.uniform(0.5, 1.5) * 300 * mood), without)
            if random.random() < 0.6:
                told = _operations(random, source, int(random.uniform(1, 40)), without)
                step.amid[source] = [(random.choice((0, 0, 1, 1, 2, 5)), what, pick) for what, pick in told]
            step.weather[source] = _weather(random, without).json()
            if random.random() < 0.08 and "shut" not in without:
                step.shut[source] = (random.randrange(BIG), random.choice((1, 1, 2, 3)))
            if random.random() < 0.08 and "sick" not in without:
                step.sick[source] = (random.randrange(BIG), random.choice((1, 1, 2, 4)))
        step.options = _options(random)
        if random.random() < 0.15 and "skew" not in without:
            step.skew = random.choice((-30, 30, -7200, 7200, 86400 * 400, -86400 * 400))
        if random.random() < 0.8 and "kill" not in without:
            step.kill = random.choices(("steps", "time"), (3, 1))[0], random.random()
        step.is_calm = n == runs // 2
        plan.steps.append(step)
    return plan


def _operations(random: Random, source: str, times: int, without: Collection[str]) -> list[tuple[str, int]]:
    told = [(name, weight) for name, weight, _ in OPERATIONS[source] if name not in without]
    names, weights = [name for name, _ in told], [weight for _, weight in told]
    return [(name, random.randrange(BIG)) for name in random.choices(names, weights, k=times)]


def _settings(random: Random) -> dict[str, dict[str, Any]]:
    """How the sources are configured, and how the services behave, throughout the round."""
    few = random.random() < 0.3
    return {
        "github": {},
        "gitlab": {
            "fetch_resource_events": few, "fetch_closes_issues": few, "fetch_diffs": random.random() < 0.3,
            "dependent_concurrency": random.choice((1, 4, 10)),
        },
        "bluesky": {
            "posts_per_page": random.choice((5, 20, 50, 100)), "max_pages_per_actor": random.choice((2, 100, 100)),
            "probe": random.random() < 0.2,
        },
        "worlds": {
            "resolving": random.choice(("older", "newer")), "deletions_move_parent": random.random() < 0.3,
            "cursors": random.choice(("timestamps", "keyset")), "full_page_leads_on": random.random() < 0.5,
        },
    }  # fmt: skip


def _weather(random: Random, without: Collection[str]) -> Weather:
    fault, rate = "", 0.0
    if random.random() < 0.3:
        fault = random.choice((*FAULTS, "any", "any", "any"))
        rate = random.choice((0.01, 0.05, 0.1, 0.3, 0.7))
        fault, rate = ("", 0.0) if fault in without or "faults" in without else (fault, rate)
    skew = random.choice((0.0,) * 12 + (-4.0, 4.0, -3600.0, 3600.0)) if "skew" not in without else 0.0
    is_stripped = random.random() < 0.1
    page = None if is_stripped else random.choice((None, None, None, 5, 17, 60))
    return Weather(fault, rate, skew, page, is_stripped, random.randrange(BIG))


def _options(random: Random) -> dict[str, Any]:
    chance = random.random()
    return {
        "full": chance < 0.06, "sweep": chance < 0.03 or 0.06 < chance < 0.2, "docs": random.random() < 0.1,
        "chunk_rows": random.choice((25_000, 25_000, 25_000, 200, 40)), "keep_payloads": random.random() < 0.2,
    }  # fmt: skip
