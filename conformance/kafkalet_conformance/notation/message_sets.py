"""Encode and decode message sets (magic 0 and 1), independently of the broker's code.

    offset i64 | size i32 | crc u32 | magic i8 | attributes i8 | [timestamp i64, magic 1] | key | value

A compressed set is one message, the wrapper, whose value is the compressed inner set. The wrapper has the offset of the
last inner message. Inner offsets are absolute in magic 0, and relative (starting at zero) in magic 1.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Any

from . import codecs

APPEND = 8


def build(batch: dict[str, Any], to_bytes: Callable[[Any], bytes | None]) -> bytes:
    """Return the bytes of a message set. `batch` is in the notation of docs/scenario-format.md."""
    magic, codec, changed = batch["magic"], batch.get("codec", "none"), batch.get("set", {})
    append = APPEND * (batch.get("ts_type") == "append")
    records = batch["records"]
    plain = codec == "none"
    messages = []
    for n, record in enumerate(records):
        offset = 0 if batch.get("inner_offsets") == "zero" else n
        pair = to_bytes(record.get("key")), to_bytes(record.get("value"))
        messages.append(message(offset, magic, append, record["ts"], *pair, changed if plain else {}))
    if not plain:
        value = codecs.compress(codec, b"".join(messages))
        attributes = codecs.NAMES.index(codec) | append
        last = 0 if batch.get("inner_offsets") == "zero" else len(records) - 1
        times = [record["ts"] for record in records]
        messages = [message(last, magic, attributes, max(times, default=-1), None, value, changed)]
    data = b"".join(messages)
    return data[: -changed["truncate"] or None] if "truncate" in changed else data


def message(
    offset: int, magic: int, attributes: int, ts: int, key: bytes | None, value: bytes | None, changed: dict[str, Any]
) -> bytes:
    """Return the bytes of one message. `changed` has the header fields to override."""
    stamp = struct.pack(">q", changed.get("ts", ts)) if magic else b""
    tail = struct.pack(">bb", magic, changed.get("attributes", attributes)) + stamp + _sized(key) + _sized(value)
    crc = changed.get("crc", zlib.crc32(tail)) & 0xFFFFFFFF
    if "magic" in changed:
        tail = struct.pack(">b", changed["magic"]) + tail[1:]
    size = changed.get("length", len(tail) + 4)
    return struct.pack(">qiI", changed.get("base_offset", offset), size, crc) + tail


def _sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def parse(data: bytes, from_bytes: Callable[[bytes | None], Any]) -> dict[str, Any]:
    """Return the message in `data` in the notation of docs/scenario-format.md."""
    offset, _, crc, magic, attributes = struct.unpack_from(">qiIbb", data)
    codec, at = codecs.NAMES[attributes & 7], 18
    out: dict[str, Any] = {
        "magic": magic,
        "offset": offset,
        "codec": codec,
        "crc_ok": crc == zlib.crc32(data[16:]),
    }
    if magic:
        out |= {"ts_type": "append" if attributes & APPEND else "create", "ts": struct.unpack_from(">q", data, at)[0]}
        at += 8
    key, at = _read_sized(data, at)
    value, at = _read_sized(data, at)
    if codec == "none":
        return out | {"key": from_bytes(key), "value": from_bytes(value), "size": len(data)}
    return out | {"inner": [_inner(entry, from_bytes) for entry in _split(codecs.decompress(codec, value or b""))]}


def _inner(data: bytes, from_bytes: Callable[[bytes | None], Any]) -> dict[str, Any]:
    entry = parse(data, from_bytes)
    entry.pop("size", None)
    return entry


def _split(data: bytes) -> list[bytes]:
    entries = []
    while data:
        size = 12 + struct.unpack_from(">i", data, 8)[0]
        entries.append(data[:size])
        data = data[size:]
    return entries


def _read_sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    (size,) = struct.unpack_from(">i", data, at)
    return (None, at + 4) if size < 0 else (data[at + 4 : at + 4 + size], at + 4 + size)
