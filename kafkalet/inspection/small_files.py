"""The contents of the small files of a data directory as rows: indexes, snapshots, checkpoints and properties.

Each function raises Malformed if the contents cannot be parsed, and OSError.
"""

import json
from collections.abc import Callable, Iterator

from kafkalet.formats import (
    EpochStart,
    Malformed,
    parse_epochs,
    parse_offsets,
    parse_topic_id,
    uuid_text,
)
from kafkalet.properties import read_properties

from .index_file import IndexFile
from .kinds import FileKind, Kind
from .reading import ReadOnlyFile, read_file
from .rows import Row
from .segment_check import read_snapshot

INDEXES = (Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX)


def rows_of(path: str, kind: FileKind) -> Iterator[Row]:
    """Return the contents of a file of any kind but .log."""
    if kind.kind in INDEXES:
        return _index_rows(path, kind)
    return iter(_READERS[kind.kind](path, kind))


def _index_rows(path: str, kind: FileKind) -> Iterator[Row]:
    with ReadOnlyFile(path) as file:
        for entry in IndexFile(file, kind.kind):
            fields = dict(zip(LAYOUT_NAMES[kind.kind], entry.fields, strict=True))
            if "offset" in fields:
                fields["offset"] += kind.base_offset
            yield {"at": entry.at} | fields


LAYOUT_NAMES = {
    Kind.OFFSET_INDEX: ("offset", "position"),
    Kind.TIME_INDEX: ("timestamp", "offset"),
    Kind.TXN_INDEX: ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset"),
}


def read_epochs(path: str) -> list[EpochStart]:
    """Return the entries of leader-epoch-checkpoint."""
    return parse_epochs(read_file(path))


def read_topic_id(path: str) -> str:
    """Return the topic id in partition.metadata as text."""
    return uuid_text(parse_topic_id(read_file(path)))


def read_offsets(path: str) -> dict[tuple[str, int], int]:
    """Return the entries of a checkpoint of offsets."""
    return parse_offsets(read_file(path))


def read_meta_properties(path: str) -> dict[str, str]:
    """Return the contents of meta.properties."""
    try:
        return read_properties(read_file(path).decode("latin-1"))  # the encoding of java.util.Properties
    except ValueError as error:
        raise Malformed(0, str(error)) from None


def read_clean_shutdown(path: str) -> Row:
    """Return the contents of .kafka_cleanshutdown, which is empty before Kafka 3.7."""
    return _json_object(path) if read_file(path) else {}


def read_kafkalet_json(path: str) -> Row:
    """Return the contents of kafkalet.json."""
    return _json_object(path)


def _json_object(path: str) -> Row:
    try:
        found = json.loads(read_file(path))
    except json.JSONDecodeError as error:
        raise Malformed(error.pos, f"is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise Malformed(0, f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Malformed(0, "is not a JSON object")
    return found


def _snapshot_rows(path: str, kind: FileKind) -> list[Row]:
    return [entry._asdict() for entry in read_snapshot(path, kind.base_offset).entries]


def _offset_rows(path: str, kind: FileKind) -> list[Row]:
    return [
        {"topic": topic, "partition": partition, "offset": offset}
        for (topic, partition), offset in read_offsets(path).items()
    ]


def _topics_of(path: str, kind: FileKind) -> list[Row]:
    saved = read_kafkalet_json(path)
    topics = saved.pop("topics", [])
    if not isinstance(topics, list):
        raise Malformed(0, "its topics are not a list")
    return [saved, *(each if isinstance(each, dict) else {"topic": each} for each in topics)]


_READERS: dict[Kind, Callable[[str, FileKind], list[Row]]] = {
    Kind.SNAPSHOT: _snapshot_rows,
    Kind.OFFSETS: _offset_rows,
    Kind.LEADER_EPOCHS: lambda path, kind: [
        {"epoch": epoch, "start_offset": start} for epoch, start, _ in read_epochs(path)
    ],
    Kind.PARTITION_METADATA: lambda path, kind: [{"topic_id": read_topic_id(path)}],
    Kind.META_PROPERTIES: lambda path, kind: [
        {"property": name, "value": value} for name, value in read_meta_properties(path).items()
    ],
    Kind.CLEAN_SHUTDOWN: lambda path, kind: [read_clean_shutdown(path)],
    Kind.KAFKALET_JSON: _topics_of,
    Kind.QUORUM_STATE: lambda path, kind: [_json_object(path)],
}
