"""JSON as bytes, for responses and events."""

import json
from collections.abc import Iterator

from .shapes import Json

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def encoded(value: Json) -> bytes:
    """Return JSON as UTF-8, in one line. A lone surrogate stays an escape sequence.

    Objects and lists in it are encoded one by one, because the thread of the brokers has to wait while json encodes.
    """
    return "".join(_pieces(value)).encode("utf-8", "backslashreplace")


def _pieces(value: Json) -> Iterator[str]:
    if not _has_objects(value):
        yield _encode(value)
    elif isinstance(value, list):
        separator = "["
        for each in value:
            yield separator
            yield from _pieces(each)
            separator = ", "
        yield "]"
    else:
        separator = "{"
        for name, each in value.items():
            yield f"{separator}{_encode(str(name))}: "
            yield from _pieces(each)
            separator = ", "
        yield "}"


def _has_objects(value: Json) -> bool:
    """Whether an object or a list contains objects, judging by its first elements."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in items:
        if isinstance(each, dict) or (isinstance(each, list) and each and isinstance(each[0], dict | list)):
            return True
    return False
