"""The records of the internal topics as fields.

The keys of coordinators' records begin with a version, which tells the type of the record; the values begin with their
own version. A record of the metadata log has no key. Records that are not declared or cannot be decoded are shown as
bytes.

Source: org.apache.kafka.tools.DumpLogSegments (--offsets-decoder, --transaction-log-decoder,
--share-group-state-decoder, --cluster-metadata-decoder).
"""

from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from kafkalet.formats import uuid_text
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.records.record import Record
from kafkalet.protocol.schema import Message, Struct


class Decoder(Enum):
    """How keys and values are decoded."""

    NONE = "none"
    OFFSETS = "offsets"
    TRANSACTIONS = "transactions"
    SHARE = "share"
    METADATA = "metadata"


DECODER_OF_TOPIC = {
    "__consumer_offsets": Decoder.OFFSETS,
    "__transaction_state": Decoder.TRANSACTIONS,
    "__share_group_state": Decoder.SHARE,
    "__cluster_metadata": Decoder.METADATA,
}


class Decoded(NamedTuple):
    """The name of the type of a record, with the fields of its key and its value, which are None for null."""

    type: str
    key: dict[str, Any] | None
    value: dict[str, Any] | None


def decode(record: Record, decoder: Decoder) -> Decoded | None:
    """Return a record's fields; None if it cannot be decoded."""
    try:
        if decoder is Decoder.METADATA:
            return _metadata_record(record)
        if decoder is not Decoder.NONE:
            return _coordinator_record(record, decoder)
    except (ProtocolError, ValueError, IndexError):
        pass
    return None


def _coordinator_record(record: Record, decoder: Decoder) -> Decoded | None:
    key, value = record.key, record.value
    if key is None or len(key) < 2:
        return None
    number = int.from_bytes(key[:2], "big", signed=True)
    types = _types(decoder).get(number)
    if types is None:
        return None
    name = types[0].__name__.removesuffix("Key")
    return Decoded(name, _fields_of(types[0], key), None if value is None else _fields_of(types[1], value))


def _fields_of(cls: type[Message], data: bytes) -> dict[str, Any]:
    version = int.from_bytes(data[:2], "big", signed=True)
    return {"version": version} | as_fields(cls.decode(data, version, 2), version)


@cache
def _types(decoder: Decoder) -> dict[int, tuple[type[Message], type[Message]]]:
    """Return the types of keys and values, keyed by the version of the key."""
    if decoder is Decoder.TRANSACTIONS:
        from kafkalet.protocol.messages.transactions_topic import TransactionLogKey, TransactionLogValue

        return {0: (TransactionLogKey, TransactionLogValue)}
    if decoder is Decoder.SHARE:
        from kafkalet.protocol.messages import share_state_topic as share

        return {
            0: (share.ShareSnapshotKey, share.ShareSnapshotValue),
            1: (share.ShareUpdateKey, share.ShareUpdateValue),
        }
    from kafkalet.broker.groups.consumer.records import KEYS
    from kafkalet.broker.groups.share.records import KEYS as SHARE_KEYS
    from kafkalet.broker.groups.streams.records import KEYS as STREAMS_KEYS
    from kafkalet.protocol.messages import offsets_topic as topic

    commit, classic = (
        (topic.OffsetCommitKey, topic.OffsetCommitValue),
        (topic.GroupMetadataKey, topic.GroupMetadataValue),
    )
    return {0: commit, 1: commit, 2: classic, **KEYS, **SHARE_KEYS, **STREAMS_KEYS}


def _metadata_record(record: Record) -> Decoded | None:
    from kafkalet.protocol.metadata_frame import UnknownRecord, decode_record

    if record.value is None:
        return None
    found = decode_record(record.value)
    if isinstance(found, UnknownRecord):
        return Decoded(f"type {found.type} v{found.version}", None, {})
    return Decoded(type(found).__name__, None, as_fields(found))


def as_fields(struct: Struct, version: int | None = None) -> dict[str, Any]:
    """Return the fields of a message that exist in a version, in JSON types. Ids and bytes become text."""
    return {
        field.name: _json_value(getattr(struct, field.name), field.wire.name if field.wire else "", version)
        for field in struct.FIELDS
        if version is None or version in field.versions
    }


def _json_value(value: Any, wire: str, version: int | None) -> Any:
    if isinstance(value, Struct):
        return as_fields(value, version)
    if isinstance(value, list):
        return [_json_value(each, wire, version) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return uuid_text(bytes(value)) if wire == "uuid" else bytes(value).hex()
    return value
