"""The lines that a command prints, as docs/conform-clients.md describes them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


class Acked(NamedTuple):
    """A record that the client reported as acknowledged."""

    value: str
    partition: int
    offset: int
    """The offset, or -1 if the client does not know it."""


class Failed(NamedTuple):
    """A record that the client reported as not acknowledged."""

    value: str
    reason: str


class Returned(NamedTuple):
    """A record that the client returned to the application."""

    partition: int
    offset: int
    value: bytes | None


class Output:
    """All lines of a command."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.acked: list[Acked] = []
        self.failed: list[Failed] = []
        self.records: list[Returned] = []
        self.errors: list[str] = []
        """The reasons in `error` lines."""
        self.committed: list[int | None] = []
        """The numbers of records in `committed` lines; None for a line without a number."""
        self.aborted: list[str] = []
        self.malformed: list[str] = []
        """Lines that begin with a word of the contract but cannot be read."""
        for line in lines:
            try:
                self._add(line)
            except (ValueError, IndexError):
                self.malformed.append(line)

    def _add(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "acked":
            value, partition, offset = rest.split()
            self.acked.append(Acked(value, int(partition), int(offset)))
        elif word == "failed":
            value, _, reason = rest.partition(" ")
            if not value:
                raise ValueError(line)
            self.failed.append(Failed(value, reason))
        elif word == "record":
            partition_text, offset_text, *value_text = rest.split(" ", 2)
            self.records.append(Returned(int(partition_text), int(offset_text), _value("".join(value_text))))
        elif word == "error":
            self.errors.append(rest)
        elif word == "committed":
            self.committed.append(int(rest) if rest else None)
        elif word == "aborted":
            self.aborted.append(rest)


def _value(text: str) -> bytes | None:
    """Decode a value: `\\N` is null, and `\\xNN` is a byte."""
    if text == "\\N":
        return None
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text.encode("utf-8", "surrogateescape"))
