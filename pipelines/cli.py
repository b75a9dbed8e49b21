"""`earshot`: the commands people and programs type. Each is imported when it is asked for: a question is answered in a
blink, and pays nothing for what a run needs.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

__all__ = ["Lazy", "Told", "main"]

COMMANDS = {
    "sync": "pipelines.run:main",
    "list": "pipelines.ask.listing:listing",
    "show": "pipelines.ask.show:show",
    "open": "pipelines.ask.show:open_",
    "count": "pipelines.ask.count:count",
    "search": "pipelines.ask.search:search",
    "status": "pipelines.ask.status:status",
    "quarantine": "pipelines.ask.quarantine:quarantine",
    "ack": "pipelines.ask.ack:ack",
    "reply": "pipelines.ask.reply:reply",
    "watch": "pipelines.ask.follow:watch",
    "unwatch": "pipelines.ask.follow:unwatch",
    "resume": "pipelines.ask.follow:resume",
    "link": "pipelines.ask.follow:link",
    "unlink": "pipelines.ask.follow:unlink",
    "reset": "pipelines.reset:reset",
    "move": "pipelines.move:move",
    "index": "pipelines.ask.index:index",
    "verify": "pipelines.ask.verify:verify",
    "sql": "pipelines.ask.sql:sql",
    "schema": "pipelines.ask.schema:schema",
    "commands": "pipelines.ask.commands:commands",
    "completion": "pipelines.ask.commands:completion",
}
USAGE = 2


class Told(click.Command):
    """As click does it; but a program that asked for JSON is told in JSON also what it typed wrong."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        if "--json" not in given or not options.get("standalone_mode", True):
            return super().main(given, *more, **options)
        try:
            code = super().main(given, *more, **{**options, "standalone_mode": False})
        except click.ClickException as error:
            from pipelines.screen import envelope

            envelope(False, None, {"code": "USAGE", "message": error.format_message(), "exit_code": USAGE})
            code = USAGE
        except click.Abort:
            code = 130
        sys.exit(code if isinstance(code, int) else 0)


class Lazy(Told, click.Group):
    """Commands by name and address; help comes in the order of the table."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

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
