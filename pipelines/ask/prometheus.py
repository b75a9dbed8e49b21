"""The same numbers for a monitoring system, in Prometheus' text format. A service's name begins its metrics' names."""

from collections.abc import Iterable, Iterator

from pipelines.ask.control import Control, Held
from pipelines.ask.health import moment
from pipelines.ask.times import now

__all__ = ["exposition"]

COUNTERS = {
    "requests": ("comment_fetch_requests_total", "Requests made."),
    "pages": ("comment_fetch_pages_total", "Pages read."),
    "fetched": ("comment_fetched_total", "Records read."),
    "new": ("comment_new_total", "Records that were new."),
    "replayed": ("comment_replay_total", "Records read again in the overlap."),
}
Sample = tuple[dict[str, str], float]


def exposition(control: Control, held: Held) -> str:
    return "\n".join(_lines(control, held)) + "\n"


def _lines(control: Control, held: Held) -> Iterator[str]:
    for source in sorted({row["source"] for row in control.costs}):
        costs = [row for row in control.costs if row["source"] == source]
        for column, (name, text) in COUNTERS.items():
            samples = [({"surface": row["surface"]}, row[column]) for row in costs]
            yield from _metric(f"{source}_{name}", "counter", text, samples)
        lags: dict[str, float] = {}
        for row in control.lags:
            if row["source"] == source:
                lags[row["surface"]] = max(lags.get(row["surface"], 0.0), row["lag_seconds"])
        samples = [({"surface": surface}, lag) for surface, lag in sorted(lags.items())]
        text = "Age of the newest record when it was read, the slowest place's."
        yield from _metric(f"{source}_comment_cursor_lag_seconds", "gauge", text, samples)
    yield from _metric("feedback_events_ingested_total", "counter", "Events held.", [({}, held.events)])
    yield from _metric("feedback_events_deduped_total", "counter", "Rows that came again.", [({}, control.replayed)])
    yield from _answers(control, held)
    if held.lag_p95 is not None:
        text = "From being said to being held, p95 of the last day."
        yield from _metric("earshot_feedback_lag_p95_seconds", "gauge", text, [({}, held.lag_p95)])
    unread = [({"source": row["source"]}, row["n"]) for row in control.quarantine]
    yield from _metric("earshot_quarantined_records", "gauge", "Records that cannot be read.", unread)
    yield from _metric("earshot_open_failures", "gauge", "Lists that fail.", [({}, len(control.failures))])
    yield from _metric(
        "earshot_incomplete_threads", "gauge", "Threads that lack comments.", [({}, len(held.incomplete))]
    )
    if control.last_finished:
        finished = moment(control.last_finished["finished_at"]).timestamp()
        text = "When a run last landed what it could."
        yield from _metric("earshot_last_run_timestamp_seconds", "gauge", text, [({}, finished)])
    left = [
        ({"source": name}, told["remaining"]) for name, told in control.quotas.items() if told["remaining"] is not None
    ]
    yield from _metric("earshot_quota_remaining", "gauge", "Requests left, as last told.", left)


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
    if found := list(samples):
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
    for labels, value in found:
        inside = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
        yield f"{name}{f'{{{inside}}}' if inside else ''} {value:.15g}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
