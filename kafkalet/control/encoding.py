"""JSON as bytes, for responses and events."""

from __future__ import annotations

import json

from .shapes import Json


def encoded(value: Json) -> bytes:
    """Return JSON as UTF-8, in one line. A lone surrogate stays an escape sequence."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
