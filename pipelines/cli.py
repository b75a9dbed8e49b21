"""`earshot`: the commands people and programs type. Each is imported when it is asked for: a question is answered in a
blink, and pays nothing for what a run needs.
"""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

__all__ = ["JsonErrors", "Lazy", "main"]

COMMANDS = {
    "init": "pipelines.ask.setup.init:init",
    "doctor": "pipelines.ask.setup.doctor:doctor",
    "sync": "pipelines.run:main",
    "list": "pipelines.ask.commands.listing:listing",
    "show": "pipelines.ask.commands.show:show",
    "open": "pipelines.ask.commands.show:open_",
    "count": "pipelines.ask.commands.count:count",
    "search": "pipelines.ask.commands.search:search",
    "status": "pipelines.ask.commands.status:status",
    "quarantine": "pipelines.ask.commands.decide.quarantine:quarantine",
    "ack": "pipelines.ask.commands.decide.ack:ack",
    "reply": "pipelines.ask.commands.decide.reply:reply",
    "watch": "pipelines.ask.commands.decide.follow:watch",
    "unwatch": "pipelines.ask.commands.decide.follow:unwatch",
    "resume": "pipelines.ask.commands.decide.follow:resume",
    "link": "pipelines.ask.commands.decide.follow:link",
    "unlink": "pipelines.ask.commands.decide.follow:unlink",
    "reset": "pipelines.sync.reset:reset",
    "move": "pipelines.sync.move:move",
    "index": "pipelines.ask.commands.index:index",
    "verify": "pipelines.ask.commands.verify:verify",
    "sql": "pipelines.ask.commands.sql:sql",
    "schema": "pipelines.ask.commands.schema:schema",
    "digest": "pipelines.ask.commands.digest:digest",
    "mcp": "pipelines.ask.agents.command:mcp",
    "commands": "pipelines.ask.commands.commands:commands",
    "completion": "pipelines.ask.commands.commands:completion",
}
USAGE = 2


class JsonErrors(click.Command):
    """As click does it; but a program that asked for JSON is told in JSON also what it typed wrong."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        if "--json" not in given or not options.get("standalone_mode", True):
            return super().main(given, *more, **options)
        try:
            code = super().main(given, *more, **{**options, "standalone_mode": False})
        except click.ClickException as error:
            from pipelines.sync.output.summary import envelope

            envelope(False, None, {"code": "USAGE", "message": error.format_message(), "exit_code": USAGE})
            code = USAGE
        except click.Abort:
            code = 130
        sys.exit(code if isinstance(code, int) else 0)


class Lazy(JsonErrors, click.Group):
    """Commands by name and address; help comes in the order of the table."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, n=1)):
            context.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(context, args)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "--version", package_name="earshot-warehouse", message="earshot %(version)s")
def main() -> None:
    """Everything people say about your software, within earshot."""


if __name__ == "__main__":
    main(prog_name="earshot")
