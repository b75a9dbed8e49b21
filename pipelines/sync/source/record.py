"""What became of one source in one run, for the ledger, the exit code and people."""

from collections.abc import Callable

import pendulum

from pipelines.state import skips
from pipelines.state.quarantine import Quarantine, open_keys
from pipelines.state.run_state import LONG_AGO
from pipelines.sync.output.report import SourceReport
from pipelines.sync.source.reader import SourceReader
from pipelines.sync.source.recheck import scopes_read
from sources.core.reading import Reading, Unread, is_of_one

__all__ = ["record"]


def record(reader: SourceReader) -> SourceReport:
    """Keeps it, and tells it."""
    reading, source, shared = reader.reading, reader.source, reader.shared
    ledger, name, is_narrowed = shared.ledger, source.name, shared.options.is_narrowed
    for tally in reading.tallies.values():
        tally.replayed = max(0, tally.fetched - tally.new)
    ledger.record_requests(shared.run_id, name, reading.tallies, reading.names)
    ledger.record_problems(shared.run_id, name, reading.problems, reading.names, _was_read(reader))
    skips.record(ledger.connection, name, reading.skipped, set(source.scopes()) if is_narrowed else None)
    missing, tallies = _missing(reader), reading.tallies.values()
    _remember(reader)
    quota = reading.api.quota
    return SourceReport(
        source=name,
        scopes=len(source.scopes()),
        completed=reading.completed,
        requests=sum(t.requests for t in tallies),
        not_modified=sum(t.not_modified for t in tallies),
        fetched=sum(t.fetched for t in tallies),
        rows=reader.rows,
        replayed=sum(t.replayed for t in tallies),
        packages=reader.packages,
        waited=max((t.waited for t in tallies), default=0.0),
        quota_left=quota.remaining if quota else None,
        quota=quota.limit if quota else None,
        swept=reading.sweep,
        unread=missing,
        told=reading.told,
        deleted=reading.deleted,
        problems=reading.problems,
        names=reading.names,
        whole=reading.whole,
        skipped=reading.skipped,
        asked=_requests(reading),
    )


def _remember(reader: SourceReader) -> None:
    """For the next run."""
    reading, state = reader.reading, reader.shared.ledger.source_state(reader.source.name)
    if reading.api.quota:
        state.keep_quota(reading.api.quota)
    if reading.api.ahead is not None:
        state.clock_ahead = reading.api.ahead
    if not reader.shared.options.is_narrowed:
        state.turn = reading.turn
        if (reading.sweep or state.swept_at is None) and not reading.has_newly_failed:
            state.swept_at = pendulum.now("UTC")
    if reading.resets - {(problem.surface, problem.scope) for problem in reading.problems}:
        state.swept_at = LONG_AGO  # once: what failed is reset again


def _was_read(reader: SourceReader) -> Callable[[str, str], bool]:
    """Whether this run would have met a failure again, by scope and surface: what a sweep met, and only a sweep
    asks for, is not over because nobody asked."""
    reading, source, is_narrowed = reader.reading, reader.source, reader.shared.options.is_narrowed
    state = reader.shared.ledger.source_state(source.name)
    owed = state.met_sweeping
    if reading.sweep:
        failed = frozenset((problem.scope, problem.surface) for problem in reading.problems)
        state.met_sweeping = failed | owed if is_narrowed else failed
    scopes = set(scopes_read(reading))
    left_out = frozenset[str]().union(*source.types.values()) - source.surfaces

    def was_read(scope: str, surface: str) -> bool:
        if is_narrowed and (scope not in scopes or surface in left_out or is_of_one(surface)):
            return (scope, surface) in reading.read
        return reading.sweep or (surface, scope) in reading.tallies or (scope, surface) not in owed

    return was_read


def _missing(reader: SourceReader) -> list[Unread]:
    """What lies in quarantine of the scopes that this run has read. Readers are told what came and went."""
    reading, source, ledger = reader.reading, reader.source, reader.shared.ledger
    kept = Quarantine(ledger, source.name)
    reader.keep_raw()
    kept.heal(_healed(reading, is_full=reader.shared.options.full))
    unread, scopes = kept.unread(), set(scopes_read(reading))
    if open_keys(unread) != open_keys(reading.unread):
        ledger.state.is_unpublished = True
    left_out = frozenset[str]().union(*source.types.values()) - source.surfaces
    known = (each for each in unread.values() if not each.is_let_be and each.scope in scopes)
    return [each for each in known if each.surface not in left_out]


def _healed(reading: Reading, *, is_full: bool) -> set[str]:
    """Of what was kept raw: what could be read now; and after reading all again, what is no longer there."""
    healed = reading.over
    failed = {problem.scope for problem in reading.problems}
    for key, each in reading.unread.items() if is_full else ():
        was_read = (each.surface, each.scope) in reading.tallies and each.scope not in failed
        if was_read and key not in reading.quarantined:
            healed.add(key)
    return healed


def _requests(reading: Reading) -> dict[str, int]:
    found: dict[str, int] = {}
    for (_, scope), tally in reading.tallies.items():
        found[scope] = found.get(scope, 0) + tally.requests
    return found
