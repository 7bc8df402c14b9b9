"""Encode and decode record batches (magic 2), independently of the broker's code.

base_offset i64 | length i32 | leader_epoch i32 | magic i8 | crc u32 | attributes i16 | last_offset_delta i32
| base_ts i64 | max_ts i64 | producer_id i64 | producer_epoch i16 | base_sequence i32 | count i32 | records
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

from kafkalet.protocol.records.crc32c import crc32c

from . import codecs

APPEND, TRANSACTIONAL, CONTROL = 8, 16, 32
BODY = struct.Struct(">hiqqqhii")
HEADER_BYTES = 61
MARKERS = {0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER"}


def varint(n: int) -> bytes:
    """Return a signed integer as a zigzag varint."""
    n = n << 1 ^ n >> 63
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed integer at position `at`, and the position after it."""
    n = shift = 0
    while True:
        byte = data[at]
        n |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return n >> 1 ^ -(n & 1), at


def build(batch: dict[str, Any], to_bytes: Callable[[Any], bytes | None]) -> bytes:
    """Return the bytes of a record batch. `batch` is in the notation of docs/scenario-format.md."""
    records, changed = batch["records"], batch.get("set", {})
    times = [record["ts"] for record in records]
    base_ts = times[0] if times else -1
    deltas = [record.get("offset_delta", n) for n, record in enumerate(records)]
    attributes = (
        codecs.NAMES.index(batch.get("codec", "none"))
        | APPEND * (batch.get("ts_type") == "append")
        | TRANSACTIONAL * bool(batch.get("transactional"))
        | CONTROL * bool(batch.get("control"))
    )
    body = b"".join(_record(record, delta, base_ts, to_bytes) for record, delta in zip(records, deltas, strict=True))
    head = {
        "attributes": attributes,
        "last_offset_delta": deltas[-1] if deltas else 0,
        "base_ts": base_ts,
        "max_ts": max(times, default=-1),
        "producer_id": batch.get("producer_id", -1),
        "producer_epoch": batch.get("producer_epoch", -1),
        "base_sequence": batch.get("base_sequence", -1),
        "count": len(records),
    }
    head |= {name: changed[name] for name in head.keys() & changed.keys()}
    tail = BODY.pack(*head.values()) + codecs.compress(batch.get("codec", "none"), body)
    data = struct.pack(
        ">qiibI",
        changed.get("base_offset", 0),
        changed.get("length", len(tail) + 9),
        changed.get("leader_epoch", -1),
        changed.get("magic", 2),
        changed.get("crc", crc32c(tail)) & 0xFFFFFFFF,
    )
    return (data + tail)[: -changed["truncate"] or None] if "truncate" in changed else data + tail


def _record(record: dict[str, Any], delta: int, base_ts: int, to_bytes: Callable[[Any], bytes | None]) -> bytes:
    out = b"\0" + varint(record["ts"] - base_ts) + varint(delta)
    out += _sized(to_bytes(record.get("key"))) + _sized(to_bytes(record.get("value")))
    headers = record.get("headers", [])
    out += varint(len(headers))
    for key, value in headers:
        out += _sized(to_bytes(key)) + _sized(to_bytes(value))
    return varint(len(out)) + out


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def parse(data: bytes, from_bytes: Callable[[bytes | None], Any]) -> dict[str, Any]:
    """Return the record batch in `data` in the notation of docs/scenario-format.md."""
    base_offset, _, leader_epoch, magic, crc = struct.unpack_from(">qiibI", data)
    attributes, last_delta, base_ts, max_ts, producer_id, epoch, sequence, count = BODY.unpack_from(data, 21)
    codec = codecs.NAMES[attributes & 7]
    out: dict[str, Any] = {
        "magic": magic,
        "base_offset": base_offset,
        "last_offset_delta": last_delta,
        "leader_epoch": leader_epoch,
        "codec": codec,
        "ts_type": "append" if attributes & APPEND else "create",
        "base_ts": base_ts,
        "max_ts": max_ts,
        "count": count,
        "crc_ok": crc == crc32c(data[21:]),
    }
    if codec == "none":
        out["size"] = len(data)
    if attributes & TRANSACTIONAL:
        out["transactional"] = True
    if attributes & CONTROL:
        out["control"] = True
    if producer_id != -1:
        out |= {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
    body = codecs.decompress(codec, data[HEADER_BYTES:])
    records = []
    for delta_ts, delta, key, value, headers in _records(body, count):
        record: dict[str, Any] = {"offset": base_offset + delta}
        record["ts"] = max_ts if attributes & APPEND else base_ts + delta_ts
        if attributes & CONTROL:
            record |= _marker(key, value)
        else:
            record |= {"key": from_bytes(key), "value": from_bytes(value)}
        if headers:
            record["headers"] = [[from_bytes(name), from_bytes(content)] for name, content in headers]
        records.append(record)
    return out | {"records": records}


Fields = tuple[int, int, bytes | None, bytes | None, list[tuple[bytes | None, bytes | None]]]


def _records(body: bytes, count: int) -> Iterator[Fields]:
    at = 0
    for _ in range(count):
        _, at = read_varint(body, at)
        delta_ts, at = read_varint(body, at + 1)
        delta, at = read_varint(body, at)
        key, at = _read_sized(body, at)
        value, at = _read_sized(body, at)
        headers = []
        n, at = read_varint(body, at)
        for _ in range(n):
            name, at = _read_sized(body, at)
            content, at = _read_sized(body, at)
            headers.append((name, content))
        yield delta_ts, delta, key, value, headers


def _read_sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _marker(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    version, kind = struct.unpack(">hh", key or b"")
    out: dict[str, Any] = {"marker": MARKERS.get(kind, kind), "key_version": version}
    if kind <= 1:
        value_version, coordinator_epoch = struct.unpack(">hi", value or b"")
        out["marker_value"] = {"version": value_version, "coordinator_epoch": coordinator_epoch}
    return out
