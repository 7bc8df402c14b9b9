"""Records and marks as JSON. Keys, values and headers are text, or base64 if the bytes are not UTF-8."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from kafkalet.formats import parse_uuid, uuid_text
from kafkalet.testing.topic import TopicMark

from .shapes import INT32_MAX, Field, Integer, Json, ListOf, Malformed, Nullable, Object, Text, shown

if TYPE_CHECKING:
    from kafkalet.testing.record import Record

ENCODING = Text("text", "base64")
OutputEncoding = Annotated[
    str,
    Text("auto", "base64"),
    "How keys and values are written: `auto` is text for UTF-8 and base64 for other bytes; `base64` is always base64.",
]

HEADER = Object(
    "Header",
    "A header of a record.",
    Field("name", Text(), "The name."),
    Field("value", Nullable(Text()), "The value, or null.", None),
    Field("value_encoding", ENCODING, "The encoding of `value`.", "text"),
)
RECORD = Object(
    "Record",
    "A record in a log.",
    Field("topic", Text(), "The name of the topic."),
    Field("partition", Integer(0, INT32_MAX), "The partition."),
    Field("offset", Integer(0), "The offset."),
    Field("timestamp", Integer(), "Milliseconds since 1970 (UTC), or -1 if the record has no timestamp."),
    Field("key", Nullable(Text()), "The key, or null."),
    Field("key_encoding", ENCODING, "The encoding of `key`."),
    Field("value", Nullable(Text()), "The value, or null for a tombstone."),
    Field("value_encoding", ENCODING, "The encoding of `value`."),
    Field("headers", ListOf(HEADER), "The headers, in the order of the producer."),
)
Since = Annotated[str | None, "A mark, as returned by `/mark`. Records before it are skipped."]
_END = r"[0-9]{1,19}\.[0-9]{1,10}"
"""An offset and a leader epoch."""
_MARK = re.compile(rf"(.*):([A-Za-z0-9_-]{{22}})?:((?:{_END}(?:,{_END})*)?)", re.DOTALL)
"""A topic, its id, and the end of each partition."""


def key_fields(what: str) -> tuple[Field, ...]:
    """Return the fields of a key and a value in a request."""
    return (
        Field("key", Nullable(Text()), f"The key{what}.", None),
        Field("key_encoding", ENCODING, "The encoding of `key`.", "text"),
        Field("value", Nullable(Text()), f"The value{what}.", None),
        Field("value_encoding", ENCODING, "The encoding of `value`.", "text"),
    )


def record_json(record: Record, encoding: str) -> Json:
    """Return a record as a `Record` object."""
    key, key_encoding = written(record.key, encoding)
    value, value_encoding = written(record.value, encoding)
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": key,
        "key_encoding": key_encoding,
        "value": value,
        "value_encoding": value_encoding,
        "headers": [HEADER.of((name, *written(header, encoding))) for name, header in record.headers.pairs],
    }


def written(data: bytes | None, encoding: str) -> tuple[str | None, str]:
    """Return bytes as a string and its encoding. The encoding of null is text."""
    if data is None:
        return None, "text"
    if encoding == "auto":
        try:
            return data.decode(), "text"
        except UnicodeDecodeError:
            pass
    return base64.b64encode(data).decode(), "base64"


def read_data(given: str | None, encoding: str, name: str) -> bytes | None:
    """Return the bytes of the field `name`."""
    if given is None:
        return None
    return given.encode() if encoding == "text" else read_base64(given, name)


def read_headers(given: Sequence[Json] | None) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of a record."""
    return tuple((each["name"], read_data(each["value"], each["value_encoding"], "value")) for each in given or ())


def read_base64(given: str, name: str) -> bytes:
    """Return the bytes of a base64 text. Raises Malformed if it is not base64."""
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(f"{name} is not base64") from None


def mark_text(mark: TopicMark) -> str:
    """Return a mark as text, which is opaque to clients."""
    topic_id = "" if mark.topic_id is None else uuid_text(mark.topic_id)
    ends = ",".join(f"{offset}.{mark.epochs[partition]}" for partition, offset in sorted(mark.offsets.items()))
    return f"{mark.topic}:{topic_id}:{ends}"


def read_mark(text: str | None, topic: str) -> TopicMark | None:
    """Return the mark that `mark_text` wrote. Raises Malformed if it is not a mark in the topic."""
    if text is None:
        return None
    match = _MARK.fullmatch(text)
    if match is None or match[1] != topic:
        raise Malformed(f"since is {shown(text)}, which is not a mark in topic {topic}; get one from /mark")
    ends = [each.split(".") for each in match[3].split(",") if each]
    return TopicMark(
        topic,
        {partition: int(offset) for partition, (offset, _) in enumerate(ends)},
        parse_uuid(match[2]) if match[2] else None,
        {partition: int(epoch) for partition, (_, epoch) in enumerate(ends)},
    )
