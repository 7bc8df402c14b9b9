"""The files of a metadata log: segments and snapshots in the directory `__cluster_metadata-0`.

    00000000000000000000.log                        records, as in the log of any partition
    00000000000000001234-0000000002.checkpoint      a snapshot: the state at offset 1234, written in epoch 2
    ../bootstrap.checkpoint                         the first records of a new cluster, with which it was formatted

The state of the cluster consists of the newest snapshot and the records of the log from its offset on. The files are
only read. A log ends before the first batch that is incomplete, has a wrong checksum or does not continue the log.
Kafka truncates the log there after a crash; here, the rest is ignored, and an error is logged. A damaged snapshot is
also logged, and an earlier one is used.

Source: org.apache.kafka.snapshot.Snapshots, kafka.raft.KafkaMetadataLog.
"""

import logging
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkalet.broker.cluster.metadata import NO_SEGMENT
from kafkalet.broker.cluster.metadata_store import METADATA_LOG, MetadataDamaged
from kafkalet.broker.quoting import shown
from kafkalet.protocol.errors import DecodeError, KafkaError
from kafkalet.protocol.messages.metadata_records import MetadataRecord
from kafkalet.protocol.messages.raft_control_records import KRaftVersionRecord
from kafkalet.protocol.metadata_frame import UnknownRecord, decode_record
from kafkalet.protocol.records.batch import Batch, batches
from kafkalet.protocol.records.control import ControlType, control_type
from kafkalet.storage.files import Files

_LOG = logging.getLogger(__name__)
_SEGMENT = re.compile(r"([0-9]{20})\.log", re.ASCII)
_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint", re.ASCII)


Content = MetadataRecord | UnknownRecord | KRaftVersionRecord


class Entry(NamedTuple):
    """A record of the log, or of a snapshot, with its offset there."""

    offset: int
    content: Content


class LogState(NamedTuple):
    """The last segment of a metadata log and its size in bytes.

    At least one of them changes with every write to the log.
    """

    segment: str
    size: int


class Snapshot(NamedTuple):
    """A snapshot: the state before `end_offset`, written in `epoch`."""

    end_offset: int
    epoch: int
    name: str


class MetadataLog:
    """The metadata log in a directory."""

    def __init__(self, directory: str, files: Files) -> None:
        self.directory = directory
        self._files = files
        names = sorted(files.system.names(directory))
        self.segments = [(int(found[1]), name) for name in names if (found := _SEGMENT.fullmatch(name))]
        """The base offsets and names of the segments, in order."""
        snapshots = filter(None, map(_SNAPSHOT.fullmatch, names))
        self.snapshots = [Snapshot(int(found[1]), int(found[2]), found[0]) for found in snapshots]
        """The snapshots, the oldest first."""
        self.end_offset = 0
        """The offset after the last record, once the records have been read."""
        self.is_damaged = False
        """Whether records or a snapshot had to be ignored, once the records have been read."""

    @property
    def is_used(self) -> bool:
        """Whether there is a snapshot or a segment that is not empty."""
        return bool(self.snapshots) or self.state.size > 0 or len(self.segments) > 1

    @property
    def state(self) -> LogState:
        """The last segment and its size."""
        if not self.segments:
            return LogState(*NO_SEGMENT)
        _, name = self.segments[-1]
        return LogState(name, self._files.system.status(os.path.join(self.directory, name)).st_size)

    def entries(self) -> Iterator[Entry]:
        """Read the newest snapshot and the log after it. Raises MetadataDamaged, OSError."""
        start = 0
        for snapshot in reversed(self.snapshots):
            try:
                entries = list(self._snapshot(snapshot.name))
            except (KafkaError, DecodeError) as error:
                _LOG.error(
                    "ignoring the damaged snapshot %s: %s", os.path.join(self.directory, snapshot.name), shown(error)
                )
                self.is_damaged = True
                continue
            start = snapshot.end_offset
            yield from entries
            break
        first = self.segments[0][0] if self.segments else start
        if first > start:
            raise MetadataDamaged(
                f"{self.directory}: the log starts at offset {first}, but there is no readable snapshot of what was "
                "before; restore the .checkpoint files, or remove the directory to find topics by the names of their "
                "directories"
            )
        self.end_offset = start
        yield from self._after(start)

    def _snapshot(self, name: str) -> Iterator[Entry]:
        """Read a snapshot. Raises KafkaError, DecodeError."""
        data = self._files.read_all(os.path.join(self.directory, name))
        first = last = None
        for batch in batches(data):
            _check(batch)
            yield from _entries(batch)
            last = [control_type(record) for record in batch.records()] if batch.is_control else []
            first = last if first is None else first
        if not first or first[0] is not ControlType.SNAPSHOT_HEADER:
            raise DecodeError("it has no header")
        if not last or last[-1] is not ControlType.SNAPSHOT_FOOTER:
            raise DecodeError(f"it has no footer within its {len(data)} bytes")

    def _after(self, start: int) -> Iterator[Entry]:
        """Read the log from offset `start` to its end or to the first damage."""
        expected = None
        for place, (base, name) in enumerate(self.segments):
            if place + 1 < len(self.segments) and self.segments[place + 1][0] <= start:
                continue
            if expected is not None and base != expected:
                self._ends(name, 0, expected, f"the segment starts at offset {base}")
                return
            reading = _Reading(self._files.read_all(os.path.join(self.directory, name)), base)
            try:
                for batch in reading.batches(start):
                    yield from (entry for entry in _entries(batch) if entry.offset >= start)
            except (KafkaError, DecodeError) as error:
                self._ends(name, reading.position, reading.offset, str(error))
                return
            finally:
                expected = reading.offset
                self.end_offset = max(start, expected)
            if rest := len(reading.data) - reading.position:
                self._ends(name, reading.position, expected, f"the last batch is incomplete, {rest} bytes")
                return

    def _ends(self, name: str, position: int, offset: int, reason: str) -> None:
        """Log an error about damage. The log is ignored from there on."""
        self.is_damaged = True
        path = os.path.join(self.directory, name)
        _LOG.error(
            "%s is damaged at position %d, offset %d: %s; ignoring the metadata from there on",
            *(path, position, offset, shown(reason)),
        )


class _Reading:
    """The contents of a segment, and how far they have been read."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.position = 0
        self.offset = offset

    def batches(self, start: int) -> Iterator[Batch]:
        """Iterate over the batches that end at offset `start` or later. Raises KafkaError, DecodeError."""
        for batch in batches(self.data):
            if batch.base_offset != self.offset:
                raise DecodeError(f"the batch has offset {batch.base_offset}")
            if batch.last_offset >= start:
                _check(batch)
                yield batch
            self.position, self.offset = batch.end, batch.next_offset


def read_bootstrap(path: str, files: Files) -> list[Content]:
    """Return the records of bootstrap.checkpoint. Raises MetadataDamaged, OSError."""
    contents = []
    try:
        for batch in batches(files.read_all(path)):
            _check(batch)
            contents += [entry.content for entry in _entries(batch)]
    except (KafkaError, DecodeError) as error:
        raise MetadataDamaged(f"{path}: {error}") from error
    return contents


def find_logs(directories: Iterable[str], files: Files) -> list[MetadataLog]:
    """Return the metadata logs in these log directories."""
    paths = [os.path.join(directory, METADATA_LOG) for directory in directories]
    return [log for path in paths if files.system.is_directory(path) and (log := MetadataLog(path, files)).is_used]


def _check(batch: Batch) -> None:
    """Raise KafkaError or DecodeError if a batch is damaged."""
    if batch.magic != 2:
        raise DecodeError(f"a batch of format {batch.magic} cannot be part of a metadata log")
    batch.check_crc()


def _entries(batch: Batch) -> Iterator[Entry]:
    """Decode the records of a batch.

    The only control record that is returned is KRAFT_VERSION. Raises DecodeError, KafkaError.
    """
    for record in batch.records():
        value = record.value or b""
        if not batch.is_control:
            yield Entry(record.offset, decode_record(value))
        elif control_type(record) is ControlType.KRAFT_VERSION:
            yield Entry(record.offset, KRaftVersionRecord.decode(value, 0))
