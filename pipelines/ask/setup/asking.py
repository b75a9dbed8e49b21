"""One service in `earshot init`: what is to be read of it, with which token, asked again where somebody can mend it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from pipelines.ask.format.answer import FAILED, USAGE, Refusal
from pipelines.ask.setup.asked import Asked
from pipelines.ask.setup.checks.findings import Finding, is_wrong, show, wrong
from pipelines.ask.setup.checks.services import Service, checked, named
from pipelines.ask.setup.config_text import Setting
from pipelines.ask.setup.written import Project
from pipelines.settings import HttpSource, load, source_of
from sources.core.config import ConfigError, Secret, Settings

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Asking"]

TRIES = 3


@dataclass
class Asking:
    """What was answered so far."""

    service: Service
    asked: Asked
    project: Project
    places: list[str]
    api_url: str = ""  # of a server of one's own, where a link leads to one
    token: Secret = Secret("")  # that was typed

    @classmethod
    def about(cls, service: Service, asked: Asked, project: Project) -> "Asking":
        return cls(service, asked, project, [])

    def findings(self) -> list[Finding]:
        """Once nothing is wrong, what is to be written stands in the project. Nothing is found where nothing is to be
        read of this service.
        """
        found = list[Finding]()
        for tried in range(TRIES):
            again = {each.field for each in found if each.level == "wrong"}
            if not tried or "place" in again:
                self._ask_places(again=tried > 0)
            if not self.places:
                return []
            try:
                self._ask_token(again="token" in again)
                found = self._checked()
            except ConfigError as error:  # a name or a token that nothing could be
                if not self.asked.is_terminal:
                    raise
                found = [wrong(self.service.title, str(error), "", "token" if "token" in str(error) else "place")]
                show(_beside(), found)
            if not is_wrong(found):
                self._keep()
                return found
            fields = {each.field for each in found if each.level == "wrong"}
            if fields == {""} or tried + 1 == TRIES or self.asked.yes or not self.asked.confirm("Mend it now?"):
                break
        is_left_out = not self.asked.yes and self.asked.confirm(f"Go on without {self.service.title}?", default=False)
        return [] if is_left_out else found

    def _ask_places(self, *, again: bool) -> None:
        held = self.project.held(self.service.name, self.service.key)
        words = self.asked.places(self.service, held if isinstance(held, list) else [], again=again)
        self.places, self.api_url = named(self.service, words)
        for key in (self.service.key, *(["api_url"] if self.api_url else [])):
            variable = f"SOURCES__{self.service.name.upper()}__{key.upper()}"
            if self.places and variable in self.asked.environ and self.asked.environ[variable] != self.api_url:
                raise ConfigError(f"{variable} is set in the environment and overrules the files: unset it first")

    def _ask_token(self, *, again: bool) -> None:
        """Where one is wanted and none is known, or the one that is known is no good."""
        if not self.service.variable:
            return
        name, is_typed = self.service.name, bool(self.token)
        if again:
            self.token = Secret("")
        source = source_of(name, self._settings(has_token=not again))
        variables = self.asked.variables(self.service, is_its_own=source.config.api_url == self.service.api_url)
        told = [each for each in variables if self.asked.environ.get(each)]
        if again and told and (told[0] == variables[0] or not (is_typed or self.project.held(name, "token"))):
            raise Refusal("NOT_WRITTEN", f"the token of {told[0]} is no good; set another one there")
        if source.config.token and not again and (told or not self.asked.token_from_env):
            return
        host, page = urlsplit(source.config.api_url).netloc, self.service.make(source.config.api_url)
        self.token = self.asked.token(self.service, variables, host, page, again=again)

    def _settings(self, *, has_token: bool = True) -> Settings:
        """As a run would find them afterwards. A token that was meant for another server is not sent to this one."""
        settings, _ = load(self.project.folder, self.asked.environ)
        sources = settings.get("sources", {})
        known: dict[str, Any] = sources if isinstance(sources, dict) else {}
        table = {**known.get(self.service.name, {}), self.service.key: self.places}
        if self.api_url and self.api_url != table.get("api_url"):
            if f"SOURCES__{self.service.name.upper()}__TOKEN" not in self.asked.environ:
                table.pop("token", None)
            table["api_url"] = self.api_url
        if self.token:
            table["token"] = self.token
        if not has_token:
            table.pop("token", None)
        return {**settings, "sources": {**known, self.service.name: table}}

    def _checked(self) -> list[Finding]:
        source = source_of(self.service.name, self._settings())
        _, config = load(self.project.folder, self.asked.environ)
        click.echo(f"Asking {self.service.title} …", err=True)
        found = checked(self.service, HttpSource(source.only(self.places), config), is_first=True)
        show(_beside(), found)
        return found

    def _keep(self) -> None:
        """What is set otherwise is shown, and changed only after a yes."""
        name, held = self.service.name, self.project.held
        server = held(name, "api_url") or (self.service.api_url if held(name, self.service.key) else None)
        if self.api_url and self.api_url != server:
            self._confirm(server, f"api_url from {server} to {self.api_url}, for all its {self.service.places}")
            if held(name, "token") and not self.token:
                raise Refusal("USAGE", "the token in .dlt/secrets.toml is another server's; remove it first", "", USAGE)
            self.project.config.append(Setting(name, "api_url", self.api_url))
        if self.token:
            self._confirm(held(name, "token") not in (None, self.token), "token in .dlt/secrets.toml to this one")
            self.project.secrets.append(Setting(name, "token", str(self.token)))
        self.project.config.append(Setting(name, self.service.key, self.places))

    def _confirm(self, is_set: object, what: str) -> None:
        if is_set and not self.asked.confirm(f"Change [sources.{self.service.name}] {what}?", default=False):
            told = f"this would change [sources.{self.service.name}] {what}; nothing was written"
            raise Refusal("USAGE", told, "say --yes to change it", USAGE if not self.asked.is_terminal else FAILED)


def _beside() -> "Console":
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=False)
