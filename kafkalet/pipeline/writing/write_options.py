"""What is written how: the options of `df.write.format("kafkalog")`, read by the table (option_table.py) and checked.

An unknown option is refused, unlike by Spark's sink: a misspelled one would change nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkalet.pipeline.option_table import WRITE
from kafkalet.pipeline.option_types import BadOption, GivenOptions, NotAllowed, local_path
from kafkalet.protocol.records.codecs import Codec

from .cutting import Limits
from .segments import SegmentLimits
from .transaction_shape import TransactionShape

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
    shape: TransactionShape | None = None

    def partitions_of(self, topic: str) -> int | None:
        """How many partitions a new topic was said to have."""
        if isinstance(self.partitions, Mapping):
            return self.partitions.get(topic)
        return self.partitions


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The options of `df.write`. Raises BadOption."""
    given = GivenOptions(options, WRITE, _refusal)
    path = given["path"]
    if not path:
        raise BadOption("say where to write: save(DIR)")
    topic = given["topic"]
    if topic is not None:
        topic = topic.strip()
        check_topic(topic)
    given["includeHeaders"]
    by = given["partitionBy"]
    shape = _shape(given)
    found = WriteOptions(
        path=os.path.abspath(local_path(path)),  # tasks may run in another directory than the driver
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
        raise BadOption(f"there is no option {unknown[0]} for writing; there are {names}")
    return found


def _refusal(option: str, wrong: NotAllowed) -> str:
    return f"{option} is {wrong.allowed}, not {wrong.value}"


def check_topic(topic: str) -> None:
    """Raise BadOption for what Kafka takes for no name of a topic."""
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise BadOption(f"{topic!r} is no name of a topic: 1 to 249 of the characters a-z, A-Z, 0-9, . _ and -")


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
    """A transaction ends with a batch, so batches are no larger than transactions."""
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
        raise BadOption(f'partitions is a positive number, or of the form {{"topic": 12}}, not {text}')
    checked: int | Mapping[str, int] = found
    return checked
