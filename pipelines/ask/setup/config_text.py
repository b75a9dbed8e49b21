"""The text of a TOML file with a few values set. All else stays as somebody wrote it: comments, order, other keys.

tomlkit keeps the text (dlt brings it along); what it makes is parsed again and compared with what was meant, so that
nothing is ever written that says anything else.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sources.core.config import ConfigError

__all__ = ["Setting", "edited", "is_new"]


@dataclass(frozen=True)
class Setting:
    """A list's further members, or a value, in `[sources.NAME]`."""

    source: str
    key: str
    value: str | list[str]

    @property
    def where(self) -> str:
        return f"[sources.{self.source}] {self.key}"


def edited(text: str, settings: Iterable[Setting], file: Path) -> str:
    """`text` with these settings; itself, where it says so already. Raises `ConfigError` where it cannot be edited."""
    wanted = [each for each in settings if is_new(each, _parsed(text, file))]
    if not wanted:
        return text
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    meant: dict[str, Any] = _parsed(text, file)
    try:
        document = tomlkit.parse(text)
        for each in wanted:
            _set(meant, each, dict)
            _set(document, each, tomlkit.table)
        made = tomlkit.dumps(document)
        is_right = tomllib.loads(made) == meant
    except (TOMLKitError, tomllib.TOMLDecodeError, AttributeError, TypeError):
        is_right = False
    if not is_right:
        told = "; ".join(f"{each.where}" for each in wanted)
        raise ConfigError(f"{file} is written in a way that cannot be edited without loss: set {told} there by hand")
    return made


def is_new(setting: Setting, settings: dict[str, Any]) -> bool:
    """Whether these settings do not say so yet."""
    table = settings.get("sources", {})
    table = table.get(setting.source, {}) if isinstance(table, dict) else {}
    held = table.get(setting.key) if isinstance(table, dict) else None
    if isinstance(setting.value, list):
        return bool(_missing(setting.value, held if isinstance(held, list) else []))
    return bool(held != setting.value)


def _set(document: Any, setting: Setting, table: Any) -> None:
    if "sources" not in document:
        document["sources"] = table()
    sources = document["sources"]
    if setting.source not in sources:
        sources[setting.source] = table()
    place = sources[setting.source]
    if isinstance(setting.value, list) and setting.key in place:
        if not isinstance(place[setting.key], list):
            raise TypeError("a text that names several")  # which would be lost
        for member in _missing(setting.value, place[setting.key]):
            place[setting.key].append(member)
    else:
        place[setting.key] = setting.value


def _missing(wanted: list[str], held: Iterable[object]) -> list[str]:
    """Names differ by more than the case of their letters on no service."""
    known = {str(each).casefold() for each in held}
    return [each for each in wanted if each.casefold() not in known]


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
