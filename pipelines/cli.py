"""`earshot`: the commands people and programs type."""

import click

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Everything people say about your software, within earshot."""


def _add_commands() -> None:
    from pipelines.ask import sql
    from pipelines.reset import reset
    from pipelines.run import main as sync

    main.add_command(sync, "sync")
    main.add_command(reset)
    main.add_command(sql)


_add_commands()
