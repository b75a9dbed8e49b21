"""What a command line means by `-p`, `--issue`, `--mr`, `--pr` and `--type`: which source, which place, which lists."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines.sync.shards import Shard
from pipelines.sync.targets.outcomes import MOST
from pipelines.warehouse.data_dir import DataDir
from sources.core.config import ConfigError
from sources.core.targets import Target

__all__ = ["matching", "names_of", "narrowed", "of_types", "owned", "target_place", "targets", "without_events"]

Names = Mapping[str, Collection[str]]  # place, as configured, in small letters → what else it is called
Called = Callable[[str], Names]  # by source
# how a name was looked up stands beside the cursors: its number, what it is called today
CALLED = """
WITH told AS (
    SELECT scope, coalesce(json_extract_string(state, '$.id'), json_extract_string(state, '$.did')) AS id,
        json_extract_string(state, '$.name') AS name
    FROM ops.cursors WHERE source = ?
)
SELECT scope, id, name FROM told WHERE id IS NOT NULL
"""
OPTIONS = {"issue": "--issue", "mr": "--mr", "pr": "--pr"}


def targets(issues: Iterable[int], mrs: Iterable[int], prs: Iterable[int]) -> list[Target]:
    """Each once, in the order given."""
    named = [(kind, n) for kind, numbers in (("issue", issues), ("mr", mrs), ("pr", prs)) for n in numbers]
    found = list(dict.fromkeys(Target(kind, number) for kind, number in named))
    if len(found) > MOST:
        raise ConfigError(f"{len(found)} targets: at most {MOST} at once; a bulk run is cheaper for so many")
    return found


def target_place(connected: Sequence[Any], wanted: Sequence[Target], project: str, called: Called) -> tuple[Any, str]:
    """The one source and place that fit; what fits none or several is refused, naming them all."""
    kinds = {target.kind for target in wanted}
    able = [c for c in connected if kinds <= set(getattr(c.source, "target_kinds", ()))]
    if not able:
        asked = ", ".join(OPTIONS[kind] for kind in sorted(kinds))
        names = ", ".join(c.source.name for c in connected)
        raise ConfigError(f"none of what is to be read ({names}) has {asked}" + (" together" if len(kinds) > 1 else ""))
    if project:
        fits = [(c, place) for c in able for place in matching(c.source, project, called)]
    else:
        fits = [(c, place) for c in able for place in _usual(c.source)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        named = ", ".join(f"{c.source.name} {place}" for c, place in fits)
        raise ConfigError(f"{wanted[0]} could be of {named}: say which with -p")
    known = ", ".join(f"{c.source.name} {place}" for c in able for place in c.source.scopes())
    raise ConfigError(f"-p {project!r} is none of {known}")


def narrowed(connected: Sequence[Any], project: str, called: Called) -> list[Any]:
    """The sources with only what `-p` names."""
    found = []
    for one in connected:
        places = matching(one.source, project, called)
        if places:
            found.append(type(one)(one.source.only(places), *_rest(one)))
    if not found:
        known = ", ".join(place for c in connected for place in c.source.scopes())
        raise ConfigError(f"-p {project!r} is none of {known}")
    return found


def of_types(connected: Sequence[Any], types: str) -> list[Any]:
    """The sources with only these kinds of lists: `issues,mrs`, or as `status` and a dry run call them."""
    wanted = {word.strip().lower() for word in types.split(",") if word.strip()}
    lists = [(one, _lists(one.source)) for one in connected]
    known = sorted({name for _, named in lists for name in named})
    if not wanted or not wanted <= set(known):
        unknown = ", ".join(sorted(wanted - set(known))) or "nothing"
        raise ConfigError(f"--type {unknown}: what is configured has {', '.join(known)}")
    found = []
    for one, named in lists:
        if wanted & named.keys():
            surfaces = frozenset[str]().union(*(s for name, s in named.items() if name in wanted))
            found.append(type(one)(replace(one.source, surfaces=surfaces), *_rest(one)))
    return found


def without_events(connected: Sequence[Any]) -> list[Any]:
    """The sources without what their services log beside the words: who labelled, closed, reopened."""
    if not any(hasattr(one.source, "without_events") for one in connected):
        names = ", ".join(one.source.name for one in connected)
        raise ConfigError(f"--no-events: nothing of what is to be read ({names}) has events of its own")
    return [
        type(one)(one.source.without_events(), *_rest(one)) if hasattr(one.source, "without_events") else one
        for one in connected
    ]


def owned(connected: Sequence[Any], shard: Shard) -> list[Any]:
    """The sources with only what is this shard's; one that has nothing here is left out."""
    if shard.is_all:
        return list(connected)
    parts = [(one, [place for place in one.source.scopes() if shard.owns(place)]) for one in connected]
    return [type(one)(one.source.only(places), *_rest(one)) for one, places in parts if places]


def matching(source: Any, project: str, called: Called) -> list[str]:
    """Places, as configured, that have this very name: configured, their number, or what they are called today; else
    those of which one ends in it: `console` for `lantern/console`.
    """
    wanted, places = project.strip("/").removeprefix("@").casefold(), source.scopes()
    exact = [place for place in places if place.removeprefix("@").casefold() == wanted]
    if exact:
        return exact
    names = called(source.name)
    known = [(place, {name.casefold() for name in {place, *names.get(place.casefold(), ())}}) for place in places]
    return [place for place, all_ in known if wanted in all_] or [
        place for place, all_ in known if any(name.endswith(f"/{wanted}") for name in all_)
    ]


def names_of(home: DataDir) -> Called:
    """What places are called beside what is configured, as the last publish knows."""

    def called(source: str) -> Names:
        found: dict[str, set[str]] = {}
        with home.destination.published(home) as connection:
            for place, *names in connection.execute(CALLED, [source]).fetchall() if connection else ():
                found.setdefault(place.casefold(), set()).update(name for name in names if name)
        return found

    return called


def _lists(source: Any) -> dict[str, frozenset[str]]:
    """Kinds of lists, by what people call them and by what `status` does."""
    return {**{surface: frozenset({surface}) for surface in source.surfaces}, **source.types}


def _usual(source: Any) -> list[str]:
    return [str(source.default_place)] if source.default_place else source.scopes()


def _rest(connected: Any) -> list[Any]:
    return [value for name, value in vars(connected).items() if name != "source"]
