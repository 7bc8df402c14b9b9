"""How scenarios write down bytes: keys, values, and whole lists of batches.

A value is a string (UTF-8), null, `{"hex": "00ff"}`, or `{"fill": "x", "size": 1000}`. Coming back, bytes that are no
printable text are hex, and long ones are their size and SHA-1.
"""

import hashlib
import struct
from typing import Any

from . import message_sets, record_batches

LONG = 256


def to_bytes(value: Any) -> bytes | None:
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
    raise ValueError(f"neither text, null, hex nor fill: {value!r}")


def from_bytes(data: bytes | None) -> Any:
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
    """The bytes of a `records` field in a request."""
    if batches is None:
        return None
    return b"".join(_build_one(batch) for batch in batches)


def _build_one(batch: dict[str, Any]) -> bytes:
    if "raw" in batch:
        return bytes.fromhex(batch["raw"])
    build_one = record_batches.build if batch["magic"] == 2 else message_sets.build
    return build_one(batch, to_bytes)


def parse(data: bytes | None) -> list[dict[str, Any]] | None:
    """The notation of a `records` field in an answer."""
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
