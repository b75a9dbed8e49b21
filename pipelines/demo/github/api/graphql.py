"""The demo GitHub's GraphQL: one query, checked as GitHub checks it, and answered part by part.

Refusals come with 200, as there: an unknown field, a list without `first` or with more than 100, more than 500,000
nodes; these answer nothing. A part that is not there is null, named in `errors`, and the others are answered.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.demo.github.api.threads import FIELDS, LISTS, Json, Missing, Viewer, resolve

__all__ = ["Asked", "Wrong", "answer", "parsed"]

MOST_NODES = 500_000
TOKEN = re.compile(r'[\s,]*(?:#[^\n]*)?(\.\.\.|[{}()\[\]:!=$]|"(?:[^"\\]|\\.)*"|-?[0-9]+|[_A-Za-z][_0-9A-Za-z]*|$)')


class Wrong(Exception):
    """The query is refused; with what GitHub says of it."""

    def __init__(self, message: str, **more: Any) -> None:
        super().__init__(message)
        self.error: Json = {**more, "message": message}


@dataclass
class Asked:
    """One field that is asked for."""

    name: str
    alias: str
    arguments: dict[str, Any] = field(default_factory=dict)
    fields: "list[Asked]" = field(default_factory=list)


def answer(text: str, variables: Mapping[str, Any], viewer: Viewer, budget: Json) -> tuple[Json, int]:
    """The body, and how many points it cost; 0: refused."""
    try:
        asked = parsed(text, variables)
        nodes, requests = _checked(asked, "Query", ["query"], 1)
        if nodes > MOST_NODES:
            told = (
                f"This query requests up to {nodes:,} possible nodes which exceeds the maximum limit of {MOST_NODES:,}."
            )
            raise Wrong(told, type="MAX_NODE_LIMIT_EXCEEDED")
    except Wrong as wrong:
        return {"errors": [wrong.error]}, 0
    cost = max(1, round(requests / 100))
    errors: list[Json] = []
    limit = {**budget, "cost": cost, "remaining": max(0, budget["remaining"] - cost)}
    data = _told(asked, viewer, {"rateLimit": limit}, [], errors)
    return {"data": data, **({"errors": errors} if errors else {})}, cost


def parsed(text: str, variables: Mapping[str, Any]) -> list[Asked]:
    """Of a document with one query, without fragments."""
    tokens = [found[1] for found in TOKEN.finditer(text)]
    at = tokens.index("{")
    reader = _Reader(tokens, at, variables)
    fields = reader.fields()
    if tokens[reader.at] != "":
        raise Wrong(f'Expected end of document, actual: "{tokens[reader.at]}"')
    return fields


@dataclass
class _Reader:
    tokens: list[str]
    at: int
    variables: Mapping[str, Any]

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def has(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def fields(self) -> list[Asked]:
        if not self.has("{"):
            return []
        found = list[Asked]()
        while not self.has("}"):
            name = self.next()
            if not re.fullmatch(r"\w+", name):
                raise Wrong(f'Expected a name, actual: "{name}"')
            alias, name = (name, self.next()) if self.has(":") else (name, name)
            found.append(Asked(name, alias, self._arguments(), self.fields()))
        return found

    def _arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.has("("):
            while not self.has(")"):
                name = self.next()
                self.has(":")
                found[name] = self._value()
        return found

    def _value(self) -> Any:
        token = self.next()
        if token == "$":
            name = self.next()
            if name not in self.variables:
                raise Wrong(f"Variable ${name} of type String! was provided invalid value")
            return self.variables[name]
        if token.startswith('"'):
            return token[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        return None if token == "null" else int(token)


def _checked(fields: list[Asked], kind: str, path: list[str], times: int) -> tuple[int, int]:
    """Nodes and requests, by GitHub's arithmetic. Raises for what its schema does not have."""
    nodes = requests = 0
    for asked in fields:
        here = [*path, asked.alias]
        inner = FIELDS[kind].get(asked.name, Missing)
        if inner is Missing:
            told = f"Field '{asked.name}' doesn't exist on type '{kind}'"
            code = {"code": "undefinedField", "typeName": kind, "fieldName": asked.name}
            raise Wrong(told, path=here, extensions=code, locations=[{"line": 1, "column": 1}])
        if (kind, asked.name) in LISTS:
            size = _size(asked)
            here_nodes, here_requests = _checked(asked.fields, str(inner), here, times * size)
            nodes, requests = nodes + times * size + here_nodes, requests + times + here_requests
        elif isinstance(inner, str):
            if not asked.fields:
                raise Wrong(f"Field must have selections (field '{asked.name}' returns {inner} but has no selections)")
            more = _checked(asked.fields, inner, here, times)
            nodes, requests = nodes + more[0], requests + more[1]
    return nodes, requests


def _size(asked: Asked) -> int:
    first = asked.arguments.get("first")
    if first is None:
        told = f"You must provide a `first` or `last` value to properly paginate the `{asked.name}` connection."
        raise Wrong(told, type="MISSING_PAGINATION_BOUNDARIES")
    if first > 100:
        told = f"Requesting {first} records on the `{asked.name}` connection exceeds the `first` limit of 100 records."
        raise Wrong(told, type="EXCESSIVE_PAGINATION")
    return int(first)


def _told(fields: list[Asked], viewer: Viewer, of: Any, path: list[Any], errors: list[Json]) -> Json | None:
    if of is None:
        return None
    found: Json = {}
    for asked in fields:
        here = [*path, asked.alias]
        try:
            value = resolve(asked.name, asked.arguments, viewer, of)
        except Missing as missing:
            error = {
                "type": "NOT_FOUND",
                "path": here,
                "locations": [{"line": 1, "column": 1}],
                "message": str(missing),
            }
            errors.append(error)
            value = None
        if asked.fields and isinstance(value, list):
            value = [_told(asked.fields, viewer, each, [*here, nth], errors) for nth, each in enumerate(value)]
        elif asked.fields:
            value = _told(asked.fields, viewer, value, here, errors)
        found[asked.alias] = value
    return found
