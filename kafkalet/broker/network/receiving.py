"""Cuts what comes on a connection into frames. It knows no socket.

    size (int32) | frame of that many bytes | size | frame | ...

All connections of an event loop receive into one buffer (`ReceiveBuffer`), so that an idle connection holds no memory.
What is whole there is cut out and served at once. What is not yet whole is kept in one of two ways:

* the first few kilobytes of a frame as plain bytes, which go back to the front of the buffer before the next receive;
* more than that as a `Partial`: the frame's own memory, into which the rest is received in place. It grows with what
  has come, never ahead of it by more than a factor, so that a size alone, however large, takes no memory from us.
"""

from kafkalet.protocol.errors import DecodeError

RECEIVE_BYTES = 256 * 1024
"""The size of the shared buffer: what a connection can bring in one turn of the loop."""
PARTIAL_BYTES = 4096
"""From so much of an unfinished frame on it gets memory of its own."""
GROWTH = 4
"""A partial frame has at most so many times the memory that was filled already."""
SPARE_BYTES = 4 * 1024 * 1024
"""The memory of one large frame, up to this, is kept for the next."""


def check_size(size: int, limit: int) -> None:
    """Raise unless a frame may have this size (1 to `limit`, which is socket.request.max.bytes)."""
    if size <= 0:
        raise DecodeError(f"a frame of {size} bytes")
    if size > limit:
        raise DecodeError(f"a frame of {size} bytes; socket.request.max.bytes is {limit}")


class ReceiveBuffer:
    """The memory that all connections of one event loop receive into."""

    __slots__ = ("_spare", "data", "view")

    def __init__(self, size: int = RECEIVE_BYTES) -> None:
        self.data = bytearray(size)
        self.view = memoryview(self.data)
        self._spare: bytearray | None = None

    def frame(self, start: int, stop: int) -> bytes | bytearray:
        """A copy of a frame. That of a produce request can be written: its batches are patched where they lie."""
        data = self.data
        if data[start] == 0 and data[start + 1 : start + 2] == b"\0":
            return data[start:stop]
        return bytes(self.view[start:stop])

    def begin(self, size: int, start: int, stop: int) -> "Partial":
        """A frame of `size` bytes begins with these bytes of the buffer; the rest will be received in place."""
        head = self.view[start:stop]
        spare = self._spare
        if spare is None or not len(spare) // 2 < size <= 2 * len(spare):
            return Partial(size, bytearray(head), len(head))
        self._spare = None
        del spare[size:]
        spare += bytes(size - len(spare))
        spare[: len(head)] = head
        return Partial(size, spare, len(head))

    def give_back(self, frame: bytes | bytearray) -> None:
        """A frame was served. Its memory serves for the next of about its size, unless somebody still looks at it.

        Fresh memory of that size costs the kernel more than receiving into it does.
        """
        if isinstance(frame, bytearray) and PARTIAL_BYTES < len(frame) <= SPARE_BYTES:
            try:
                frame.append(0)  # refused while there is a view of it
            except BufferError:
                return
            self._spare = frame


class Partial:
    """A large frame that is coming in."""

    __slots__ = ("_data", "_filled", "size")

    def __init__(self, size: int, data: bytearray, filled: int) -> None:
        self.size = size  # how many bytes it will have
        self._data = data
        self._filled = filled

    def __len__(self) -> int:
        """How many bytes have come."""
        return self._filled

    def room(self) -> memoryview:
        """Where the next bytes belong. To be let go of before the next call."""
        if self._filled == len(self._data):
            self._data += bytes(min(self.size, GROWTH * self._filled) - self._filled)
        return memoryview(self._data)[self._filled :]

    def received(self, count: int) -> bytes | bytearray | None:
        """`count` bytes were written to `room`: the frame, if that was all of it."""
        self._filled += count
        if self._filled < self.size:
            return None
        data, self._data = self._data, bytearray()
        return data if data[:2] == b"\0\0" else bytes(data)
