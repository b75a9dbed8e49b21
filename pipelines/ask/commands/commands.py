"""The whole command line, described for programs; and completion for shells."""

from typing import TYPE_CHECKING, Any

import click

from pipelines.ask.format.answer import Answer, answering

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["commands", "completion"]

EXIT_CODES = {
    "0": "all done",
    "1": "failed, nothing found, or a check that did not pass",
    "2": "wrong usage or configuration",
    "3": "some scopes failed, the rest landed",
    "4": "another run holds the lock",
    "6": "a named target cannot be read, nothing was written",
    "130": "cancelled",
}
ENVELOPE = {
    "ok": "true or false",
    "data": "the answer, null on an error",
    "error": {"code": "NOT_FOUND, …", "message": "what is wrong", "hint": "what to do"},
    "meta": {"exit_code": 0},
}
SHELLS = ("bash", "zsh", "fish")


@click.command()
@answering
def commands() -> Answer:
    """Every command; with --json described for programs."""
    root = click.get_current_context().find_root()
    described = list(_described(root.command, root, "earshot"))
    data = {"commands": described, "exit_codes": EXIT_CODES, "envelope": ENVELOPE}

    def show(console: "Console") -> None:
        from rich.text import Text

        width = max(len(each["name"]) for each in described)
        for each in described:  # in a table the names would give way
            console.print(Text(f"{each['name']:{width}}  {each['help']}"), no_wrap=True, overflow="ellipsis")

    return Answer(data, show)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """A script that teaches SHELL to complete what is typed.

    \b
    eval "$(earshot completion bash)"
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "earshot", "_EARSHOT_COMPLETE").source())


def _described(command: click.Command, context: click.Context, name: str) -> Any:
    """Leaves only: a group is the first word of its commands."""
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            with click.Context(inner, info_name=each, parent=context) as below:
                yield from _described(inner, below, f"{name} {each}")
        return
    told = command.to_info_dict(context)
    parameters = [_parameter(each) for each in told["params"] if each["name"] != "help"]
    yield {"name": name, "help": command.get_short_help_str(200), "parameters": parameters}


def _parameter(told: dict[str, Any]) -> dict[str, Any]:
    default = told["default"]
    return {
        "name": told["name"],
        "kind": told["param_type_name"],
        "flags": [*told["opts"], *told["secondary_opts"]],
        "type": "choice" if told["type"].get("choices") else told["type"]["name"],
        "choices": list(told["type"].get("choices", ())),
        "is_required": told["required"],
        "is_flag": told.get("is_flag", False),
        "is_repeatable": told["multiple"] or told["nargs"] == -1,
        "default": default if isinstance(default, str | int | float | bool) else None,
        "help": told.get("help"),
    }
