"""Checks a data directory: every partition, and the files that belong to all of them."""

import contextlib
import os

from kafkalet import formats
from kafkalet.formats import Malformed

from . import small_files
from .faults import Report, parsed
from .kinds import KAFKALET_JSON, OFFSET_CHECKPOINTS, folder_of
from .overview import brokers_in, files_in, read_data_directory, segments_in
from .partition_check import Progress, check_partition, no_progress

SUFFIXES = {
    formats.DELETE: "its topic was deleted; the next start deletes the directory",
    formats.STRAY: "its topic does not exist any more; brokers ignore it",
    formats.FUTURE: "its partition was being moved to this directory",
}
VERSIONS = ("0", "1")

Ends = dict[tuple[str, int], int]
"""The log end offsets, keyed by partition."""


def check_cluster(path: str, report: Report, progress: Progress = no_progress) -> None:
    """Check the data directory of a broker, or of a cluster of several brokers. Raises OSError."""
    ids: dict[str, dict[str, str]] = {}
    for directory in brokers_in(path):
        _check_directory(directory, report, progress, ids)
    _check_kafkalet_json(os.path.join(path, KAFKALET_JSON), ids, report)
    _check_ids(ids, report)
    report.finish()


def _check_directory(path: str, report: Report, progress: Progress, ids: dict[str, dict[str, str]]) -> None:
    directory = read_data_directory(path)
    ends: Ends = {}
    for partition in directory.partitions:
        folder = folder_of(partition)
        assert folder is not None
        if folder.suffix:
            report.note(partition, "leftover", SUFFIXES[folder.suffix])
            if folder.suffix == formats.DELETE:
                continue
        # Brokers do not close the log of the controllers, so `.kafka_cleanshutdown` says nothing about it.
        is_clean = directory.is_clean and folder.topic != formats.METADATA_TOPIC
        state = check_partition(partition, report, is_clean=is_clean, progress=progress)
        segments = segments_in(files_in(partition))
        if segments and not folder.suffix:
            ends[folder.topic, folder.partition] = state.next_offset
        _note_id(partition, folder.topic, ids)
    if not directory.is_clean:
        report.note(path, "unclean", f"there is no {formats.CLEAN_SHUTDOWN}; the next start recovers the logs")
    for name in (*OFFSET_CHECKPOINTS, formats.CLEANER_OFFSETS):
        _check_offsets(os.path.join(path, name), ends, report)
    parsed(os.path.join(path, formats.CLEAN_SHUTDOWN), small_files.read_clean_shutdown, report)
    _check_meta_properties(os.path.join(path, formats.META_PROPERTIES), report)


def _note_id(partition: str, topic: str, ids: dict[str, dict[str, str]]) -> None:
    path = os.path.join(partition, formats.PARTITION_METADATA)
    with contextlib.suppress(Malformed, FileNotFoundError):
        ids.setdefault(topic, {})[path] = small_files.read_topic_id(path)


def _check_offsets(path: str, ends: Ends, report: Report) -> None:
    """Check that each offset of a checkpoint lies in the log of its partition."""
    found = parsed(path, small_files.read_offsets, report)
    for (topic, partition), offset in (found or {}).items():
        if (topic, partition) not in ends:
            report.note(path, "partition", f"{topic}-{partition} has no log in this directory")
            continue
        end = ends[topic, partition]
        if not 0 <= offset <= end:
            where = _line_of(path, topic, partition)
            report.fault(
                path, where, "range", f"offset {offset} of {topic}-{partition} is not between 0 and the log end, {end}"
            )


def _line_of(path: str, topic: str, partition: int) -> int:
    """Return the position of an entry of a checkpoint."""
    from .reading import read_file

    at = 0
    for line in read_file(path).splitlines(keepends=True):
        if line.split()[:2] == [topic.encode(), str(partition).encode()]:
            return at
        at += len(line)
    return 0


def _check_meta_properties(path: str, report: Report) -> None:
    found = parsed(path, small_files.read_meta_properties, report)
    if found is None:
        return
    version = found.get("version", "0").strip()
    if version not in VERSIONS:
        report.fault(path, None, "version", f"version {version!r} is unknown; expected 0 or 1")
        return
    id_name = "node.id" if version == "1" else "broker.id"
    for name in ("cluster.id", id_name) if version == "1" else (id_name,):
        if name not in found:
            report.fault(path, None, "missing", f"the property {name} is missing")
    number = found.get(id_name, "0").strip()
    if not number.removeprefix("-").isdecimal():
        report.fault(path, None, "range", f"{id_name} is {number!r}, which is not a number")


def _check_kafkalet_json(path: str, ids: dict[str, dict[str, str]], report: Report) -> None:
    found = parsed(path, small_files.read_kafkalet_json, report)
    if found is None:
        return
    from kafkalet.broker.cluster.metadata_store import MetadataDamaged, MetadataStore

    from .reading import read_file

    try:
        image, _ = MetadataStore.decode(read_file(path), path)
    except MetadataDamaged as error:
        report.fault(path, None, "format", str(error).removeprefix(f"{path}: "))
        return
    for topic in image.topics.values():
        ids.setdefault(topic.name, {})[path] = formats.uuid_text(topic.topic_id)


def _check_ids(ids: dict[str, dict[str, str]], report: Report) -> None:
    """Check that all sources have the same id for a topic."""
    for topic, found in ids.items():
        if len(set(found.values())) > 1:
            first, wanted = next(reversed(found.items()))
            for path, topic_id in found.items():
                if topic_id != wanted:
                    report.fault(path, None, "topic-id", f"topic {topic} has id {topic_id}; in {first} it has {wanted}")
