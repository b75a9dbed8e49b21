"""What a surgical run did, as people read it, and as one envelope for programs."""

from collections.abc import Iterable
from typing import Any

from pipelines.sync.output.summary import envelope, safe
from pipelines.sync.targets.outcomes import CANCELLED, Order, Surgery
from sources.core.http.client import Failure
from sources.core.targets import Target

__all__ = ["plan", "show"]


def show(surgery: Surgery, *, as_json: bool) -> None:
    if as_json:
        envelope(surgery.exit_code in (0, 3), _data(surgery), _meta(surgery))
        return
    order = surgery.order
    for target, outcome in surgery.outcomes.items():
        if outcome.is_stale:
            said = "skipped: the warehouse has a newer state"
        elif outcome.ingested:
            said = "fresh"
        elif outcome.fetched:
            said = "is there" + ("" if order.preflight_only else "; nothing written")
        else:
            said = "not read"
        print(f"{order.source.name} {safe(order.place)} {target}  {said}")
        for stage, failure in outcome.failures:
            print(f"  ! {stage}: {failure.code} {safe(str(failure))}")
    if surgery.error:
        print(f"  ! {safe(surgery.error)}")
    timings = ", ".join(f"{stage} {ms} ms" for stage, ms in surgery.timings_ms.items())
    requests = surgery.report.sources[0].requests if surgery.report else 0
    cost = f"{requests} requests; " if requests else ""
    print(f"\n{surgery.completion.replace('_', ' ')}: {cost}{timings}")
    for action in _recovery(surgery):
        print(f"Again: {action}")


def plan(orders: Iterable[Order], *, as_json: bool) -> None:
    """What would be asked for. Nothing was."""
    told = [
        {"source": o.source.name, "place": o.place, "targets": [str(target) for target in o.targets]} for o in orders
    ]
    if as_json:
        envelope(True, {"dry_run": True, "would_fetch": told}, {"exit_code": 0})
        return
    for one in told:
        print(f"would fetch from {one['source']} {one['place']}: {', '.join(one['targets'])}")
    print("dry run: nothing was asked for, nothing was written")


def _data(surgery: Surgery) -> dict[str, Any]:
    order, told = surgery.order, surgery.outcomes.values()
    return {
        **surgery.counters(),
        "run_id": surgery.run_id,
        "source": order.source.name,
        "fetched_count": sum(outcome.fetched for outcome in told),
        "requests": surgery.report.sources[0].requests if surgery.report else None,
        "published_bytes": surgery.report.published_bytes if surgery.report else None,
        "entity_outcomes": [
            {
                **_named(outcome.target),
                "fetched": outcome.fetched,
                "ingested": outcome.ingested,
                "stale_skipped": outcome.is_stale,
                "failures": [_failed(outcome.target, stage, why) for stage, why in outcome.failures],
            }
            for outcome in told
        ],
        "entity_failures": [_failed(*failure) for failure in surgery.failures],
        "skipped_stale_targets": [str(outcome.target) for outcome in told if outcome.is_stale],
        "recovery_actions": _recovery(surgery),
    }


def _meta(surgery: Surgery) -> dict[str, Any]:
    meta: dict[str, Any] = {"exit_code": surgery.exit_code, "run_id": surgery.run_id}
    if surgery.exit_code == 6:
        count = len(surgery.failures)
        meta |= {"code": "PREFLIGHT_FAILED", "message": f"{count} of the targets cannot be read; nothing was written"}
    elif surgery.exit_code == 4:
        meta |= {"code": "LOCKED", "message": surgery.error}
    elif surgery.exit_code == CANCELLED:
        meta |= {"code": "CANCELLED", "message": "cancelled; the next run finishes what it began"}
    elif surgery.error:
        meta |= {"code": "FAILED", "message": surgery.error}
    return meta


def _recovery(surgery: Surgery) -> list[str]:
    """What to run next: the same for what passes by itself, the rest without what is not there."""
    order = surgery.order
    if surgery.exit_code in (4, CANCELLED):
        return [_command(order, order.targets)]
    failed = {target: why for target, _, why in surgery.failures}
    if surgery.exit_code == 6:
        lasting = {t for t, _, why in surgery.failures if why.code in ("NOT_FOUND", "AUTH_FAILED", "PROJECT_MISMATCH")}
        rest = [target for target in order.targets if target not in lasting]
        return [_command(order, rest)] if rest else []
    return [_command(order, list(failed))] if failed else []


def _command(order: Order, targets: Iterable[Target]) -> str:
    named = " ".join(f"--{target.kind} {target.number}" for target in targets)
    return f"earshot sync {named} -p {order.place}"


def _failed(target: Target, stage: str, why: Failure) -> dict[str, Any]:
    return {**_named(target), "stage": stage, "code": why.code, "message": str(why)}


def _named(target: Target) -> dict[str, Any]:
    return {"kind": target.kind, "number": target.number}
