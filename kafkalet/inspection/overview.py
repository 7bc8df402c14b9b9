"""What a data directory and the directory of a partition contain: partitions and segments as rows.

A partition is described without reading all of it: only the last segment is read, from its last index entry on.
`segment_row` reads the headers of all batches of a segment.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from kafkalet import formats
from kafkalet.formats import Malformed
from kafkalet.protocol.records.batch import NO_TIMESTAMP

from . import small_files
from .index_file import IndexFile
from .internal_records import DECODER_OF_TOPIC
from .kinds import KAFKALET_JSON, FileKind, Kind, folder_of, is_partition, kind_of
from .reading import Entry, ReadOnlyFile, Unreadable, entries
from .rows import Row, codec_name

Offsets = dict[tuple[str, int], int]


class FoundFile(NamedTuple):
    """A file of a partition."""

    path: str
    kind: FileKind


def files_in(directory: str) -> list[FoundFile]:
    """Return the files of a partition in the order of their offsets. Files with unknown names are left out."""
    found = []
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        kind = kind_of(path)
        if kind is not None and os.path.isfile(path):
            found.append(FoundFile(path, kind))
    return found


def segments_in(files: list[FoundFile]) -> list[FoundFile]:
    """Return the .log files that belong to the log, which have no suffix."""
    return [file for file in files if file.kind.kind is Kind.LOG and not file.kind.suffix]


class DataDirectory(NamedTuple):
    """The small files of a data directory, and its partitions.

    An attribute is None if its file does not exist or is damaged.
    """

    path: str
    partitions: list[str]
    recovery_points: Offsets | None
    high_watermarks: Offsets | None
    log_start_offsets: Offsets | None
    properties: dict[str, str] | None
    is_clean: bool


def is_data_directory(path: str) -> bool:
    """Return whether a directory has the files of a data directory, or directories of partitions."""
    names = os.listdir(path)
    known = {
        formats.META_PROPERTIES,
        KAFKALET_JSON,
        formats.CLEAN_SHUTDOWN,
        formats.RECOVERY_POINTS,
        formats.HIGH_WATERMARKS,
    }
    return bool(known & set(names)) or any(
        folder_of(name) and os.path.isdir(os.path.join(path, name)) for name in names
    )


def read_data_directory(path: str) -> DataDirectory:
    """Read the small files of a data directory. Damaged ones are left out. Raises OSError."""
    partitions = [
        os.path.join(path, name)
        for name in sorted(os.listdir(path), key=_by_topic_and_number)
        if folder_of(name) is not None and os.path.isdir(os.path.join(path, name))
    ]
    properties = None
    with suppress(Malformed, FileNotFoundError):
        properties = small_files.read_meta_properties(os.path.join(path, formats.META_PROPERTIES))
    return DataDirectory(
        path,
        partitions,
        _offsets(path, formats.RECOVERY_POINTS),
        _offsets(path, formats.HIGH_WATERMARKS),
        _offsets(path, formats.LOG_START_OFFSETS),
        properties,
        os.path.exists(os.path.join(path, formats.CLEAN_SHUTDOWN)),
    )


def brokers_in(path: str) -> list[str]:
    """Return the directories of the brokers of a cluster: DIR/broker-1 and so on, or DIR itself."""
    names = [name for name in os.listdir(path) if name.startswith("broker-") and name[7:].isdecimal()]
    folders = [os.path.join(path, name) for name in sorted(names, key=lambda name: int(name[7:]))]
    folders = [folder for folder in folders if os.path.isdir(folder) and not is_partition(folder)]
    return folders or [path]


def _by_topic_and_number(name: str) -> tuple[bool, tuple[str, int, str]]:
    """The internal topics are last."""
    folder = folder_of(name)
    return folder is not None and folder.topic in DECODER_OF_TOPIC, folder or (name, 0, "")


def _offsets(path: str, name: str) -> Offsets | None:
    with suppress(Malformed, FileNotFoundError):
        return small_files.read_offsets(os.path.join(path, name))
    return None


def partition_row(path: str, directory: DataDirectory | None = None) -> Row:
    """Return a summary of a partition: its name, segments, offsets and times. Raises OSError."""
    folder = folder_of(path)
    files = files_in(path)
    segments = segments_in(files)
    key = (folder.topic, folder.partition) if folder else ("", 0)
    topic_id = None
    with suppress(Malformed, FileNotFoundError):
        topic_id = small_files.read_topic_id(os.path.join(path, formats.PARTITION_METADATA))
    first = segments[0].kind.base_offset if segments else None
    end = log_end(segments[-1]) if segments else LogEnd(None, None)
    start = (directory.log_start_offsets or {}).get(key, first) if directory else first
    return {
        "partition": os.path.basename(os.path.abspath(path)),
        "segments": len(segments),
        "size": sum(os.path.getsize(file.path) for file in files),
        "log_start_offset": first if start is None or first is None else max(start, first),
        "log_end_offset": end.offset,
        "high_watermark": (directory.high_watermarks or {}).get(key) if directory else None,
        "recovery_point": (directory.recovery_points or {}).get(key) if directory else None,
        "last_timestamp": end.timestamp,
        "modified": _modified_ms(segments[-1].path) if segments else None,
        "topic_id": topic_id,
    }


class LogEnd(NamedTuple):
    """The offset after the last readable batch of a log, and the largest timestamp at its end; None if unknown."""

    offset: int | None
    timestamp: int | None


def log_end(segment: FoundFile) -> LogEnd:
    """Return the end of the log whose last segment this is. Raises OSError."""
    end, largest = segment.kind.base_offset, NO_TIMESTAMP
    with ReadOnlyFile(segment.path) as file:
        for entry in entries(file, _last_indexed(segment, file), heads=True):
            if isinstance(entry, Unreadable):
                break
            end = max(end, entry.batch.next_offset)
            largest = max(largest, entry.batch.max_timestamp)
    with suppress(OSError), ReadOnlyFile(segment.path.replace(".log", Kind.TIME_INDEX.value, 1)) as file:
        last = IndexFile(file, Kind.TIME_INDEX).last()
        if last is not None:
            largest = max(largest, last.fields[0])
    return LogEnd(end, largest if largest >= 0 else None)


def _last_indexed(segment: FoundFile, log: ReadOnlyFile) -> int:
    """Return the position of the last batch with an index entry; 0 if there is none or the index is damaged."""
    directory, name = os.path.split(segment.path)
    with suppress(OSError), ReadOnlyFile(os.path.join(directory, name.replace(".log", ".index", 1))) as file:
        last = IndexFile(file, Kind.OFFSET_INDEX).last()
        if last is not None and 0 < last.fields[1] < log.size:
            found = next(entries(log, last.fields[1], heads=True), None)
            offset = segment.kind.base_offset + last.fields[0]
            if isinstance(found, Entry) and segment.kind.base_offset <= found.batch.base_offset <= offset:
                return last.fields[1]
    return 0


def segment_row(file: FoundFile) -> Row:
    """Return a summary of the batches of a segment, from their headers. Raises OSError."""
    batches = records = transactional = control = 0
    first = last = None
    earliest: int | None = None
    largest = NO_TIMESTAMP
    codecs: Counter[str] = Counter()
    magics: set[int] = set()
    producers: set[int] = set()
    unreadable = 0
    with ReadOnlyFile(file.path) as log:
        for entry in entries(log, heads=True):
            if isinstance(entry, Unreadable):
                unreadable += entry.end - entry.position
                continue
            batch = entry.batch
            batches += 1
            records += max(batch.count, 0)
            transactional += batch.is_transactional
            control += batch.is_control
            codecs[codec_name(batch)] += 1
            magics.add(batch.magic)
            if batch.producer_id >= 0:
                producers.add(batch.producer_id)
            first = batch.base_offset if first is None else first
            last = batch.last_offset
            if batch.max_timestamp >= 0:
                earliest = batch.max_timestamp if earliest is None else min(earliest, batch.max_timestamp)
            largest = max(largest, batch.max_timestamp)
        size = log.size
    return {
        "segment": os.path.basename(file.path),
        "size": size,
        "first_offset": first,
        "last_offset": last,
        "batches": batches,
        "records": records,
        "codecs": sorted(codecs),
        "formats": sorted(magics),
        "producers": len(producers),
        "transactional_batches": transactional,
        "control_batches": control,
        "first_timestamp": earliest,
        "last_timestamp": largest if largest >= 0 else None,
        "modified": _modified_ms(file.path),
        "unreadable_bytes": unreadable,
    }


def other_files(files: list[FoundFile]) -> Iterator[Row]:
    """Yield the names and sizes of the files of a partition other than .log files of segments."""
    for file in files:
        if file.kind.kind is not Kind.LOG or file.kind.suffix:
            row: Row = {"name": os.path.basename(file.path), "size": os.path.getsize(file.path), "entries": None}
            if file.kind.kind in small_files.INDEXES:
                with suppress(OSError), ReadOnlyFile(file.path) as opened:
                    row["entries"] = len(IndexFile(opened, file.kind.kind))
            yield row


def _modified_ms(path: str) -> int:
    return os.stat(path).st_mtime_ns // 1_000_000
