"""The outgoing data of a connection, and how it is split into send calls.

A response is a list of chunks: bytes and file ranges. Small chunks are joined, up to JOIN_BYTES, because a system call
costs more than the copy; small file ranges are read for that. Large file ranges are sent with sendfile, and large
chunks of memory are sent as they are: joining them would require fresh memory, which costs more than the copy. A file
is not read until its chunk is sent, so for a slow client, only file ranges are kept in memory, not their contents.

On Linux, ranges of MAP_BYTES or more are mapped into memory and sent from there, in one call with the small chunk
before them: sendfile passes 64 KiB at a time to TCP, and may wake the client each time. The data and its order are the
same. A mapping exists for one call only, so it does not add to the memory of the process, or keep files open.
"""

import errno
import mmap
import os
import socket
import sys
from collections import deque
from collections.abc import Iterable
from typing import cast

from kafkalet.protocol.wire import Buffer, Chunk
from kafkalet.storage.files import FileRange

JOIN_BYTES = 64 * 1024
MAP_BYTES = 768 * 1024
"""File ranges of at least this size are sent from a mapping. For smaller ones, creating it costs more than it saves."""
_MORE = getattr(socket, "MSG_MORE", 0)  # delay the packet, because more data follows
_NO_SENDFILE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_sendfile = getattr(os, "sendfile", None)  # not available on Windows
_can_map = sys.platform == "linux"  # measured on no other system


class FileTooShort(Exception):
    """The file ends before the range does: the log was truncated while the response was being sent."""


def join(pieces: list[Chunk]) -> bytes:
    """Join all chunks, JOIN_BYTES or little more in total, into one bytes object. Raises FileTooShort."""
    try:
        return b"".join(pieces)  # type: ignore[arg-type]
    except TypeError:  # some chunks are file ranges
        return b"".join([_read(piece) if isinstance(piece, FileRange) else piece for piece in pieces])  # type: ignore[misc]


def joined(pieces: Iterable[Chunk]) -> list[Chunk]:
    """Return the same data in fewer chunks: memory is joined up to JOIN_BYTES, file ranges are kept."""
    result: list[Chunk] = []
    small: list[Buffer] = []
    size = 0
    for piece in pieces:
        is_small = not isinstance(piece, FileRange) and len(piece) < JOIN_BYTES
        if small and (not is_small or size + len(piece) > JOIN_BYTES):
            result.append(b"".join(small))
            small, size = [], 0
        if is_small:
            small.append(cast(Buffer, piece))
            size += len(piece)
        else:
            result.append(piece)
    if small:
        result.append(b"".join(small))
    return result


class Outbox:
    """The chunks that have not been sent yet, in order."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Iterable[Chunk]) -> None:
        self._pieces: deque[Chunk] = deque(piece for piece in pieces if len(piece))

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def extend(self, pieces: Iterable[Chunk]) -> None:
        self._pieces.extend(piece for piece in pieces if len(piece))

    def take(self) -> Buffer | FileRange:
        """Remove and return the next portion: joined chunks of at most JOIN_BYTES, or a single larger chunk."""
        pieces = self._pieces
        piece = pieces.popleft()
        size = len(piece)
        if size >= JOIN_BYTES or not pieces or size + len(pieces[0]) > JOIN_BYTES:
            return cast(Buffer | FileRange, piece) if size >= JOIN_BYTES else _read(piece)
        portion = [_read(piece)]
        while pieces and size + len(pieces[0]) <= JOIN_BYTES:
            piece = pieces.popleft()
            size += len(piece)
            portion.append(_read(piece))
        return b"".join(portion)

    def put_back(self, portion: Buffer | FileRange, sent: int) -> None:
        """Put the rest of a portion back after its first `sent` bytes have been sent."""
        if isinstance(portion, FileRange):
            rest: Chunk = portion.slice(sent, len(portion) - sent)
        else:
            rest = memoryview(portion)[sent:]
        if len(rest):
            self._pieces.appendleft(rest)

    def send(self, sock: socket.socket, most: int) -> None:
        """Send until the outbox is empty, the socket is full, or about `most` bytes were sent.

        Raises FileTooShort, and OSError if the connection is lost.
        """
        while self and most > 0:
            try:
                mapped = self._send_mapped(sock, most)
                if mapped:
                    most -= mapped
                    continue
            except (BlockingIOError, InterruptedError):
                return
            portion = self.take()
            try:
                sent = _send_portion(sock, portion, most, _MORE if self else 0)
            except (BlockingIOError, InterruptedError):
                self.put_back(portion, 0)
                return
            most -= sent
            if sent < len(portion):
                self.put_back(portion, sent)

    def _send_mapped(self, sock: socket.socket, most: int) -> int:
        """Send a large file range and the small chunk before it. Return the byte count; 0 if that is not possible."""
        pieces = self._pieces
        file_at = 0 if isinstance(pieces[0], FileRange) or len(pieces[0]) >= JOIN_BYTES else 1
        if file_at >= len(pieces) or len(pieces[file_at]) < MAP_BYTES or most < MAP_BYTES:
            return 0
        body = pieces[file_at]
        if not isinstance(body, FileRange) or not isinstance(sock, socket.socket) or not _can_map:
            return 0
        head = [cast(Buffer, pieces[0])] if file_at else []
        sent = _send_mapping(sock, head, body, min(len(body), most), _MORE if len(pieces) > file_at + 1 else 0)
        left = sent
        while left:
            piece = pieces.popleft()
            self.put_back(cast(Buffer | FileRange, piece), min(left, len(piece)))
            left -= min(left, len(piece))
        return sent


def _read(piece: Chunk) -> Buffer:
    """Return the bytes of a chunk."""
    if not isinstance(piece, FileRange):
        return cast(Buffer, piece)
    data = piece.read()
    if len(data) < len(piece):
        raise FileTooShort(f"{piece!r} has only {len(data)} bytes")
    return data


def _send_mapping(sock: socket.socket, head: list[Buffer], body: FileRange, size: int, flags: int) -> int:
    """Send `head` and `size` bytes of a file in one call. Return the byte count; 0 if the file cannot be mapped.

    Only the kernel reads the mapping. If that fails, the call returns an error; there is no SIGBUS.
    """
    start = body.position % mmap.ALLOCATIONGRANULARITY
    try:
        mapping = mmap.mmap(body.fileno(), start + size, prot=mmap.PROT_READ, offset=body.position - start)
    except (OSError, ValueError):  # ValueError: the file is too short
        return 0
    with mapping, memoryview(mapping)[start:] as contents:
        try:
            return sock.sendmsg([*head, contents], [], flags)
        except OSError as error:
            if error.errno != errno.EFAULT:
                raise
            return 0


def _send_portion(sock: socket.socket, portion: Buffer | FileRange, most: int, flags: int) -> int:
    """Send as much of a portion as the socket accepts, at most `most` bytes of a large one. Return the byte count."""
    if not isinstance(portion, FileRange):
        if len(portion) > max(most, JOIN_BYTES):
            portion = memoryview(portion)[:most]
        return sock.send(portion, flags)
    if _sendfile is not None:
        try:
            sent: int = _sendfile(sock.fileno(), portion.fileno(), portion.position, min(len(portion), most))
        except OSError as error:
            if error.errno not in _NO_SENDFILE:  # not supported by every file system
                raise
        else:
            if not sent:
                raise FileTooShort(f"{portion!r} is beyond the end of the file")
            return sent
    return sock.send(_read(portion.slice(0, JOIN_BYTES)), flags)
