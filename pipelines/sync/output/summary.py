"""What a person sees of a run that has ended, and the one JSON envelope for programs. Names and messages are other
people's, so control characters never reach the terminal.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Any

import orjson

from pipelines.warehouse.data_dir import DataDir

if TYPE_CHECKING:
    from pipelines.sync.output.report import Report, SourceReport
    from sources.core.reading import Unread

__all__ = ["Beside", "envelope", "envelope_of", "plural", "safe", "shown_path", "summary"]

NAMED, MOST_TOLD = 3, 100  # records in quarantine, for people and for programs
BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
HIDDEN = ({*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029} | BIDI) - {0x0A, 0x09}
OF_SOURCE = [
    "source",
    "scopes",
    "completed",
    "requests",
    "not_modified",
    "fetched",
    "rows",
    "replayed",
    "packages",
    "quota_left",
    "swept",
    "quarantined",
    "skipped",
]
REPLACED = dict.fromkeys(HIDDEN, "�")
ESCAPED = {code: f"\\u{code:04x}" for code in HIDDEN}


def safe(text: str) -> str:
    """Text as it can be shown: no control, escape or bidi sequence of somebody else's reaches the screen."""
    return text.translate(REPLACED)


class Beside:
    """Where log lines go: above what lives on the screen, and safe to print."""

    def write(self, text: str) -> None:
        sys.stderr.write(safe(text))

    def flush(self) -> None:
        sys.stderr.flush()


def summary(report: "Report", home: DataDir, *, as_json: bool, demo: bool, verbose: bool = False) -> None:
    if as_json:
        envelope(report.exit_code in (0, 3), _data(report), {"exit_code": report.exit_code, "run_id": report.run_id})
        return
    for source in report.sources:
        print("\n".join(_read(report, source)))
        if verbose:
            print("".join(f"  {line}\n" for line in _places(report, source)), end="")
        print("".join(f"  ! {safe(line)}\n" for line in _problems(source)), end="")
        if source.skipped:
            print(f"  - {len(source.skipped)} skipped: `earshot status` says what and why")
        for each in source.told[:MOST_TOLD]:
            print(f"  · {safe(each)}")
        if source.unread:
            print(_missing(source.unread))
    if report.error or report.stage_problem:
        print(f"  ! {safe(report.error or report.stage_problem or '')}")
    print(f"\n{_ending(report, home)}\n{_next_steps(report, home, demo)}")


def _read(report: "Report", source: "SourceReport") -> Iterator[str]:
    """What is new, what changed without a word, what it cost. What could not be read is never told as empty."""
    news = {kind: n for (name, kind), n in report.new_events.items() if name == source.source}
    said = [f"{n:,} {plural(kind, n)}" for kind, n in sorted(news.items(), key=lambda item: -item[1])]
    said += [_became(kind, became) for kind, became in report.changed(source.source).items()]
    marked, left = source.deleted, report.unchanged(source)
    said += [f"{marked} marked as deleted"] if marked else []
    nothing = "no news in what could be read" if source.problems or source.unread else "nothing new"
    failed = len(source.failed)
    some = f"{source.scopes - failed:,} of " if 0 < failed < source.scopes else ""
    scopes = f"{some}{source.scopes:,} {plural('scope', source.scopes)}"
    yield (
        f"{source.source}  read {scopes}: {', '.join(said) or nothing}"
        if source.is_read
        else f"{source.source}  not read"
    )
    if left:
        yield f"        {left:,} unchanged, skipped"
    quota = f"; {source.quota_left:,} of {source.quota:,} left this hour" if source.quota and source.quota_left else ""
    saved = f", {source.not_modified} of them free (not modified)" if source.not_modified else ""
    waited = f"; waited {source.waited:.0f} s for limits" if source.waited >= 1 else ""
    yield f"        cost {source.requests} {plural('request', source.requests)}{saved}{quota}{waited}"


def _places(report: "Report", source: "SourceReport") -> Iterator[str]:
    """One a project: what changed there, what was left alone, what it cost."""
    for scope in sorted(source.held, key=lambda scope: source.names[scope]):
        changed = sum(became["changed"] for became in report.changed(source.source, scope).values())
        told = [f"{changed:,} changed"] if changed else []
        told.append(f"{report.unchanged(source, scope):,} unchanged, skipped")
        requests = source.asked.get(scope, 0)
        yield f"{safe(source.names[scope])}: {', '.join(told)}; {requests:,} {plural('request', requests)}"


def _became(kind: str, became: dict[str, int]) -> str:
    states = ", ".join(f"{n:,} {name}" for name, n in became.items() if n and name != "changed")
    return f"{became['changed']:,} {plural(kind, became['changed'])} changed{f' ({states})' if states else ''}"


def _problems(source: "SourceReport") -> Iterator[str]:
    """By name; where one list has many, its first and how many more there are: `status` and --json have them all."""
    found: dict[tuple[str, str], list[str]] = {}
    for problem in source.problems:
        found.setdefault((problem.scope, problem.surface), []).append(problem.message)
    for (scope, surface), messages in found.items():
        lead = f"{source.names.get(scope, scope)} {surface}: "
        yield from (lead + message for message in messages[:NAMED])
        if len(messages) > NAMED:
            yield f"{lead}and {len(messages) - NAMED:,} more"


def _missing(unread: "Sequence[Unread]") -> str:
    """What this run knows to be missing, by name: for as long as it is, nothing is complete."""
    named = ", ".join(each.key for each in unread[:NAMED]) + (" …" if len(unread) > NAMED else "")
    count = f"{len(unread)} {plural('record', len(unread))}"
    return (
        f"  ! {count} cannot be read and {'is' if len(unread) == 1 else 'are'} missing here ({safe(named)}): asked for"
        " again by the next runs; `earshot quarantine list` says why, and how to let one be"
    )


def plural(kind: str, count: int) -> str:
    word = kind.replace("_", " ")
    return word if count == 1 else f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _ending(report: "Report", home: DataDir) -> str:
    took = f"{report.seconds:.1f} s"
    if report.published_bytes is None:
        if report.error:
            return f"The run failed: readers have what they had. {took}"
        if not report.is_read:
            return f"Nothing could be read: the warehouse is as it was. {took}"
        if any(source.problems or source.unread for source in report.sources):
            return f"What could be read is as it was; of the rest nobody knows. {took}"
        return f"Nothing changed: the warehouse is as it was. {took}"
    size, total = report.published_bytes / 2**20, sum(report.new_events.values())
    shared = home.destination.is_shared
    where = home.destination.told(home) if shared else f"{shown_path(home.published)} ({size:.1f} MB copied)"
    if not report.is_read:
        return f"Nothing could be read; what was read before was made ready for readers again. {took}"
    return f"{total:,} new {plural('event', total)} published to {where} in {took}"


def _next_steps(report: "Report", home: DataDir, demo: bool) -> str:
    """Commands on lines of their own, to be copied as they are."""
    data = quote(shown_path(home.path))
    if not report.is_read:
        return f"What is wrong, and what to do about it:\n  {_program('earshot')} status"
    if demo:
        after = MORE_TO_COME if report.run_id == 1 else TOLD_TO_ITS_END
        return DEMO_STEPS.format(data=data, earshot=_program("earshot")) + after
    named = f"EARSHOT_DATA={data} " if "EARSHOT_DATA" in os.environ else ""
    pipelines = f" --pipelines-dir {quote(shown_path(home.working))}" if named else ""
    return (
        f"What is said, and how far each list was read:\n  {named}{_program('earshot')} list threads\n"
        f"  {_program('dlt')} pipeline{pipelines} earshot_{report.sources[0].source} info -v"
    )


DEMO_STEPS = """\
Next, in this shell:
  export EARSHOT_DATA={data}
  {earshot} list threads --since 3d
  {earshot} sql "SELECT author, body FROM feedback.comments WHERE body > '' ORDER BY created_at DESC LIMIT 5"
  {earshot} list commands --unanswered
Answer one (earshot reply KEY --body Done.), which leaves nothing on any service, and run the demo again: """
MORE_TO_COME = """two minutes
pass in the story, and only the news is read."""
TOLD_TO_ITS_END = """it hears you.
Nobody else says anything more: the story is told to its end."""


def _program(name: str) -> str:
    """As this shell finds it: by its name, or beside the Python that runs."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return quote(beside) if which(name) is None and os.path.exists(beside) else name


def shown_path(path: Any) -> str:
    from pathlib import Path

    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _data(report: "Report") -> dict[str, Any]:
    return {
        "run_id": report.run_id,
        "seconds": round(report.seconds, 3),
        "published_bytes": report.published_bytes,
        "new_events": {f"{source} {kind}": count for (source, kind), count in report.new_events.items()},
        **report.stages,
        "error": report.error or report.stage_problem,
        "sources": [
            {
                **{name: getattr(s, name) for name in OF_SOURCE},
                "waited_seconds": s.waited,
                "told": [*s.told[:MOST_TOLD]],
                "unread": [{"key": each.key, "reason": each.reason} for each in s.unread[:MOST_TOLD]],
                "changed": report.changed(s.source),
                "unchanged": report.unchanged(s),
                "problems": [
                    {
                        "scope": s.names.get(p.scope, p.scope),
                        "surface": p.surface,
                        "code": p.code,
                        "message": p.message,
                        "until": p.until and p.until.to_iso8601_string(),
                    }
                    for p in s.problems
                ],
            }
            for s in report.sources
        ],
    }


def envelope(ok: bool, data: Any, meta: dict[str, Any]) -> None:
    """The one answer programs get. It holds what was said as it was said: what could act on a terminal is escaped."""
    error = {name: meta.pop(name) for name in ("code", "message", "hint") if name in meta} if "code" in meta else {}
    said = {"ok": ok, "data": data, **({"error": error} if error else {}), "meta": meta}
    print(orjson.dumps(said, default=str).decode().translate(ESCAPED))


def envelope_of(rows: Iterable[Any], meta: dict[str, Any]) -> None:
    """The same of an answer that worked and may be long: row by row, as they come."""
    sys.stdout.write('{"ok":true,"data":[')
    for n, row in enumerate(rows):
        sys.stdout.write(("," if n else "") + orjson.dumps(row, default=str).decode().translate(ESCAPED))
    print(f'],"meta":{orjson.dumps(meta, default=str).decode()}}}')
