"""Read the records of a group or transactional id in its internal topic, and the leader epoch of their partition.

The partition is computed from the id as by Kafka's coordinators. Only batches that contain a key with the id, and
markers of the scenario's producers, are returned; keys and values are hexadecimal.
"""

import struct
import time
from collections.abc import Iterator
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import response_type
from kafkalet.protocol.records.batch import Batch, batches

from .connection import Connection
from .matching import HEX

TRANSACTION_STATE = "__transaction_state"
FETCH_VERSION = 11
LEADER_EPOCH_VERSION = 7
"""The first version of Metadata with leader epochs."""
TIMEOUT_S = 10.0
WHOLE = 1 << 26


def state_records(connection: Connection, topic: str, of: str, producers: set[int]) -> list[dict[str, Any]]:
    """Return the batches of `topic` with a key that contains `of`, and the markers of these producers."""
    told = []
    partitions = _partitions(connection, topic)
    if not partitions:
        raise LookupError(f"the broker has no topic {topic}")
    for batch in _batches(connection, topic, partition_of(of, len(partitions))):
        is_marker = batch.is_control and batch.producer_id in producers
        records = batch.records()
        if is_marker or any(of.encode() in (record.key or b"") for record in records):
            told.append(_plain(batch, records))
    return told


def partition_of(of: str, count: int) -> int:
    """Compute Java's `abs(hashCode)` of a string modulo the number of partitions."""
    value = 0
    for unit in memoryview(of.encode("utf-16-le")).cast("H"):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value
    return 0 if signed == -(1 << 31) else abs(signed) % count


def leader_epoch(connection: Connection, topic: str, of: str) -> int | None:
    """Return the leader epoch of the partition of `topic` whose leader coordinates the id `of`.

    None if the broker has no such topic.
    """
    partitions = _partitions(connection, topic, LEADER_EPOCH_VERSION)
    epochs: dict[int, int] = {each["partition_index"]: each["leader_epoch"] for each in partitions}
    return epochs[partition_of(of, len(epochs))] if epochs else None


def _partitions(connection: Connection, topic: str, version: int = 4) -> list[dict[str, Any]]:
    answer = connection.ask("Metadata", version, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
    partitions: list[dict[str, Any]] = answer["topics"][0]["partitions"]
    return partitions


def _batches(connection: Connection, topic: str, partition: int) -> Iterator[Batch]:
    offset = 0
    while True:
        asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": WHOLE}
        body = {"topics": [{"topic": topic, "partitions": [asked]}]}
        connection.in_flight.pending.pop(connection.send("Fetch", FETCH_VERSION, body))
        frame = connection.receive_frame(time.monotonic() + TIMEOUT_S)
        answer: Any = response_type(Api.FETCH).decode(frame[4:], FETCH_VERSION)
        data = bytes(answer.responses[0].partitions[0].records or b"")
        if not data:
            return
        for batch in batches(data):
            yield batch
            offset = batch.next_offset


def _plain(batch: Batch, records: list[Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"records": [{"key": _hex(record.key), "value": _hex(record.value)} for record in records]}
    if batch.has_producer_id:
        told |= {"producer_id": batch.producer_id, "producer_epoch": batch.producer_epoch}
        told |= {"transactional": batch.is_transactional}
    if batch.is_control:
        _, kind = struct.unpack_from(">hh", records[0].key)
        told |= {"marker": "COMMIT" if kind else "ABORT"}
    return told


def _hex(data: bytes | None) -> str | None:
    return None if data is None else HEX + bytes(data).hex()
