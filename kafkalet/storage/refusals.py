"""The errors of a refused append.

`message` is the error message in the response. It is None except in RecordsRefused, where it names the invalid records
(KIP-467, Produce v8). `reason` is only logged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalet.protocol.errors import Code, KafkaError


class RecordError(NamedTuple):
    """An invalid record: its index in the batch, starting at 0, and the error."""

    batch_index: int
    message: str


class AppendRefused(KafkaError):
    """The append was refused. The log is unchanged."""

    def __init__(self, code: Code, reason: str, message: str | None = None) -> None:
        super().__init__(code, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.code.name}: {self.reason}"


class RecordsRefused(AppendRefused):
    """The append was refused because some of its records are invalid."""

    def __init__(self, code: Code, message: str, record_errors: Sequence[RecordError]) -> None:
        super().__init__(code, f"{message} ({record_errors[0].message})", message)
        self.record_errors = record_errors
