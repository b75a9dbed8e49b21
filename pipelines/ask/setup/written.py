"""The two files that `init` writes: whole or not at all, and secrets private from their first byte."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.ask.setup.config_text import Setting, edited, is_new
from sources.core.config import ConfigError, read_settings

__all__ = ["Project"]


@dataclass
class Project:
    """A folder's settings, and what is to be set in them. Nothing is written before `write`."""

    folder: Path
    config: list[Setting] = field(default_factory=list)
    secrets: list[Setting] = field(default_factory=list)

    @property
    def files(self) -> dict[Path, list[Setting]]:
        """Secrets first: a run between the two reads nothing without its token."""
        return {self.folder / ".dlt" / "secrets.toml": self.secrets, self.folder / ".dlt" / "config.toml": self.config}

    def held(self, source: str, key: str) -> object:
        """What the files say now, whatever the environment says."""
        sources = read_settings(self.folder / ".dlt", {}).get("sources", {})
        table = sources.get(source, {}) if isinstance(sources, dict) else {}
        return table.get(key) if isinstance(table, dict) else None

    def news(self) -> dict[Path, list[Setting]]:
        """What the files do not say yet."""
        held = read_settings(self.folder / ".dlt", {})
        return {
            file: new for file, all_ in self.files.items() if (new := [each for each in all_ if is_new(each, held)])
        }

    def write(self) -> None:
        """Both texts are made before the first is written."""
        texts = {file: edited(_text(file), settings, file) for file, settings in self.news().items()}
        for file, text in texts.items():
            _replace(file, text, is_secret=file.name == "secrets.toml")


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode() if file.exists() else ""
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8") from None


def _replace(file: Path, text: str, *, is_secret: bool) -> None:
    """Where a link leads, there. Anybody may read what is no secret, as the umask has it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    target = file.resolve()
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)  # of a killed one
    mode = 0o600 if is_secret else 0o666
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            if not is_secret and target.exists():
                os.fchmod(opened.fileno(), target.stat().st_mode & 0o777)
            opened.write(text.encode())
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
