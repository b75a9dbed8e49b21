"""`earshot doctor`: what `init` checked, checked again, and all that a run needs of this machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import FAILED, Answer, answering
from pipelines.ask.format.shown import counted
from pipelines.ask.setup.checks.findings import Finding, is_wrong, show, worst_first, wrong
from pipelines.settings import HttpSource, load, source_of
from pipelines.warehouse.configured import home_of
from sources.core.config import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["doctor"]

WHERE = "mend it in .dlt/config.toml, .dlt/secrets.toml or the environment"


@click.command()
@answering
def doctor() -> Answer:
    """Check all that a run needs.

    What is wrong comes first, each with its remedy. Asks each service whether
    tokens are good and places are readable; looks at the data directory, room on
    the disk, who holds the lock, versions, where rows live, clocks. Changes nothing.

    \b
    Exit codes: 0 nothing must be done, 1 something must.
    """
    findings = worst_first(_findings(Path.cwd()))
    bad = sum(each.level == "wrong" for each in findings)

    def tell(console: "Console") -> None:
        told = f"{counted(bad, 'thing')} must be done" if bad else "Nothing must be done"
        console.print(told, style="bold red" if bad else "bold green")
        show(console, findings)

    data = {"findings": [each.json() for each in findings], "wrong": bad}
    return Answer(data, tell, exit_code=FAILED if bad else 0)


def _findings(folder: Path) -> list[Finding]:
    from pipelines.ask.setup.checks.machine import look

    try:
        settings, config = load(folder)
        home = home_of(folder, settings, config)
    except ConfigError as error:
        return [wrong("settings", str(error), WHERE)]
    found = look(home, folder / ".dlt" / "secrets.toml")
    if home.is_demo:
        return [*found, Finding("note", "data directory", "holds the demo's invented words", "unset EARSHOT_DATA")]
    return [*found, *_services(folder)]


def _services(folder: Path) -> list[Finding]:
    """One that is set wrongly keeps no other from being asked."""
    from pipelines.ask.setup.checks.services import SERVICES, checked

    settings, config = load(folder)
    found, names = list[Finding](), 0
    for service in SERVICES:
        try:
            source = source_of(service.name, settings)
            places = len(source.scopes())
        except ConfigError as error:
            found.append(wrong(service.title, str(error), WHERE))
            continue
        names += places
        if places:
            told = checked(service, HttpSource(source, config), is_first=False)
            clocks = {each.about for each in found} & {"clock"}  # one of them is enough
            found += [each for each in told if each.about not in clocks]
    return found if names or is_wrong(found) else [wrong("settings", "nothing is set to be read yet", "earshot init")]
