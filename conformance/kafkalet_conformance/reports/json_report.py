"""A run as JSON, and back.

The file is an object with `format` ("kafkalet-conformance"), `format_version` and `counts`, and the fields of the
dataclass `Run`; objects inside have the fields of their dataclasses. Outcomes are their texts ("as Kafka"), bytes are
hexadecimal. A difference without `expected` or `actual` is about a field that only the other response has. Numbers that
JSON cannot represent are objects such as `{"$float": "nan"}`. `counts` repeats the number of scenarios and responses by
outcome, and is not read. The version of the format changes when a field changes its meaning or is removed.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kafkalet_conformance.playing.matching import MISSING, Missing
from kafkalet_conformance.results import Outcome, Run

FORMAT = "kafkalet-conformance"
FORMAT_VERSION = 1
FLOAT = "$float"


class NotAReport(Exception):
    """A file is not a report that can be read. The message says why."""


def dumps(run: Run) -> str:
    """Return a run as JSON."""
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "counts": counts(run)}
    return json.dumps(head | encode(run), allow_nan=False, separators=(",", ":")) + "\n"


def counts(run: Run) -> dict[str, dict[str, int]]:
    """Return the number of scenarios and of responses by outcome."""
    return {
        "scenarios": {str(outcome): run.counts()[outcome] for outcome in Outcome},
        "responses": {str(outcome): run.case_counts()[outcome] for outcome in Outcome},
    }


def loads(text: str | bytes) -> Run:
    """Read what `dumps` returned. Raises NotAReport."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotAReport(f"it is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NotAReport("it is not a report of kafkalet conform; write one with --json")
    if (version := content.get("format_version")) != FORMAT_VERSION:
        raise NotAReport(
            f"its format has version {version}, and this kafkalet reads version {FORMAT_VERSION}; write it again"
        )
    run: Run = decode(Run, content, "")
    return run


def read(path: str) -> Run:
    """Read a report from a file. Raises NotAReport."""
    try:
        with open(path, "rb") as file:
            return loads(file.read())
    except OSError as error:
        raise NotAReport(f"it cannot be read: {error.strerror or error}") from error


def encode(value: Any) -> Any:
    """Return a value of the dataclasses as values of JSON."""
    match value:
        case Enum():
            return value.value
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return {FLOAT: repr(value)}
        case Mapping():
            inner = {str(key): encode(item) for key, item in value.items()}
            return {FLOAT: inner} if inner.keys() == {FLOAT} else inner
        case list() | tuple():
            return [encode(item) for item in value]
    if is_dataclass(value):
        named = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {name: encode(item) for name, item in named if not isinstance(item, Missing)}
    return value


def decode(kind: Any, value: Any, path: str) -> Any:
    """Return the value of type `kind` from which `encode` made `value`."""
    if kind is Any:
        return _plain(value)
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise NotAReport(f"{path or 'the report'} is not an object")
        return kind(**_fields(kind, value, path))
    origin, inner = get_origin(kind), get_args(kind)
    try:
        if origin is tuple:
            return _tuple(inner, value, path)
        if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
            return {key: decode(inner[1], item, f"{path}.{key}") for key, item in value.items()}
        if origin is Literal:
            return _checked(value, value in inner, path)
        if origin in (Union, UnionType):
            return None if value is None and type(None) in inner else decode(inner[0], value, path)
        if kind is bytes:
            return bytes.fromhex(value)
        if kind is float:
            return float(_plain(value))
        if issubclass(kind, Enum):
            return kind(value)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise NotAReport(f"{path} has the unexpected value {str(value)[:100]!r}") from error
    return _checked(value, type(value) is kind, path)


def _checked(value: Any, good: bool, path: str) -> Any:
    if not good:
        raise NotAReport(f"{path} has the unexpected value {str(value)[:100]!r}")
    return value


def _tuple(inner: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    _checked(value, isinstance(value, list), path)
    kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
    _checked(value, len(kinds) == len(value), path)
    both = enumerate(zip(kinds, value, strict=True))
    return tuple(decode(kind, item, f"{path}[{number}]") for number, (kind, item) in both)


def _fields(kind: type, value: dict[str, Any], path: str) -> dict[str, Any]:
    found = {}
    for name, (hint, has_default) in _declared(kind).items():
        place = f"{path}.{name}".lstrip(".")
        if name in value:
            found[name] = decode(hint, value[name], place)
        elif not has_default:
            found[name] = _checked(MISSING, hint is Any, place)
    return found


@cache
def _declared(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field of a dataclass, and whether it has a default."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is not NO_DEFAULT or each.default_factory is not NO_DEFAULT)
        for each in fields(kind)
    }


def _plain(value: Any) -> Any:
    match value:
        case dict() if value.keys() == {FLOAT}:
            inner = value[FLOAT]
            return float(inner) if isinstance(inner, str) else _plain_items(inner)
        case dict():
            return _plain_items(value)
        case list():
            return [_plain(item) for item in value]
    return value


def _plain_items(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(item) for key, item in value.items()}
