"""What somebody gets who clones and installs: declared, licensed, ours by name, and without their secrets in an image."""

import ast
import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"sources", "pipelines", "tests", "bench"}
# what only works after an extra was installed, besides what is imported inside of functions
ROOMS = {
    "pipelines/charts": "notebooks",
    "notebooks": "notebooks",
    "pipelines/ask/agents": "agents",
    "pipelines/warehouse/postgres": "postgres",
    "pipelines/warehouse/ducklake": "ducklake",
}


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """Top-level names of others' packages, and whether a plain import of the file asks for them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        else:
            found = [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in found:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OURS:
                yield top, node in tree.body


@pytest.mark.parametrize("room", ["sources", "pipelines", "notebooks", "bench", "tests"])
def test_whatever_is_imported_is_declared(room: str) -> None:
    """Not left to what some other package happens to bring: by a plain install, or for its room by an extra."""
    plain, of = names(PROJECT["dependencies"]), packages_distributions()
    anywhere = plain | {name for extra in EXTRAS.values() for name in names(extra)}
    for path in sorted((ROOT / room).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        extra = next((extra for folder, extra in ROOMS.items() if place.startswith(folder + "/")), "")
        for name, at_once in imported(path):
            carriers = {canonicalize_name(each) for each in of.get(name, [])}
            if not carriers:
                continue  # an extra that is not installed here; CI has them all
            wanted = plain | names(EXTRAS[extra] if extra else [])
            known = wanted if at_once and room not in ("bench", "tests") else anywhere
            assert carriers & known, f"{place} imports {name}, of {', '.join(sorted(carriers))}"


def test_the_pins_are_of_what_is_declared() -> None:
    """`-c constraints.txt` decides each version that is declared, and no pin contradicts its declaration."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines)
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    for each in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]:
        wanted = Requirement(each)
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, each


def test_it_is_licensed_under_its_own_name() -> None:
    """`earshot` on the index is somebody else's program: nobody must be led to install that."""
    assert canonicalize_name(PROJECT["name"]) != "earshot" and "earshot" in PROJECT["scripts"]
    text = (ROOT / PROJECT["license-files"][0]).read_text(encoding="utf-8")
    assert PROJECT["license"] == "MIT" and text.startswith("MIT License") and "the Earshot authors" in text
    assert not any(each.startswith("License ::") for each in PROJECT["classifiers"]), "the build refuses both"


def test_a_clone_is_what_one_installs() -> None:
    """No page and no message tells anybody to install by a name from an index."""
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, told):
        path = ROOT / name
        if path.suffix in (".png", ".yaml") or path == Path(__file__) or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:install (?:-\S+ )*['\"]?|'|`)earshot\[", text), name
        for extra in re.findall(r"-e '\.\[([a-z,]+)\]'", text):
            assert set(extra.split(",")) <= set(EXTRAS), f"{name}: {extra}"


def goes_along(name: str) -> bool:
    """Whether `.dockerignore` lets a file into the build context: its last line that fits decides."""
    kept = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!").strip("/")
        if not line or line.startswith("#"):
            continue
        parts = name.split("/")
        heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        any_depth = pattern.removeprefix("**/")
        fits = any(fnmatch.fnmatchcase(head, pattern) and head.count("/") == pattern.count("/") for head in heads)
        if any_depth != pattern:
            fits = fits or any(fnmatch.fnmatchcase(part, any_depth) for part in parts)
        if fits:
            kept = line.startswith("!")
    return kept


def test_an_image_is_built_of_the_project_alone() -> None:
    """All that the recipe copies goes into the build context; no secret, no data, no history, no cache does."""
    lines = (ROOT / "recipes" / "Containerfile").read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    for part in (part for parts in copied for part in parts):
        files = (
            [ROOT / part] if (ROOT / part).is_file() else [*(ROOT / part).rglob("*.py"), *(ROOT / part).rglob("*.sql")]
        )
        assert files and all(goes_along(file.relative_to(ROOT).as_posix()) for file in files), part
    assert set(PROJECT["license-files"]) | {PROJECT["readme"]} <= {part for parts in copied for part in parts}
    for name in (
        ".dlt/secrets.toml", ".dlt/prod.secrets.toml", ".env", "data/published.duckdb", "data-ci/control.sqlite",
        ".git/config", ".venv/bin/python", "pipelines/__pycache__/cli.pyc", "build/lib/x.py", "backup.dump",
        "earshot_warehouse.egg-info/PKG-INFO", "tests/test_package.py",
    ):  # fmt: skip
        assert not goes_along(name), name
