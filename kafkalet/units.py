"""Numbers, sizes, durations and times as text for people."""

from collections.abc import Iterable
from datetime import UTC, datetime


def size(value: int | None) -> str:
    """Format a number of bytes, as in `512 B` or `1.2 MiB`."""
    if value is None:
        return "-"
    if value < 1024:
        return f"{value} B"
    amount, units = value / 1024, iter(("KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while amount >= 1000 and (larger := next(units, "")):
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"


def duration(ms: float) -> str:
    """Format milliseconds, as in `1 h 5 min`."""
    seconds = int(ms // 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        large, small = f"{seconds // 60} min", f"{seconds % 60} s"
    elif seconds < 48 * 3600:
        large, small = f"{seconds // 3600} h", f"{seconds // 60 % 60} min"
    else:
        large, small = f"{seconds // 86400} d", f"{seconds // 3600 % 24} h"
    return large if small.startswith("0 ") else f"{large} {small}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with a noun, as in `1 file` or `2,000 files`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def named(noun: str, items: Iterable[object]) -> str:
    """Return items with their noun, as in `broker 1`, `brokers 1, 2` or `no broker`."""
    texts = [*map(str, items)]
    return f"{noun}{'s' if len(texts) > 1 else ''} {', '.join(texts)}" if texts else f"no {noun}"


def utc(ms: float) -> str:
    """Format milliseconds since 1970, as in `2025-01-31T12:00:00.123Z`, or return the number."""
    try:
        at = datetime.fromtimestamp(ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(ms)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{int(ms % 1000):03d}Z"
