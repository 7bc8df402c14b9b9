"""The names and formats of the files in a log directory: functions that parse and encode bytes, without any I/O.

A checkpoint (Kafka's CheckpointFile) consists of a version, a count, and one entry per line. In the four checkpoints
of a log directory, an entry consists of a topic, a partition and an offset (left). In leader-epoch-checkpoint, in the
directory of a partition, it consists of an epoch and a start offset (right):

    0                       0
    2                       2
    orders 0 1200           0 0
    orders 1 1187           3 950

partition.metadata (since Kafka 2.8) contains the topic id in URL-safe base64 without padding:

    version: 0
    topic_id: AAAAAAAAAAAAAAAAAAAAAQ

Producer snapshots (Kafka's ProducerSnapshot, version 1) and index entries are big-endian:

    .snapshot    version int16 (1) | crc uint32 | number of entries int32 | entries; the checksum is the CRC-32C of the
                 data after it
    .index       relative offset int32 | position int32
    .timeindex   timestamp int64 | relative offset int32
    .txnindex    version int16 (0) | producer id | first offset | last offset | last stable offset, int64 each

Both `storage` and `pipeline` read and write these files, and each validates the values according to its own rules.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.units import counted

LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"
SNAPSHOT_SUFFIX = ".snapshot"

DELETED = ".deleted"
"""The suffix of a file that will be deleted soon."""
CLEANED = ".cleaned"
"""The suffix of a file of an unfinished compaction."""
SWAP = ".swap"
"""The suffix of a complete file that replaces others."""
DELETE = "-delete"
"""The suffix of the directory of a deleted partition."""
STRAY = "-stray"
"""The suffix of a directory whose partition does not belong to the cluster or the broker."""
FUTURE = "-future"
"""The suffix of a directory to which a partition is being moved."""

METADATA_TOPIC = "__cluster_metadata"
"""The metadata log of Apache Kafka's controllers, which brokers do not serve as a topic."""

TXN_INDEX_VERSION = 0

_TEXT_VERSION = "0"
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)


class Malformed(Exception):
    """The data is malformed. `reason` describes the error at byte `position`."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


# Checkpoints


class EpochStart(NamedTuple):
    """An entry of leader-epoch-checkpoint, with its byte position in the file."""

    epoch: int
    start_offset: int
    position: int


def parse_offsets(data: bytes) -> dict[tuple[str, int], int]:
    """Parse a checkpoint that contains an offset for each topic and partition. Raises Malformed."""
    return {
        (topic, _number(partition, at)): _number(offset, at)
        for at, (topic, partition, offset) in _checkpoint_lines(data, 3)
    }


def offsets_bytes(offsets: Mapping[tuple[str, int], int]) -> bytes:
    return _checkpoint_bytes([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def parse_epochs(data: bytes) -> list[EpochStart]:
    """Parse a checkpoint of leader epochs and return its entries in file order. Raises Malformed."""
    return [
        EpochStart(_number(epoch, at), _number(offset, at), at) for at, (epoch, offset) in _checkpoint_lines(data, 2)
    ]


def epochs_bytes(epochs: Iterable[tuple[int, int]]) -> bytes:
    return _checkpoint_bytes([f"{epoch} {offset}" for epoch, offset in epochs])


def _checkpoint_lines(data: bytes, fields: int) -> list[tuple[int, list[str]]]:
    """Split each entry into fields. Return them with the position of the entry's line. An empty file has no entries."""
    lines: list[tuple[int, str]] = []
    at = 0
    for line in data.splitlines(keepends=True):
        lines.append((at, line.decode(errors="replace").strip("\r\n")))
        at += len(line)
    if not lines:
        return []
    if lines[0][1].strip() != _TEXT_VERSION:
        raise Malformed(0, f"has version {lines[0][1][:100]!r}")
    if len(lines) < 2:
        raise Malformed(len(data), "ends after its version")
    entries = [(position, line.split()) for position, line in lines[2:] if line.strip()]
    position, count = lines[1]
    if len(entries) != _number(count, position):
        raise Malformed(position, f"has {counted(len(entries), 'entry', 'entries')}, but declares {count[:20]}")
    for position, entry in entries:
        if len(entry) != fields:
            raise Malformed(position, f"has a line of {len(entry)} fields instead of {fields}")
    return entries


def _checkpoint_bytes(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_TEXT_VERSION, str(len(lines)), *lines)).encode()


def _number(text: str, position: int) -> int:
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= 1 << 63:
        raise Malformed(position, f"has {text[:100]!r} instead of a 64-bit number")
    return int(text)


# Partition.metadata


def parse_topic_id(data: bytes) -> bytes:
    """Parse partition.metadata and return the topic id (16 bytes). Raises Malformed."""
    text = data.decode(errors="replace")
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != _TEXT_VERSION or "topic_id" not in fields:
        raise Malformed(0, f"has no topic id of version {_TEXT_VERSION}: {text[:100]!r}")
    name = fields["topic_id"].strip()
    try:
        return parse_uuid(name)
    except Malformed as error:
        raise Malformed(text.index("topic_id"), error.reason) from None


def topic_id_bytes(topic_id: bytes) -> bytes:
    return f"version: {_TEXT_VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def uuid_text(uuid: bytes) -> str:
    """Return a 16-byte UUID as text in Kafka's format: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def parse_uuid(text: str) -> bytes:
    """Parse the text format of `uuid_text`. Raises Malformed."""
    try:
        uuid = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        uuid = b""
    if len(uuid) != 16:
        raise Malformed(0, f"has {text!r} instead of a UUID")
    return uuid


# Entries of a fixed size


class EntryLayout:
    """The fields of a fixed-size entry in order, with their `struct` codes. All fields are big-endian."""

    def __init__(self, **fields: str) -> None:
        self.fields = {name: f">{letter}" for name, letter in fields.items()}
        """Type codes that both `struct` and NumPy accept."""
        self.struct = Struct(">" + "".join(fields.values()))
        self.size_bytes = self.struct.size


OFFSET_INDEX_ENTRY = EntryLayout(offset="i", position="i")
TIME_INDEX_ENTRY = EntryLayout(timestamp="q", offset="i")
TXN_INDEX_ENTRY = EntryLayout(version="h", producer_id="q", first="q", last="q", last_stable="q")
PRODUCER_ENTRY = EntryLayout(
    producer_id="q",
    producer_epoch="h",
    last_sequence="i",
    last_offset="q",  # -1 if the producer has no batch
    offset_delta="i",
    timestamp="q",
    coordinator_epoch="i",
    first_offset="q",  # of the ongoing transaction; -1 if there is none
)


# Producer snapshots

SNAPSHOT_VERSION = 1
_SNAPSHOT_HEADER = Struct(">hIi")
_CRC_AT = 2
_CRC_COVERS_FROM = 6


def snapshot_entries(data: bytes) -> memoryview:
    """Return the entries of a .snapshot file as bytes in the layout PRODUCER_ENTRY. Raises Malformed."""
    try:
        version, crc, count = _SNAPSHOT_HEADER.unpack_from(data)
    except StructError:
        raise Malformed(len(data), f"{counted(len(data), 'byte')}, less than a header") from None
    if version != SNAPSHOT_VERSION:
        raise Malformed(0, f"version {version} is unknown")
    if crc != crc32c(data[_CRC_COVERS_FROM:]):
        raise Malformed(_CRC_AT, "the checksum is wrong")
    size_bytes = count * PRODUCER_ENTRY.size_bytes
    rest = len(data) - _SNAPSHOT_HEADER.size
    if count < 0 or rest < size_bytes:
        raise Malformed(
            _SNAPSHOT_HEADER.size, f"{counted(rest, 'byte')}, too few for {counted(count, 'entry', 'entries')}"
        )
    return memoryview(data)[_SNAPSHOT_HEADER.size : _SNAPSHOT_HEADER.size + size_bytes]


def snapshot_bytes(entries: bytes) -> bytes:
    """Return the content of a .snapshot file with the given entries."""
    count = len(entries) // PRODUCER_ENTRY.size_bytes
    body = count.to_bytes(4, "big") + entries
    return SNAPSHOT_VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body
