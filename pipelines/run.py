"""The job's command line: `python pipelines/run.py [github …]`, also `earshot sync`."""

import asyncio
import gc
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.query.times import period
from pipelines.cli import JsonErrors
from pipelines.settings import EarshotConfig, configured, known_sources, load
from pipelines.sync.output.progress import Plain, progress
from pipelines.sync.output.summary import Beside, summary
from pipelines.warehouse.configured import home_of, real
from pipelines.warehouse.data_dir import DataDir, LandingError, Locked
from pipelines.warehouse.errors import Unavailable
from sources.core.config import ConfigError, Settings

if TYPE_CHECKING:
    from pipelines.sync.run import Options

__all__ = ["main"]

USAGE, LOCKED = 2, 4
PASSING = (
    Locked,
    LandingError,
    Unavailable,
    OSError,
    sqlite3.Error,
)  # another run, a database out of reach, a full disk


@dataclass(frozen=True)
class Asked:
    """The command line."""

    sources: tuple[str, ...]
    demo: bool
    full: bool
    sweep: bool
    deep: bool
    every: int | None
    as_json: bool
    project: str
    type: str
    issue: tuple[int, ...]
    mr: tuple[int, ...]
    pr: tuple[int, ...]
    preflight_only: bool
    dry_run: bool
    no_docs: bool
    no_embed: bool
    no_events: bool
    destination: str
    shard: str
    verbose: bool

    @property
    def has_targets(self) -> bool:
        return bool(self.issue or self.mr or self.pr)

    def check(self) -> None:
        """Options that make no sense together."""
        for name in ("full", "sweep", "every"):
            if self.has_targets and getattr(self, name):
                raise ConfigError(f"--{name} reads lists; --issue, --mr and --pr read only what they name")
        if self.deep and not self.sweep:
            raise ConfigError("--deep is how a sweep is made: --sweep --deep")
        if self.type and self.has_targets:
            raise ConfigError("--type narrows lists; --issue, --mr and --pr read only what they name")
        if self.preflight_only and not self.has_targets:
            raise ConfigError("--preflight-only needs targets: --issue, --mr or --pr")
        if self.has_targets and self.no_docs and not self.no_embed:
            raise ConfigError("--no-docs leaves nothing of the targets to embed: say --no-embed too")


NUMBER = click.IntRange(min=1)


@click.command(cls=JsonErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", nargs=-1)
@click.option("--demo", is_flag=True, help="Read the demo world: no network, no tokens. Keeps its data in <data>/demo.")
@click.option("--full", is_flag=True, help="Forget all cursors and read everything again; rows are merged.")
@click.option("--sweep", is_flag=True, help="Also do the slow checks now: counts, deletions.")
@click.option("--deep", is_flag=True, help="With --sweep: also the rare ones, which a sweep makes once a week.")
@click.option(
    "-p", "--project", default="", help="Only this repository, project or account; of targets: where they are."
)
@click.option("--type", metavar="TYPES", default="", help="Only lists of these, e.g. issues,mrs or prs,comments.")
@click.option("--issue", type=NUMBER, multiple=True, help="Only this issue, now. Repeatable.")
@click.option("--mr", type=NUMBER, multiple=True, help="Only this merge request, now. Repeatable.")
@click.option("--pr", type=NUMBER, multiple=True, help="Only this pull request, now. Repeatable.")
@click.option("--preflight-only", is_flag=True, help="Look whether the targets are there; write nothing.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked for; no network, nothing written.")
@click.option("--no-docs", is_flag=True, help="Leave documents and their index for a later run.")
@click.option("--no-embed", is_flag=True, help="Leave embeddings for a later run.")
@click.option("--no-events", is_flag=True, help="Leave events (closed, labelled, scheduled; GitLab) for a later run.")
@click.option("--destination", metavar="NAME", default="", help="Where rows live: duckdb, postgres, ducklake.")
@click.option("--shard", metavar="K/N", default="", help="Only the Kth of N parts of all scopes.")
@click.option("--every", type=period, metavar="PERIOD", help="Stay and repeat, e.g. --every 60s.")
@click.option("--json", "as_json", is_flag=True, help="One JSON envelope on stdout; logs go to stderr.")
@click.option("-v", "--verbose", is_flag=True, help="Log every scan, and tell of each project.")
def main(**options: Any) -> None:
    """Read what is new on SOURCES (default: all) into the warehouse.

    \b
    Exit codes: 0 all done, 1 failed, 2 wrong usage or configuration,
    3 some scopes failed and the rest landed, 4 another run holds the lock,
    6 a named target cannot be read, nothing was written.
    """
    asked = Asked(**options)
    gc.set_threshold(50_000, 20, 20)  # a run lives for seconds: the usual 700 costs it a twentieth
    os.umask(0o077)  # what people wrote, in private too, is nobody else's business on this machine
    logging.basicConfig(
        level=logging.INFO if asked.verbose else logging.WARNING,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
        stream=Beside(),
    )
    logging.getLogger("earshot.accounts").setLevel(logging.DEBUG if asked.verbose else logging.INFO)
    for noisy in ("httpx", "httpcore", "stamina", "dlt"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    screen = progress(asked.as_json)
    try:
        asked.check()
        sys.exit(_cancellable(_named(asked, screen) if asked.has_targets else _runs(asked, screen), screen))
    except ConfigError as error:
        sys.exit(screen.failed("CONFIG", str(error), USAGE))
    except BrokenPipeError:  # whoever read on has gone: click ends it without a word
        raise
    except PASSING as error:
        sys.exit(_failed(error, screen))


def _failed(error: Exception, screen: Plain) -> int:
    match error:
        case Locked():
            return screen.failed("LOCKED", f"{error}; try again when it is done", LOCKED)
        case LandingError() | Unavailable():
            return screen.failed("UNREACHABLE", str(error), 1)
        case OSError():
            where = error.filename or "the data directory"
            return screen.failed("FAILED", f"{error.strerror or error}: {where}", 1)
        case _:
            return screen.failed("FAILED", f"the data directory's control.sqlite cannot be used: {error}", 1)


async def _named(asked: Asked, screen: Plain) -> int:
    """Only the named issues, merge requests and pull requests."""
    from pipelines.sync.targets.choice import names_of, target_place, targets
    from pipelines.sync.targets.outcomes import Cancelled, Order
    from pipelines.sync.targets.output import plan, show
    from pipelines.sync.targets.run import operate

    settings, config = load(Path.cwd())
    home = _home(settings, config, asked)
    wanted = targets(asked.issue, asked.mr, asked.pr)
    able = _connected(asked, settings, config, home)
    connected, place = target_place(able, wanted, asked.project, names_of(home))
    order = Order(connected, place, wanted, config.entity_timeout_seconds, asked.preflight_only)
    if asked.dry_run:
        plan([order], as_json=asked.as_json)
        return 0
    try:
        with screen.watching() as watch:
            surgery = await operate(home, order, _options(asked, config), watch)
    except Cancelled as cancelled:
        surgery = cancelled.surgery
    show(surgery, as_json=asked.as_json)
    return surgery.exit_code


async def _runs(asked: Asked, screen: Plain) -> int:
    """One run, or one after the other until told to stop."""
    from pipelines.sync.run import sync
    from pipelines.sync.targets.choice import names_of, narrowed, of_types

    settings, config = load(Path.cwd())
    home = _home(settings, config, asked)
    while True:
        connected = _connected(asked, settings, config, home)
        if asked.project and connected:
            connected = narrowed(connected, asked.project, names_of(home))
        if asked.type:
            connected = of_types(connected, asked.type)
        if asked.dry_run:
            from pipelines.sync.dry_run import plan

            plan(home, [each.source for each in connected], _options(asked, config), as_json=asked.as_json)
            return 0
        try:
            with screen.watching() as watch:
                report = await sync(home, connected, _options(asked, config), watch)
        except PASSING as error:  # who stays tries again: a surgical run in between is over in seconds
            if asked.every is None:
                raise
            _failed(error, screen)
        else:
            summary(report, home, as_json=asked.as_json, demo=asked.demo, verbose=asked.verbose)
            sys.stdout.flush()  # a log or a program reads each run when it ends, not when a buffer is full
            if asked.every is None:
                return report.exit_code
        await asyncio.sleep(asked.every)


def _connected(asked: Asked, settings: Settings, config: EarshotConfig, home: DataDir) -> list[Any]:
    from pipelines.sync.targets.choice import owned, without_events

    if asked.demo:
        from pipelines.demo import demo_sources, next_run

        known_sources(asked.sources)
        world = demo_sources(0) if asked.dry_run else next_run(home.path)
        found: list[Any] = [each for each in world if not asked.sources or each.source.name in asked.sources]
    else:
        found = list(configured(settings, config, asked.sources))
    found = owned(found, home.shard)
    return without_events(found) if asked.no_events else found


def _options(asked: Asked, config: EarshotConfig) -> "Options":
    if asked.demo:
        from pipelines.demo import TEAM

        config = replace(config, team=list(TEAM))
    return options_of(
        config,
        full=asked.full,
        sweep=asked.sweep,
        deep=asked.deep,
        docs=not asked.no_docs,
        embed=not asked.no_embed,
        is_narrowed=bool(asked.project or asked.type or asked.no_events),
    )


def options_of(config: EarshotConfig, *, embed: bool = True, **more: bool) -> "Options":
    """What is configured, for a run."""
    from pipelines.search.embedders import configured_embedder
    from pipelines.sync.run import Options

    return Options(
        sweep_hours=config.sweep_hours,
        safe_backfill_hours=config.safe_backfill_hours,
        authors=config.authors,
        team=config.team,
        command_prefix=config.command_prefix,
        keep_payloads=config.keep_payloads,
        embedder=configured_embedder(config.embed) if embed else None,
        embed_seconds=config.embed.budget_seconds,
        **more,
    )


def _cancellable(run: Coroutine[object, object, int], screen: Plain) -> int:
    """SIGINT and SIGTERM end the run cleanly: what landed stays, the ledger says `cancelled`."""

    async def guarded() -> int:
        task = asyncio.ensure_future(run)
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return screen.cancelled()
        finally:
            gc.freeze()  # nothing is looked through at the exit: 0.1 s

    return asyncio.run(guarded())


def _home(settings: Settings, config: EarshotConfig, asked: Asked) -> DataDir:
    home = home_of(Path.cwd(), settings, config, named=asked.destination, shard=asked.shard, demo=asked.demo)
    home.refuse_another_version()
    return home if asked.demo else real(home)


if __name__ == "__main__":
    main()
