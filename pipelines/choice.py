"""What a command line means by `-p`, `--issue`, `--mr` and `--pr`: which source, which repository or project."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pipelines.sharding import Shard
from pipelines.surgery import MOST
from sources.config import ConfigError
from sources.target import Target

__all__ = ["narrowed", "of_types", "owned", "target_place", "targets"]

OPTIONS = {"issue": "--issue", "mr": "--mr", "pr": "--pr"}


def targets(issues: Iterable[int], mrs: Iterable[int], prs: Iterable[int]) -> list[Target]:
    """Each once, in the order given."""
    named = [(kind, n) for kind, numbers in (("issue", issues), ("mr", mrs), ("pr", prs)) for n in numbers]
    found = list(dict.fromkeys(Target(kind, number) for kind, number in named))
    if len(found) > MOST:
        raise ConfigError(f"{len(found)} targets: at most {MOST} at once; a bulk run is cheaper for so many")
    return found


def target_place(connected: Sequence[Any], wanted: Sequence[Target], project: str) -> tuple[Any, str]:
    """The one source and place that fit; what fits none or two is refused, naming them."""
    kinds = {target.kind for target in wanted}
    able = [c for c in connected if kinds <= set(getattr(c.source, "target_kinds", ()))]
    if not able:
        asked = ", ".join(OPTIONS[kind] for kind in sorted(kinds))
        names = ", ".join(c.source.name for c in connected)
        raise ConfigError(f"none of what is to be read ({names}) has {asked}" + (" together" if len(kinds) > 1 else ""))
    if project:
        fits = [(c, place) for c in able for place in matching(c.source, project)]
    else:
        fits = [(c, place) for c in able if (place := _usual(c.source))]
    if len(fits) == 1:
        return fits[0]
    if fits:
        named = ", ".join(f"{c.source.name} {place}" for c, place in fits)
        raise ConfigError(f"{wanted[0]} could be of {named}: say which with -p")
    known = ", ".join(f"{c.source.name} {place}" for c in able for place in c.source.scopes())
    what = f"-p {project!r} is none of" if project else "say of which project with -p (or set default_project):"
    raise ConfigError(f"{what} {known}")


def narrowed(connected: Sequence[Any], project: str) -> list[Any]:
    """The sources with only what `-p` names."""
    found = []
    for one in connected:
        places = matching(one.source, project)
        if places:
            found.append(type(one)(one.source.only(places), *_rest(one)))
    if not found:
        known = ", ".join(place for c in connected for place in c.source.scopes())
        raise ConfigError(f"-p {project!r} is none of {known}")
    return found


def of_types(connected: Sequence[Any], types: str) -> list[Any]:
    """The sources with only these kinds of lists: `issues,mrs`."""
    wanted = {word.strip().lower() for word in types.split(",") if word.strip()}
    known = sorted({name for c in connected for name in c.source.types})
    if not wanted or not wanted <= set(known):
        unknown = ", ".join(sorted(wanted - set(known))) or "nothing"
        raise ConfigError(f"--type {unknown}: what is configured has {', '.join(known)}")
    found = []
    for one in connected:
        surfaces = frozenset[str]().union(*(s for name, s in one.source.types.items() if name in wanted))
        if surfaces:
            found.append(type(one)(replace(one.source, surfaces=surfaces), *_rest(one)))
    return found


def owned(connected: Sequence[Any], shard: Shard) -> list[Any]:
    """The sources with only what is this shard's; one that has nothing here is left out."""
    if shard.is_all:
        return list(connected)
    parts = [(one, [place for place in one.source.scopes() if shard.owns(place)]) for one in connected]
    return [type(one)(one.source.only(places), *_rest(one)) for one, places in parts if places]


def matching(source: Any, project: str) -> list[str]:
    """Places with this very name; else those that end in it: `console` for `lantern/console`."""
    wanted, places = project.strip("/").casefold(), source.scopes()
    exact = [place for place in places if place.casefold() == wanted]
    return exact or [place for place in places if place.casefold().endswith(f"/{wanted}")]


def _usual(source: Any) -> str:
    places: list[str] = source.scopes()
    return str(source.default_place) or (places[0] if len(places) == 1 else "")


def _rest(connected: Any) -> list[Any]:
    return [value for name, value in vars(connected).items() if name != "source"]
