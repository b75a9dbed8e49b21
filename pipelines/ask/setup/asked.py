"""What `init` asks at a terminal, and what it takes for an answer elsewhere. The dialogue goes to stderr."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.sync.output.summary import safe
from sources.core.config import Secret

if TYPE_CHECKING:
    from pipelines.ask.setup.checks.services import Service

__all__ = ["Asked", "is_terminal"]

FEW = 3
OTHERWISE = "or type it at a terminal: `earshot init`"


def is_terminal() -> bool:
    """Whether somebody sees what is asked, and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@dataclass(frozen=True)
class Asked:
    """The command line, and whether somebody is there."""

    given: Mapping[str, tuple[str, ...]]  # service → places
    token_from_env: bool = False
    yes: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_terminal: bool = field(default_factory=lambda: is_terminal())

    def check(self) -> None:
        if not self.is_terminal and not any(self.given.values()):
            raise Refusal(
                "USAGE", "there is no terminal to ask at, and nothing says what to read",
                "say it: --github owner/name, --gitlab group/name, --bluesky handle; tokens: --token-from-env",
                exit_code=USAGE,
            )  # fmt: skip

    def places(self, service: "Service", held: list[str], again: bool) -> list[str]:
        """Those of the command line; at a terminal whoever gave none is asked, for each service."""
        given = list(self.given.get(service.name, ()))
        if (given and not again) or not self.is_terminal or (any(self.given.values()) and not given):
            return given
        click.echo(err=True)
        if held:
            told = f"{', '.join(held[:FEW])}{f' and {len(held) - FEW} more' if len(held) > FEW else ''}"
            click.echo(safe(f"{service.title}: {told} {'is' if len(held) == 1 else 'are'} read already"), err=True)
        question = f"{'More ' if held else ''}{service.title} {service.places} ({service.example} or links) [none]"
        typed = click.prompt(safe(question), default="", show_default=False, err=True)
        return str(typed).replace(",", " ").split()

    def token(self, service: "Service", variables: list[str], host: str, page: str, *, again: bool) -> Secret:
        """A token that is not known yet. Typed hidden; empty where somebody has none."""
        names = " or ".join(variables)
        if self.token_from_env:
            raise Refusal("USAGE", f"--token-from-env: {names} is not set", OTHERWISE, exit_code=USAGE)
        if not self.is_terminal:
            if not service.needs_token:
                return Secret("")
            told = f"{service.title} wants a token, and there is no terminal to type it at"
            raise Refusal("USAGE", told, f"set {names} and say --token-from-env", exit_code=USAGE)
        if not again:
            click.echo(safe(f"  {page[0].upper()}{page[1:]}".replace(" http", "\n  http")), err=True)
        question = f"Token for {host}, hidden{'' if service.needs_token else ' [none: what is public]'}"
        typed = click.prompt(safe(question), default="", show_default=False, hide_input=True, err=True)
        return Secret(str(typed).strip())

    def variables(self, service: "Service", *, is_its_own: bool) -> list[str]:
        """Where the environment may hold its token; `is_its_own`: the service's server, not one of somebody's own."""
        return [f"SOURCES__{service.name.upper()}__TOKEN", *([service.variable] if is_its_own else [])]

    def confirm(self, question: str, *, default: bool = True) -> bool:
        if self.yes:
            return True
        return self.is_terminal and click.confirm(safe(question), default=default, err=True)
