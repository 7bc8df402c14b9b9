"""What the codecs share: exceptions, the collection of decompressed data, and access to the native library.

`codecs.py` converts the exceptions into the errors that clients receive.
"""

from io import BytesIO
from types import ModuleType

from .interruption import use_much_memory

MUCH_MEMORY_BYTES = 16 * 1024 * 1024
"""Only one thread at a time may decompress more than this many bytes."""


class Corrupt(Exception):
    """The compressed data is invalid."""


class TooLarge(Exception):
    """The decompressed data exceeds the limit."""


class Output:
    """Collects decompressed pieces, up to a limit.

    The pieces are not copied at the end, because that would block the interpreter for a tenth of a second and take
    twice the memory.
    """

    __slots__ = ("_left", "_pieces", "_size")

    def __init__(self, limit: int) -> None:
        self._pieces = BytesIO()
        self._left = limit
        self._size = 0

    @property
    def left(self) -> int:
        """How many bytes may still be added."""
        return self._left

    def add(self, piece: bytes) -> None:
        """Append a piece. Raises TooLarge."""
        self._left -= len(piece)
        if self._left < 0:
            raise TooLarge
        self._size += len(piece)
        if self._size > MUCH_MEMORY_BYTES:
            use_much_memory()
        self._pieces.write(piece)

    def content(self) -> bytes:
        return self._pieces.getvalue()


def cramjam_or_none() -> ModuleType | None:
    """Return the `cramjam` module (from the `codecs` extra), or None if it is not installed."""
    try:
        import cramjam
    except ImportError:
        return None
    return cramjam
