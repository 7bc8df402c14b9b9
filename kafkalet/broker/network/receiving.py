"""Splits the data received on a connection into frames, without doing any I/O.

    size (int32) | frame of that many bytes | size | frame | ...

All connections of an event loop receive into one buffer (`ReceiveBuffer`), so an idle connection uses no memory.
Complete frames are served immediately. An incomplete frame is kept in one of two ways:

* up to a few kilobytes as plain bytes, which are copied back to the start of the buffer before the next receive;
* otherwise as a `Partial`, which has its own memory, into which the rest is received. The memory grows with the data
  received, by a limited factor, so that a large size field alone does not allocate memory.
"""

from kafkalet.protocol.errors import DecodeError

RECEIVE_BYTES = 256 * 1024
"""Size of the shared buffer, which is also the most that a connection receives in one turn of the loop."""
PARTIAL_BYTES = 4096
"""An incomplete frame of at least this size gets its own memory."""
GROWTH = 4
"""Maximum ratio of allocated bytes to received bytes of a partial frame."""
SPARE_BYTES = 4 * 1024 * 1024
"""The memory of one large frame is kept for the next one if it is no larger than this."""


def check_size(size: int, limit: int) -> None:
    """Raise DecodeError unless `size` is a valid frame size: 1 to `limit` (socket.request.max.bytes)."""
    if size <= 0:
        raise DecodeError(f"a frame of {size} bytes")
    if size > limit:
        raise DecodeError(f"a frame of {size} bytes; socket.request.max.bytes is {limit}")


class ReceiveBuffer:
    """The receive buffer shared by all connections of one event loop."""

    __slots__ = ("_spare", "data", "view")

    def __init__(self, size: int = RECEIVE_BYTES) -> None:
        self.data = bytearray(size)
        self.view = memoryview(self.data)
        self._spare: bytearray | None = None

    def frame(self, start: int, stop: int) -> bytes | bytearray:
        """Return a copy of a frame. A produce request is writable, because its batches are patched in place."""
        data = self.data
        if data[start] == 0 and data[start + 1 : start + 2] == b"\0":
            return data[start:stop]
        return bytes(self.view[start:stop])

    def begin(self, size: int, start: int, stop: int) -> "Partial":
        """Start a frame of `size` bytes with these bytes of the buffer; the rest is received into it."""
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
        """Keep the memory of a served frame for the next frame of similar size, unless a view of the memory exists.

        Allocating fresh memory of that size costs the kernel more time than receiving into it.
        """
        if isinstance(frame, bytearray) and PARTIAL_BYTES < len(frame) <= SPARE_BYTES:
            try:
                frame.append(0)  # fails while a view of the memory exists
            except BufferError:
                return
            self._spare = frame


class Partial:
    """A large frame that has been received in part."""

    __slots__ = ("_data", "_filled", "size")

    def __init__(self, size: int, data: bytearray, filled: int) -> None:
        self.size = size  # the size of the complete frame
        self._data = data
        self._filled = filled

    def __len__(self) -> int:
        """Return the number of bytes received."""
        return self._filled

    def room(self) -> memoryview:
        """Return a view of the free memory, for the next bytes. It must be released before the next call."""
        if self._filled == len(self._data):
            self._data += bytes(min(self.size, GROWTH * self._filled) - self._filled)
        return memoryview(self._data)[self._filled :]

    def received(self, count: int) -> bytes | bytearray | None:
        """Count `count` bytes received into `room`. Return the frame if it is complete."""
        self._filled += count
        if self._filled < self.size:
            return None
        data, self._data = self._data, bytearray()
        return data if data[:2] == b"\0\0" else bytes(data)
