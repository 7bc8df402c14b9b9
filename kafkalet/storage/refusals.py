"""Why an append was refused, and how much of it the producer is told.

`message` is what goes into the answer: None but for RecordsRefused, which names the records that are to blame (KIP-467,
Produce v8). `reason` is for our own log.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError


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


class RecordsRefused(AppendRefused):
    """Refused because of some of its records."""

    def __init__(self, code: Code, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(code, f"{message} ({record_errors[0].message})", message)
        self.record_errors = record_errors
