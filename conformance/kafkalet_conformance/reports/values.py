"""Values and responses as readable lines.

A value is shown as a tree with one field on each line. The names of error codes follow their numbers, characters that
a terminal might interpret are escaped, and long values are shortened, with their length.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.matching import MISSING, InOrder, Missing, normalized
from kafkalet_conformance.results import CaseResult, Difference

MAX_TEXT = 300
MAX_ITEMS = 12
"""How many scalars of an array are shown on one line."""
NOTHING = "(nothing)"
ERROR_CODE = "error_code"
CODES = {int(code): code.name for code in Code}
ORDERS: tuple[InOrder, ...] = (True, False, frozenset({"topics"}))
"""The ways in which the arrays of a response may have been sorted before the comparison."""


class Row(NamedTuple):
    """A line of two responses side by side. A side without this line is None."""

    depth: int
    expected: str | None
    actual: str | None
    differs: bool


def printable(text: str) -> str:
    """Escape the characters that are not printable."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    if len(text) <= limit:
        return text
    end = f"... ({len(text):,} characters)"
    return text[: max(limit - len(end), 16)] + end


def line(value: Any, field: str = "", limit: int = MAX_TEXT) -> str:
    """Return a value on one line. An integer in an error code field is followed by the name of the error."""
    # Nothing after the limit is shown, so that values of megabytes are not converted.
    return shortened("".join(_parts(value, field, limit)), limit)


def _parts(value: Any, field: str, limit: int) -> Iterator[str]:
    match value:
        case Missing():
            yield NOTHING
        case bool() | None:
            yield json.dumps(value)
        case int() if field.endswith(ERROR_CODE):
            yield f"{value} {CODES.get(value, '(unknown error)')}"
        case int() | float():
            yield repr(value)
        case str():
            text = value[: limit * 2]
            rest = f"... ({len(value):,} characters)" if len(value) > len(text) else ""
            yield f'"{printable(text)}"{rest}'
        case dict():
            shown = [item for item in value.items() if not str(item[0]).startswith("#")]
            yield "{"
            for number, (key, item) in enumerate(shown[:MAX_ITEMS]):
                yield f"{', ' if number else ''}{printable(str(key))}: "
                yield from _parts(item, str(key), limit)
            yield _more(len(shown)) + "}"
        case list() | tuple():
            yield "["
            for number, item in enumerate(value[:MAX_ITEMS]):
                yield ", " if number else ""
                yield from _parts(item, field, limit)
            yield _more(len(value)) + "]"
        case _:
            yield printable(repr(value))


def _more(count: int) -> str:
    return f", ... ({count:,} in all)" if count > MAX_ITEMS else ""


def tree(value: Any) -> list[str]:
    """Return a value as indented lines."""
    return [f"{'  ' * row.depth}{row.actual}" for row in rows(value, value, ())]


def last_field(path: str) -> str:
    """Return the name of the last field in the path of a difference."""
    return path.rpartition(".")[2].partition("[")[0]


def sides(difference: Difference, limit: int = MAX_TEXT) -> tuple[str, str]:
    """Return the expected and the actual value of a difference, each on one line."""
    field = last_field(difference.path)
    return line(difference.expected, field, limit), line(difference.actual, field, limit)


def first_difference(case: CaseResult, limit: int = MAX_TEXT) -> str:
    """Return the first difference of a case, and the number of others, on one line."""
    if not case.differences:
        return ""
    expected, actual = sides(case.differences[0], limit)
    more = f" (and {len(case.differences) - 1} more)" if len(case.differences) > 1 else ""
    return f"{case.differences[0].path or 'response'}: expected {expected}, got {actual}{more}"


def rows_of(case: CaseResult) -> list[Row]:
    """Return the expected and the actual response of a case side by side, in the order in which they were compared."""
    if case.actual is None and not case.differences:  # no response
        return list(_different(case.expected, MISSING, "", "", 0))
    expected, actual = as_compared(case)
    return rows(expected, actual, {difference.path for difference in case.differences})


def as_compared(case: CaseResult) -> tuple[Any, Any]:
    """Return both responses with their arrays in the order to which the paths of the differences refer."""
    for order in ORDERS:
        try:
            both = normalized(case.expected, order), normalized(case.actual, order)
        except (TypeError, KeyError):  # a response with values of unexpected types
            continue
        places = dict(_places(*both, ""))
        if all(places.get(each.path) == (_plain(each.expected), _plain(each.actual)) for each in case.differences):
            return both
    return case.expected, case.actual


def _plain(value: Any) -> Any:
    return MISSING if isinstance(value, Missing) else value


def _places(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the paths in two responses with the values there, as the comparison names them."""
    yield path, (expected, actual)
    for _, one, other, place in _parts_of(expected, actual, path):
        yield from _places(one, other, place)


def _parts_of(expected: Any, actual: Any, path: str) -> list[tuple[str, Any, Any, str]]:
    """Yield the label, both values and the path of each part of two objects or arrays."""
    match expected, actual:
        case dict(), dict():
            return [
                (str(key), expected.get(key, MISSING), actual.get(key, MISSING), f"{path}.{key}".lstrip("."))
                for key in {**expected, **actual}
                if not str(key).startswith("#")
            ]
        case list(), list():
            return [
                (f"[{number}]", _item(expected, number), _item(actual, number), f"{path}[{number}]")
                for number in range(max(len(expected), len(actual)))
            ]
    return []


def rows(expected: Any, actual: Any, differing: Iterable[str]) -> list[Row]:
    """Return two values as lines side by side. A line differs if its path is in `differing` or below such a path."""
    return list(_rows(expected, actual, "", "", 0, frozenset(differing)))


def _rows(expected: Any, actual: Any, label: str, path: str, depth: int, differing: frozenset[str]) -> Iterator[Row]:
    if path in differing:
        yield from _different(expected, actual, label, path, depth)
        return
    parts = _parts_of(expected, actual, path)
    same_array = isinstance(expected, list) and _is_flat(expected) and expected == actual
    if not parts or same_array:
        yield Row(depth, _labelled(label, expected, path), _labelled(label, actual, path), False)
        return
    if label:
        yield Row(depth, f"{label}:", f"{label}:", False)
    for name, one, other, place in parts:
        yield from _rows(one, other, printable(str(name)), place, depth + bool(label), differing)


def _different(expected: Any, actual: Any, label: str, path: str, depth: int) -> Iterator[Row]:
    left = [] if isinstance(expected, Missing) else list(_side(expected, label, path, depth))
    right = [] if isinstance(actual, Missing) else list(_side(actual, label, path, depth))
    if len(left) == len(right) == 1:
        yield Row(depth, left[0][1], right[0][1], True)
        return
    yield from (Row(level, text, None, True) for level, text in left)
    yield from (Row(level, None, text, True) for level, text in right)


def _side(value: Any, label: str, path: str, depth: int) -> Iterator[tuple[int, str]]:
    for row in _rows(value, value, label, path, depth, frozenset()):
        yield row.depth, row.expected or ""


def _labelled(label: str, value: Any, path: str) -> str:
    text = line(value, last_field(path))
    return f"{label}: {text}" if label else text


def _item(items: Sequence[Any], number: int) -> Any:
    return items[number] if number < len(items) else MISSING


def _is_flat(items: Sequence[Any]) -> bool:
    return not any(isinstance(item, dict | list) for item in items)


def hex_dump(data: bytes, limit: int = 4096) -> list[str]:
    """Return bytes as lines of 16, with their offsets and the printable ASCII characters."""
    lines = []
    for start in range(0, min(len(data), limit), 16):
        part = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{start:08x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}  {shown}")
    if len(data) > limit:
        lines.append(f"... ({len(data):,} bytes)")
    return lines
