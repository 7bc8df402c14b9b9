"""Messages encoded by Kafka's Java classes of releases 4.4.0 and 3.9.2.

`vectors/messages.json` has two messages for each version of each request and response: one with values in all fields,
and one that has null or empty arrays where possible. Messages that kio does not have are stored with their values in
the format of Kafka's JSON converters. `vectors/unknown_tags.json` has messages with undeclared tags, and
`vectors/inside.json` has data that is embedded in messages or written to internal topics.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from kafkalet.protocol.api import BY_TITLE
from kafkalet.protocol.messages import (
    consumer_group_state,
    raft_control_records,
    request_type,
    response_type,
    share_group_metadata,
)
from kafkalet.protocol.messages.metadata_records import RECORDS
from kafkalet.protocol.messages.offsets_topic import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalet.protocol.messages.subscription import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkalet.protocol.messages.transactions_topic import TransactionLogKey, TransactionLogValue
from kafkalet.protocol.schema import Message, Struct

INSIDE: dict[str, type[Message]] = {
    message.__name__: message
    for message in (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
        GroupMetadataKey,
        GroupMetadataValue,
        OffsetCommitKey,
        OffsetCommitValue,
        TransactionLogKey,
        TransactionLogValue,
        *(message for name, message in vars(consumer_group_state).items() if name.startswith("ConsumerGroup")),
        *(message for name, message in vars(share_group_metadata).items() if name.startswith("ShareGroup")),
        *RECORDS.values(),
        *(
            message
            for name, message in vars(raft_control_records).items()
            if name.endswith(("Record", "ChangeMessage"))
        ),
    )
}
VECTORS = Path(__file__).parent.parent / "vectors"


class Recorded(NamedTuple):
    name: str
    version: int
    data: bytes
    values: dict[str, Any] | None

    @property
    def message(self) -> type[Message]:
        if self.name in INSIDE:
            return INSIDE[self.name]
        if self.name.endswith("Request"):
            return request_type(BY_TITLE[self.name.removesuffix("Request")])
        return response_type(BY_TITLE[self.name.removesuffix("Response")])


def recorded(file: str) -> list[Recorded]:
    return [
        Recorded(name, version, bytes.fromhex(data), values[0] if values else None)
        for name, version, data, *values in json.loads((VECTORS / file).read_text(encoding="utf-8"))
    ]


def as_kafka_json(struct: Struct, version: int) -> dict[str, Any]:
    """Return the values of a struct in the format of Kafka's JSON converters, without records."""
    values = {}
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if version not in field.versions or (field.tag is not None and value == field.default):
            continue
        one = _struct(version) if field.struct else _scalar(field.wire.name if field.wire else "")
        if value is not None:
            value = [one(each) for each in value] if field.array else one(value)
        values[_camel_case(field.name)] = value
    return values


def _struct(version: int) -> Any:
    return lambda value: as_kafka_json(value, version)


def _scalar(kind: str) -> Any:
    match kind:
        case "uuid":
            return lambda value: base64.urlsafe_b64encode(value).decode().rstrip("=")
        case "bytes":
            return lambda value: base64.b64encode(value).decode()
        case "records":
            return lambda value: ""
        case _:
            return lambda value: value


def _camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.replace("kraft", "k_raft"))
