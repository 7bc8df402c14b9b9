"""Resolve the options for the start and the end to an offset range per partition.

The rules are those of Spark's Kafka source (KafkaOffsetReaderAdmin.getOffsetRangesFromUnresolvedOffsets):

* offsets and timestamps per partition must name exactly the partitions that are read;
* a starting timestamp after the last record is an error or, with the strategy `latest`, means the end;
* an ending timestamp after the last record means the end;
* a start after the end is an error, regardless of failOnDataLoss.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from .option_types import BadOption
from .options import EARLIEST, LATEST, Limit, ReadOptions, TopicPartition, Topics
from .origin import Origin, PartitionRange

_LOG = logging.getLogger(__name__)


class DataLoss(Exception):
    """Requested offsets were deleted or never existed. The message names the topic and partition."""


def ranges(origin: Origin, options: ReadOptions) -> list[PartitionRange]:
    """Return the range of each partition that a batch query reads. Raises BadOption, DataLoss."""
    partitions = origin.partitions()
    warn_of_missing(options.topics, partitions)
    earliest, latest = origin.earliest(partitions), origin.latest(partitions)
    starts = resolved(origin, options.starting, partitions, earliest, latest, options.no_match)
    ends = resolved(origin, options.ending, partitions, earliest, latest, "latest")
    found = []
    for key in partitions:
        check_order(key, starts[key], ends[key])
        loss = options.fail_on_data_loss
        start, end = available(key, starts[key], ends[key], earliest[key], latest[key], loss)
        found.append(PartitionRange(*key, start, end))
    return found


def check_order(key: TopicPartition, start: int, end: int) -> None:
    """Reject a range that ends before it starts (KafkaExceptions.resolvedStartOffsetGreaterThanEndOffset)."""
    if start > end:
        raise BadOption(
            f"the resolved start offset {start} of {key[0]}-{key[1]} is after its resolved end offset {end}: check "
            "whether the starting offset lies past the end of the log or after the ending offset or timestamp, or "
            "whether the topic was deleted and created again"
        )


def warn_of_missing(topics: Topics, partitions: Sequence[TopicPartition]) -> None:
    """Log which partitions of `assign` do not exist. Spark's Kafka source ignores them silently."""
    if missing := sorted(set(topics.assigned or ()) - set(partitions)):
        _LOG.warning("assign names partitions that do not exist: %s", ", ".join(f"{t}-{p}" for t, p in missing))


def resolved(
    origin: Origin,
    limit: Limit,
    partitions: Sequence[TopicPartition],
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    no_match: str,
) -> dict[TopicPartition, int]:
    """Resolve `limit` to an offset per partition. `no_match`: "error" or "latest" if no record matches a timestamp."""
    if limit.offset is not None:
        return dict(latest if limit.offset == LATEST else earliest)
    if limit.offsets is not None:
        _check_all_named(limit.offsets, partitions, "offsets")
        special = {LATEST: latest, EARLIEST: earliest}
        return {key: special[at][key] if at in special else at for key, at in limit.offsets.items()}
    timestamps = limit.timestamps_ms
    if timestamps is None:
        timestamps = dict.fromkeys(partitions, limit.timestamp_ms or 0)
    _check_all_named(timestamps, partitions, "timestamps")
    offsets = {}
    for key, at in origin.at(timestamps).items():
        if at is None and no_match == "error":
            where = f"topic-partition {key[0]}-{key[1]} and timestamp {timestamps[key]}"
            raise BadOption(f"No offset matched from request of {where}.")
        offsets[key] = latest[key] if at is None else at
    return offsets


def available(
    key: TopicPartition, start: int, end: int, earliest: int, latest: int, fail_on_data_loss: bool
) -> tuple[int, int]:
    """Return the part of a range that exists. If any of it is missing and `fail_on_data_loss`, raise DataLoss."""
    if fail_on_data_loss and not (earliest <= start and end <= latest):
        raise DataLoss(
            f"{key[0]}-{key[1]} has offsets {earliest} to {latest}, but {start} to {end} were requested; "
            "set failOnDataLoss=false to read the remaining records"
        )
    start = min(max(start, earliest), latest)
    return start, max(start, min(end, latest))


def _check_all_named(named: Mapping[TopicPartition, int], partitions: Sequence[TopicPartition], what: str) -> None:
    if set(named) != set(partitions):
        raise BadOption(
            f"{what} must be set for every partition that is read (-1 is latest, -2 earliest): "
            f"set for {sorted(named)}, reading {sorted(partitions)}"
        )
