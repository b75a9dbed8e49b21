"""`earshot ack`: a consumer has dealt with these events; it is not shown them again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pipelines.ask.format.answer import Answer, Refusal, answering, typed
from pipelines.ask.format.shown import line
from pipelines.ask.query.acks import acknowledge
from pipelines.ask.query.published import home, published

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["ack"]

NAMED = 5


@click.command()
@click.argument("event_keys", metavar="EVENT_KEY…", nargs=-1, required=True)
@click.option("--as", "consumer", metavar="CONSUMER", required=True, help="Who has dealt with them.")
@answering
def ack(event_keys: tuple[str, ...], consumer: str) -> Answer:
    """Mark events as dealt with by CONSUMER, once and for ever.

    `-` reads keys from standard input, one a line. Tells which were new and which
    were marked before. A key nobody has heard of refuses them all, by name.
    """
    keys = [key for given in event_keys for key in (_from_stdin() if given == "-" else [given])]
    consumer = consumer.strip()
    if not consumer:
        raise click.UsageError("--as: a consumer needs a name")
    _refuse_unknown(keys)
    acked = acknowledge(home(), consumer, keys)

    def show(console: "Console") -> None:
        console.print(f"{len(acked.new):,} acknowledged as {line(consumer)}", soft_wrap=True)
        for key, when in acked.already.items():
            console.print(f"already on {line(when)}: {line(key)}", soft_wrap=True)

    already = [{"event_key": key, "processed_at": when} for key, when in acked.already.items()]
    return Answer({"consumer": consumer, "new": acked.new, "already": already}, show)


def _from_stdin() -> list[str]:
    return [stripped for each in typed().split("\n") if (stripped := each.strip())]


def _refuse_unknown(keys: Sequence[str]) -> None:
    with published() as warehouse:
        warehouse.hold_each("named", keys)
        unknown = warehouse.rows(
            "SELECT key FROM named WHERE key NOT IN (SELECT event_key FROM feedback.events) ORDER BY key"
        )
    if unknown:
        named = ", ".join(str(row["key"]) for row in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        raise Refusal(
            "NOT_FOUND",
            f"no such event: {named}{more}; nothing was acknowledged",
            "`earshot list events` tells their keys",
        )
