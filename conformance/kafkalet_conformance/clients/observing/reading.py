"""Reads numbers and lengths of a request strictly, and collects complaints with their positions.

A complaint does not end the reading if the rest of the request can still be understood. `Unreadable` ends it.
"""

from typing import TypeAlias

from kafkalet.units import counted

from .finding import Claim, Complaint

Path: TypeAlias = "tuple[Path, str | int] | None"
"""The way to a field, innermost part first. It is formatted only for complaints."""

_KIP_482 = "KIP-482"

COMPLETE = Claim("complete", "A request contains all fields of its version, with all bytes.", "Kafka protocol guide")
MINIMAL = Claim("minimal-varint", "A varint has as few bytes as possible.", "KIP-482; ByteUtils.writeUnsignedVarint")
LENGTH = Claim("length", "A length is -1 for null, or not negative.", "Kafka protocol guide")
UTF_8 = Claim("utf-8", "A string is valid UTF-8.", "Kafka protocol guide")


class Unreadable(Exception):
    """The rest of the request cannot be understood."""


def path_text(path: Path) -> str:
    """Format a path, such as `topics[0].name`."""
    parts: list[str] = []
    while path is not None:
        path, part = path
        parts.append(f"[{part}]" if isinstance(part, int) else f".{part}")
    return "".join(reversed(parts)).removeprefix(".")


class Reading:
    """A position in the bytes of a request, and the complaints about the bytes before it."""

    __slots__ = ("complaints", "data", "end", "position")

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else end
        self.complaints: list[Complaint] = []

    def complain(self, claim: Claim, position: int, path: Path, text: str) -> None:
        self.complaints.append(Complaint(claim, position, path_text(path), text))

    def missing(self, needed: int, path: Path) -> Unreadable:
        """Complain that the request ends too early. Return the exception to raise."""
        rest = max(0, self.end - self.position)
        self.complain(COMPLETE, self.position, path, f"needs {counted(needed, 'byte')}, but only {rest} left")
        return Unreadable()

    def take(self, size: int, path: Path) -> bytes:
        """Return the next `size` bytes."""
        start = self.position
        if size > self.end - start:
            raise self.missing(size, path)
        self.position = start + size
        return self.data[start : start + size]

    def signed(self, size: int, path: Path) -> int:
        return int.from_bytes(self.take(size, path), "big", signed=True)

    def unsigned_varint(self, path: Path) -> int:
        """Read an unsigned varint of at most five bytes."""
        data, start, at = self.data, self.position, self.position
        number = shift = 0
        while True:
            if at >= self.end:
                raise self.missing(at - start + 1, path)
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > 28:
                self.complain(LENGTH, start, path, f"the varint {data[start:at].hex()} has more than five bytes")
                raise Unreadable
        self.position = at
        if byte == 0 and at - start > 1:
            self.complain(MINIMAL, start, path, f"the varint {data[start:at].hex()} for {number} is too long")
        if number > 0xFFFFFFFF:
            self.complain(LENGTH, start, path, f"the varint {data[start:at].hex()} does not fit into 32 bits")
            raise Unreadable
        return number

    def text(self, size: int, path: Path) -> str:
        """Read a string of `size` bytes."""
        start = self.position
        data = self.take(size, path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            bad = data[error.start : error.end].hex()
            self.complain(UTF_8, start + error.start, path, f"the bytes {bad} are not valid UTF-8")
            return data.decode(errors="replace")
