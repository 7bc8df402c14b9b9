"""What is written how: the options of `df.write.format("kafkalog")` as text, made into values and checked.

    path                 the log directory, as .save(DIR) gives it
    topic                for all records; goes before the column `topic`, as in Spark's Kafka sink
    partitions           of each topic that is new: a number, or as JSON {"orders": 12, "other": 3}; 1 by default
    partitionBy          murmur2 (of the key) or column; column where there is a column `partition`
    batchSize            16384 bytes, as the Java producer's batch.size; uncompressed
    batchRecords         how many records a batch may have
    compression          none, gzip, snappy, lz4, zstd;  compressionLevel: the codec's own
    timestampType        CreateTime, or LogAppendTime: a batch has one time, the largest of its records
    segmentBytes, segmentMs, indexIntervalBytes    1g, 7 days, 4096: the topic's segment.bytes and so on
    leaderEpoch          0, or the one that the log has come to
    durable              true: forced to the disk before it counts
    includeHeaders       without effect, as in Spark's sink: the column `headers` is written where there is one
    transactionalShare, abortedShare, openTransactions, openShare, transactionSize, producers, producerId, seed
                         see transactions.py

Names are case-insensitive. An unknown option is refused, unlike by Spark's sink: a misspelled one would change nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkalet.pipeline.options import BadOption
from kafkalet.pipeline.quantities import duration_ms, local_path, size_bytes
from kafkalet.protocol.records.codecs import Codec

from .cutting import Limits
from .segments import SegmentLimits
from .transactions import Shape

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class WriteOptions(NamedTuple):
    """The options of a sink, checked. Sizes in bytes, times in milliseconds."""

    path: str
    topic: str | None = None
    partitions: int | Mapping[str, int] | None = None
    by_column: bool | None = None
    """Whether the column `partition` counts; None: where it is there."""
    limits: Limits = Limits()
    codec: Codec = Codec.NONE
    level: int | None = None
    append_time: bool = False
    segments: SegmentLimits = SegmentLimits()
    leader_epoch: int | None = None
    durable: bool = True
    shape: Shape | None = None

    def partitions_of(self, topic: str) -> int | None:
        """How many partitions a new topic was said to have."""
        if isinstance(self.partitions, Mapping):
            return self.partitions.get(topic)
        return self.partitions


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The options of `df.write`. Raises BadOption."""
    given = _Given(options)
    path = given.take("path")
    if not path:
        raise BadOption("say where to write: save(DIR)")
    topic = given.take("topic")
    if topic is not None:
        topic = topic.strip()
        check_topic(topic)
    given.flag("includeHeaders", True)
    by = given.choice("partitionBy", ("murmur2", "column"))
    shape = _shape(given)
    found = WriteOptions(
        path=os.path.abspath(local_path(path)),  # tasks may run in another directory than the driver
        topic=topic,
        partitions=_partitions(given.take("partitions")),
        by_column=None if by is None else by == "column",
        limits=_limits(given, shape),
        codec=Codec[(given.choice("compression", tuple(codec.name.lower() for codec in Codec)) or "none").upper()],
        level=given.number_or_none("compressionLevel"),
        append_time=given.choice("timestampType", ("CreateTime", "LogAppendTime")) == "LogAppendTime",
        segments=SegmentLimits(
            given.size("segmentBytes", 1 << 30, least=1024, most=(1 << 31) - 1),
            given.duration_ms("segmentMs", 7 * 86_400_000),
            given.size("indexIntervalBytes", 4096, least=0),
        ),
        leader_epoch=given.number_or_none("leaderEpoch", least=0),
        durable=given.flag("durable", True),
        shape=shape,
    )
    given.check_all_taken()
    return found


def check_topic(topic: str) -> None:
    """Raise BadOption for what Kafka takes for no name of a topic."""
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise BadOption(f"{topic!r} is no name of a topic: 1 to 249 of the characters a-z, A-Z, 0-9, . _ and -")


def _shape(given: _Given) -> Shape | None:
    shape = Shape(
        transactional_share=given.share("transactionalShare"),
        aborted_share=given.share("abortedShare"),
        open_transactions=given.number("openTransactions", 0),
        open_share=given.share("openShare"),
        transaction_records=given.number("transactionSize", 100, least=1),
        producers=given.number("producers", 0),
        first_producer_id=given.number_or_none("producerId", least=0),
        seed=given.number("seed", 0),
    )
    return shape if shape.producers or shape.transactional_share or shape.open_transactions else None


def _limits(given: _Given, shape: Shape | None) -> Limits:
    """A transaction ends with a batch, so batches are no larger than transactions."""
    records = given.number("batchRecords", 1 << 31, least=1)
    if shape is not None and shape.transactional_share:
        records = min(records, shape.transaction_records)
    return Limits(given.size("batchSize", 16384, least=61), records)


def _partitions(text: str | None) -> int | Mapping[str, int] | None:
    if text is None:
        return None
    try:
        found: Any = json.loads(text)
    except ValueError:
        found = None
    numbers = found.values() if isinstance(found, dict) else [found]
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        raise BadOption(f'partitions is a positive number, or of the form {{"topic": 12}}, not {text}')
    checked: int | Mapping[str, int] = found
    return checked


class _Given:
    """The options as they came; what is asked for is taken out."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._left = {name.lower(): (name, text) for name, text in options.items()}
        self._known: list[str] = []

    def take(self, name: str) -> str | None:
        self._known.append(name)
        return self._left.pop(name.lower(), (name, None))[1]

    def check_all_taken(self) -> None:
        if self._left:
            (name, _), *_ = self._left.values()
            raise BadOption(f"there is no option {name} for writing; there are {', '.join(self._known)}")

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        text = self.take(name)
        if text is None:
            return None
        for choice in choices:
            if text.strip().lower() == choice.lower():
                return choice
        raise BadOption(f"{name} is one of {', '.join(choices)}, not {text}")

    def flag(self, name: str, default: bool) -> bool:
        return (self.choice(name, ("true", "false")) or str(default).lower()) == "true"

    def number_or_none(self, name: str, least: int | None = None) -> int | None:
        text = self.take(name)
        if text is None:
            return None
        try:
            number = int(text)
        except ValueError:
            raise BadOption(f"{name} is a whole number, not {text}") from None
        if least is not None and number < least:
            raise BadOption(f"{name} is at least {least}, not {number}")
        return number

    def number(self, name: str, default: int, least: int = 0) -> int:
        number = self.number_or_none(name, least)
        return default if number is None else number

    def share(self, name: str) -> float:
        text = self.take(name)
        try:
            share = 0.0 if text is None else float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise BadOption(f"{name} is a share between 0 and 1, not {text}")
        return share

    def size(self, name: str, default: int, *, least: int, most: int | None = None) -> int:
        text = self.take(name)
        if text is None:
            return default
        number = size_bytes(text, "g")
        if number is None:
            raise BadOption(f"{name} is a size in bytes, or as 64k, 16m, 1g, not {text}")
        if number < least or (most is not None and number > most):
            bounds = f"at least {least}" if most is None else f"between {least} and {most}"
            raise BadOption(f"{name} is {bounds} bytes, not {number}")
        return number

    def duration_ms(self, name: str, default: int) -> int:
        text = self.take(name)
        if text is None:
            return default
        if not (found := duration_ms(text, "d")):
            raise BadOption(f"{name} is a time in milliseconds, or as 30s, 12h, 7d, not {text}")
        return found
