"""The house itself: rooms are small, nothing flows back, and the core knows neither dlt nor any service."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST = 12
GLUE = ("extraction", "steps", "pipes", "declared")  # between the core and dlt
ROOMS = [folder for top in ("sources", "pipelines") for folder in (ROOT / top, *(ROOT / top).rglob("*/"))]


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module(path): path for top in ("sources", "pipelines") for path in (ROOT / top).rglob("*.py")}


def imported(path: Path, *, late: bool = False) -> Iterator[str]:
    """Whole names of what a file imports as soon as it is imported itself; `late`: also within functions and for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in FILES else node.module for name in names)


@pytest.mark.parametrize("room", sorted({str(room.relative_to(ROOT)) for room in ROOMS if any(room.glob("*.py"))}))
def test_a_room_is_small(room: str) -> None:
    """At most a dozen files or folders of Python: a stranger sees at once what there is."""
    held = [path for path in (ROOT / room).iterdir() if path.suffix == ".py" and path.name != "__init__.py"]
    held += [path for path in (ROOT / room).iterdir() if path.is_dir() and any(path.glob("*.py"))]
    assert len(held) <= MOST, sorted(path.name for path in held)


def test_a_file_is_short() -> None:
    """At most 300 lines, but for what is told in the demo."""
    long = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert not {name: lines for name, lines in long.items() if lines > 300 and not name.startswith("pipelines.demo")}


def test_the_core_knows_neither_dlt_nor_a_service() -> None:
    for name, path in FILES.items():
        if name.startswith("sources.core"):
            ours = {each for each in imported(path, late=True) if each.startswith(("sources", "pipelines", "dlt"))}
            assert all(each.startswith("sources.core") for each in ours), (name, ours)


def test_sources_know_nothing_of_pipelines_nor_of_each_other() -> None:
    """All of them know the core and how walks become dlt's resources; whoever knows neither dlt nor that is pure."""
    for name, path in FILES.items():
        if name.startswith("sources."):
            service = name.split(".")[1]
            for each in imported(path, late=True):
                if each.startswith(("sources.", "pipelines.")):
                    assert each.split(".")[1] in (*GLUE, "core", service) and each.startswith("sources"), (name, each)
                if each.split(".")[0] == "dlt" or each.startswith(tuple(f"sources.{n}" for n in GLUE)):
                    assert name.endswith(tuple(f".{n}" for n in GLUE)), (name, each)


def test_nothing_flows_back() -> None:
    """No module waits for one that waits for it, also for types alone or within a function."""
    graph = {
        name: {each for each in imported(path, late=True) if each in FILES and each != name}
        for name, path in FILES.items()
    }
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
