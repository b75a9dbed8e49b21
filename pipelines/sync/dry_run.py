"""`--dry-run` of a bulk run: what it would ask for, told from what earlier runs asked. No network, nothing written."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pendulum import DateTime

from pipelines.state.run_state import QuotaLeft, SourceState
from pipelines.sync.after_load import Options
from pipelines.sync.output.summary import envelope, safe
from pipelines.warehouse.data_dir import DataDir
from sources.core.source import Source

__all__ = ["plan"]

SHOWN = 20  # places a source
LATEST = 5  # runs over everything that are looked at: what the cheapest of them asked is asked in any case
ASKED = """
WITH latest AS (
    SELECT DISTINCT asked.run_id FROM requests AS asked INNER JOIN runs AS run ON run.run_id = asked.run_id
    WHERE asked.source = ?1 AND run.mode IN ('bulk', 'full', 'sweep') ORDER BY asked.run_id DESC LIMIT ?2
)

SELECT scope, surface, min(requests) AS requests, count(*) = (SELECT count(*) FROM latest) AS is_always
FROM requests WHERE source = ?1 AND run_id IN (SELECT run_id FROM latest)
GROUP BY scope, surface ORDER BY scope, surface
"""


@dataclass(frozen=True)
class Planned:
    """One source: what is known to be asked at least, list by list, and what was never read."""

    source: str
    places: int
    lists: list[dict[str, Any]]
    unread: list[str]
    requests: int
    sweep: str | None
    quota: QuotaLeft | None


def plan(home: DataDir, sources: Iterable[Source], options: Options, *, as_json: bool) -> None:
    planned = [_planned(home, source, options) for source in sources]
    if as_json:
        envelope(True, {"dry_run": True, "plan": [vars(each) for each in planned]}, {"exit_code": 0})
        return
    for each in planned:
        _show(each)
    print("dry run: nothing was asked for, nothing was written")


def _planned(home: DataDir, source: Source, options: Options) -> Planned:
    wanted = {name.casefold().removeprefix("@") for name in source.scopes()}
    lists, known = list[dict[str, Any]](), dict[str, str]()
    swept_at, quota = None, None
    if home.control.exists():
        is_quiet = not home.control.with_name(f"{home.control.name}-wal").exists()
        address = f"{home.control.as_uri()}?mode=ro{'&immutable=1' if is_quiet else ''}"  # which leaves no files behind
        connection = sqlite3.connect(address, uri=True, timeout=10)
        try:
            named = connection.execute("SELECT scope, scope_name FROM scopes WHERE source = ?", (source.name,))
            known = {scope: name for scope, name in named if {scope.casefold(), name.casefold()} & wanted}
            state = SourceState(connection, source.name)
            swept_at, quota = state.swept_at, state.quota
            asked = connection.execute(ASKED, (source.name, LATEST)).fetchall()
        finally:
            connection.close()
        lists = [
            {"place": known.get(scope, scope), "list": surface, "requests": requests}
            for scope, surface, requests, is_always in asked
            if _is_read(source, scope, surface, known, is_always and (scope == "*" or scope.casefold() in wanted))
        ]
    names = {name.casefold() for pair in known.items() for name in pair}
    unread = [name for name in source.scopes() if name.casefold().removeprefix("@") not in names]
    return Planned(
        source.name,
        len(source.scopes()),
        lists,
        unread,
        sum(each["requests"] for each in lists),
        _sweep(swept_at, options),
        quota,
    )


def _is_read(source: Source, scope: str, surface: str, known: dict[str, str], is_looked_up: bool) -> bool:
    """Lists of what is read, and which repository a name means. What hangs on things that change costs nothing where
    nothing did.
    """
    is_a_list = any(surface in names for names in source.types.values())
    is_here = scope in known or scope == "*" or scope.casefold() in {name.casefold() for name in known.values()}
    return is_here and (surface in source.surfaces if is_a_list else is_looked_up)


def _sweep(last: DateTime | None, options: Options) -> str | None:
    if options.full:
        return "all is read again"
    if options.sweep:
        return "sweep: asked for"
    if last is None or options.is_narrowed:
        return None
    return "sweep: due" if options.sweep_is_due(last) else None


def _show(each: Planned) -> None:
    places = f"{each.places:,} {'place' if each.places == 1 else 'places'}"
    print(f"{each.source}: {places}, {each.requests:,} requests if nothing is new")
    by_place: dict[str, list[str]] = {}
    for row in each.lists:
        by_place.setdefault(str(row["place"]), []).append(f"{row['list']} {row['requests']}")
    for place, told in list(by_place.items())[:SHOWN]:
        print(f"  {safe(place)}: {', '.join(told)}")
    if len(by_place) > SHOWN:
        print(f"  … and {len(by_place) - SHOWN:,} more")
    if each.unread:
        more = f" and {len(each.unread) - SHOWN:,} more" if len(each.unread) > SHOWN else ""
        print(
            f"  read for the first time, as many requests as it has pages: {safe(', '.join(each.unread[:SHOWN]))}{more}"
        )
    if each.sweep:
        print(f"  {each.sweep}: more requests than that")
    if each.quota and each.quota["remaining"] is not None:
        print(f"  {each.quota['remaining']:,} requests left when it was last asked")
