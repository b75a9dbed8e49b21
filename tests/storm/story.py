"""The story of a round that failed: its last runs, and all that concerned what is wrong."""

from tests.storm.oracle import Finding
from tests.storm.round import Round

__all__ = ["story"]

LAST = 60


def story(played: Round, found: list[Finding], trace: str) -> str:
    lines = trace.splitlines()
    runs = [
        line for line in lines if not line.startswith("   ") or line.startswith("  killed") or line.startswith("  exit")
    ]
    told = ["The runs:", *(line for line in runs if not _is_request(line))]
    if not found:
        return "\n".join([*told, "", "nothing is wrong"])
    for finding in found[:3]:
        told += ["", f"{finding}", *_of(played, finding)]
    told += ["", f"The last {LAST} requests and operations:", *lines[-LAST:]]
    told += ["", f"{len(found)} found:", *(f"  {each}" for each in found[:20])]
    return "\n".join(told)


def _is_request(line: str) -> bool:
    return line.startswith(("  github ", "  gitlab ", "  bluesky "))


def _of(played: Round, finding: Finding) -> list[str]:
    """Everything that was said there, between the runs."""
    source = finding.key[0]
    mob = next((mob for mob in played.mobs if mob.name == source), None)
    if mob is None:
        return []
    starts = {at: line for line, name, at in played.told if name == source}
    told = []
    for n, version in enumerate(mob.world.history):
        if n in starts:
            told.append(f"  -- {played.history[starts[n] - 1] if starts[n] else 'the beginning'}")
        if _concerns(source, version, finding):
            told.append(f"    {_short(version)}")
    return _without_idle(told)


def _concerns(source: str, version: object, finding: Finding) -> bool:
    if source == "github":
        return f"{version.repo_id}#{version.number}" == finding.about  # type: ignore[attr-defined]
    if source == "gitlab":
        kind, number = version.parent  # type: ignore[attr-defined]
        return f"{version.project_id} {'!' if kind == 'merge_request' else '#'}{number}" == finding.about  # type: ignore[attr-defined]
    return finding.about in (version.uri, version.text) or version.uri == finding.key[2]  # type: ignore[attr-defined]


def _short(version: object) -> str:
    """When, what and which; the words as far as they tell them apart."""
    told = {name: getattr(version, name) for name in version.__slots__}  # type: ignore[attr-defined]
    at, kind, id_ = told["at"].format("D HH:mm:ss.SSS"), told["kind"], told.get("id") or told.get("uri")
    rest = [told.get("title"), told.get("body", told.get("text")), told.get("state"), told.get("cid")]
    moved = told.get("updated_at")
    gone = " deleted" if told["is_deleted"] else " resolved" if told.get("is_resolved") else ""
    return f"{at} {kind} {id_}{gone} [{moved and moved.format('D HH:mm:ss.SSS')}] {[str(part)[:24] for part in rest if part]}"


def _without_idle(told: list[str]) -> list[str]:
    """Runs between which nothing happened there are counted."""
    kept: list[str] = []
    for line in told:
        if line.startswith("  --") and kept and kept[-1].startswith("  --"):
            kept.append("  --" + line[4:])
        else:
            kept.append(line)
    return kept[-80:]
