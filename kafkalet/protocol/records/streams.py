"""Compressed streams: how every codec says that one is bad, and the package that reads and writes them natively.

`codecs.py` makes of both exceptions what the client gets to see.
"""

from types import ModuleType


class Corrupt(Exception):
    """The bytes are no stream of the codec."""


class TooLarge(Exception):
    """The stream holds more than it may."""


def cramjam_or_none() -> ModuleType | None:
    """The package of the extra `codecs`, if it is installed."""
    try:
        import cramjam
    except ImportError:
        return None
    return cramjam
