"""How asking a live broker may fail.

    Unreachable          no answer: no connection, or none that lasts, within the time that the settings give
    KafkaError           an answer that is a refusal and stays one (kafkalet.protocol.errors)
        PartitionRefused     ... for one partition
            OffsetOutOfRange     ... because its log does not hold, or no longer, what was asked for

All of them can be pickled: they travel from Spark's tasks to its driver.
"""

from __future__ import annotations

from kafkalet.protocol.errors import Code, KafkaError


def code_of(number: int) -> Code:
    """The error of an answer; one that only newer brokers know is, as in Kafka's `Errors`, an unknown one."""
    try:
        return Code(number)
    except ValueError:
        return Code.UNKNOWN_SERVER_ERROR


class Unreachable(ConnectionError):
    """No broker answered, or not in time. The text says which, and what was the matter."""


class PartitionRefused(KafkaError):
    """What a broker says of one partition, after all that could pass by itself has been waited for."""

    def __init__(self, code: Code, topic: str, partition: int, doing: str) -> None:
        super().__init__(code, f"{doing} {topic}-{partition}")
        self.args = (code, topic, partition, doing)
        self.topic = topic
        self.partition = partition


class OffsetOutOfRange(KafkaError):
    """A log does not hold the offsets asked for: they are gone, or were never there.

    `log_start_offset` and `log_end_offset` say what it holds, the end being what a reader of this isolation level may
    see; both are of a moment after the refusal.
    """

    def __init__(self, topic: str, partition: int, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            Code.OFFSET_OUT_OF_RANGE,
            f"{topic}-{partition} has the offsets from {log_start_offset} to before {log_end_offset}, not {offset}",
        )
        self.args = (topic, partition, offset, log_start_offset, log_end_offset)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
