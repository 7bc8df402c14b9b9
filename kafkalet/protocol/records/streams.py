"""Exceptions shared by the codecs, and access to the native library.

`codecs.py` converts the exceptions into the errors that clients receive.
"""

from types import ModuleType


class Corrupt(Exception):
    """The compressed data is invalid."""


class TooLarge(Exception):
    """The decompressed data exceeds the limit."""


def cramjam_or_none() -> ModuleType | None:
    """Return the `cramjam` module (from the `codecs` extra), or None if it is not installed."""
    try:
        import cramjam
    except ImportError:
        return None
    return cramjam
