"""What mends a difference that `verify` found: the command, as it can be typed.

What hangs on an issue, merge request or pull request that is there is mended by reading that one whole, with all that
hangs on it: a few requests. The death of one is believed by a sweep, and by the run after it. Where nothing can be
named, everything said there is read again; what is gone is found by the rare, deep kind of sweep.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

__all__ = ["DELETED", "Difference", "Mend", "mends"]

MOST = 100  # targets of one run
OPTIONS = {"issue": ("issue", "--issue"), "merge_request": ("mr", "--mr"), "pull_request": ("pr", "--pr")}
DELETED = "not noticed as deleted"


@dataclass(frozen=True)
class Difference:
    what: str  # missing, stale, in another state, resolved or not, doubled, not noticed as deleted
    source: str
    scope: str
    scope_name: str
    kind: str
    event_key: str
    url: str | None
    parent_key: str = ""
    parent_kind: str = ""
    parent_number: int | None = None
    is_parent_there: bool = False


@dataclass
class Mend:
    """A command, and how many of the differences it mends."""

    command: str
    mends: int = 0
    event_keys: list[str] = field(default_factory=list)


def mends(differences: Iterable[Difference], sources: Mapping[str, Any]) -> list[Mend]:
    """As few commands as mend them all, each difference by one."""
    targets: dict[tuple[str, str], dict[str, list[str]]] = {}
    found: dict[str, Mend] = {}
    for each in differences:
        source = sources[each.source]
        place = _place(each, source)
        if option := _target(each, source):
            targets.setdefault((each.source, place), {}).setdefault(option, []).append(each.event_key)
        else:
            _add(found, _bulk(each, source, place), [each.event_key])
    for (name, place), named in targets.items():
        options = list(named)
        for n in range(0, len(options), MOST):
            some = options[n : n + MOST]
            command = f"earshot sync {name} -p {quote(place)} {' '.join(some)}"
            _add(found, command, [key for option in some for key in named[option]])
    return list(found.values())


def _target(difference: Difference, source: Any) -> str | None:
    """Of what is there and can be named by number."""
    kind, option = OPTIONS.get(difference.parent_kind, ("", ""))
    is_named = kind in getattr(source, "target_kinds", ()) and difference.parent_number is not None
    return f"{option} {difference.parent_number}" if is_named and difference.is_parent_there else None


def _bulk(difference: Difference, source: Any, place: str) -> str:
    command = f"earshot sync {difference.source} -p {quote(place)}"
    if getattr(source, "target_kinds", ()):
        return f"{command} --sweep && {command}"  # what answers 404 is believed to be gone by the second run
    return f"{command} --sweep --deep" if difference.what == DELETED else f"{command} --full"


def _place(difference: Difference, source: Any) -> str:
    """As it is configured, where that can be told."""
    scopes = source.scopes()
    names = (difference.scope_name, difference.scope)
    return next((scope for scope in scopes if scope.casefold() in map(str.casefold, names)), difference.scope_name)


def _add(found: dict[str, Mend], command: str, keys: list[str]) -> None:
    mend = found.setdefault(command, Mend(command))
    mend.mends += len(keys)
    mend.event_keys += keys
