"""Lets `dlt pipeline earshot_github info` find our pipelines without options.

dlt keeps working directories in the user's home; ours lie beside the warehouse whose cursors they hold, because a
cursor without its rows loses data. This plugin of dlt's says so to its command line, and only inside an Earshot
project. Before there is real data, the demo's pipelines are shown.
"""

import os
from pathlib import Path
from typing import Any

import dlt.common.runtime.run_context as run_context
from dlt.common.configuration.plugins import hookimpl

from pipelines.warehouse.version import refuse_control

__all__ = ["plug_run_context"]


@hookimpl(tryfirst=True)
def plug_run_context(run_dir: str | None, runtime_kwargs: dict[str, Any] | None) -> run_context.RunContext | None:
    folder = Path(run_dir or ".").resolve()
    return _EarshotContext(str(folder)) if _is_earshot(folder) else None


class _EarshotContext(run_context.RunContext):
    def get_data_entity(self, entity: str) -> str:
        if entity != "pipelines" or "DLT_DATA_DIR" in os.environ:
            return str(super().get_data_entity(entity))
        data = self._data_dir()
        is_demo = (data / "demo" / "dlt").is_dir() and not (data / "dlt").is_dir()
        held = data / "demo" if is_demo else data
        refuse_control(held / "control.sqlite")
        return str(held / "dlt")

    def _data_dir(self) -> Path:
        from pipelines.settings import data_dir

        return data_dir(Path(self.run_dir))


def _is_earshot(folder: Path) -> bool:
    """By its configuration, or where that names sources alone, by what a run has left in `data/`."""
    if any((folder / "data" / name / "control.sqlite").is_file() for name in (".", "demo")):
        return True
    try:
        return "[earshot]" in (folder / ".dlt" / "config.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
