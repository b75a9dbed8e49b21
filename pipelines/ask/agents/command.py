"""`earshot mcp`: a server that an agent starts and speaks with."""

import gc
import os
import signal
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import click

__all__ = ["mcp"]

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
INSTALL = "earshot mcp needs the extra [agents]: pip install -c constraints.txt -e '.[agents]'"


@click.command()
@click.option("--allow-answers", is_flag=True, help="Also offer `reply`, where a write_token is set.")
@click.option("-C", "--directory", type=FOLDER, metavar="DIR", help="The project: agents start servers elsewhere.")
def mcp(allow_answers: bool, directory: Path | None) -> None:
    """Answer an agent's questions: search, threads, diff notes.

    It speaks the Model Context Protocol on stdin and stdout, and reads what is published; `refresh` reads what is
    named anew. Nothing is said in your name without --allow-answers.
    """
    if not _sdk():
        click.echo(INSTALL, err=True)
        sys.exit(2)
    if directory:
        os.chdir(directory)
    gc.disable()  # until all modules are in: a tenth of the time to the first answer
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # likewise
    from pipelines.ask.agents.questions import TOOLS
    from pipelines.ask.agents.server import serve

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends at once: a thread that waits for words would not hear of it
    if sys.stdin.isatty():
        click.echo("earshot mcp: an agent is expected on stdin; to leave: Ctrl-D", err=True)
    may_reply = allow_answers and _may_write()
    serve({name: tool for name, tool in TOOLS.items() if name != "reply" or may_reply})


def _sdk() -> bool:
    """Is it installed? Then its packages without what their `__init__` brings in: a client and servers over HTTP, of
    which stdio needs none, are a fifth of the time to the first answer.
    """
    places = None
    for name in ("mcp", "mcp.server"):
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return False
        sys.modules[name] = module_from_spec(spec)  # not executed
        places = spec.submodule_search_locations
    return True


def _may_write() -> bool:
    from pipelines.settings import configured, load
    from pipelines.warehouse.configured import its_home
    from sources.core.config import ConfigError

    try:
        if its_home(Path.cwd()).is_demo:
            return True
        sources = [each.source for each in configured(*load(Path.cwd()))]
    except ConfigError as error:
        click.echo(f"earshot mcp: {error}", err=True)
        return False
    if any(hasattr(source, "answers") and source.answers.write_headers for source in sources):
        return True
    click.echo("earshot mcp: --allow-answers, but no write_token is set: `reply` is not offered", err=True)
    return False
