"""The notation of bytes in scenarios: keys, values and lists of batches.

A value is a string (UTF-8), null, `{"hex": "00ff"}`, or `{"fill": "x", "size": 1000}`. In decoded responses, bytes that
are not printable text are hexadecimal, and long values are replaced by their size and SHA-1.

`{"subscription": {"version": 1, "topics": ["t"]}}` and `{"assignment": {"version": 0, "assigned_partitions": [...]}}`
are messages of the classic consumer protocol; missing fields have their default values.
"""

import hashlib
import struct
from typing import Any

from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.messages.subscription import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from . import message_sets, record_batches

LONG = 256
EMBEDDED: dict[str, Any] = {"subscription": ConsumerProtocolSubscription, "assignment": ConsumerProtocolAssignment}


def to_bytes(value: Any) -> bytes | None:
    """Return the bytes that a value in the notation stands for; None for null."""
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case {"hex": digits}:
            return bytes.fromhex(str(digits))
        case {"fill": fill, "size": size}:
            unit = fill.encode()
            return bytes((unit * (size // len(unit) + 1))[:size])
        case {"subscription": dict(fields)} | {"assignment": dict(fields)}:
            return _embed(EMBEDDED[next(iter(value))], **fields)
    raise ValueError(f"not a string, null, hex, fill, subscription or assignment: {value!r}")


def _embed(kind: Any, version: int, user_data: Any = None, **fields: Any) -> bytes:
    lists: dict[str, list[Any]] = {"topics": [], "assigned_partitions": []}
    given = {field.name: lists[field.name] for field in kind.FIELDS if field.name in lists} | fields
    for name in ("owned_partitions", "assigned_partitions"):
        if name in given:
            inner = next(field.struct for field in kind.FIELDS if field.name == name)
            given[name] = [inner(**partitions) for partitions in given[name]]
    message = kind(user_data=to_bytes(user_data), **given)
    encoded: bytes = message.encode(min(version, 3))
    return struct.pack(">h", version) + encoded


def embedded(kind: str, value: Any) -> Any:
    """Decode the bytes of a `from_bytes` value as one of EMBEDDED; return `value` if that is not possible."""
    data = to_bytes(value)
    if not data or len(data) < 2:
        return value
    (version,) = struct.unpack_from(">h", data)
    try:
        message = EMBEDDED[kind].decode(data[2:], min(version, 3))
    except ProtocolError:
        return value
    fields = {field.name: getattr(message, field.name) for field in message.FIELDS if version in field.versions}
    fields["user_data"] = from_bytes(fields["user_data"])
    for name in ("owned_partitions", "assigned_partitions"):
        if name in fields:
            fields[name] = [{"topic": one.topic, "partitions": one.partitions} for one in fields[name]]
    return {kind: {"version": version} | fields}


def from_bytes(data: bytes | None) -> Any:
    """Return bytes in the notation of values."""
    if data is None:
        return None
    data = bytes(data)
    if len(data) > LONG:
        return {"size": len(data), "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest()}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
    return text if text.isprintable() else {"hex": data.hex()}


def build(batches: list[dict[str, Any]] | None) -> bytes | None:
    """Encode the `records` field of a request."""
    if batches is None:
        return None
    return b"".join(_build_one(batch) for batch in batches)


def _build_one(batch: dict[str, Any]) -> bytes:
    if "raw" in batch:
        return bytes.fromhex(batch["raw"])
    build_one = record_batches.build if batch["magic"] == 2 else message_sets.build
    return build_one(batch, to_bytes)


def parse(data: bytes | None) -> list[dict[str, Any]] | None:
    """Decode the `records` field of a response."""
    if data is None:
        return None
    out = []
    while data:
        size = 12 + struct.unpack_from(">i", data, 8)[0] if len(data) >= 12 else 0
        if not 17 <= size <= len(data):
            out.append(_partial(data, size))
            break
        parse_one = record_batches.parse if data[16] == 2 else message_sets.parse
        out.append(parse_one(data[:size], from_bytes))
        data = data[size:]
    return out


def _partial(data: bytes, size: int) -> dict[str, Any]:
    tail: dict[str, Any] = {"partial_bytes": len(data)}
    if len(data) >= 17:
        tail |= {"partial_of": size, "partial_magic": data[16]}
    return tail
