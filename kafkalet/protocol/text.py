"""Strings as Kafka reads them, within the bound that lets them be written again.

Java replaces what is not UTF-8 by U+FFFD, which takes three bytes for as little as one. So a string that fits on the
wire can become one that does not. Kafka accepts it and cannot write the answer that repeats it: the client waits for
ever. Here it is a DecodeError, so that every string inside a broker fits in every message and record.

    data.decode("utf-8", REPLACE)
"""

import codecs
from typing import Final

from .errors import DecodeError

MAX_STRING_BYTES: Final = 0x7FFF
"""The longest string on the wire, in every version and encoding."""

REPLACE: Final = "kafkalet-replace"
"""The error handler to decode strings with."""


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace everything from the first bad byte on at once, so that no string takes more than one pass."""
    assert isinstance(error, UnicodeDecodeError)
    rest = error.object[error.start :].decode("utf-8", "replace")
    if (size := error.start + len(rest.encode())) > MAX_STRING_BYTES:
        raise DecodeError(f"a string of {size} bytes after replacing what is not UTF-8; at most {MAX_STRING_BYTES} fit")
    return rest, len(error.object)


codecs.register_error(REPLACE, _replace)
