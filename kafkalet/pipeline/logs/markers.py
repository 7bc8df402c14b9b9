"""Control batches: what a transaction coordinator wrote to say how a transaction ended.

A control batch holds one record, which is never compressed. Its key says of which kind it is:

    version int16 | type int16      0 abort, 1 commit; others speak of something else than transactions
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from kafkalet.protocol.records.batch import HEADER_SIZE

from .files import CorruptFile
from .heads import Head

ABORT = 0
COMMIT = 1
_KEY = Struct(">hh")


def marker_type(path: str, head: Head) -> int | None:
    """The type of the control batch whose header is `head`; None where its record was compacted away.

    Raises CorruptFile where there is no such key.
    """
    with open(path, "rb", buffering=0) as file:
        file.seek(head.position + HEADER_SIZE)
        data = file.read(head.size - HEADER_SIZE)
    if not data:
        return None
    try:
        at = _after_varint(data, 0) + 1  # length, attributes
        at = _after_varint(data, _after_varint(data, at))  # timestamp, offset
        _, kind = _KEY.unpack_from(data, _after_varint(data, at))
    except (IndexError, StructError):
        raise CorruptFile(path, head.position, "a control batch whose record has no key") from None
    return int(kind)


def _after_varint(data: bytes, at: int) -> int:
    while data[at] & 0x80:
        at += 1
    return at + 1
