"""Audit a whole log by combining the facts about its stretches.

The segments are not read again here; only transaction indexes, snapshots and checkpoints are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet import formats
from kafkalet.units import counted
from kafkalet_spark.logs.directory import PartitionLog, snapshot_path
from kafkalet_spark.logs.ends import log_end_offset as end_as_read
from kafkalet_spark.logs.files import CorruptFile
from kafkalet_spark.logs.transactions import last_stable_offset as stable_as_read

from .audit_options import AuditOptions
from .causes import SIGNS_OF_A_LOST_END
from .checkpoint_checks import check_checkpoints
from .companion_files import CompanionFiles
from .empty_indexes import check_empty_indexes, is_file
from .epoch_runs import NO_EPOCH_RUNS, EpochRuns, check_epochs
from .findings import Findings
from .offset_chain import COMPACTED, EVERYTHING, UNDECIDED, OffsetChain, cleaner_offset, follow_offsets
from .producer_checks import check_producers
from .producer_runs import NO_RUNS, RUN, Runs
from .record_checks import Times
from .snapshot_check import LogFacts, check_snapshot
from .stretch_audit import StretchFacts
from .timestamp_sample import queries
from .transaction_history import ABORTED, OPEN, Transactions, has_data, last_stable_offset, transactions_of
from .txn_index_check import Reach, SegmentExtent, check_transaction_index
from .unique_keys import check_unique_keys


class SegmentFacts(NamedTuple):
    """The facts about one segment. Offsets are -1 if it has no valid entries."""

    path: str
    base_offset: int
    size: int
    first_offset: int
    last_offset: int
    entries: int
    records: int
    largest_timestamp: int
    damaged_bytes: int


class PartitionFacts(NamedTuple):
    """The facts about one log. Their size is bounded, except for the transactions."""

    log: PartitionLog
    companions: CompanionFiles
    findings: Findings
    chain: OffsetChain
    log_end_offset: int
    last_stable_offset: int
    segments: tuple[SegmentFacts, ...]
    entries: int
    records: int
    markers: int
    visible: int
    """Data records at or above the log start offset, including aborted ones."""
    aborted: int
    undecided: int
    """Data records in open transactions."""
    producers: int
    times: Times
    transactions: Transactions
    damaged_bytes: int
    stretch_paths: tuple[str, ...]
    queries: NDArray[np.int64]
    """The timestamps to look up at the broker."""


class PreparedLog(NamedTuple):
    """A log and its small files, before its segments are read."""

    log: PartitionLog
    companions: CompanionFiles
    findings: Findings
    before_offset: int | None
    """The offset at which the audit of a live log ends (exclusive); None if no broker is writing to the log."""
    is_followers: bool = False
    """Whether the files belong to a follower, which may lag behind and is compacted independently."""
    is_compared: bool = False
    """Whether timestamps are looked up at a live broker."""
    reaches_at_least: int = 0
    """The minimum log end offset, as reported by the broker that runs in this directory."""


def audit_partition(prepared: PreparedLog, facts: Sequence[StretchFacts], options: AuditOptions) -> PartitionFacts:
    """Audit a log. `facts` describe all its stretches, in order."""
    log, companions, findings = prepared.log, prepared.companions, prepared.findings
    _merge_findings(facts, findings)
    paths = stretch_paths(facts)
    chain = follow_offsets(
        facts,
        companions,
        findings,
        is_compacted=log.topic in options.compacted,
        reaches_at_least=prepared.reaches_at_least,
    )
    if undecided := chain.left_out[UNDECIDED]:
        findings.skip(log.path, f"undecided: {counted(undecided, 'offset')} missing, perhaps removed by the cleaner")
    if cleaner_offset(facts, companions.cleaned_up_to):
        check_unique_keys([part.compacted_keys for part in facts], paths, findings)
    epochs = np.concatenate([NO_EPOCH_RUNS, *(part.epochs for part in facts)])
    check_epochs(epochs, paths, companions.epochs, findings)
    _check_epoch_file(log, companions, epochs, findings)
    _check_time_indexes(facts, findings)
    check_empty_indexes(facts, companions.settings.index_interval_bytes, chain.compacted_up_to, findings)
    runs = _sorted(np.concatenate([NO_RUNS, *(part.runs for part in facts)]))
    lost = [(gap.first_offset, gap.end_offset) for gap in chain.gaps if gap.reason != COMPACTED]
    check_producers(runs, paths, chain.compacted_up_to, lost, options.producer_id_expiration_ms, findings)
    transactions = transactions_of(runs, chain.log_begins_at, paths, findings)
    _check_transaction_indexes(facts, transactions, chain, prepared)
    known_until = min((first for first, _ in lost), default=EVERYTHING)
    _check_snapshots(prepared, LogFacts(runs, transactions, chain, options.producer_id_expiration_ms), known_until)
    stable = last_stable_offset(transactions, chain.log_end_offset)
    _check_end(prepared, chain, stable, facts)
    kept = has_data(transactions)
    producers = int(np.unique(runs["producer_id"]).size)
    findings.checked["producers"] += producers
    findings.checked["transactions"] += int(kept.sum())
    timestamps = options.timestamps if prepared.is_compared else 0
    return PartitionFacts(
        log=log,
        companions=companions,
        findings=findings,
        chain=chain,
        log_end_offset=chain.log_end_offset,
        last_stable_offset=stable,
        segments=tuple(_segments(facts)),
        entries=sum(part.entries for part in facts),
        records=sum(part.records for part in facts),
        markers=sum(part.markers for part in facts),
        visible=sum(part.visible for part in facts),
        aborted=int(transactions["records"][transactions["result"] == ABORTED].sum()),
        undecided=int(transactions["records"][transactions["result"] == OPEN].sum()),
        producers=producers,
        times=reduce(Times.with_timestamps, (part.times for part in facts), Times()),
        transactions=transactions[kept],
        damaged_bytes=sum(part.damaged_bytes for part in facts),
        stretch_paths=paths,
        queries=queries([part.timestamps for part in facts], timestamps, options.seed),
    )


def _merge_findings(facts: Sequence[StretchFacts], findings: Findings) -> None:
    for part in facts:
        findings.merge(part.findings)
        if part.is_gone:
            findings.add("file", "the file was deleted during the audit", fault="gone", file=part.stretch.path)


def _check_end(prepared: PreparedLog, chain: OffsetChain, stable: int, facts: Sequence[StretchFacts]) -> None:
    """Compare the end of the log with all that refers to it."""
    log, companions, findings = prepared.log, prepared.companions, prepared.findings
    is_live = prepared.before_offset is not None
    if chain.is_end_known:
        check_checkpoints(companions, log.path, chain.log_end_offset, findings, is_live=is_live)
        _check_last_snapshot(log, companions, chain, facts, findings)
        _check_lost_end(log, chain, facts, findings)
    if not is_live and not any(part.is_damaged for part in facts):
        findings.checked["ends"] += 1
        _check_ends(log, chain, stable, findings)


def stretch_paths(facts: Sequence[StretchFacts]) -> tuple[str, ...]:
    """Return the files of all stretches, indexed by stretch number, even if stretches were audited together."""
    paths: list[str] = []
    for part in facts:
        paths += [part.stretch.path] * (part.number + 1 - len(paths))
    return tuple(paths)


def _sorted(runs: Runs) -> Runs:
    """Sort runs by producer, then by offset."""
    assert runs.dtype == RUN
    return runs[np.lexsort((runs["first_offset"], runs["producer_id"]))]


def _segments(facts: Sequence[StretchFacts]) -> list[SegmentFacts]:
    segments: list[SegmentFacts] = []
    for part in facts:
        stretch, extent = part.stretch, part.extent
        first = -1 if extent.first_offset is None else extent.first_offset
        mine = SegmentFacts(
            stretch.path,
            stretch.base_offset,
            stretch.segment_size,
            first,
            extent.last_offset if first >= 0 else -1,
            part.entries,
            part.records,
            part.largest_timestamp,
            part.damaged_bytes,
        )
        if stretch.is_first:
            segments.append(mine)
            continue
        earlier = segments[-1]
        segments[-1] = earlier._replace(
            first_offset=earlier.first_offset if earlier.first_offset >= 0 else mine.first_offset,
            last_offset=max(earlier.last_offset, mine.last_offset),
            entries=earlier.entries + mine.entries,
            records=earlier.records + mine.records,
            largest_timestamp=max(earlier.largest_timestamp, mine.largest_timestamp),
            damaged_bytes=earlier.damaged_bytes + mine.damaged_bytes,
        )
    return segments


def _check_time_indexes(facts: Sequence[StretchFacts], findings: Findings) -> None:
    """Check each time index across the stretches of its segment: the order of its entries, and its last entry."""
    largest, indexed = -1, -1
    for part in facts:
        stretch = part.stretch
        path = stretch.beside(".timeindex")
        if stretch.is_first:
            largest, indexed = -1, -1
        if part.indexed_timestamps is not None:
            first, last = part.indexed_timestamps
            if first <= max(largest, indexed):
                message = f"timestamp {first} follows {max(largest, indexed)}"
                findings.add("time-index", message, file=path, offset=stretch.first_offset)
            indexed = last
        largest = max(largest, part.largest_timestamp)
        is_complete = stretch.is_last and (stretch.next_base_offset is not None or stretch.is_closed)
        if is_complete and indexed != largest and not part.is_damaged and is_file(path):
            if indexed < 0:
                message = f"the index is empty, but the largest timestamp of the segment is {_named(largest)}"
                findings.add("time-index", message, fault="empty-timeindex", file=path, offset=stretch.base_offset)
                continue
            last_entry = f"the last timestamp of the index is {_named(indexed)}"
            message = f"{last_entry}, but the largest timestamp of the segment is {_named(largest)}"
            findings.add("time-index", message, file=path, offset=stretch.base_offset)


def _check_epoch_file(log: PartitionLog, companions: CompanionFiles, epochs: EpochRuns, findings: Findings) -> None:
    """Check leader-epoch-checkpoint. A leader adds its epoch to this file before it appends its first batch."""
    with_epochs = epochs[epochs["has_epoch"] & (epochs["epoch"] >= 0)]
    if companions.epochs is None and with_epochs.size:
        path = os.path.join(log.path, formats.LEADER_EPOCHS)
        highest = int(with_epochs["epoch"].max())
        message = f"the file is missing, but the batches have leader epochs up to {highest}"
        findings.add("leader-epoch", message, fault="no-epochs", file=path)
    if not (log.is_closed and companions.epochs and with_epochs.size):
        return
    # When the log start offset moves, so does the start of the first epoch (LeaderEpochFileCache.truncateFromStart).
    begins_at, first = log.log_start_offset, companions.epochs[0][1]
    path = os.path.join(log.path, formats.LEADER_EPOCHS)
    if first < begins_at <= log.segments[0].base_offset:
        message = f"leader epochs start at offset {first}, but the log at {begins_at}: segments are missing"
        findings.add("missing", message, fault="begin-lost", file=path, offset=first, end_offset=begins_at)
    elif first > begins_at and int(with_epochs["last_offset"][0]) < first:
        message = f"leader epochs start at offset {first}, but the log at {begins_at}: the log start offset is lost"
        findings.add("checkpoint", message, fault="log-start-lost", file=path, offset=begins_at, end_offset=first)


def _check_last_snapshot(
    log: PartitionLog, companions: CompanionFiles, chain: OffsetChain, facts: Sequence[StretchFacts], findings: Findings
) -> None:
    """Check for the producer state snapshot at the log end, which a clean shutdown writes for each non-empty log
    (ProducerStateManager.takeSnapshot, since 0.11)."""
    end = chain.log_end_offset
    is_new = any(part.epochs["has_epoch"].any() for part in facts)
    if not log.is_closed or end <= log.log_start_offset or not is_new or end in companions.snapshot_offsets:
        return
    path = snapshot_path(log.path, end)
    fault = "no-last-snapshot" if any(offset <= end for offset in companions.snapshot_offsets) else "no-snapshots"
    message = f"the broker was shut down cleanly at offset {end}, but there is no snapshot at this offset"
    findings.add("snapshot", message, fault=fault, file=path, offset=end)


def _check_lost_end(log: PartitionLog, chain: OffsetChain, facts: Sequence[StretchFacts], findings: Findings) -> None:
    """Check whether the log has lost its end. One other file that refers to later offsets may itself be wrong, but
    several such files prove the loss."""
    end = chain.log_end_offset
    signs = {
        finding.fault: finding.offset
        for finding in findings.found
        if finding.fault in SIGNS_OF_A_LOST_END and finding.offset is not None and finding.offset >= end
    }
    if len(signs) < 2 or any(part.is_damaged for part in facts[-1:]):
        return
    extent, path = facts[-1].extent, facts[-1].stretch.path
    message = f"the log ends at {end}, but {len(signs)} other files refer to offsets up to {max(signs.values())}"
    findings.add("missing", message, fault="end-lost", file=path, position=extent.end_position, offset=end)


def _named(timestamp: int) -> str:
    return "none" if timestamp < 0 else str(timestamp)


def _check_transaction_indexes(
    facts: Sequence[StretchFacts], transactions: Transactions, chain: OffsetChain, prepared: PreparedLog
) -> None:
    is_damaged = any(part.is_damaged for part in facts)
    reach = Reach.of(chain, prepared.log.log_start_offset, prepared.before_offset)
    for stretch in (part.stretch for part in facts if part.stretch.is_last):
        end = EVERYTHING if stretch.next_base_offset is None else stretch.next_base_offset
        path = stretch.beside(".txnindex")
        segment = SegmentExtent(stretch.path, path, stretch.base_offset, end, is_damaged)
        check_transaction_index(segment, transactions, reach, prepared.findings)


def _check_snapshots(prepared: PreparedLog, known: LogFacts, known_until: int) -> None:
    """Check the snapshots up to `known_until`. Beyond that, offsets are lost or not audited: the state is unknown."""
    if prepared.before_offset is not None:
        known_until = min(known_until, prepared.before_offset)
    for offset in prepared.companions.snapshot_offsets:
        if offset <= known_until:
            check_snapshot(snapshot_path(prepared.log.path, offset), offset, known, prepared.findings)
        else:
            prepared.findings.checked["snapshots beyond lost offsets"] += 1


def _check_ends(log: PartitionLog, chain: OffsetChain, stable: int, findings: Findings) -> None:
    """Compare the batches with the log end and last stable offset that a reader derives from indexes and snapshots."""
    try:
        end_told, stable_told = end_as_read(log), stable_as_read(log)
    except CorruptFile as error:
        about = {finding.file for finding in findings.found} | {skipped.path for skipped in findings.not_checked}
        if error.path not in about:  # otherwise, a more detailed finding already exists
            findings.add("ends", error.reason, file=error.path, position=error.position)
        return
    if end_told != chain.log_end_offset:
        message = f"the log end offset is {end_told} by the indexes, but {chain.log_end_offset} by the batches"
        findings.add("ends", message, file=log.path)
    if stable_told != max(stable, min(log.log_start_offset, chain.log_end_offset)):
        message = f"the last stable offset is {stable_told} by indexes and snapshots, but {stable} by the batches"
        findings.add("ends", message, file=log.path)
