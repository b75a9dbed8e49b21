"""One round: a plan, played from the first run to the last calm."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pendulum

from pipelines.warehouse.data_dir import DataDir
from tests.in_memory import InMemory, found_in_memory
from tests.storm.bluesky import BlueskyMob
from tests.storm.child import Ended, Kill, Run, forked, inside
from tests.storm.github import GitHubMob
from tests.storm.gitlab import GitLabMob
from tests.storm.oracle import Finding, Oracle
from tests.storm.plan import SOURCES, Plan, Step
from tests.storm.said import Key, Mob
from tests.storm.weather import Shut, Sick, Trouble, Weather, meant

__all__ = ["Round", "Tally", "mobs_of"]

NOW = pendulum.datetime(2026, 3, 1, 12)
SLACK = 5.0  # seconds by which a service's `Date` may be wrong without a settled thread being not
WELL = 5  # runs after which a quiet source must have been read without any problem
WEEK = 8 * 86400


@dataclass(frozen=True)
class Until:
    """A part of the calm: runs of a kind, until one of them ends with 0."""

    options: dict[str, Any] = field(default_factory=dict)
    pause: float = 0
    is_deep: bool = False


UNTIL = (
    Until(),
    Until({"sweep": True}),
    Until({"sweep": True}, WEEK, is_deep=True),  # by then the accounts' own records are compared, too
    Until({"sweep": True, "full": True}),
)


@dataclass
class Tally:
    """What happened so far."""

    operations: Counter[str] = field(default_factory=Counter)  # by source
    runs: int = 0
    kills: int = 0
    amid: int = 0  # operations in the middle of a run
    checked: int = 0  # runs that ended well and were compared with a full scan
    faults: Counter[str] = field(default_factory=Counter)
    exits: Counter[str] = field(default_factory=Counter)
    rounds: int = 0

    def add(self, other: "Tally") -> None:
        for name in ("runs", "kills", "amid", "checked", "rounds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("operations", "faults", "exits"):
            getattr(self, name).update(getattr(other, name))


def mobs_of(settings: dict[str, dict[str, Any]]) -> list[Mob]:
    """Three worlds as the plan wants them, with nothing in them yet."""
    worlds = settings.get("worlds", {})
    github, gitlab, bluesky = (
        GitHubMob(NOW, settings.get("github", {})),
        GitLabMob(NOW, settings.get("gitlab", {})),
        BlueskyMob(NOW, settings.get("bluesky", {})),
    )
    github.world.deletions_move_parent = worlds.get("deletions_move_parent", False)
    gitlab.world.resolving = worlds.get("resolving", "older")
    bluesky.app.access.quirks.cursors = worlds.get("cursors", "timestamps")
    bluesky.app.access.quirks.cursor_after_full_page = worlds.get("full_page_leads_on", False)
    return [github, gitlab, bluesky]


@dataclass
class Round:
    plan: Plan
    folder: Path
    in_memory: bool = False  # nothing is killed then, and nothing but the ledger is a file
    trace: str = ""
    tell: Callable[[Tally], None] = lambda tally: None  # what happened since it was last told
    tally: Tally = field(default_factory=Tally)
    history: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        data = self.folder / "data"
        self.home = DataDir(data, InMemory()) if self.in_memory else DataDir(data)
        self.mobs = mobs_of(self.plan.settings)
        self.trouble = {mob.name: Trouble() for mob in self.mobs}
        self.oracle = Oracle(self.mobs, self.home)
        self.since: dict[str, set[str]] = {mob.name: set() for mob in self.mobs}  # touched since it was last right
        self.has_lied: set[str] = set()  # whose clock was wrong since the last sweep
        self.whole = 1500, 2.0  # steps and seconds of the last run that nobody killed
        self.told: list[tuple[int, str, int]] = []  # where the histories stood at each run, for the story of a failure

    def play(self) -> list[Finding]:
        """What is wrong, as soon as something is; nothing at the end of a round that went well."""
        for n, step in enumerate(self.plan.steps):
            if found := self._step(n, step) or (self._calm(last=False) if step.is_calm else []):
                return found
            self.tell(self.tally)
            self.tally = Tally()
        found = self._calm(last=True)
        self.tally.rounds += 1
        return found

    # One run

    def _step(self, n: int, step: Step) -> list[Finding]:
        self._say(f"run {n}: {', '.join(step.only)} {step.options_told()}")
        for mob in self.mobs:
            mob.world.advance(seconds=step.pauses)
            self._happen(mob, [tuple(each) for each in step.before.get(mob.name, ())])  # type: ignore[misc]
            self.since[mob.name] |= mob.touched
            mob.touched.clear()
            self._trouble(mob, step)
        if not set(step.only) & set(SOURCES):
            return []
        return self._run(step)

    def _happen(self, mob: Mob, operations: list[tuple[str, int]]) -> None:
        self.told.append((len(self.history), mob.name, len(mob.world.history)))
        done = sum(mob.do(operation) for operation in operations)
        self.tally.operations[mob.name] += done

    def _trouble(self, mob: Mob, step: Step) -> None:
        """What was shut or sick long enough is so no more; something else becomes it."""
        trouble = self.trouble[mob.name]
        for each in [*trouble.shut, *trouble.sick]:
            each.runs -= 1
        self._over(mob, lambda runs: runs < 1)
        if told := step.shut.get(mob.name):
            prefixes, keys = mob.paths(told[0])
            if prefixes:
                exists = mob.exists()
                trouble.shut.append(Shut(prefixes, keys, {exists[key].about for key in keys}, told[1]))
                self._say(f"  {prefixes} answers 404 for {told[1]} runs")
        if told := step.sick.get(mob.name):
            keys = sorted(key for key in mob.exists() if key[1] not in ("state", "resolution"))
            if keys:
                trouble.sick.append(Sick(keys[told[0] % len(keys)], told[0] // 7, told[1]))
                self._say(f"  {trouble.sick[-1].key} cannot be read for {told[1]} runs")

    def _over(self, mob: Mob, is_over: Callable[[int], bool]) -> None:
        trouble = self.trouble[mob.name]
        for shut in trouble.shut:
            if is_over(shut.runs):
                there = (key for key, fact in mob.exists().items() if shut.covers(fact.about))
                for key in {*shut.keys, *there}:
                    mob.unseen.add(key, 2)
        trouble.shut = [shut for shut in trouble.shut if not is_over(shut.runs)]
        trouble.sick = [sick for sick in trouble.sick if not is_over(sick.runs)]

    def _run(self, step: Step, *, deep: bool = False) -> list[Finding]:
        mobs = [mob for mob in self.mobs if mob.name in step.only]
        weather = {mob.name: Weather(**step.weather.get(mob.name, {})) for mob in mobs}
        amid = {mob.name: meant([tuple(each) for each in step.amid.get(mob.name, ())]) for mob in mobs}  # type: ignore[misc]
        run = Run(self.home, mobs, weather, self.trouble, amid, step.options, step.skew, self._kill(step), self.trace)
        self.last = ended = self._in_memory(run) if self.in_memory else forked(run)
        for mob in mobs:
            if not self.in_memory:  # what the child did to its worlds happens to ours
                self._happen(mob, [operation for _, operation in amid[mob.name][: ended.applied[mob.name]]])
            self.has_lied |= {mob.name} if abs(weather[mob.name].skew) > SLACK else set()
        self._count(ended, weather)
        found = self._impossible(ended, mobs) + self.oracle.look()
        for mob in mobs:
            found += self._judge(mob, ended, step, deep=deep)
        for mob in self.mobs:
            self.since[mob.name] |= mob.touched
            mob.touched.clear()
            found += [] if found else self.oracle.wrongly_deleted(mob, self._leave(mob, self.since[mob.name]))
        return found

    def _in_memory(self, run: Run) -> Ended:
        with found_in_memory():
            ended = inside(run)
        for name, applied in ended.applied.items():
            self.tally.operations[name] += applied
        return ended

    def _kill(self, step: Step) -> Kill | None:
        if step.kill is None or self.in_memory:
            return None
        how, part = step.kill
        steps, seconds = self.whole
        return Kill(step=1 + int(part * steps)) if how == "steps" else Kill(seconds=part * seconds)

    def _count(self, ended: Ended, weather: dict[str, Weather]) -> None:
        tally = self.tally
        tally.runs += 1
        tally.kills += ended.is_killed
        tally.amid += sum(ended.applied.values())
        tally.faults.update(ended.faults)
        tally.exits["killed" if ended.is_killed else str(ended.exit_code)] += 1
        if not ended.is_killed:
            self.whole = max(ended.steps, 200), max(ended.seconds, 0.3)
        how = f"killed at step {ended.steps}" if ended.is_killed else f"exit {ended.exit_code}"
        sky = "; ".join(f"{name}: {told}" for name, told in weather.items() if str(told))
        self._say(
            f"  {how}, {ended.requests} requests, amid it {ended.applied}, swept {ended.swept} {ended.error} [{sky}]"
        )
        for source, scope, surface, code, message in ended.problems[:6]:
            self._say(f"    {source} {scope} {surface}: {code} {message}")

    def _impossible(self, ended: Ended, mobs: list[Mob]) -> list[Finding]:
        """What no fault excuses."""
        found = []
        if ended.error.startswith("CRASH"):
            found.append(Finding("failed", ("run", "crash", ""), detail=ended.error))
        elif ended.error and not ended.faults:
            found.append(Finding("failed", ("run", "error", ""), detail=ended.error))
        for source, scope, surface, code, message in ended.problems:
            if code in ("INTERNAL", "LANDING_FAILED"):
                found.append(Finding("failed", (source, surface, scope), detail=f"{code} {message}"))
        return found

    # What has to be right

    def _judge(self, mob: Mob, ended: Ended, step: Step, *, deep: bool) -> list[Finding]:
        """After a clean exit: everything that nothing happened to meanwhile, and that could be seen."""
        if ended.exit_code != 0:
            return []
        self._met(mob)
        is_true = abs(step.weather.get(mob.name, {}).get("skew", 0.0)) <= SLACK
        is_still, sweeps = not ended.applied[mob.name], mob.name in ended.swept and is_true
        if is_still:
            full = bool(step.options.get("full"))
            mob.unseen.clean_run(sweeps=sweeps, deep=deep, full=full, dead=mob.is_dead)
            if sweeps:
                self.has_lied.discard(mob.name)
        if mob.name in self.has_lied or (_lags(self.plan, mob) and not deep):
            return []
        self.tally.checked += 1
        found = self.oracle.differences(mob, self._leave(mob, mob.touched))
        if is_still and not found:
            self.since[mob.name].clear()
        return found

    def _met(self, mob: Mob) -> None:
        if hasattr(mob, "is_met"):
            mob.is_met = True

    def _leave(self, mob: Mob, touched: set[str]) -> Callable[[Key, str], bool]:
        doubts = self.trouble[mob.name].doubts
        is_doubtful = getattr(mob, "is_doubtful", lambda key, about, touched: False)

        def leave(key: Key, about: str) -> bool:
            return key in mob.unseen or doubts(key, about) or about in touched or is_doubtful(key, about, touched)

        return leave

    # The calm

    def _calm(self, *, last: bool) -> list[Finding]:
        """Everything is quiet. The next runs must end well, and with a sweep everything must be right."""
        self._say("calm")
        for mob in self.mobs:
            self._over(mob, lambda _: True)
            for account in getattr(mob, "people", ()):
                mob.return_(account, 0)  # type: ignore[attr-defined]
            mob.world.advance(seconds=400)
        for until in UNTIL[: None if last else 2]:
            if found := self._until_well(until):
                return found
            lags = 1 + max(_lags(self.plan, mob) for mob in self.mobs)
            for _ in range(lags):  # what is well stays well
                if found := self._quiet({}, 30) or self._is_well():
                    return found
        return self._all_is_right(last)

    def _until_well(self, until: "Until") -> list[Finding]:
        """Runs with a day between them, until one ends with 0."""
        for n in range(WELL):
            found = self._quiet(until.options, 90_000 if n else until.pause, deep=until.is_deep)
            if found or not self._is_well():
                return found
        return self._is_well()

    def _quiet(self, options: dict[str, Any], pause: float, *, deep: bool = False) -> list[Finding]:
        for mob in self.mobs:
            mob.world.advance(seconds=pause)
        self._say(f"run in the calm: {options}")
        return self._run(Step(options={"docs": False, **options}), deep=deep)

    def _is_well(self) -> list[Finding]:
        if self.last.exit_code == 0:
            return []
        why = f"exit {self.last.exit_code} in the calm: {self.last.error or self.last.problems[:3]}"
        return [Finding("failed", ("run", "not well", ""), detail=why)]

    def _all_is_right(self, last: bool) -> list[Finding]:
        """The worlds against the warehouse, whole. At the end nothing is excused any more."""
        found = []
        for mob in self.mobs:
            if last:
                mob.unseen.takes.clear()
            found += self.oracle.differences(mob, self._leave(mob, set()))
        return found

    def _say(self, line: str) -> None:
        self.history.append(line)
        if self.trace:
            with open(self.trace, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")


def _lags(plan: Plan, mob: Mob) -> int:
    """Runs that Bluesky's configured thrift may take to see everything: capped walks, and polls that are spared."""
    told = plan.settings.get("bluesky", {})
    if mob.name != "bluesky":
        return 0
    capped = 8 if told.get("max_pages_per_actor", 100) < 20 else 0
    return max(capped, 7 if told.get("probe") else 0)
