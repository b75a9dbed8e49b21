"""The same numbers for a monitoring system, in Prometheus' text format. All names begin with `earshot_`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from pipelines.ask.query.control import Control, Held
from pipelines.ask.query.health import Trouble, moment
from pipelines.ask.query.times import now

__all__ = ["exposition"]

COUNTERS = {
    "requests": ("comment_fetch_requests_total", "Requests made."),
    "pages": ("comment_fetch_pages_total", "Pages read."),
    "fetched": ("comment_fetched_total", "Records read."),
    "new": ("comment_new_total", "Records that were new."),
    "replayed": ("comment_replay_total", "Records read again in the overlap."),
}
Sample = tuple[dict[str, str], float]


def exposition(control: Control, held: Held, troubles: list[Trouble], interval: int) -> str:
    told = (
        _runs(control, interval),
        _troubles(control, held, troubles),
        _lists(control, held),
        _answers(control, held),
    )
    return "\n".join(chain.from_iterable(told)) + "\n"


def _runs(control: Control, interval: int) -> Iterator[str]:
    if last := control.last:
        text, landed = "Whether the last run landed what it could: 1, or 0.", last["status"] in ("done", "partial")
        yield from _metric("last_run_success", "gauge", text, [({}, float(landed))])
        took: list[Sample] = [({}, last["seconds"])] if last["seconds"] is not None else []
        yield from _metric("last_run_duration_seconds", "gauge", "How long the last run took.", took)
    if control.last_finished:
        finished = moment(control.last_finished["finished_at"]).timestamp()
        text = "When a run last landed what it could."
        yield from _metric("last_run_timestamp_seconds", "gauge", text, [({}, finished)])
    yield from _metric("interval_seconds", "gauge", "How often runs are promised, or have come.", [({}, interval)])


def _troubles(control: Control, held: Held, troubles: list[Trouble]) -> Iterator[str]:
    text = "What `earshot status --check` has to say: 0 is well."
    yield from _metric("troubles", "gauge", text, [({}, len(troubles))])
    codes = Counter(each.code for each in troubles)
    samples = [({"code": code}, float(n)) for code, n in sorted(codes.items())]
    yield from _metric("trouble", "gauge", "The same, by what it is.", samples)
    yield from _metric("open_failures", "gauge", "Lists that fail.", [({}, len(control.failures))])
    unread = [({"source": row["source"]}, row["n"]) for row in control.quarantine]
    yield from _metric("quarantined_records", "gauge", "Records that cannot be read.", unread)
    yield from _metric("incomplete_threads", "gauge", "Threads that lack comments.", [({}, len(held.incomplete))])


def _lists(control: Control, held: Held) -> Iterator[str]:
    for column, (name, text) in COUNTERS.items():
        samples = [({"source": row["source"], "surface": row["surface"]}, row[column]) for row in control.costs]
        yield from _metric(name, "counter", text, samples)
    lags: dict[tuple[str, str], float] = {}
    for row in control.lags:
        place = row["source"], row["surface"]
        lags[place] = max(lags.get(place, 0.0), row["lag_seconds"])
    samples = [({"source": source, "surface": surface}, lag) for (source, surface), lag in sorted(lags.items())]
    text = "Age of the newest record when it was read, the slowest place's."
    yield from _metric("comment_cursor_lag_seconds", "gauge", text, samples)
    yield from _metric("feedback_events_ingested_total", "counter", "Events held.", [({}, held.events)])
    yield from _metric("feedback_events_deduped_total", "counter", "Rows that came again.", [({}, control.replayed)])
    if held.lag_p95 is not None:
        text = "From being said to being held, p95 of the last day."
        yield from _metric("feedback_lag_p95_seconds", "gauge", text, [({}, held.lag_p95)])
    left = [
        ({"source": name}, told["remaining"]) for name, told in control.quotas.items() if told["remaining"] is not None
    ]
    yield from _metric("quota_remaining", "gauge", "Requests left, as last told.", left)


def _answers(control: Control, held: Held) -> Iterator[str]:
    samples = [({"source": row["source"], "status": row["status"]}, row["n"]) for row in control.answer_counts]
    if samples:
        yield from _metric("action_tokens_total", "counter", "Answers of ours, by what became of them.", samples)
        oldest = [now() - moment(row["planned_at"]) for row in control.answers]
        age = max((each.total_seconds() for each in oldest), default=0.0)
        text = "Age of the oldest answer that no run has heard."
        yield from _metric("action_token_unobserved_age_seconds", "gauge", text, [({}, age)])
    text = "Slash commands heard."
    yield from _metric("operator_commands_seen_total", "counter", text, [({}, held.commands)])
    text = "Slash commands answered."
    yield from _metric("operator_commands_applied_total", "counter", text, [({}, held.commands_answered)])


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    name = f"earshot_{name}"
    if found := list(samples):
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
    for labels, value in found:
        inside = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
        yield f"{name}{f'{{{inside}}}' if inside else ''} {value:.15g}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
