"""Why an append was refused, and how much of it the producer is told.

    AppendRefused           CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE: log start offset -1 in the answer
        ValidationFailed    everything else: the answer carries the log start offset
            RecordsRefused  single records are to blame; the answer names them (KIP-467, Produce v8)

`message` is what goes into the answer: None but for RecordsRefused. `reason` is for our own log. Which exceptions of
Kafka come without log start offset is decided in ReplicaManager.appendToLocalLog.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError

WITHOUT_LOG_START = frozenset(
    {
        Code.CORRUPT_MESSAGE,
        Code.MESSAGE_TOO_LARGE,
        Code.RECORD_LIST_TOO_LARGE,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.KAFKA_STORAGE_ERROR,
    }
)


class RecordError(NamedTuple):
    """A refused record: its place in the batch, from 0, and what is wrong with it."""

    batch_index: int
    message: str


class AppendRefused(KafkaError):
    """The log is as it was before."""

    def __init__(self, code: Code, reason: str, message: str | None = None) -> None:
        super().__init__(code, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.code.name}: {self.reason}"


class ValidationFailed(AppendRefused):
    """Refused after validation had begun: the answer carries the log start offset."""


class RecordsRefused(ValidationFailed):
    """Refused because of some of its records."""

    def __init__(self, code: Code, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(code, f"{message} ({record_errors[0].message})", message)
        self.record_errors = record_errors


def refusal(code: Code, reason: str) -> AppendRefused:
    """The exception for `code`, to be raised."""
    return (AppendRefused if code in WITHOUT_LOG_START else ValidationFailed)(code, reason)
