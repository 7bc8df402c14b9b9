"""Parse the options of `df.write.format("kafkalog")`, using the table in option_table.py.

Unlike in Spark's sink, unknown options are rejected, because a misspelled option would otherwise silently have no
effect.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkalet.protocol.records.codecs import Codec
from kafkalet_spark.option_table import WRITE
from kafkalet_spark.option_types import BadOption, GivenOptions, NotAllowed, local_path

from .cutting import Limits
from .segments import SegmentLimits
from .transaction_shape import TransactionShape

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class WriteOptions(NamedTuple):
    """The parsed options of the sink. Sizes are in bytes, times in milliseconds."""

    path: str
    topic: str | None = None
    partitions: int | Mapping[str, int] | None = None
    by_column: bool | None = None
    """Whether to use the column `partition`; None means "if it exists"."""
    limits: Limits = Limits()
    codec: Codec = Codec.NONE
    level: int | None = None
    append_time: bool = False
    segments: SegmentLimits = SegmentLimits()
    leader_epoch: int | None = None
    durable: bool = True
    shape: TransactionShape | None = None

    def partitions_of(self, topic: str) -> int | None:
        """Return the requested number of partitions of a topic; None if not set."""
        if isinstance(self.partitions, Mapping):
            return self.partitions.get(topic)
        return self.partitions


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """Parse the options of `df.write`. Raises BadOption."""
    given = GivenOptions(options, WRITE, _refusal)
    path = given["path"]
    if not path:
        raise BadOption("no output directory: use save(DIR)")
    topic = given["topic"]
    if topic is not None:
        topic = topic.strip()
        check_topic(topic)
    given["includeHeaders"]
    by = given["partitionBy"]
    shape = _shape(given)
    found = WriteOptions(
        path=os.path.abspath(local_path(path)),  # the tasks' working directory may not be the driver's
        topic=topic,
        partitions=_partitions(given["partitions"]),
        by_column=None if by is None else by == "column",
        limits=_limits(given, shape),
        codec=Codec[given["compression"].upper()],
        level=given["compressionLevel"],
        append_time=given["timestampType"] == "LogAppendTime",
        segments=SegmentLimits(given["segmentBytes"], given["segmentMs"], given["indexIntervalBytes"]),
        leader_epoch=given["leaderEpoch"],
        durable=given["durable"],
        shape=shape,
    )
    known = {option.name.lower() for option in WRITE}
    if unknown := [name for name in options if name.lower() not in known]:
        names = ", ".join(option.name for option in WRITE)
        raise BadOption(f"unknown write option {unknown[0]}; supported options: {names}")
    return found


def _refusal(option: str, wrong: NotAllowed) -> str:
    return f"{option} must be {wrong.allowed}, not {wrong.value}"


def check_topic(topic: str) -> None:
    """Raise BadOption if Kafka would reject the topic name."""
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise BadOption(f"invalid topic name {topic!r}: use 1 to 249 of the characters a-z, A-Z, 0-9, . _ and -")


def _shape(given: GivenOptions) -> TransactionShape | None:
    shape = TransactionShape(
        transactional_share=given["transactionalShare"],
        aborted_share=given["abortedShare"],
        open_transactions=given["openTransactions"],
        open_share=given["openShare"],
        transaction_records=given["transactionSize"],
        producers=given["producers"],
        first_producer_id=given["producerId"],
        seed=given["seed"],
    )
    return shape if shape.producers or shape.transactional_share or shape.open_transactions else None


def _limits(given: GivenOptions, shape: TransactionShape | None) -> Limits:
    """Return the batch limits. Transactions end at the end of a batch, so batches must not be larger than
    transactions."""
    records: int = given["batchRecords"] or 1 << 31
    if shape is not None and shape.transactional_share:
        records = min(records, shape.transaction_records)
    return Limits(given["batchSize"], records)


def _partitions(text: str | None) -> int | Mapping[str, int] | None:
    if text is None:
        return None
    try:
        found: Any = json.loads(text)
    except ValueError:
        found = None
    numbers = found.values() if isinstance(found, dict) else [found]
    if not all(isinstance(number, int) and number > 0 for number in numbers):
        raise BadOption(f'partitions must be a positive number, or a JSON object such as {{"topic": 12}}, not {text}')
    checked: int | Mapping[str, int] = found
    return checked
