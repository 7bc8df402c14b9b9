"""Convert plain data to requests, and responses to plain data, using the declarations in `kafkalet.protocol.messages`.

Field names are those of Kafka's message definitions in snake case, except for a few that scenarios shorten. UUIDs are
text; `ZERO` is the zero UUID. As on the wire, tagged fields with default values are omitted.
"""

import uuid
from functools import cache
from typing import Any

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Message, Request, Response

from . import values as notation

SHORT = {
    "Produce": {"topics": "topic_data", "partitions": "partition_data"},
    "AddPartitionsToTxn": {
        "transactional_id": "v3_and_below_transactional_id",
        "producer_id": "v3_and_below_producer_id",
        "producer_epoch": "v3_and_below_producer_epoch",
        "topics": "v3_and_below_topics",
    },
}
SHORT_ANSWERS = {
    "Produce": {"partition_responses": "partitions"},
    "AddPartitionsToTxn": {
        "results_by_topic_v3_and_below": "topics",
        "results_by_partition": "partitions",
        "partition_error_code": "error_code",
    },
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "ListOffsets": {"replica_id": -1},
    "Fetch": {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0x7FFFFFFF},
    "Produce": {"acks": -1, "timeout_ms": 30000},
    "CreateTopics": {"num_partitions": 1, "replication_factor": 1, "timeout_ms": 30000},
    "DeleteTopics": {"timeout_ms": 30000},
    "CreatePartitions": {"timeout_ms": 30000},
    "DeleteRecords": {"timeout_ms": 30000},
    "OffsetForLeaderEpoch": {"replica_id": -1},
}
ZEROS = {"bool": False, "float64": 0.0, "uuid": bytes(16), "string": "", "bytes": b"", "records": b""}


APIS = {api.title: api for api in Api}


def request(api: str, version: int, body: dict[str, Any]) -> Request:
    """Return a request with this body. Raises ValueError for fields that the request does not have."""
    made: Request = _struct(request_type(APIS[api]), api, version, body)
    return made


def plain(response: Response, version: int) -> dict[str, Any]:
    """Return the body of a response as plain data."""
    return _plain(response, response.API.title, version)


def _struct(cls: Any, api: str, version: int, body: dict[str, Any]) -> Any:
    names = {field.name for field in cls.FIELDS}
    short = {name: long for name, long in SHORT.get(api, {}).items() if name not in names}
    given = {short.get(name, name): value for name, value in body.items() if not name.startswith("#")}
    if unknown := given.keys() - names:
        raise ValueError(f"{cls.__qualname__} has no {', '.join(sorted(unknown))}")
    values = {}
    for field in cls.FIELDS:
        if field.name in given:
            values[field.name] = _value(field, api, version, given[field.name])
        elif field.name in DEFAULTS.get(api, {}):
            values[field.name] = DEFAULTS[api][field.name]
        elif repr(field.default) == "REQUIRED":
            values[field.name] = _zero(field, api, version)
    return cls(**values)


def _zero(field: Any, api: str, version: int) -> Any:
    if field.array:
        return []
    if field.struct:
        return _struct(field.struct, api, version, {})
    return ZEROS.get(field.wire.name, 0)


def _value(field: Any, api: str, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.array:
        element = field._replace(array=False)
        return [_value(element, api, version, item) for item in value]
    if field.struct:
        return _struct(field.struct, api, version, value)
    match field.wire.name:
        case "uuid":
            return bytes(16) if value == "ZERO" else uuid.UUID(value).bytes
        case "records":
            return notation.build(value)
        case "bytes":
            return notation.to_bytes(value)
    return value


def _plain(message: Any, api: str, version: int) -> dict[str, Any]:
    out = {}
    cls: type[Message] = type(message)
    for name, field in _fields(cls, api, version):
        value = getattr(message, field.name)
        if field.tag is not None and value == field.default:
            continue
        if field.array and value is not None:
            out[name] = [_plain_value(field, api, version, item) for item in value]
        else:
            out[name] = _plain_value(field, api, version, value)
    return out


@cache
def _fields(cls: type[Message], api: str, version: int) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a version, each with its name in plain data."""
    short = SHORT_ANSWERS.get(api, {})
    return tuple((short.get(field.name, field.name), field) for field in cls.FIELDS if version in field.versions)


def _plain_value(field: Any, api: str, version: int, value: Any) -> Any:
    """Return a value, or an element of an array."""
    if value is None:
        return None
    if field.struct:
        return _plain(value, api, version)
    match field.wire.name:
        case "uuid":
            return str(uuid.UUID(bytes=value)) if any(value) else "ZERO"
        case "records":
            entries = notation.parse(bytes(value)) or []
            if api == "Fetch" and version < 4 and entries and "partial_bytes" in entries[-1]:
                entries.pop()  # an incomplete last message, whose length is not compared
            return entries
        case "bytes":
            return notation.from_bytes(value)
    return value
