"""The errors of a live broker.

    Unreachable          no connection or no response within the configured time
    KafkaError           the broker returned a permanent error (kafkalet.protocol.errors)
        PartitionRefused     the same, for one partition
        OffsetOutOfRange     the log does not hold the requested offset, or no longer holds it

All of them can be pickled, because Spark sends them from tasks to the driver.
"""

from __future__ import annotations

from kafkalet.protocol.errors import Code, KafkaError


class Unreachable(ConnectionError):
    """A broker could not be reached, or did not respond in time. The message names the broker and the reason."""


class PartitionRefused(KafkaError):
    """The broker returned an error for a partition, and any retries failed."""

    def __init__(self, code: Code, topic: str, partition: int, doing: str) -> None:
        super().__init__(code, f"{doing} {topic}-{partition}")
        self.args = (code, topic, partition, doing)
        self.topic = topic
        self.partition = partition


class OffsetOutOfRange(KafkaError):
    """The log does not hold the requested offset: it was deleted, or was never written.

    `log_start_offset` and `log_end_offset` are the range of the log shortly after the error. The end depends on the
    isolation level.
    """

    def __init__(self, topic: str, partition: int, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            Code.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is not in {topic}-{partition}, which has offsets {log_start_offset} to {log_end_offset}",
        )
        self.args = (topic, partition, offset, log_start_offset, log_end_offset)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
