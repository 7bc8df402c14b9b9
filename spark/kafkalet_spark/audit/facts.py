"""The table facts.parquet, with a row for each fact about a log.

    kind           name                     value                     text
    partition      log_start_offset, ...    the number                the path of the log, for `log_begins_at`
    segment        size, entries, records, largest_timestamp, damaged_bytes (first_offset, last_offset, file)
    transaction    open, aborted, committed, ended                    records; bytes in `text`
                   (producer_id, producer_epoch, first_offset, last_offset: of the marker, or null if open)
    gap            compacted, unreadable, missing                     offsets (first_offset, last_offset, file)
    finding        the check                                          null; the message in `text`

Columns that do not apply are null; findings about a whole log directory have no topic. Offsets are inclusive. A
timestamp of -1 means that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from .findings import Findings
from .partition_audit import PartitionFacts
from .transaction_history import RESULTS

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("value", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("file", pa.string()),
        pa.field("position", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
    ]
)


def tables(facts: PartitionFacts) -> Iterator[pa.Table]:
    """Yield the rows about one log, in one or two tables."""
    about = {"topic": facts.log.topic, "partition": facts.log.partition}
    rows = [*_about(facts), *_segments(facts), *_gaps(facts)]
    yield pa.Table.from_pylist([about | row for row in rows], SCHEMA)
    if facts.transactions.size:
        yield _transactions(facts)


def findings_table(findings: Findings) -> pa.Table:
    """Return the rows about a log directory."""
    return pa.Table.from_pylist([{"topic": None, "partition": None} | row for row in _found(findings)], SCHEMA)


def numbers(facts: PartitionFacts) -> dict[str, int]:
    """Return the numeric facts about one log, keyed by name."""
    chain, times = facts.chain, facts.times
    data = facts.records - facts.markers
    return {
        "log_begins_at": chain.log_begins_at,
        "log_start_offset": facts.log.log_start_offset,
        "last_stable_offset": facts.last_stable_offset,
        "log_end_offset": facts.log_end_offset,
        "segments": len(facts.segments),
        "size": facts.log.size_bytes,
        "entries": facts.entries,
        "records": data,
        "markers": facts.markers,
        "aborted_records": facts.aborted,
        "undecided_records": facts.undecided,
        "below_log_start_records": data - facts.visible,
        "compacted_offsets": chain.left_out["compacted"],
        "unreadable_offsets": chain.left_out["unreadable"],
        "missing_offsets": chain.left_out["missing"],
        "undecided_offsets": chain.left_out["undecided"],
        "damaged_bytes": facts.damaged_bytes,
        "producers": facts.producers,
        "open_transactions": int((facts.transactions["result"] == 0).sum()),
        "aborted_transactions": int((facts.transactions["result"] == 1).sum()),
        "committed_transactions": int((facts.transactions["result"] == 2).sum()),
        "smallest_timestamp": times.smallest,
        "largest_timestamp": times.largest,
    }


Row = dict[str, Any]


def _about(facts: PartitionFacts) -> Iterator[Row]:
    for name, value in numbers(facts).items():
        yield {"kind": "partition", "name": name, "value": value, "text": facts.log.path if "begins" in name else None}
    yield from _found(facts.findings)


def _found(findings: Findings) -> Iterator[Row]:
    for finding in findings.found:
        place = {"file": finding.file, "position": finding.position, "first_offset": finding.offset}
        yield {"kind": "finding", "name": finding.check, "text": finding.message, **place}


def _segments(facts: PartitionFacts) -> Iterator[Row]:
    for segment in facts.segments:
        place = {"file": segment.path}
        if segment.first_offset >= 0:
            place |= {"first_offset": segment.first_offset, "last_offset": segment.last_offset}  # type: ignore[dict-item]
        for name, value in (
            ("size", segment.size),
            ("entries", segment.entries),
            ("records", segment.records),
            ("largest_timestamp", segment.largest_timestamp),
            ("damaged_bytes", segment.damaged_bytes),
        ):
            yield {"kind": "segment", "name": name, "value": value, **place}


def _gaps(facts: PartitionFacts) -> Iterator[Row]:
    for gap in facts.chain.gaps:
        yield {
            "kind": "gap",
            "name": gap.reason,
            "value": gap.end_offset - gap.first_offset,
            "file": gap.path,
            "position": gap.position,
            "first_offset": gap.first_offset,
            "last_offset": gap.end_offset - 1,
        }


def _transactions(facts: PartitionFacts) -> pa.Table:
    transactions = facts.transactions
    count = transactions.size
    is_open = transactions["last_offset"] < 0
    paths = np.array([*facts.stretch_paths, ""], object)
    columns = {
        "topic": pa.array([facts.log.topic] * count, pa.string()),
        "partition": pa.array(np.full(count, facts.log.partition, np.int32)),
        "kind": pa.array(["transaction"] * count, pa.string()),
        "name": pa.array(np.array(RESULTS, object)[transactions["result"]], pa.string()),
        "value": pa.array(transactions["records"]),
        "text": pa.array(transactions["bytes"].astype(str)),
        "file": pa.array(paths[transactions["first_stretch"]], pa.string()),
        "position": pa.array(transactions["first_position"]),
        "first_offset": pa.array(transactions["first_offset"]),
        "last_offset": pa.array(transactions["last_offset"], mask=is_open),
        "producer_id": pa.array(transactions["producer_id"]),
        "producer_epoch": pa.array(transactions["producer_epoch"].astype(np.int32)),
    }
    return pa.table(columns, SCHEMA)
