"""Checks the directory of a partition: all segments, and the files that belong to the whole log."""

import itertools
import os
from collections.abc import Callable
from contextlib import suppress

from kafkalet import formats
from kafkalet.formats import EpochStart, Malformed

from . import small_files
from .faults import Report, parsed
from .kinds import FileKind, Kind, folder_of
from .overview import FoundFile, files_in, segments_in
from .reading import ReadOnlyFile, Unreadable, entries
from .segment_check import (
    LogState,
    SegmentFiles,
    Snapshot,
    check_segment,
    check_snapshot,
    read_snapshot,
)

LEFTOVERS = {
    formats.DELETED: "the next start deletes it",
    formats.CLEANED: "it belongs to an unfinished compaction; the next start deletes it",
    formats.SWAP: "it belongs to a compaction; the next start finishes it",
    ".part": "the next start deletes it",
}
OF_A_SEGMENT = (Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX)
Progress = Callable[[int], object]


def no_progress(size_bytes: int) -> None:
    """Ignore how many bytes were read."""


def check_partition(
    directory: str, report: Report, *, is_clean: bool = False, progress: Progress = no_progress
) -> LogState:
    """Check all files of a partition. `is_clean` means that the broker closed the log. Raises OSError."""
    files = files_in(directory)
    segments = segments_in(files)
    epochs = _epochs(directory, report)
    state = LogState(_snapshots(files, report), epochs)
    state.log_start_offset = _log_start_offset(directory)
    _leftovers(files, report, progress)
    _topic_id(directory, report)
    _strays(files, segments, report)
    for path, kind in files:
        if kind.kind is Kind.METADATA_SNAPSHOT and not kind.suffix:
            _check_metadata_snapshot(path, report)
    for at, segment in enumerate(segments):
        is_last = at == len(segments) - 1
        following = None if is_last else segments[at + 1].kind.base_offset
        is_closed = not is_last or is_clean
        if is_closed:
            _missing_indexes(segment, report)
        check_segment(
            SegmentFiles(segment.path, segment.kind.base_offset, following, is_closed), state, report, progress
        )
    if segments:
        end = max(state.next_offset, segments[-1].kind.base_offset)
        state.next_offset = end
        _ends(directory, epochs, state, end, report)
    elif folder_of(directory) is not None:
        report.note(directory, "empty", "the partition has no segment")
    report.finish()
    return state


def _log_start_offset(directory: str) -> int:
    """Return the partition's entry in the log-start-offset-checkpoint of its log directory; 0 if there is none."""
    folder = folder_of(directory)
    path = os.path.join(os.path.dirname(os.path.abspath(directory)), formats.LOG_START_OFFSETS)
    with suppress(Malformed, FileNotFoundError):
        if folder is not None:
            return small_files.read_offsets(path).get((folder.topic, folder.partition), 0)
    return 0


def _epochs(directory: str, report: Report) -> list[EpochStart] | None:
    path = os.path.join(directory, formats.LEADER_EPOCHS)
    found = parsed(path, small_files.read_epochs, report)
    if found is None:
        return None
    for before, entry in itertools.pairwise(found):
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            report.fault(
                path, entry.position, "order",
                f"epoch {entry.epoch} at offset {entry.start_offset} follows epoch {before.epoch} at offset "
                f"{before.start_offset}; both must increase",
            )  # fmt: skip
            return None
    if found and (found[0].epoch < 0 or found[0].start_offset < 0):
        report.fault(path, found[0].position, "range", f"epoch {found[0].epoch} or its offset is negative")
        return None
    return found


def _snapshots(files: list[FoundFile], report: Report) -> list[Snapshot]:
    found = []
    for path, kind in files:
        if kind.kind is Kind.SNAPSHOT and not kind.suffix:
            report.checked(os.path.getsize(path))
            try:
                found.append(read_snapshot(path, kind.base_offset))
            except Malformed as error:
                report.fault(path, error.position, "format", error.reason)
    return found


def _leftovers(files: list[FoundFile], report: Report, progress: Progress) -> None:
    for path, kind in files:
        if kind.suffix:
            report.note(path, "leftover", LEFTOVERS[kind.suffix])
        if kind.suffix == formats.SWAP and kind.kind is Kind.LOG:
            check_segment(SegmentFiles(path, kind.base_offset), LogState(), report, progress)


def _topic_id(directory: str, report: Report) -> None:
    path = os.path.join(directory, formats.PARTITION_METADATA)
    topic_id = parsed(path, small_files.read_topic_id, report)
    if topic_id == formats.uuid_text(bytes(16)):
        report.fault(path, None, "topic-id", "the topic id is all zeros")


def _strays(files: list[FoundFile], segments: list[FoundFile], report: Report) -> None:
    """Report index files without a .log file."""
    known = {segment.kind.base_offset for segment in segments}
    for path, kind in files:
        if kind.kind in OF_A_SEGMENT and not kind.suffix and kind.base_offset not in known:
            report.fault(path, None, "stray", "there is no .log file with this base offset")


def _missing_indexes(segment: FoundFile, report: Report) -> None:
    """Report missing indexes of a closed segment. Those of the active segment are written when it is rolled."""
    files = SegmentFiles(segment.path, segment.kind.base_offset)
    for kind in (Kind.OFFSET_INDEX, Kind.TIME_INDEX):
        path = files.path(kind)
        if not os.path.exists(path):
            report.fault(path, None, "missing", "the file does not exist; the next start builds it from the .log")


def _ends(directory: str, epochs: list[EpochStart] | None, state: LogState, end: int, report: Report) -> None:
    """Check the files that refer to the end of the log."""
    for snapshot in state.snapshots:
        if snapshot.offset > end:
            report.fault(snapshot.path, None, "range", f"offset {snapshot.offset} is above the end of the log, {end}")
        else:
            check_snapshot(snapshot, state, report)
    path = os.path.join(directory, formats.LEADER_EPOCHS)
    for entry in epochs or ():
        if entry.start_offset > end:
            report.fault(
                path, entry.position, "range",
                f"epoch {entry.epoch} begins at offset {entry.start_offset}, above the end of the log, {end}",
            )  # fmt: skip


def check_file(path: str, kind: FileKind, report: Report, progress: Progress = no_progress) -> None:
    """Check a single file of a partition. A .log file is checked with its indexes, and an index with its .log file.

    Raises OSError.
    """
    directory, name = os.path.split(path)
    if kind.kind is Kind.LOG or kind.kind in OF_A_SEGMENT:
        log = os.path.join(directory, name.replace(kind.kind.value, Kind.LOG.value, 1))
        if os.path.exists(log):
            check_segment(SegmentFiles(log, kind.base_offset), LogState(), report, progress)
        else:
            report.fault(path, None, "stray", "there is no .log file with this base offset")
    elif kind.kind is Kind.METADATA_SNAPSHOT:
        _check_metadata_snapshot(path, report)
    else:
        report.checked(os.path.getsize(path))
        try:
            for _ in small_files.rows_of(path, kind):
                pass
        except Malformed as error:
            report.fault(path, error.position, "format", error.reason)
    report.finish()


def _check_metadata_snapshot(path: str, report: Report) -> None:
    with ReadOnlyFile(path) as file:
        report.checked(file.size)
        for entry in entries(file):
            if isinstance(entry, Unreadable):
                report.fault(path, entry.position, "unreadable", entry.reason)
                continue
            report.batches += 1
            report.records += max(entry.batch.count, 0)
            if entry.batch.computed_crc() != entry.batch.crc:
                report.fault(path, entry.position, "checksum", "the checksum of the batch does not match")
