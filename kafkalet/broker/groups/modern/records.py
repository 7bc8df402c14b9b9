"""Changes of a group, as records of __consumer_offsets that have not been written yet.

The key's version identifies the type of the record. All values have version 0.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.schema import Message

_VERSION_0 = b"\0\0"

RecordTypes = Mapping[int, tuple[type[Message], type[Message]]]
"""The key and value types of each kind of record of a group, keyed by key version."""


class Change(NamedTuple):
    """A record that has not been written yet. Without a value, it is a tombstone."""

    key: Message
    value: Message | None

    def encoded(self) -> StateRecord:
        version = self.key.VERSIONS.low
        key = version.to_bytes(2, "big") + self.key.encode(version)
        return StateRecord(key, None if self.value is None else _VERSION_0 + self.value.encode(0))
