"""The reader of `spark.readStream.format("kafkalog")`: follows growing logs in micro-batches.

A stream offset is the next offset of every partition, as {"topic": {"0": 17}}. Spark writes it to the checkpoint of the
query before it reads the batch, and reads the same range again after a crash. Records in a log never change, so each
record appears exactly once.

The rules are those of Spark's Kafka source (KafkaMicroBatchStream, KafkaOffsetReaderAdmin): a partition that appears
later is read from its beginning, and `maxOffsetsPerTrigger` is divided in proportion to the unread offsets. Each of the
following is data loss, which fails the query unless failOnDataLoss=false:

    a partition is gone                             its topic was deleted, or its log directory is missing
    a new partition begins after offset 0           its first records were deleted before they were seen
    the end of a partition is before the start      it was truncated, or its topic was deleted and created again
    the log begins after the start of a batch       retention or DeleteRecords removed unread records
    the log ends before the end of a batch          as in the third case, detected when a batch is planned again
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafkalet.clock import SystemClock

from .filters import Pushed
from .options import ReadOptions, TopicPartition
from .origin import Origin, PartitionRange
from .positions import DataLoss, resolved
from .reader import origin_of
from .tasks import read_task, tasks

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a streaming query. It lives in one Python process, and Spark pickles it for the tasks."""

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        self._columns = tuple(names)
        self._options = options
        self._target: Offsets | None = None
        """The end offsets of a query with Trigger.AvailableNow."""
        self._last_trigger_ms = 0

    def initialOffset(self) -> dict[str, dict[str, int]]:
        origin = self._origin()
        partitions = origin.partitions()
        earliest, latest = origin.earliest(partitions), origin.latest(partitions)
        options = self._options
        return as_json(resolved(origin, options.starting, partitions, earliest, latest, options.no_match))

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._options.max_offsets_per_trigger
        if most is not None or self._options.min_offsets_per_trigger is not None:
            return ReadMaxRows(most if most is not None else (1 << 62))
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, dict[str, int]]:
        begun = from_json(start)
        ends = self._target if self._target is not None else self._latest()
        if isinstance(limit, ReadAllAvailable):
            return as_json(ends)
        if self._too_few(begun, ends):
            return as_json(begun)
        if isinstance(limit, ReadMaxRows) and self._options.max_offsets_per_trigger is not None:
            ends = limited(begun | self._beginnings(ends.keys() - begun.keys()), ends, limit.max_rows)
        return as_json(ends)

    def reportLatestOffset(self) -> dict[str, dict[str, int]]:
        return as_json(self._latest())

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        origin = self._origin()
        begun, ends = from_json(start), from_json(end)
        present = origin.partitions()
        earliest, latest = origin.earliest(present), origin.latest(present)
        for key in sorted(begun.keys() - ends.keys()):
            self._report(f"{_name(key)} is gone")
        ranges = []
        for key, until in ends.items():
            if key not in earliest:
                if begun.get(key) != until:
                    self._report(f"{_name(key)} is gone, and its offsets up to {until} were not read")
                continue
            since = begun.get(key, earliest[key])
            if key not in begun and since:
                self._report(f"the new partition {_name(key)} begins at offset {since} instead of 0")
            if until < since:
                self._report(
                    f"the end of {_name(key)} went back from offset {since} to {until}: the starting offset is past "
                    "the end of the log, or the topic was deleted and created again"
                )
            elif since < until:
                if earliest[key] > since:
                    self._report(f"{_name(key)} now begins at {earliest[key]}, and offsets from {since} were not read")
                if latest[key] < until:
                    self._report(f"{_name(key)} now ends at {latest[key]}, but the batch ends at {until}")
                ranges.append(PartitionRange(*key, max(since, earliest[key]), min(until, latest[key])))
        kept = [each for each in ranges if each.start < each.end]
        return tasks(origin.splits(kept, Pushed()), self._columns, Pushed())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(partition, self._options)

    def _origin(self) -> Origin:
        return origin_of(self._options, streaming=True)

    def _latest(self) -> Offsets:
        origin = self._origin()
        return origin.latest(origin.partitions())

    def _beginnings(self, new: Set[TopicPartition]) -> Offsets:
        """Return the first offsets of new partitions, leaving out partitions that were deleted in the meantime."""
        if not new:
            return {}
        origin = self._origin()
        return origin.earliest([key for key in origin.partitions() if key in new])

    def _too_few(self, begun: Offsets, ends: Offsets) -> bool:
        """Return whether to wait for minOffsetsPerTrigger, for at most maxTriggerDelay since the last batch.

        The first batch of a query never waits (KafkaMicroBatchStream.delayBatch). With Trigger.AvailableNow no batch
        waits, whereas Spark's Kafka source leaves a remainder unread if it has too few offsets.
        """
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now_ms = SystemClock().now_ms()
        waited = now_ms - self._last_trigger_ms >= self._options.max_trigger_delay_ms
        if not waited and sum(end - begun.get(key, 0) for key, end in ends.items()) < least:
            return True
        self._last_trigger_ms = now_ms
        return False

    def _report(self, loss: str) -> None:
        """Raise DataLoss, or log a warning if failOnDataLoss=false."""
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{loss}; set failOnDataLoss=false to continue with the remaining records")
        _LOG.warning("%s", loss)


def _name(key: TopicPartition) -> str:
    return f"{key[0]}-{key[1]}"


def limited(begun: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int) -> Offsets:
    """Return the ends of a batch of about `most` offsets, divided in proportion to each partition's unread offsets.

    As in KafkaMicroBatchStream.rateLimit, shares are rounded down, except that a share of less than one offset is
    rounded up, so that a small partition is read even if others are large. The batch can thus exceed `most` by one
    offset for each such partition. An end without a start, or before its start, is kept; it is reported when the batch
    is planned.
    """
    unread = {key: end - begun[key] for key, end in ends.items() if key in begun and end > begun[key]}
    total = float(sum(unread.values()))
    limited_ends = dict(ends)
    for key, size in unread.items():
        share = most * (size / total)
        offsets = math.ceil(share) if share < 1 else math.floor(share)
        limited_ends[key] = min(ends[key], begun[key] + offsets)
    return limited_ends


def as_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Convert offsets to {"topic": {"0": 17}}, sorted because Spark compares the JSON text."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {(topic, int(number)): at for topic, ats in offsets.items() for number, at in ats.items()}
