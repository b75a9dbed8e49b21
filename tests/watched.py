"""A record that remembers which of its fields were asked for: a table of them is held to what is really read."""

from typing import Any

__all__ = ["Path", "Watched"]

Path = tuple[str, ...]


class Watched(dict[str, Any]):
    """Remembers which of its fields were asked for."""

    def __init__(self, record: dict[str, Any], seen: set[Path], at: Path = ()) -> None:
        super().__init__({name: watched(value, seen, (*at, name)) for name, value in record.items()})
        self.seen, self.at = seen, at

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add((*self.at, name))
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.seen.add((*self.at, name))
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.seen.add((*self.at, str(name)))
        return super().__contains__(name)


def watched(value: Any, seen: set[Path], at: Path) -> Any:
    if isinstance(value, dict):
        return Watched(value, seen, at)
    return [watched(each, seen, at) for each in value] if isinstance(value, list) else value
