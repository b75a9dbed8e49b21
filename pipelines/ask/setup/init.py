"""`earshot init`: what to read, and with which token; each checked against its service before anything is written."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import Answer, Refusal, answering
from pipelines.ask.format.shown import line
from pipelines.ask.setup.asked import Asked
from pipelines.ask.setup.checks.findings import Finding, is_wrong, show
from pipelines.ask.setup.written import Project

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["init"]

PLACES = {"multiple": True, "metavar": "NAME"}


@click.command()
@click.option("--github", **PLACES, help="A repository, owner/name or its link. Repeatable.")  # type: ignore[arg-type]
@click.option("--gitlab", **PLACES, help="A project, group/name or its link. Repeatable.")  # type: ignore[arg-type]
@click.option("--bluesky", **PLACES, help="An account's handle or DID. Repeatable.")  # type: ignore[arg-type]
@click.option("--token-from-env", is_flag=True, help="Take tokens from GITHUB_TOKEN, GITLAB_TOKEN; write none.")
@click.option("--yes", is_flag=True, help="Say yes: change what is set otherwise, and read it at once.")
@answering
def init(
    github: tuple[str, ...], gitlab: tuple[str, ...], bluesky: tuple[str, ...], token_from_env: bool, yes: bool
) -> Answer:
    """Set up what to read, checked at once.

    Asks what is not given, and writes it to .dlt/config.toml once all is well.
    Tokens go to .dlt/secrets.toml, which only you can read. What is there stays:
    comments, order, other settings. Without a terminal nothing is asked; what is
    missing is said (exit 2).

    \b
    Exit codes: 0 set up, 1 something is wrong and nothing was written,
    2 wrong usage or configuration.
    """
    from pipelines.ask.setup.asking import Asking
    from pipelines.ask.setup.checks.machine import kept_by_git
    from pipelines.ask.setup.checks.services import SERVICES  # whoever asks for help needs no HTTP client

    asked = Asked({"github": github, "gitlab": gitlab, "bluesky": bluesky}, token_from_env, yes)
    asked.check()
    project, findings = Project(Path.cwd()), list[Finding]()
    for service in SERVICES:
        findings += Asking.about(service, asked, project).findings()
    if is_wrong(findings):
        raise Refusal("NOT_WRITTEN", "nothing was written: what is marked ! must be mended first")
    news = project.news()
    project.write()
    exposed = kept_by_git(project.folder / ".dlt" / "secrets.toml")
    told = [
        {"file": str(file.relative_to(project.folder)), "setting": each.where}
        for file, new in news.items()
        for each in new
    ]
    data = {"written": told, "findings": [each.json() for each in (*findings, *exposed)]}
    return Answer(data, lambda console: _tell(console, asked, findings, exposed, told))


def _tell(
    console: "Console", asked: Asked, findings: list[Finding], exposed: list[Finding], told: list[dict[str, str]]
) -> None:
    for each in told:
        private = ", which only you can read" if each["file"].endswith("secrets.toml") else ""
        console.print(f"written: {line(each['setting'])} in {each['file']}{private}", soft_wrap=True)
    show(console, exposed)
    if not told:
        console.print("nothing to change: it is set so already")
    if asked.token_from_env:
        console.print("no token was written: runs want it in their environment, too", soft_wrap=True)
    if not findings:
        console.print("nothing was named; run `earshot init` again, or try `earshot sync --demo`")
    elif asked.confirm("Read it now?"):
        from pipelines.run import main as sync

        sync.main([], prog_name="earshot sync")
    else:
        console.print("next: earshot sync")
