"""SQL models as they lie in their files: a header, one SELECT, comments beside columns. Path = schema.table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

from pipelines.models.glossary import Meaning
from sources.core.values import fingerprint

__all__ = ["BUILT", "SHOWN", "Model", "is_shown", "models_fingerprint", "read_models"]

BUILT = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'feedback' AND table_name = 'events'"
SHOWN = ("feedback", "ops")  # schemas that readers are promised
FOLDER = Path(__file__).parent
SHARED = "kept by, where shared"


@dataclass(frozen=True)
class Model:
    name: str
    sql: str
    header: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        return self.header["description"]

    @property
    def key(self) -> list[str]:
        return _words(self.header.get("key", ""))

    @property
    def not_null(self) -> list[str]:
        return _words(self.header.get("not null", ""))

    @property
    def kept_by(self) -> str | None:
        return self.header.get("kept by")

    @property
    def stage(self) -> str | None:
        return self.header.get("stage")

    @property
    def made_once(self) -> str | None:
        """The TEMP table that a build makes of this view's rows of touched parents, for all models that read it."""
        return f"{self.name.partition('.')[2]}_now" if "made" in self.header else None

    @property
    def parsed_by(self) -> str | None:
        return self.header.get("parsed by")

    @property
    def told(self) -> Meaning:
        return Meaning(self.description, ", ".join(self.key), self.column_comments)

    @cached_property
    def reads(self) -> set[str]:
        return set(re.findall(r"\b(?:FROM|JOIN)\s+([a-z_]+\.[a-z_]+)", self.sql))

    @property
    def column_comments(self) -> dict[str, str]:
        """What stands beside the columns of the last SELECT, which are the model's."""
        columns = re.split(r"^SELECT\b", self.sql, flags=re.M)[-1].partition("\nFROM ")[0]
        said = re.findall(r"(\w+),?[ \t]+--[ \t]*(\S.*)$", columns, re.M)
        return {column: comment.strip() for column, comment in said if column.islower()}


def read_models(folder: Path = FOLDER, *, is_shared: bool = False) -> list[Model]:
    """All models, each after those it reads.

    Where runs land in the tables that readers look into (`is_shared`), what readers see stands still between builds:
    some views are tables there (`kept by, where shared`).
    """
    models = {m.name: m for m in (_read(path, is_shared=is_shared) for path in sorted(folder.glob("*/*.sql")))}
    order = TopologicalSorter({name: model.reads & models.keys() for name, model in models.items()})
    return [models[name] for name in order.static_order()]


def is_shown(name: str) -> bool:
    return name.startswith(tuple(f"{schema}." for schema in SHOWN))


def models_fingerprint(folder: Path = FOLDER) -> str:
    """Of the models and of what reads rows out of them."""
    code = (Path(__file__).with_name(f"{name}.py") for name in ("slash_commands", "glossary"))
    files = [*sorted(folder.glob("*/*.sql")), *code]
    return fingerprint([(path.name, str(path.parent.name), path.read_text()) for path in files])


def _read(path: Path, *, is_shared: bool) -> Model:
    text = path.read_text(encoding="utf-8")
    lines = [line[3:] for line in text.split("\n\n", 1)[0].splitlines() if line.startswith("-- ")]
    header = {"description": ""}
    for line in lines:
        name, colon, value = line.partition(": ")
        if colon and name in ("key", "not null", "kept by", SHARED, "made", "stage", "parsed by"):
            header[name] = value.strip()
        else:
            header["description"] = f"{header['description']} {line}".strip()
    if is_shared and SHARED in header:
        header["kept by"] = header[SHARED]
    return Model(f"{path.parent.name}.{path.stem}", text, header)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
