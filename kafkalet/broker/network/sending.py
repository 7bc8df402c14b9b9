"""What a connection has to send, and the portions in which it is sent.

Answers come as pieces: bytes, and ranges of files. Small pieces are joined, up to JOIN_BYTES, because a call of the
kernel costs more than copying them; small ranges of files are read for that. Large ranges go out by sendfile, large
pieces of memory as they are (never joined: fresh memory of that size costs more than the copy). A file is read when its
turn has come, so a slow client holds file ranges in memory, not their content.
"""

import errno
import os
import socket
from collections import deque
from collections.abc import Iterable
from typing import cast

from kafkalet.protocol.wire import Buffer, Chunk
from kafkalet.storage.files import FileRange

JOIN_BYTES = 64 * 1024
_MORE = getattr(socket, "MSG_MORE", 0)  # "do not send a packet yet, the rest of it follows"
_NO_SENDFILE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_sendfile = getattr(os, "sendfile", None)  # Windows has none


class FileTooShort(Exception):
    """A file range ends before its length: the log was truncated under an answer that is on its way."""


def join(pieces: list[Chunk], size: int) -> bytes:
    """All pieces, `size` bytes together (JOIN_BYTES or little more), as one."""
    try:
        return b"".join(pieces)  # type: ignore[arg-type]
    except TypeError:  # ranges of files are among them
        data = b"".join([piece.read() if isinstance(piece, FileRange) else piece for piece in pieces])  # type: ignore[misc]
    if len(data) < size:
        raise FileTooShort(f"files are {size - len(data)} bytes shorter than the ranges of them that were to be sent")
    return data


def joined(pieces: Iterable[Chunk]) -> list[Chunk]:
    """The same bytes in fewer pieces: what lies in memory is joined up to JOIN_BYTES; ranges of files stay."""
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
    """The pieces that have not been sent yet, in order."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Iterable[Chunk]) -> None:
        self._pieces: deque[Chunk] = deque(piece for piece in pieces if len(piece))

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def extend(self, pieces: Iterable[Chunk]) -> None:
        self._pieces.extend(piece for piece in pieces if len(piece))

    def take(self) -> Buffer | FileRange:
        """The next portion, at most JOIN_BYTES long unless it is a single piece; it is out of the box then."""
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
        """Only the first `sent` bytes of what was taken have gone out; the rest is next."""
        if isinstance(portion, FileRange):
            rest: Chunk = portion.slice(sent, len(portion) - sent)
        else:
            rest = memoryview(portion)[sent:]
        if len(rest):
            self._pieces.appendleft(rest)

    def send(self, sock: socket.socket, most: int) -> None:
        """Send until the box is empty, the socket is full, or `most` bytes (about) have gone out.

        Raises FileTooShort, and OSError where the connection is gone.
        """
        while self and most > 0:
            portion = self.take()
            try:
                sent = _send_portion(sock, portion, most, _MORE if self else 0)
            except (BlockingIOError, InterruptedError):
                self.put_back(portion, 0)
                return
            most -= sent
            if sent < len(portion):
                self.put_back(portion, sent)


def _read(piece: Chunk) -> Buffer:
    """A piece as bytes."""
    if not isinstance(piece, FileRange):
        return cast(Buffer, piece)
    data = piece.read()
    if len(data) < len(piece):
        raise FileTooShort(f"{piece!r} has {len(data)} bytes")
    return data


def _send_portion(sock: socket.socket, portion: Buffer | FileRange, most: int, flags: int) -> int:
    """Send as much of a portion as the socket takes, at most `most` bytes of a large one; gives how many."""
    if not isinstance(portion, FileRange):
        if len(portion) > max(most, JOIN_BYTES):
            portion = memoryview(portion)[:most]
        return sock.send(portion, flags)
    if _sendfile is not None:
        try:
            sent: int = _sendfile(sock.fileno(), portion.fileno(), portion.position, min(len(portion), most))
        except OSError as error:
            if error.errno not in _NO_SENDFILE:  # some file systems cannot do it
                raise
        else:
            if not sent:
                raise FileTooShort(f"{portion!r} is beyond the end of the file")
            return sent
    return sock.send(_read(portion.slice(0, JOIN_BYTES)), flags)
