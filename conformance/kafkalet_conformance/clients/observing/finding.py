"""Findings of the observer: a claim, the request that contradicts it, and one sentence with the values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How certain it is that the client is at fault."""

    VIOLATION = "violation"
    """The request contradicts the protocol."""
    NOTE = "note"
    """The request is unusual but allowed, or other clients do the same."""


class Claim(NamedTuple):
    """An expectation that applies to every client."""

    rule: str
    """The name of the rule, such as "minimal-length"."""
    text: str
    """The expectation in one sentence."""
    source: str
    """The KIP, or the class of Apache Kafka, that the expectation comes from."""
    severity: Severity = Severity.VIOLATION


@dataclass(frozen=True, slots=True)
class Place:
    """A request: where and when a client sent it."""

    number: int
    """The position among all observed requests, from 1."""
    connection: int
    """The number of the connection, unique in the process."""
    position: int
    """The position among the requests of the connection, from 1."""
    broker: int
    peer: tuple[str, int]
    client_id: str | None
    api: str
    version: int
    correlation_id: int
    at_s: float
    """When the broker received the request, in seconds since the observation began."""

    def __str__(self) -> str:
        return f"request {self.position} of connection {self.connection}, {self.api} v{self.version}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A request that contradicts a claim."""

    severity: Severity
    rule: str
    claim: str
    source: str
    request: Place
    explanation: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.explanation} ({self.request}; {self.source})"


class Complaint(NamedTuple):
    """A contradiction within the bytes of a request."""

    claim: Claim
    position: int
    """The byte at which it begins. Byte 0 is the first one after the size field."""
    path: str
    """The field, such as `topics[0].partitions[1].fetch_offset`."""
    text: str

    def __str__(self) -> str:
        return f"byte {self.position}: {self.path}: {self.text}"
