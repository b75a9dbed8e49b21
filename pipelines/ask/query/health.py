"""Is the warehouse fresh and whole? What is wrong is named, with what to do: for `status`, and for its `--check`."""

from dataclasses import asdict, dataclass

import pendulum
from pendulum import DateTime

from pipelines.ask.format.shown import counted
from pipelines.ask.query.control import Control, Held
from pipelines.ask.query.names import place
from pipelines.ask.query.published import Row
from pipelines.ask.query.times import ago, length, now
from pipelines.state.decisions import UNHEARD

__all__ = ["Trouble", "expected", "judge", "remedy", "slo_seconds"]

REMEDIES = {
    "AUTH_FAILED": "check the token and what it may read",
    "NOT_FOUND": "check the name, and that the token may see it",
    "RATE_LIMITED": "wait: the next run after the limit's end goes on",
    "LANDING_FAILED": "make room, or see to the rights in the data directory: the next run repairs it then. A"
    " warehouse.duckdb that is damaged: move it away, and the next run makes it of published.duckdb",
    "INTERNAL": "run `earshot sync -v` and report what it says",
}
NEXT_RUN = "nothing: the next run tries again"
NAMED = 3
DAY, LEAST = 86_400, 300  # seconds
CLOCKS = 60  # seconds by which they may differ


@dataclass(frozen=True)
class Trouble:
    code: str
    message: str
    hint: str

    def json(self) -> dict[str, str]:
        return asdict(self)


def expected(control: Control, promised: int | None) -> int:
    """Seconds from run to run: as promised, or as they have come so far. A few in a row by hand are no promise."""
    if promised is not None:
        return promised
    return DAY if control.rhythm is None else max(LEAST, round(control.rhythm))


def slo_seconds(interval: int) -> int:
    """What is said is here within two polls and half a minute."""
    return 2 * interval + 30


def remedy(failure: Row) -> str:
    until = failure["until_at"]
    return f"wait until {until}: a run after that goes on" if until else REMEDIES.get(failure["code"], NEXT_RUN)


def judge(control: Control, held: Held, interval: int) -> list[Trouble]:
    found = [*_freshness(control, held, slo_seconds(interval)), *_gaps(control, held), *_unheard(control)]
    if held.lag_p95 is not None and held.lag_p95 > slo_seconds(interval):
        message = f"what was said got here within {length(held.lag_p95)} (p95 of the last day); promised: within"
        hint = "run more often, or tell [earshot] interval"
        found.append(Trouble("SLOW", f"{message} {length(slo_seconds(interval))}", hint))
    return found


def _freshness(control: Control, held: Held, limit: int) -> list[Trouble]:
    found = []
    last = control.last
    if last and last["status"] in ("failed", "killed"):
        why = f": {last['error']}" if last["error"] else ""
        found.append(Trouble("FAILED_RUN", f"the last run {last['status']}{why}", "run `earshot sync -v` and read on"))
    if control.is_lost:
        message = "control.sqlite is missing; this is as of the last publish, what was decided since is lost"
        found.append(Trouble("LOST", message, "put its backup there; or the next run makes it of what was published"))
    if not held.published:
        found.append(Trouble("NOTHING_YET", "nothing has been published yet", "run `earshot sync`"))
    finished = control.last_finished["finished_at"] if control.last_finished else None
    if finished is None:
        found.append(Trouble("STALE", "no run has finished yet", "run `earshot sync`"))
    elif (age := (now() - moment(finished)).total_seconds()) < -CLOCKS:
        message = f"the last finished run ended {ago(moment(finished))}, by its own clock"
        found.append(Trouble("CLOCK", message, "set this machine's clock right; the next run is dated anew"))
    elif age > limit:
        message = f"the last finished run ended {ago(moment(finished))}; promised: within {length(limit)}"
        found.append(Trouble("STALE", message, "see that runs are started, or tell [earshot] interval"))
    return found


def _gaps(control: Control, held: Held) -> list[Trouble]:
    found = [
        Trouble(each["code"], f"{each['scope_name']} {each['surface']}: {each['message']}", remedy(each))
        for each in control.failures
    ]
    for each in control.quarantine:
        n, key = each["n"], each.get("key") or "KEY"
        message = f"{counted(n, 'record')} of {each['source']} cannot be read: not all is here"
        hint = f"see `earshot quarantine list`; what nobody will ever read: earshot quarantine drop {key}"
        found.append(Trouble("QUARANTINE", message, hint))
    if held.incomplete:
        named = "; ".join(
            f"{row['scope_name']} {row['parent_number']} holds {row['held_count']} of {row['remote_count']}"
            for row in held.incomplete[:NAMED]
        )
        n = len(held.incomplete)
        message = f"{counted(n, 'thread')} {'lacks' if n == 1 else 'lack'} comments: {named}"
        found.append(Trouble("INCOMPLETE", message, "earshot sync --sweep"))
    walks = [row for row in held.cursors if not row["is_complete"]]
    if walks:
        named = ", ".join(f"{row['scope_name']} {row['surface']}" for row in walks[:NAMED])
        found.append(Trouble("UNFINISHED", f"{counted(len(walks), 'list')} read in part: {named}", NEXT_RUN))
    return found


def _unheard(control: Control) -> list[Trouble]:
    """Answers that were refused, and those that no run has heard long after they were planned."""
    found = []
    for row in control.answers:
        where, age = f"{row['token']} on {place(row)}", moment(row["planned_at"])
        if row["status"] == "failed":
            hint = (
                f"mend the cause, then `earshot reply` the same words again; or earshot reply --forget {row['token']}"
            )
            found.append(Trouble("REFUSED_ANSWER", f"answer {where} was not sent: {row['error']}", hint))
        elif not -CLOCKS <= (now() - age).total_seconds() <= UNHEARD:
            why = f": {row['error']}" if row["error"] else ""
            hint = (
                f"run `earshot sync`; if it is not there any more, earshot reply --forget {row['token']}"
                if row["status"] == "posted"
                else "say the same words again: it looks before it speaks"
            )
            message = f"answer {where} is {row['status']} and was not heard, planned {ago(age)}{why}"
            found.append(Trouble("UNHEARD_ANSWER", message, hint))
    return found


def moment(text: str) -> DateTime:
    parsed = pendulum.parse(text)
    assert isinstance(parsed, DateTime)
    return parsed
