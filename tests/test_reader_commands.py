"""`earshot commands`, completion, help: the command line describes itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pipelines.cli import COMMANDS, main
from tests.asked import Reader


def test_programs_are_told_every_command_and_option(demo: Reader) -> None:
    """As it is, so that it cannot lag behind: the surgical ones of `sync` will be there the day they are."""
    told = demo.data("commands")
    commands = {each["name"]: each for each in told["commands"]}
    assert {name.split()[1] for name in commands} == COMMANDS.keys()
    options = {each["name"]: each for each in commands["earshot list mrs"]["parameters"]}
    assert options["draft"]["flags"] == ["--draft", "--no-draft"] and options["draft"]["is_flag"]
    assert options["labels"]["is_repeatable"] and options["limit"]["default"] == 20
    assert options["state"]["choices"] == ["open", "merged", "closed", "locked", "all", "opened"]
    assert commands["earshot ack"]["parameters"][0] == {
        "name": "event_keys", "kind": "argument", "flags": ["event_keys"], "type": "text", "choices": [], "is_required": True,
        "is_flag": False, "is_repeatable": True, "default": None, "help": None,
    }  # fmt: skip
    assert "full" in {each["name"] for each in commands["earshot sync"]["parameters"]}
    assert set(told["exit_codes"]) == {"0", "1", "2", "3", "4", "6", "130"} and told["envelope"]["ok"]


def test_people_are_told_too(demo: Reader) -> None:
    """One line a command, in the table and in the help."""
    narrow = demo.ask("commands", width=60).out.splitlines()
    assert any(line.startswith("earshot list threads  ") for line in narrow), "whole, also where there is little room"
    assert narrow[0].endswith("…") and max(map(len, narrow)) == 60
    lines = demo.ask("commands", width=160).lines
    assert len(lines) == len(demo.data("commands")) or any(line.startswith("earshot list mrs ") for line in lines)
    for name in COMMANDS:
        assert demo.ask(name, "--help").code == 0
    for noun in ("mr", "issue", "pr"):
        assert "console/847" in demo.ask("show", noun, "--help").out
    assert "Who opened or said it" in demo.ask("list", "events", "--help").out, "an event has an author, no opener"


def test_every_reading_command_takes_json(demo: Reader) -> None:
    """The one envelope, everywhere; only a shell's script and an agent's server are no answers."""
    for each in demo.data("commands")["commands"]:
        has_json = "as_json" in {parameter["name"] for parameter in each["parameters"]}
        assert has_json == (each["name"] not in ("earshot completion", "earshot mcp")), each["name"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script(demo: Reader, shell: str) -> None:
    asked = demo.ask("completion", shell)
    assert asked.code == 0 and "_EARSHOT_COMPLETE" in asked.out


def test_completion_knows_commands_options_and_projects(demo: Reader) -> None:
    """What a shell asks when somebody presses tab."""
    folder = Path(__file__).parent.parent

    def tab(line: str) -> list[str]:
        words = line.split(" ")
        environ = {
            **os.environ, "PYTHONPATH": str(folder), "EARSHOT_DATA": str(demo.home.path), "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1), "_EARSHOT_COMPLETE": "bash_complete",
        }  # fmt: skip
        command = [sys.executable, "-m", "pipelines.cli"]
        found = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, cwd=folder)
        return [word.partition(",")[2] for word in found.stdout.splitlines()]

    assert tab("earshot lis") == ["list"] and tab("earshot list m") == ["mrs"]
    assert "--reviewer" in tab("earshot list mrs --r")
    assert tab("earshot list mrs -p lantern/c") == ["lantern/charts", "lantern/console"]


def cut_short(command: click.Command, name: str) -> list[str]:
    """Lines of help that end before their sentence does, here and below, on 80 columns."""
    context = click.Context(command, info_name=name, terminal_width=80, max_content_width=80)
    found = [line for line in command.get_help(context).splitlines()[1:] if line.rstrip().endswith("...")]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below
            found += cut_short(below, f"{name} {each}")
    return found


def test_help_ends_in_full() -> None:
    assert cut_short(main, "earshot") == []


def test_the_version_is_told(demo: Reader) -> None:
    asked = demo.ask("--version")
    assert asked.code == 0 and re.fullmatch(r"earshot \d+\.\d+\.\d+\S*\n", asked.out)
