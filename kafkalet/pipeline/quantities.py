"""Sizes, times and paths as they are written in options, for reading and for writing alike."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_DURATION = re.compile(r"(\d+)\s*(ms|s|min|m|h|d)?", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def size_bytes(text: str, largest_unit: str) -> int | None:
    """Bytes of 5, 64k, "64 MiB", 2gb; None for what is no size, or has a larger unit (g or t)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or _SHIFTS[unit := match[2].lower()] > _SHIFTS[largest_unit]:
        return None
    return int(match[1]) << _SHIFTS[unit]


def duration_ms(text: str, largest_unit: str) -> int | None:
    """Milliseconds of 250, 500ms, 30s, 15m or 15min; None for what is no time, or has a larger unit (h or d)."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or _MILLISECONDS[unit := (match[2] or "ms").lower()] > _MILLISECONDS[largest_unit]:
        return None
    return int(match[1]) * _MILLISECONDS[unit]


def local_path(path: str) -> str:
    """The path that an address of a file names; any other text as it is."""
    return path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
