"""What users hand to `Broker` and `Cluster`, checked before it is used.

The methods of a cluster run in its event loop, often in another thread. A wrong argument would fail there, late and in
the words of some inner function, or would not fail at all: `topics="orders"` is a sequence of six names to Python, and
70000 is port 4464 to the C library. So each argument is checked in the caller's thread. TypeError is for a value of the
wrong kind, ValueError for one that is not allowed; the text says what was given and what is expected.
"""

import os
from collections.abc import Mapping, Sequence

from kafkalet.properties import as_text
from kafkalet.protocol.errors import KafkaError

PropertyValue = str | int | float | bool
"""What the value of a property may be in Python. Kafka reads `True` as "true" and 5 as "5"."""

MAX_PORT = 65535
EXPECTED_RECORDS = (
    "produce() takes an encoded record batch, as kafkalet.protocol.records.build makes it: "
    "build_batch(numbered([(timestamp_ms, key, value, headers)])); "
    "to write plain values, use a Kafka client"
)


def text(what: str, value: str) -> str:
    """`value`, which has to be a str; `what` says what it is, as in "the name of a topic"."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {shown(value)}")
    return value


def number(what: str, value: int) -> int:
    """`value`, which has to be an int; neither a bool nor a float passes for one."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} is an int, not {shown(value)}")
    return value.__index__()


def port(what: str, value: int, least: int = 0) -> int:
    """A port number from `least` up."""
    if not least <= number(what, value) <= MAX_PORT:
        raise ValueError(f"{what} is {value}; a port is a number from {least} to {MAX_PORT}")
    return value.__index__()


def advertised(address: tuple[str, int] | None, brokers: int) -> tuple[str, int] | None:
    """The address that clients are told: a host, and a port that leaves room for those of the other brokers."""
    if address is None:
        return None
    if isinstance(address, str) or not isinstance(address, Sequence) or len(address) != 2:
        raise TypeError(f'advertise is a host and a port, as in ("localhost", 9092), not {shown(address)}')
    host = text("the host in advertise", address[0])
    first = port("the port in advertise", address[1], 1)
    port(f"the port that the last of {brokers} brokers would advertise", first + brokers - 1, 1)
    return host, first


def racks(given: Sequence[str] | None, brokers: int) -> list[str] | None:
    """The rack of each broker."""
    if given is None:
        return None
    if isinstance(given, (str, bytes)):
        raise TypeError(f"racks is a list with the rack of each broker, not {shown(given)}")
    if len(given) != brokers:
        raise ValueError(f"racks names {len(given)} racks for {brokers} brokers; it needs one for each")
    return [text("a rack", rack) for rack in given]


def directory(path: str | os.PathLike[str] | None) -> str | None:
    """The path of a data directory; an empty one would be the current directory."""
    if path is None:
        return None
    found = os.fspath(path)
    if not text("data_dir", found):
        raise ValueError("data_dir is empty; name a directory, or leave it out for a temporary one")
    return found


def properties(what: str, given: Mapping[str, PropertyValue] | None) -> dict[str, str]:
    """Properties by name, as texts. A value that Kafka does not allow is refused later, by the property."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f'{what} is a dict of properties, as in {{"retention.ms": "1000"}}, not {shown(given)}')
    return {text(f"the name of a property in {what}", name): _value(what, name, given[name]) for name in given}


def _value(what: str, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return as_text(value)
    raise TypeError(f"{name} in {what} is a str, an int, a float or a bool, not {shown(value)}")


def assignments(given: Sequence[Sequence[int]] | None) -> list[list[int]] | None:
    """The replicas of each partition of a topic."""
    if given is None:
        return None
    if not isinstance(given, Sequence) or not all(_is_list(replicas) for replicas in given):
        raise TypeError(
            f"assignments is a list with the brokers of each partition, as in [[1, 2], [2, 1]], not {shown(given)}"
        )
    if not given:
        raise ValueError("assignments is empty; a topic has at least one partition")
    return [[number("a broker in assignments", node_id) for node_id in replicas] for replicas in given]


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def record_batches(records: bytes | bytearray | memoryview) -> bytearray:
    """A copy of `records` that may be patched, if it is made of whole batches (or messages of the old formats).

    Produce ignores a batch that is cut off, as Kafka does. For bytes that hold no batch at all that would mean that
    nothing is written and nothing is said.
    """
    if not isinstance(records, (bytes, bytearray, memoryview)):
        raise TypeError(f"{shown(records)} is no record batch: {EXPECTED_RECORDS}")
    from kafkalet.protocol.records.batch import batches  # a broker starts without it

    data = bytearray(records)
    end = 0
    try:
        for batch in batches(data):
            end = batch.end
    except KafkaError as error:
        raise ValueError(f"{shown(data)} is no record batch ({error.message}): {EXPECTED_RECORDS}") from error
    if not end:
        raise ValueError(f"{shown(data)} is no record batch: {EXPECTED_RECORDS}")
    if end != len(data):
        raise ValueError(f"the last {len(data) - end} of {len(data)} bytes are no whole batch: {EXPECTED_RECORDS}")
    return data


def shown(value: object) -> str:
    """A value as it stands in a message: not more of it than helps."""
    if isinstance(value, (bytes, bytearray)):
        return f"{bytes(value[:20])!r}{'...' if len(value) > 20 else ''} ({len(value)} bytes)"
    printed = repr(value)
    return f"{printed[:60]}{'...' if len(printed) > 60 else ''} ({type(value).__name__})"
