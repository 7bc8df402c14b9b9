"""Decodes strings as Kafka does, and limits their length.

Java replaces invalid UTF-8 with U+FFFD, which takes three bytes even if it replaces a single byte. After decoding, a
string can therefore exceed the limit of the protocol. Kafka accepts such a string but cannot encode a response that
contains it, so the client waits forever. In kafkalet, decoding such a string raises DecodeError, so every string inside
a broker fits in every message and record. Strings are decoded as follows:

    data.decode("utf-8", REPLACE)
"""

import codecs
from typing import Final

from .errors import DecodeError

MAX_STRING_BYTES: Final = 0x7FFF
"""The maximum size of an encoded string in bytes, in the flexible and the non-flexible encoding."""

REPLACE: Final = "kafkalet-replace"
"""The name of the error handler for `bytes.decode`."""


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replace all invalid bytes in one call, so that decoding any string takes linear time."""
    assert isinstance(error, UnicodeDecodeError)
    rest = error.object[error.start :].decode("utf-8", "replace")
    if (size := error.start + len(rest.encode())) > MAX_STRING_BYTES:
        raise DecodeError(
            f"string of {size} bytes after replacing invalid UTF-8 is too long; "
            f"at most {MAX_STRING_BYTES} bytes are allowed"
        )
    return rest, len(error.object)


codecs.register_error(REPLACE, _replace)
