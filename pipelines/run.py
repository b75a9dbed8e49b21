"""The job's command line: `python pipelines/run.py [github …]`, also `earshot sync`."""

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Coroutine
from pathlib import Path

import click

from pipelines.screen import Plain, progress, summary
from pipelines.settings import checked, configured, load
from pipelines.warehouse import Home, Locked
from sources.config import ConfigError

__all__ = ["main"]

USAGE, LOCKED, CANCELLED = 2, 4, 130


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", nargs=-1)
@click.option("--demo", is_flag=True, help="Read the demo world: no network, no tokens. Keeps its data in <data>/demo.")
@click.option("--full", is_flag=True, help="Forget all cursors and read everything again; rows are merged.")
@click.option("--sweep", is_flag=True, help="Also do the slow checks now: counts, deletions.")
@click.option("--every", metavar="PERIOD", help="Stay and repeat, e.g. --every 60s.")
@click.option("--json", "as_json", is_flag=True, help="One JSON envelope on stdout; logs go to stderr.")
@click.option("-v", "--verbose", is_flag=True, help="Log every scan.")
def main(
    sources: tuple[str, ...], demo: bool, full: bool, sweep: bool, every: str | None, as_json: bool, verbose: bool
) -> None:
    """Read what is new on all configured SOURCES into the warehouse, once.

    \b
    Exit codes: 0 all done, 1 failed, 2 wrong usage or configuration,
    3 some scopes failed and the rest landed, 4 another run holds the lock.
    """
    os.umask(0o077)  # what people wrote, in private too, is nobody else's business on this machine
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    for noisy in ("httpx", "httpcore", "stamina", "dlt"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    screen = progress(as_json)
    try:
        period = _seconds(every) if every else None
        sys.exit(_cancellable(_runs(sources, demo, full, sweep, period, as_json, screen)))
    except ConfigError as error:
        sys.exit(screen.failed("CONFIG", str(error), USAGE))
    except OSError as error:
        sys.exit(screen.failed("FAILED", f"{error.strerror or error}: {error.filename or 'the data directory'}", 1))
    except sqlite3.Error as error:
        sys.exit(screen.failed("FAILED", f"the data directory's control.sqlite cannot be used: {error}", 1))
    except Locked as error:
        sys.exit(screen.failed("LOCKED", f"{error}; try again when it is done", LOCKED))


async def _runs(
    names: tuple[str, ...], demo: bool, full: bool, sweep: bool, period: float | None, as_json: bool, screen: Plain
) -> int:
    """One run, or one after the other until told to stop."""
    from pipelines.sync import Options, sync

    settings, config = load(Path.cwd())
    home = Home(_data(config.data_dir, demo))
    options = Options(
        full=full, sweep=sweep, sweep_hours=config.sweep_hours, safe_backfill_hours=config.safe_backfill_hours,
        authors=config.authors,
        keep_payloads=config.keep_payloads,
    )  # fmt: skip
    while True:
        if demo:
            from pipelines.demo import demo_sources

            number = _demo_run(home)
            connected = [s for s in demo_sources(number) if not names or s.source.name in names]
        else:
            connected = configured(settings, config, names)  # type: ignore[assignment]
        with screen.watching() as watch:
            report = await sync(home, connected, options, watch)
        if demo:
            (home.path / "demo-run").write_text(str(number + 1), encoding="utf-8")
        summary(report, home, as_json=as_json, demo=demo)
        if period is None:
            return report.exit_code
        await asyncio.sleep(period)


def _cancellable(run: Coroutine[object, object, int]) -> int:
    """SIGINT and SIGTERM end the run cleanly: what landed stays, the ledger says `cancelled`."""

    async def guarded() -> int:
        task = asyncio.ensure_future(run)
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return CANCELLED

    return asyncio.run(guarded())


def _data(configured_dir: str, demo: bool) -> Path:
    data = Path(os.environ.get("EARSHOT_DATA") or configured_dir).expanduser().resolve()
    return checked(data / "demo" if demo else data)


def _demo_run(home: Home) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int((home.path / "demo-run").read_text(encoding="utf-8"))
    return 0


def _seconds(period: str) -> float:
    """`60s`, `5m`, `1h`, or plain seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = (period[:-1], units[period[-1]]) if period[-1] in units else (period, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        raise ConfigError(f"--every {period!r}: expected a period like 60s, 5m or 1h") from None
    if seconds <= 0:
        raise ConfigError("--every: the period must be longer than nothing")
    return seconds


if __name__ == "__main__":
    main()
