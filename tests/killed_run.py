"""`pipelines/run.py`, in a process that gets a signal before or after the Nth call of some function.

python killed_run.py pipelines.warehouse.files:os.replace before 1 9 --sweep

`module:path` names the function as that module sees it. In the environment, `CHUNK_ROWS` makes landings small, and
`MAIN` names another command.
"""

import functools
import importlib
import os
import sys
from types import ModuleType
from typing import Any


class Seen:
    """Another module as one module sees it: what is changed here changes for nobody else."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def arm(where: str, moment: str, call: int, signal: int) -> None:
    module, _, path = where.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        inner = getattr(owner, parent)
        if isinstance(inner, ModuleType):
            inner = Seen(inner)
            setattr(owner, parent, inner)
        owner = inner
    original, calls = getattr(owner, name), 0

    @functools.wraps(original)
    def armed(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if moment == "after" and calls == call:
            result = original(*args, **kwargs)
            os.kill(os.getpid(), signal)
            return result
        if calls == call:
            os.kill(os.getpid(), signal)
        return original(*args, **kwargs)

    setattr(owner, name, armed)


def main() -> None:
    where, moment, call, signal = sys.argv[1:5]
    if "CHUNK_ROWS" in os.environ:
        import pipelines.sync.run

        smaller = functools.partial(pipelines.sync.run.Options, chunk_rows=int(os.environ["CHUNK_ROWS"]))
        pipelines.sync.run.Options = smaller  # type: ignore[misc, assignment]
    arm(where, moment, int(call), int(signal))
    module, _, command = os.environ.get("MAIN", "pipelines.run:main").partition(":")
    getattr(importlib.import_module(module), command)(sys.argv[5:])


if __name__ == "__main__":
    main()
