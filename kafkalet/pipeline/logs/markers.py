"""Control batches: what a transaction coordinator wrote to say how a transaction ended.

A control batch holds one record, or none where a cleaner has removed it.
"""

from __future__ import annotations

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.control import ControlType, EndMarker, control_type, read_end_marker
from kafkalet.protocol.records.record import Record

from .files import CorruptFile
from .heads import Head

_ENDS = (ControlType.ABORT, ControlType.COMMIT)


def marker_type(path: str, head: Head) -> ControlType | None:
    """The type of the control batch whose header is `head`; None if it has no record. Raises CorruptFile."""
    record = _record(path, head)
    try:
        return None if record is None else control_type(record)
    except KafkaError:
        raise CorruptFile(path, head.position, "a control batch whose record has no key") from None


def end_marker(path: str, head: Head) -> EndMarker | None:
    """How the control batch ended a transaction; None if it did not. Raises CorruptFile."""
    record = _record(path, head)
    try:
        return None if record is None or control_type(record) not in _ENDS else read_end_marker(record)
    except KafkaError as error:
        raise _unreadable(path, head, error) from None


def _record(path: str, head: Head) -> Record | None:
    with open(path, "rb", buffering=0) as file:
        file.seek(head.position)
        batch = Batch(file.read(head.size))
    try:
        return next(iter(batch.records()), None)
    except KafkaError as error:
        raise _unreadable(path, head, error) from None


def _unreadable(path: str, head: Head, error: KafkaError) -> CorruptFile:
    return CorruptFile(path, head.position, f"a control batch that cannot be read: {error}")
