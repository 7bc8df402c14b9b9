"""A live broker as the origin of records.

Ranges are split as in Spark's Kafka source (KafkaOffsetRangeCalculator): one task per partition, several for a large
partition if `minPartitions` requires it, and at most `maxRecordsPerPartition` offsets in each. A broker does not report
the size of an offset range in bytes, so `maxBytesPerTask` has no effect here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .decoding.chunks import Chunk
from .filters import Pushed
from .live.broker import LiveBroker
from .live.lookups import EARLIEST, LATEST
from .live.reading import LiveSplit, read_live
from .live.refusals import OffsetOutOfRange
from .options import ReadOptions, TopicPartition
from .origin import PartitionRange


def divided(ranges: Sequence[PartitionRange], options: ReadOptions) -> list[PartitionRange]:
    """Split the ranges into about as many pieces as the options require, and drop empty ranges."""
    most, least = options.max_records_per_partition, options.min_partitions
    kept = [each for each in ranges if each.end > each.start]
    if most is not None:
        kept = [piece for each in kept for piece in cut(each, -(-(each.end - each.start) // most))]
    if least is None or least <= len(kept):
        return kept
    lengths = [each.end - each.start for each in kept]
    whole = [_pieces(length, sum(lengths), least) == 1 for length in lengths]
    total = sum(length for length, uncut in zip(lengths, whole, strict=True) if not uncut)
    least = max(least - sum(whole), 1)
    counts = [1 if uncut else _pieces(length, total, least) for length, uncut in zip(lengths, whole, strict=True)]
    return [piece for each, count in zip(kept, counts, strict=True) for piece in cut(each, count)]


def _pieces(length: int, total: int, least: int) -> int:
    """Return a range's share of `least` pieces by its length: at least one, rounded like Java's Math.round."""
    return max(math.floor(length / total * least + 0.5), 1)


def cut(whole: PartitionRange, count: int) -> list[PartitionRange]:
    """Split a range into `count` ranges of about equal length, but no more ranges than it has offsets."""
    length = whole.end - whole.start
    count = min(count, length)
    ends = [whole.start + length * number // count for number in range(count + 1)] if count else []
    return [PartitionRange(whole.topic, whole.partition, *each) for each in pairwise(ends)]


_LOG = logging.getLogger(__name__)


class BrokerOrigin:
    """Reads from a live broker. Each call opens and closes its own connection."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[TopicPartition]:
        topics = self._options.topics
        names = topics.names
        if topics.assigned is not None:
            names = tuple({topic for topic, _ in topics.assigned})
        with self._broker() as broker:
            counts = broker.topics(names)
        every = [(topic, number) for topic, count in sorted(counts.items()) for number in range(count)]
        return [key for key in every if topics.contain(*key)]

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, LATEST))

    def at(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return {key: None if at < 0 else at for key, at in self._offsets(timestamps_ms).items()}

    def splits(self, ranges: Sequence[PartitionRange], pushed: Pushed) -> list[LiveSplit]:
        kept = []
        for topic, partition, start, end in ranges:
            start, end = pushed.within(start, end)
            if start < end and pushed.admits((topic, partition)):
                kept.append(PartitionRange(topic, partition, start, end))
        return [LiveSplit(*each) for each in divided(kept, self._options)]

    def _offsets(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        with self._broker() as broker:
            found = broker.list_offsets(wanted, self._options.isolation_level) if wanted else {}
        return {key: each.offset for key, each in found.items()}

    def _broker(self) -> LiveBroker:
        return LiveBroker(self._options.client["bootstrap.servers"], properties(self._options))


def properties(options: ReadOptions) -> dict[str, str]:
    """Return the properties of the Kafka client, without bootstrap.servers."""
    client = {name: value for name, value in options.client.items() if name != "bootstrap.servers"}
    return {**client, "isolation.level": options.isolation_level}


def broker_chunks(split: LiveSplit, options: ReadOptions) -> Iterator[Chunk]:
    """Fetch the records of a split. Raises OffsetOutOfRange if data was lost, unless failOnDataLoss=false."""
    bootstrap = options.client["bootstrap.servers"]
    where = f"{split.topic}-{split.partition} of {bootstrap}"
    next_offset = split.start_offset
    while next_offset < split.end_offset:
        try:
            for fetched in read_live(split._replace(start_offset=next_offset), bootstrap, properties(options)):
                yield Chunk(where, 0, fetched.buffer, fetched.batches, fetched.problems, fetched.aborted)
                if fetched.batches.position.size:
                    next_offset = int(fetched.batches.last_offset[-1]) + 1
            return
        except OffsetOutOfRange as loss:
            if options.fail_on_data_loss:
                raise
            _LOG.warning("%s: %s; reading the remaining records", where, loss)
            if loss.log_start_offset <= next_offset:
                return
            next_offset = loss.log_start_offset
