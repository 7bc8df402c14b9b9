"""Batches and records as rows: dictionaries of JSON values, with timestamps in milliseconds.

A row of a batch has the fields that Kafka's DumpLogSegments prints for it, and its size in bytes, base timestamp and
producer's last sequence number. In format 0 and 1, a row describes a message or a wrapper.
"""

import base64
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafkalet.protocol.errors import KafkaError, ProtocolError
from kafkalet.protocol.records.batch import HEADER_SIZE, Batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, control_type, read_end_marker
from kafkalet.protocol.records.record import Record

from .internal_records import Decoder, as_fields, decode

Row = dict[str, Any]

TIMESTAMP_TYPES = {-1: None, 0: "create", 1: "append"}
MAX_CONTROL_BYTES = 1 << 16


def codec_name(batch: Batch) -> str:
    """Return the name of the codec; an unknown one is shown by its number."""
    number = batch.attributes & 7
    return Codec(number).name.lower() if number in Codec.__members__.values() else f"unknown ({number})"


def batch_row(position: int, batch: Batch, *, complete: bool = True) -> Row:
    """Return the row of a batch. Without `complete`, only its header is available."""
    horizon = batch.delete_horizon_ms
    row: Row = {
        "position": position,
        "size": batch.size,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "count": None if batch.count < 0 else batch.count,
        "magic": batch.magic,
        "codec": codec_name(batch),
        "timestamp_type": TIMESTAMP_TYPES[batch.timestamp_type],
        "base_timestamp": None if horizon is not None else batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "delete_horizon": horizon,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "transactional": batch.is_transactional,
        "control": None,
        "coordinator_epoch": None,
        "leader_epoch": batch.leader_epoch,
        "crc": batch.crc,
    }
    if complete:
        row["crc_valid"] = batch.computed_crc() == batch.crc
        if batch.is_control:
            row |= control_fields(batch)
    return row


def control_fields(batch: Batch) -> Row:
    """Return the type of a control batch, and the coordinator epoch of a transaction marker."""
    if not batch.count:
        return {"control": "EMPTY"}
    if batch.size <= MAX_CONTROL_BYTES + HEADER_SIZE:
        with suppress(KafkaError):
            record = next(batch.iterate(MAX_CONTROL_BYTES))
            kind = control_type(record)
            if kind in (ControlType.COMMIT, ControlType.ABORT):
                return {"control": kind.name, "coordinator_epoch": read_end_marker(record).coordinator_epoch}
            return {"control": kind.name}
    return {"control": "INVALID"}


# Records

Format = Callable[[bytes], Any]


def _auto(data: bytes) -> Any:
    text = printable(data)
    return {"base64": base64.b64encode(data).decode()} if text is None else text


def _integer(data: bytes) -> Any:
    return int.from_bytes(data, "big", signed=True) if len(data) in (1, 2, 4, 8) else _auto(data)


def _json(data: bytes) -> Any:
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _auto(data)


FORMATS: dict[str, Format] = {
    "auto": _auto,
    "text": lambda data: data.decode("utf-8", "backslashreplace"),
    "hex": bytes.hex,
    "base64": lambda data: base64.b64encode(data).decode(),
    "integer": _integer,
    "json": _json,
    "size": len,
}
"""How keys and values are shown. `auto`: as text if they are printable UTF-8, otherwise as {"base64": ...}."""


def printable(data: bytes) -> str | None:
    """Return bytes as text; None if they are not UTF-8, or contain control characters other than tab and line feeds."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or all(each.isprintable() or each in "\t\n\r" for each in text) else None


def record_row(
    record: Record, batch: Batch, index: int, keys: Format, values: Format, decoder: Decoder = Decoder.NONE
) -> Row:
    """Return the row of the record with this index in its batch."""
    row: Row = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "sequence": batch.base_sequence + index if batch.base_sequence >= 0 else None,
        "key_size": None if record.key is None else len(record.key),
        "value_size": None if record.value is None else len(record.value),
        "headers": [[name, None if value is None else _auto(value)] for name, value in record.headers],
    }
    if batch.is_control:
        return row | _control_record(record)
    decoded = decode(record, decoder)
    if decoded is not None:
        return row | {"record": decoded.type, "key": decoded.key, "value": decoded.value}
    return row | {
        "key": None if record.key is None else keys(record.key),
        "value": None if record.value is None else values(record.value),
    }


def _control_record(record: Record) -> Row:
    row: Row = {"record": "INVALID", "key": None, "value": None if record.value is None else _auto(record.value)}
    with suppress(KafkaError, ProtocolError):
        kind = control_type(record)
        row["record"] = kind.name
        if kind in (ControlType.COMMIT, ControlType.ABORT):
            row["value"] = {"coordinator_epoch": read_end_marker(record).coordinator_epoch}
        elif kind in _RAFT_RECORDS and record.value is not None:
            from kafkalet.protocol.messages import raft_control_records

            version = int.from_bytes(record.value[:2], "big")  # the first field of the message
            cls = getattr(raft_control_records, _RAFT_RECORDS[kind])
            row["value"] = as_fields(cls.decode(record.value, version), version)
    return row


_RAFT_RECORDS = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}
