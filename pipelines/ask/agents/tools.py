"""What a tool is: a command of `earshot`, those of its options that an agent may set, and what is not its option."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from pipelines.ask.format.answer import USAGE, Refusal
from pipelines.ask.query.known import nearest

__all__ = ["COUNT", "MOST", "TEXT", "Given", "Tool"]

Given = dict[str, Any]
MOST = 100  # rows, and targets
TEXT: Given = {"type": "string"}
COUNT: Given = {"type": "integer", "minimum": 0, "maximum": 10_000_000}
PYTHON: Given = {"string": str, "boolean": bool, "integer": int, "array": list}


@dataclass(frozen=True)
class Tool:
    """One thing that can be asked. `run` is told its command and what is given; an agent reads its docstring."""

    command: str  # below `commands/`: module:name
    options: tuple[str, ...]
    besides: Mapping[str, Given]
    needs: tuple[str, ...]
    reads_only: bool
    run: Callable[[click.Command, Given], str]

    @property
    def asked(self) -> click.Command:
        module, _, names = f"pipelines.ask.commands.{self.command}".partition(":")
        name, *below = names.split(" ")
        found: Any = getattr(import_module(module), name)
        command: click.Command = found.commands[below[0]] if below else found
        return command

    def schema(self) -> Given:
        options = {str(each.name): _described(each) for each in self.asked.params if each.name in self.options}
        known = {**self.besides, **options}
        return {"type": "object", "properties": known, "required": [*self.needs], "additionalProperties": False}

    def answer(self, given: Given) -> str:
        known = self.schema()["properties"]
        for name in given.keys() - known.keys():
            meant = f"; did you mean {near}?" if (near := nearest(name, [*known])) else ""
            raise Refusal("USAGE", f"there is no {name}{meant}", f"there is {', '.join(known)}", USAGE)
        for name in (*self.needs, *given):
            if why := _unfit(given.get(name), known[name]):
                raise Refusal("USAGE", f"{name}: {why}", known[name].get("description", ""), USAGE)
        return self.run(self.asked, dict(given))


def _described(option: click.Parameter) -> Given:
    told = {"description": option.help} if isinstance(option, click.Option) and option.help else {}
    choices = {"enum": [*option.type.choices]} if isinstance(option.type, click.Choice) else {}
    return {"type": "boolean" if getattr(option, "is_flag", False) else "string", **choices, **told}


def _unfit(value: Any, schema: Given) -> str:
    """Why it cannot be that; what a text may be is its command's to say."""
    if type(value) is not PYTHON[schema["type"]]:
        return f"{schema['type']} is asked for" + ("" if value is None else f", not {value!r:.80}")
    if value not in schema.get("enum", [value]):
        return f"{value!r:.80} is none of {', '.join(schema['enum'])}"
    if "maximum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return f"{value} is not within {schema['minimum']} and {schema['maximum']}"
    if len(value) > MOST if isinstance(value, list) else False:
        return f"at most {MOST} at once"
    return next((why for each in value if (why := _unfit(each, schema["items"]))), "") if "items" in schema else ""
