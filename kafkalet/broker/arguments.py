"""Validation of the arguments of `Broker` and `Cluster`.

The methods of a cluster run in its event loop, often in another thread. An invalid argument would cause a confusing
error there, or no error at all: Python accepts `topics="orders"` as a sequence of six names, and the C library
truncates port 70000 to 4464. So each argument is checked in the caller's thread. A value of the wrong type raises
TypeError, and an invalid value raises ValueError; the message contains the value and describes a valid one.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from kafkalet.properties import as_text
from kafkalet.protocol.errors import KafkaError
from kafkalet.units import counted

T = TypeVar("T")

DataDir = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A data directory, or several."""
PropertyValue = str | int | float | bool
"""The Python types that property values may have. `True` is converted to "true", and 5 to "5"."""

BrokerProperties = (
    Mapping[str, PropertyValue]
    | Mapping[int, Mapping[str, PropertyValue]]
    | Mapping[str | int, PropertyValue | Mapping[str, PropertyValue]]
)
"""Properties of all brokers, keyed by name, and of single brokers, keyed by id: `{"num.partitions": 3, 2:
{"broker.rack": "b"}}`.
"""

MAX_PORT = 65535
EXPECTED_RECORDS = (
    "append() takes a record batch encoded by kafkalet.protocol.records.build: "
    "build_batch(numbered([(timestamp_ms, key, value, headers)])); send() appends plain values"
)


def text(what: str, value: str) -> str:
    """Return `value` if it is a str, else raise TypeError. `what` describes it, as in "the name of a topic"."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {shown(value)}")
    return value


def number(what: str, value: int) -> int:
    """Return `value` if it is an int, else raise TypeError; bool and float are not accepted."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an int, not {shown(value)}")
    return value.__index__()


def at_least(least: int, what: str, value: int) -> int:
    """Return `value` if it is an int of at least `least`, else raise TypeError or ValueError."""
    if number(what, value) < least:
        raise ValueError(f"{what} is {value}; it must be at least {least}")
    return value.__index__()


def optional(check: Callable[[str, T], T], what: str, value: T | None) -> None:
    """Check a value unless it is None."""
    if value is not None:
        check(what, value)


def seconds(what: str, value: float) -> float:
    """Return a duration if it is a finite number of at least 0, else raise TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {shown(value)}")
    if not 0 <= value < float("inf"):
        raise ValueError(f"{what} is {value}; it must be a finite number of seconds, at least 0")
    return float(value)


def check_names(what: str, given: Collection[str], allowed: Collection[str]) -> None:
    """Raise TypeError if one of the given options does not exist. `what` names the object that has the options."""
    for name in given:
        if name not in allowed:
            from kafkalet.suggestions import did_you_mean

            hint = did_you_mean(name, allowed)
            space = " " if hint else ""
            raise TypeError(f"{what} has no option {name!r}; {hint}{space}The options are {', '.join(sorted(allowed))}")


def port(what: str, value: int, least: int = 0) -> int:
    """Return `value` if it is a valid port number and at least `least`, else raise an exception."""
    if not least <= number(what, value) <= MAX_PORT:
        raise ValueError(f"{what} is {value}; a port must be a number from {least} to {MAX_PORT}")
    return value.__index__()


def advertised(
    given: tuple[str, int] | Mapping[str, tuple[str, int]] | None, brokers: int
) -> dict[str | None, tuple[str, int]]:
    """Return the advertised addresses, keyed by listener name. The key None is the first listener."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {
            text("the name of a listener in advertise", name).upper(): _advertised(address, brokers)
            for name, address in given.items()
        }
    return {None: _advertised(given, brokers)}


def _advertised(address: tuple[str, int], brokers: int) -> tuple[str, int]:
    """Check an advertised host and port. Each additional broker uses the next higher port number."""
    if isinstance(address, str) or not isinstance(address, Sequence) or len(address) != 2:
        raise TypeError(f'advertise must be a host and a port, as in ("localhost", 9092), not {shown(address)}')
    host = text("the host in advertise", address[0])
    first = port("the port in advertise", address[1], 1)
    port(f"the port that the last of {brokers} brokers would advertise", first + brokers - 1, 1)
    return host, first


def racks(given: Sequence[str] | None, brokers: int) -> list[str] | None:
    """Check the racks and return them as a list, with one rack for each broker."""
    if given is None:
        return None
    if isinstance(given, (str, bytes)):
        raise TypeError(f"racks must be a list with the rack of each broker, not {shown(given)}")
    if len(given) != brokers:
        found = f"{counted(len(given), 'rack')} for {counted(brokers, 'broker')}"
        raise ValueError(f"racks has {found}; give one for each broker")
    return [text("a rack", rack) for rack in given]


def directories(given: DataDir | None) -> list[str]:
    """Return the paths of the data directories, none if `given` is None.

    An empty path is refused, because it would mean the current directory.
    """
    if given is None:
        return []
    paths = [given] if isinstance(given, (str, bytes, os.PathLike)) else given
    if not isinstance(paths, Sequence):
        raise TypeError(
            f"data_dir must be a path, that is a str or an os.PathLike, or a list of paths, not {shown(given)}"
        )
    found = [text("data_dir", os.fspath(path)) for path in paths]
    if not all(found) or not found:
        raise ValueError("data_dir is empty; name a directory, or omit it for a temporary one")
    return found


def properties(what: str, given: Mapping[str, PropertyValue] | None) -> dict[str, str]:
    """Return properties as strings, keyed by name. Their values are validated later."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f'{what} must be a dict of properties, as in {{"retention.ms": "1000"}}, not {shown(given)}')
    return {text(f"the name of a property in {what}", name): _value(what, name, given[name]) for name in given}


def changes(what: str, given: Mapping[str, PropertyValue | None]) -> dict[str, str | None]:
    """Return changes of properties, where None removes one."""
    items = given.items() if isinstance(given, Mapping) else properties(what, given).items()
    values = properties(what, {name: value for name, value in items if value is not None})
    return {**{name: None for name, _ in items}, **values}


def broker_properties(given: BrokerProperties | None) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """Return the properties of all brokers, and those of single brokers keyed by id. All values are strings."""
    if not isinstance(given, Mapping):
        return properties("config", given), {}
    shared: dict[str, PropertyValue] = {}
    own: dict[int, dict[str, str]] = {}
    for key, value in given.items():
        if isinstance(key, int) and not isinstance(key, bool):
            own[key] = properties(f"config[{key}]", value)  # type: ignore[arg-type]  # it checks the type
        else:
            shared[key] = value  # type: ignore[index, assignment]  # checked below
    return properties("config", shared), own


def _value(what: str, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return as_text(value)
    raise TypeError(f"{name} in {what} must be a str, an int, a float or a bool, not {shown(value)}")


def assignments(given: Sequence[Sequence[int]] | None) -> list[list[int]] | None:
    """Return the replicas of each partition of a topic."""
    if given is None:
        return None
    if not isinstance(given, Sequence) or not all(_is_list(replicas) for replicas in given):
        raise TypeError(
            f"assignments must be a list with the brokers of each partition, as in [[1, 2], [2, 1]], not {shown(given)}"
        )
    if not given:
        raise ValueError("assignments is empty; a topic needs at least one partition")
    return [[number("a broker in assignments", node_id) for node_id in replicas] for replicas in given]


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def record_batches(records: bytes | bytearray | memoryview) -> bytearray:
    """Return a writable copy of `records`, which must be whole batches (or messages of the old formats).

    As in Kafka, Produce ignores an incomplete last batch. Without this check, bytes that are not a batch would
    therefore be dropped without an error.
    """
    if not isinstance(records, (bytes, bytearray, memoryview)):
        raise TypeError(f"{shown(records)} is not a record batch: {EXPECTED_RECORDS}")
    from kafkalet.protocol.records.batch import batches  # imported here because it is not needed to start a broker

    data = bytearray(records)
    end = 0
    try:
        for batch in batches(data):
            end = batch.end
    except KafkaError as error:
        raise ValueError(f"{shown(data)} is not a record batch ({error.message}): {EXPECTED_RECORDS}") from error
    if not end:
        raise ValueError(f"{shown(data)} is not a record batch: {EXPECTED_RECORDS}")
    if end != len(data):
        raise ValueError(f"the last {len(data) - end} of {len(data)} bytes are not a whole batch: {EXPECTED_RECORDS}")
    return data


def shown(value: object) -> str:
    """Format a value for an error message, and shorten it."""
    if isinstance(value, (bytes, bytearray)):
        return f"{bytes(value[:20])!r}{'...' if len(value) > 20 else ''} ({len(value)} bytes)"
    printed = repr(value)
    return f"{printed[:60]}{'...' if len(printed) > 60 else ''} ({type(value).__name__})"
