"""`spark.readStream.format("kafkalog")`: a log that grows, in batches that Spark keeps the offsets of.

An offset of the stream is the next offset of every partition, as {"topic": {"0": 17}}. Spark writes it to the query's
checkpoint before the batch is read, and asks for the same range again after a crash: that, and logs whose records
never change, is what makes a record appear once. A partition that turns up later is read from its beginning, as in
Spark's Kafka source (KafkaMicroBatchStream), and offsets that vanished before they were read are a loss of data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafkalet.clock import SystemClock

from .filters import Pushed
from .options import ReadOptions, TopicPartition
from .origin import Origin, Range
from .places import origin_of
from .positions import DataLoss, resolved
from .tasks import read_task, tasks

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One running query. Spark keeps it in a process of its own, and pickles it for the tasks."""

    def __init__(self, names: Sequence[str], options: ReadOptions) -> None:
        self._columns = tuple(names)
        self._options = options
        self._target: Offsets | None = None
        """Where a query ends that takes what is there now (Trigger.AvailableNow)."""
        self._waiting_since_ms: int | None = None

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
        ends = dict(self._target) if self._target is not None else self._latest()
        begun |= self._beginnings(key for key in ends if key not in begun)
        for key, at in begun.items():
            ends[key] = max(at, ends.get(key, at))
        if not isinstance(limit, ReadAllAvailable):
            if self._too_few(begun, ends):
                return as_json(begun)
            if isinstance(limit, ReadMaxRows):
                ends = limited(begun, ends, limit.max_rows)
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
        ranges = []
        for key, until in ends.items():
            since = begun.get(key, earliest.get(key, until))
            if since >= until:
                continue
            lost = self._lost(key, since, until, earliest.get(key), latest.get(key))
            if lost and self._options.fail_on_data_loss:
                raise DataLoss(f"{lost}; with failOnDataLoss=false what is left is read")
            if lost:
                _log.warning("%s", lost)
            if key in earliest:
                ranges.append(Range(*key, max(since, earliest[key]), min(until, latest[key])))
        kept = [each for each in ranges if each.start < each.end]
        return tasks(origin.splits(kept, Pushed()), self._columns, Pushed())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_task(partition, self._options)

    def _origin(self) -> Origin:
        return origin_of(self._options, streaming=True)

    def _latest(self) -> Offsets:
        origin = self._origin()
        return origin.latest(origin.partitions())

    def _beginnings(self, partitions: Iterator[TopicPartition]) -> Offsets:
        new = list(partitions)
        return self._origin().earliest(new) if new else {}

    def _too_few(self, begun: Offsets, ends: Offsets) -> bool:
        """Whether to wait for more, as minOffsetsPerTrigger asks, and not for longer than maxTriggerDelay."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now_ms = SystemClock().now_ms()
        if self._waiting_since_ms is None:
            self._waiting_since_ms = now_ms
        there = sum(ends[key] - at for key, at in begun.items())
        if there < least and now_ms - self._waiting_since_ms < self._options.max_trigger_delay_ms:
            return True
        self._waiting_since_ms = now_ms
        return False

    @staticmethod
    def _lost(key: TopicPartition, since: int, until: int, earliest: int | None, latest: int | None) -> str | None:
        name = f"{key[0]}-{key[1]}"
        if earliest is None or latest is None:
            return f"{name} is gone, and offsets {since} to {until} of it had not been read"
        if earliest > since:
            return f"{name} begins at {earliest} now, and offsets from {since} on had not been read"
        if latest < until:
            return f"{name} ends at {latest} now, and offsets to {until} had been seen"
        return None


def limited(begun: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int) -> Offsets:
    """Ends that are `most` offsets away altogether, each partition's share as large as what it has to give."""
    there = {key: ends[key] - at for key, at in begun.items()}
    total = sum(there.values())
    if total <= most:
        return dict(ends)
    shares = {key: size * most // total for key, size in there.items()}
    rest = most - sum(shares.values())
    for key in sorted(there, key=lambda key: (shares[key] - there[key] * most / total, key))[:rest]:
        shares[key] += 1
    return {key: at + min(shares[key], there[key]) for key, at in begun.items()}


def as_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """{"topic": {"0": 17}}, in an order that is always the same: Spark compares the text."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {(topic, int(number)): at for topic, ats in offsets.items() for number, at in ats.items()}
