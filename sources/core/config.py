"""Settings in dlt's own places: .dlt/config.toml, .dlt/secrets.toml, then the environment (`SOURCES__GITHUB__TOKEN`).

A setting is a field of a dataclass; its annotation is its type. What no field names is refused with the nearest right
name, because a misspelt key that is silently ignored looks exactly like a working one.
"""

import dataclasses
import difflib
import os
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import orjson

__all__ = ["ConfigError", "Secret", "check_address", "check_token", "read_settings", "section"]

Settings = dict[str, object]
T = typing.TypeVar("T")


class ConfigError(Exception):
    """A setting that cannot be used, in one line that names it."""


class Secret(str):
    """A token: usable as text, never shown by repr, logs or tracebacks."""

    def __repr__(self) -> str:
        return "'***'" if self else "''"


def read_settings(folder: Path, environ: Mapping[str, str] = os.environ) -> Settings:
    """All settings as one nested dict; later places win over earlier ones."""
    settings: Settings = {}
    for name in ("config.toml", "secrets.toml"):
        path = folder / name
        if path.is_file():
            try:
                _merge(settings, tomllib.loads(path.read_text(encoding="utf-8")))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ConfigError(f"{path} is not valid TOML: {error}") from None
    for key, text in environ.items():
        parts = key.lower().split("__")
        if parts[0] in ("sources", "earshot", "destination") and len(parts) > 1:
            _merge(settings, _nested(parts, text))
    return settings


def section(settings: Settings, name: str, shape: type[T]) -> T:
    """The section `name` (dotted) as the dataclass `shape`; unknown keys and wrong types are refused by name."""
    found: object = settings
    for part in name.split("."):
        found = found.get(part, {}) if isinstance(found, dict) else found
    return _shaped(name, found, shape)


def _shaped(name: str, found: object, shape: type[T]) -> T:
    if not isinstance(found, dict):
        raise ConfigError(f"[{name}] is not a table")
    fields = {field.name: field for field in dataclasses.fields(shape) if field.init}  # type: ignore[arg-type]
    hints = typing.get_type_hints(shape)
    refuse_unknown(f"[{name}]", found, fields)
    return shape(**{key: _typed(f"[{name}] {key}", value, hints[key]) for key, value in found.items()})


def check_address(where: str, url: str, key: str = "api_url") -> None:
    """A service's address must name scheme and host: everything asked of it, and its token, goes there."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        known = False
    if not known:
        raise ConfigError(f"{where} {key}: {url!r} is not an address like https://api.example.com")


def check_token(where: str, token: str) -> None:
    """A header takes no other signs; what the wrong one is, is not said."""
    if not token.isascii() or any(not sign.isprintable() or sign.isspace() for sign in token):
        raise ConfigError(f"{where} has a space, a line's end or a letter beyond ASCII in it: was it copied as it is?")


def refuse_unknown(where: str, found: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"{where}: unknown setting {key!r}; {hint}")


def _merge(into: Settings, new: Mapping[str, object]) -> None:
    for key, value in new.items():
        old = into.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            _merge(old, value)
        else:
            into[key] = value


def _nested(parts: list[str], text: str) -> Settings:
    return {parts[0]: text if len(parts) == 1 else _nested(parts[1:], text)}


def _typed(where: str, value: object, hint: object) -> object:
    """`value` as `hint`; the environment's text is read as JSON where the hint is not text."""
    if isinstance(hint, types.UnionType):
        hint = next(arm for arm in hint.__args__ if arm is not type(None))
    origin = typing.get_origin(hint) or hint
    if isinstance(origin, type) and dataclasses.is_dataclass(origin):
        return _shaped(where.replace("] ", ".").lstrip("["), value, origin)
    if isinstance(value, str) and origin not in (str, Secret):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = [part.strip() for part in str(value).split(",") if part.strip()] if origin is list else value
    if origin is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if origin is Secret and isinstance(value, str):
        return Secret(value)
    wrong_bool = isinstance(value, bool) and origin is not bool
    if not isinstance(origin, type) or not isinstance(value, origin) or wrong_bool:
        raise ConfigError(f"{where}: expected {getattr(hint, '__name__', hint)}, got {type(value).__name__}")
    arms = typing.get_args(hint)
    if origin is list:
        return [_typed(f"{where}[{i}]", item, arms[0]) for i, item in enumerate(typing.cast(list[object], value))]
    if origin is dict:
        items = typing.cast(dict[str, object], value).items()
        return {key: _typed(f"{where}.{key}", item, arms[1]) for key, item in items}
    return value
