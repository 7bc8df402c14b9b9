"""The records of the test kit, and the conversion of str, bytes and times for records to send."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

from kafkalet.broker import arguments

Text = str | bytes
"""A key or value: bytes, or a str that is encoded as UTF-8."""
HeaderPairs = Mapping[str, Text | None] | Iterable[tuple[str, Text | None]]
Time = int | datetime
"""A time: milliseconds since 1970 (UTC), or a datetime. A datetime without a time zone is local time."""

SHOWN_BYTES = 60
_JSON_HINTS = {
    "the value of a record": "; send_json() sends other values as JSON",
    "value": "; json= compares with values that are JSON",
}


class AnyValue(Enum):
    """The type of `kafkalet.ANY`."""

    ANY = "any"

    def __repr__(self) -> str:
        return "kafkalet.ANY"


ANY = AnyValue.ANY
"""Stands for any key or value in the condition of a wait, where None stands for a null one."""


class Headers(Mapping[str, bytes | None]):
    """The headers of a record, by name. If a name occurs several times, the last value is used, as in Kafka's clients.

    `pairs` contains all headers in order. Headers are equal to a dict with the same names and values, and to a list of
    the same pairs.
    """

    __slots__ = ("_by_name", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, bytes | None]]) -> None:
        self.pairs = tuple(pairs)
        """All headers, in the order in which the producer sent them."""
        self._by_name = dict(self.pairs)

    def __getitem__(self, name: str) -> bytes | None:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Headers):
            return self.pairs == other.pairs
        if isinstance(other, Sequence):
            return list(self.pairs) == list(other)
        return isinstance(other, Mapping) and len(self.pairs) == len(self._by_name) and self._by_name == dict(other)

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __repr__(self) -> str:
        return repr(dict(self.pairs) if len(self.pairs) == len(self._by_name) else list(self.pairs))


class NewRecord(NamedTuple):
    """A record to send."""

    value: Text | None
    """A value of None is a tombstone."""
    key: Text | None = None
    headers: HeaderPairs | None = None
    timestamp: Time | None = None
    """None means the current time of the broker."""
    partition: int | None = None
    """None means that the key determines the partition."""


class Record(NamedTuple):
    """A record in a log."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970 (UTC), or -1 if the record has no timestamp."""
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def time(self) -> datetime | None:
        """The timestamp as a datetime in UTC, or None if the record has no timestamp."""
        return None if self.timestamp < 0 else datetime.fromtimestamp(self.timestamp / 1000, UTC)

    def text(self) -> str:
        """Return the value decoded as UTF-8. Raises ValueError if there is no value or it is not UTF-8."""
        if self.value is None:
            raise ValueError(f"{self!r} has no value")
        try:
            return self.value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{self!r} is not UTF-8: {error}") from None

    def json(self) -> Any:
        """Return the value parsed as JSON. Raises ValueError if there is no value or it is not JSON."""
        text = self.text()
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"{self!r} is not JSON: {error}") from None

    def __repr__(self) -> str:
        parts = [f"{self.topic}-{self.partition}@{self.offset}"]
        if self.key is not None:
            parts.append(f"key={shown(self.key)}")
        parts.append(f"value={shown(self.value)}")
        if self.headers:
            parts.append(f"headers={self.headers!r}")
        return f"<{' '.join(parts)}>"


def shown(data: bytes | None) -> str:
    """Format a key or value for a message, shortened to SHOWN_BYTES bytes."""
    if data is None or len(data) <= SHOWN_BYTES:
        return repr(data)
    return f"{data[:SHOWN_BYTES]!r}... ({len(data)} bytes)"


def encoded(what: str, given: object) -> bytes | None:
    """Return a key or value as bytes. Raises TypeError if it is neither str nor bytes nor None."""
    if isinstance(given, str):
        return given.encode()
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, (bytearray, memoryview)):
        return bytes(given)
    raise TypeError(f"{what} must be str, bytes or None, not {arguments.shown(given)}{_JSON_HINTS.get(what, '')}")


def header_pairs(given: object) -> tuple[tuple[str, bytes | None], ...]:
    """Return headers as pairs of str and bytes."""
    if given is None:
        return ()
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            f'headers must be a dict or a list of pairs, as in {{"id": b"7"}}, not {arguments.shown(given)}'
        )
    pairs = []
    for pair in given.items() if isinstance(given, Mapping) else given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f'a header must be a pair of name and value, as in ("id", b"7"), not {arguments.shown(pair)}'
            )
        name = arguments.text("the name of a header", pair[0])
        pairs.append((name, encoded(f"the value of header {name}", pair[1])))
    return tuple(pairs)


def milliseconds(what: str, given: Time) -> int:
    """Return a time in milliseconds since 1970. Raises TypeError if it is neither an int nor a datetime."""
    if isinstance(given, datetime):
        return round(given.timestamp() * 1000)
    if isinstance(given, bool) or not isinstance(given, int):
        hint = "; round(1000 * time.time()) is the time now" if isinstance(given, float) else ""
        raise TypeError(
            f"{what} must be an int (milliseconds since 1970) or a datetime, not {arguments.shown(given)}{hint}"
        )
    return given
