"""The error response to a whole request, whatever its API.

The error code is set in every field for error codes: in the partitions of a Produce response, in the topics of a
CreateTopics response, at the top level of a Heartbeat response. Arrays of the request and of the response are matched
by the kind of their elements (request_items.py). The tables below contain Kafka's exceptions for some APIs.

Source: org.apache.kafka.common.requests.AbstractRequest.getErrorResponse and its implementations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.java_order import (
    grown,
    order_of_strings,
    ordered,
    string_hash,
    uuid_hash,
    with_capacity,
)
from kafkalet.broker.security.principal import ANONYMOUS
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.fields import HIGHEST, REQUIRED, Field
from kafkalet.protocol.frame import RequestHeader, response_frame
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.protocol.wire import ZERO_UUID, Chunk

from .request_items import PARTITION, PARTITION_NAMES, TOPIC, TOPIC_NAMES, copy_with, first_of, parts_of

if TYPE_CHECKING:
    from kafkalet.broker.config.release import Release
    from kafkalet.broker.context import Context

_UNKNOWN_NUMBER = -1
_NOT_OF_THE_ITEM = ("topic_config_error_code",)
_IDENTITIES = frozenset(
    {
        *("entity_name", "entity_type", "group_id", "group_instance_id", "key", "resource_name", "resource_type"),
        "transactional_id",
    }
)
"""Fields that identify an item of a response, in addition to the names of topics and partitions."""

_MESSAGES = {
    Code.ILLEGAL_SASL_STATE: "Request is not valid given the current SASL state.",
    Code.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
}
"""Kafka's general messages. In the responses of these APIs, they replace the message of the error."""
_WITH_TEXT_OF_THE_ERROR = frozenset(
    {
        *(Api.ADD_RAFT_VOTER, Api.ALTER_CLIENT_QUOTAS, Api.DESCRIBE_CONFIGS, Api.DESCRIBE_QUORUM),
        *(Api.FIND_COORDINATOR, Api.REMOVE_RAFT_VOTER),
        *(Api.ALTER_SHARE_GROUP_OFFSETS, Api.DELETE_SHARE_GROUP_OFFSETS, Api.READ_SHARE_GROUP_STATE),
        *(Api.READ_SHARE_GROUP_STATE_SUMMARY, Api.WRITE_SHARE_GROUP_STATE),
    }
)
_WITHOUT_MESSAGE = frozenset(
    {
        *(Api.CONSUMER_GROUP_DESCRIBE, Api.CONSUMER_GROUP_HEARTBEAT, Api.DELETE_GROUPS, Api.DELETE_TOPICS),
        *(Api.DESCRIBE_GROUPS, Api.DESCRIBE_PRODUCERS, Api.SHARE_GROUP_DESCRIBE, Api.SHARE_GROUP_HEARTBEAT),
        *(Api.SHARE_ACKNOWLEDGE, Api.SHARE_FETCH, Api.DELETE_SHARE_GROUP_STATE, Api.INITIALIZE_SHARE_GROUP_STATE),
        *(Api.STREAMS_GROUP_DESCRIBE, Api.STREAMS_GROUP_HEARTBEAT),
    }
)
_EMPTY = {
    (Api.ADD_PARTITIONS_TO_TXN, "results_by_transaction"): 4,
    (Api.ALTER_SHARE_GROUP_OFFSETS, "responses"): 0,
    (Api.DELETE_SHARE_GROUP_OFFSETS, "responses"): 0,
    (Api.DESCRIBE_QUORUM, "topics"): 0,
    (Api.DESCRIBE_SHARE_GROUP_OFFSETS, "topics"): 0,
    (Api.FETCH, "responses"): 13,
    (Api.OFFSET_DELETE, "topics"): 0,
    (Api.OFFSET_FETCH, "topics"): 2,
    (Api.SHARE_ACKNOWLEDGE, "responses"): 0,
    (Api.SHARE_FETCH, "responses"): 0,
}
"""Arrays that are empty from a version on, because the response has one error for the whole request."""
_UNUSED_VALUES = {
    (Api.CREATE_DELEGATION_TOKEN, "principal_type"): ANONYMOUS.type,
    (Api.CREATE_DELEGATION_TOKEN, "principal_name"): ANONYMOUS.name,
    (Api.CREATE_DELEGATION_TOKEN, "token_requester_principal_type"): ANONYMOUS.type,
    (Api.CREATE_DELEGATION_TOKEN, "token_requester_principal_name"): ANONYMOUS.name,
    (Api.DESCRIBE_CLIENT_QUOTAS, "entries"): None,
    (Api.DESCRIBE_USER_SCRAM_CREDENTIALS, "user"): "",
    (Api.FIND_COORDINATOR, "node_id"): -1,
    (Api.FIND_COORDINATOR, "port"): -1,
    (Api.OFFSET_FETCH, "metadata"): "",
    **{(Api.STREAMS_GROUP_HEARTBEAT, f"{kind}_tasks"): None for kind in ("active", "standby", "warmup")},
    (Api.STREAMS_GROUP_HEARTBEAT, "partitions_by_user_endpoint"): None,
}
"""The values of fields that do not have the usual value for their type."""
_ZERO_IF_UNKNOWN = frozenset(
    {
        *(Api.CONSUMER_GROUP_DESCRIBE, Api.CONSUMER_GROUP_HEARTBEAT, Api.DESCRIBE_TRANSACTIONS),
        *(Api.EXPIRE_DELEGATION_TOKEN, Api.GET_TELEMETRY_SUBSCRIPTIONS, Api.RENEW_DELEGATION_TOKEN),
        *(Api.READ_SHARE_GROUP_STATE, Api.READ_SHARE_GROUP_STATE_SUMMARY),
        *(Api.SHARE_ACKNOWLEDGE, Api.SHARE_FETCH, Api.SHARE_GROUP_DESCRIBE, Api.SHARE_GROUP_HEARTBEAT),
        *(Api.STREAMS_GROUP_DESCRIBE, Api.STREAMS_GROUP_HEARTBEAT),
    }
)
"""APIs whose error responses have 0 in unused number fields. For all others, it is -1."""
_ITEMS = {
    "Creation": "results",
    "Deletion": "results",
    "Entity": "entity",
    "Filter": "filter_results",
    "Upsertion": "results",
    "User": "results",
}
"""The response array with one element for each request element of a type, for types without a kind."""


def error_frame(frame: bytes, context: Context, error: KafkaError) -> list[Chunk]:
    """Return the error response to the request in a frame, encoded with its size and header.

    Return an empty list if the client expects no response. Raises CloseConnection and DecodeError.
    """
    header, start = RequestHeader.decode(frame)
    api, version = header.api, header.version
    served = context.broker.api_versions.get(api)
    request: Request
    if served is not None and served[0] <= version <= served[1]:
        request = request_type(api).decode(frame, version, start)
    elif api is Api.API_VERSIONS:  # its body is not read, and the response has version 0
        version, request = 0, ApiVersionsRequest()
    else:
        raise CloseConnection(f"{api} v{version} is not served")
    context.api, context.version, context.correlation_id = api, version, header.correlation_id
    answer = error_response(request, context, error)
    return [] if answer is None else response_frame(answer, version, header.correlation_id)


def error_response(request: Request, context: Context, error: KafkaError) -> Response | None:
    """Return a response with an error for the whole request and for each of its items.

    Return None if the client expects no response. Raises CloseConnection if Kafka fails to build the response.
    """
    if _is_incomplete(request, context.release):
        raise CloseConnection(f"a null array or null records in {request.API}")
    if getattr(request, "acks", None) == 0:
        return None
    return refusal(_in_map_order(request, context.version, context.release), context, error)


def refusal(request: Request, context: Context, error: KafkaError, *, whole: bool = True) -> Response:
    """Return a response with an error for each item of `request`, and also at the top level if `whole` is true."""
    response: Response = _Refusal(request, context, error, whole).response()
    return response


class _Refusal:
    """The response to one request."""

    def __init__(self, request: Any, context: Context, error: KafkaError, whole: bool) -> None:
        self.request, self.error, self.whole = request, error, whole
        self.api, self.version, self.release = request.API, context.version, context.release
        self.message = error.message
        if self.api in _WITHOUT_MESSAGE:
            self.message = None
        elif self.api in _WITH_TEXT_OF_THE_ERROR:
            self.message = _MESSAGES.get(error.code, error.message)
        elif self.api is Api.UNREGISTER_BROKER and not self.release.explains_unregistration_errors:
            self.message = ""

    def response(self) -> Any:
        return self._built(type(self.request).RESPONSE, self.request, "", is_refused=self.whole)

    def _built(self, cls: Any, node: Any, kind: str, *, is_refused: bool = True) -> Any:
        """Return a struct of the response. `node` is the corresponding part of the request, and `kind` is its kind."""
        kinds = {part.name: part.kind for part in parts_of(cls, self.version)}
        values: dict[str, Any] = {}
        for field in cls.FIELDS:
            if is_error_code(field, self.version):
                values[field.name] = self.error.code if is_refused else Code.NONE
            elif (self.api, field.name) in _UNUSED_VALUES:
                values[field.name] = _UNUSED_VALUES[self.api, field.name]
            elif field.name == "error_message" and is_refused:
                values[field.name] = self.message
            elif field.array and field.struct is not None:
                values[field.name] = self._items(field, node, kinds.get(field.name, ""))
            elif node is not self.request and (name := _identity(field, node, kind)) is not None:
                values[field.name] = name
            elif field.default is REQUIRED:
                values[field.name] = self._unknown(field)
        if self.api is Api.FETCH:
            self._complete_fetch(values, node)
        return cls(**values)

    def _complete_fetch(self, values: dict[str, Any], node: Any) -> None:
        if node is self.request:
            values["session_id"] = node.session_id
        elif "partition_index" in values:
            has_no_lists = self.release.moves_every_returned_partition
            values["records"] = None if self.release.returns_null_records_on_fetch_errors and not has_no_lists else b""
            values["aborted_transactions"] = None if has_no_lists else []

    def _items(self, field: Field, node: Any, kind: str) -> list[Any]:
        """Return an array of the response."""
        since = _EMPTY.get((self.api, field.name), HIGHEST)
        if not isinstance(node, Struct) or (self.version >= since and self.whole):
            return []
        return [self._built(field.struct, element, kind) for element in _elements(node, field.name, kind, self.version)]

    def _unknown(self, field: Field) -> Any:
        """Return the value of a field that is unused in case of an error."""
        if field.array:
            return []
        if self.version in field.nullable and self.api is not Api.METADATA:
            return None
        if field.struct is not None:
            return field.struct(**{f.name: self._unknown(f) for f in field.struct.FIELDS if f.default is REQUIRED})
        assert field.wire is not None
        number = 0 if self.api in _ZERO_IF_UNKNOWN else _UNKNOWN_NUMBER
        return _UNUSED.get(field.wire.name, number)


_UNUSED = {"string": "", "bytes": b"", "records": b"", "uuid": ZERO_UUID, "bool": False}


def is_error_code(field: Field, version: int) -> bool:
    """Return whether a field of a response contains the error of its item."""
    return field.name.endswith("error_code") and field.name not in _NOT_OF_THE_ITEM and version in field.versions


def _identity(field: Field, node: Any, kind: str) -> Any:
    """Return the value of a field that identifies an item of a response, or None for other fields."""
    if not isinstance(node, Struct):
        is_identity = field.name in _IDENTITIES or field.name in (*TOPIC_NAMES, *PARTITION_NAMES)
        return node if is_identity else None
    names = {TOPIC: TOPIC_NAMES, PARTITION: PARTITION_NAMES}.get(kind, ())
    if field.name in names:
        return next(getattr(node, name) for name in names if hasattr(node, name))
    if field.name == "user":
        return node.name  # type: ignore[attr-defined]
    if field.name in _IDENTITIES or field.name == "topic_id" or (kind, field.name) == ("marker", "producer_id"):
        return getattr(node, field.name, None)
    return None


def _elements(node: Struct, name: str, kind: str, version: int) -> Iterator[Any]:
    """Iterate over the request elements of this kind, which correspond to the response array `name`."""
    kinds = {part.name: part.kind for part in parts_of(type(node), version)}
    for field in node.FIELDS:
        if not field.array or version not in field.versions:
            continue
        own = kinds.get(field.name)
        is_counterpart = own == kind if own else field.struct and _ITEMS.get(field.struct.__name__) == name
        for element in getattr(node, field.name) or ():
            if is_counterpart:
                yield element
            elif own and isinstance(element, Struct):
                yield from _elements(element, name, kind, version)


def _is_incomplete(request: Any, release: Release) -> bool:
    """Return whether Kafka fails to build the error response, with a NullPointerException."""
    if request.API is Api.PRODUCE:
        return any(partition.records is None for topic in request.topic_data for partition in topic.partition_data)
    if request.API is Api.ELECT_LEADERS:
        return request.topic_partitions is None and not release.runs_without_zookeeper
    if request.API is Api.DESCRIBE_USER_SCRAM_CREDENTIALS:
        return request.users is None and release.describes_refused_users
    return False


def _in_map_order(request: Any, version: int, release: Release) -> Any:
    """Return the request without duplicate items, in the order of the Java map in which Kafka collects them."""
    match request.API:
        case Api.ADD_PARTITIONS_TO_TXN if version < 4 and release.maps_refused_partitions_of_transactions:
            topics = _by_name(_in_map(request.v3_and_below_topics, "partitions"))
            return copy_with(request, v3_and_below_topics=topics)
        case Api.ALTER_USER_SCRAM_CREDENTIALS:
            users = {entry.name: entry for entry in (*request.upsertions, *request.deletions)}
            return copy_with(request, deletions=[users[name] for name in sorted(users)], upsertions=[])
        case Api.DESCRIBE_USER_SCRAM_CREDENTIALS if not release.describes_refused_users:
            return copy_with(request, users=[])
        case Api.FETCH if release.moves_every_returned_partition:
            return copy_with(request, topics=_in_linked_map(request.topics, "partitions"))
        case Api.OFFSET_FETCH if release.deduplicates_fetched_offsets:
            groups = {group.group_id: group for group in request.groups}
            order = ordered(groups, string_hash, grown(len(groups), with_capacity(len(request.groups))))
            topics = _by_name(_in_map(request.topics or [], "partition_indexes"))
            return copy_with(request, topics=topics, groups=[groups[name] for name in order])
        case Api.PRODUCE:
            salt = 31 * 31 if release.maps_produced_partitions_by_topic_id else 0
            return copy_with(request, topic_data=_in_map(request.topic_data, "partition_data", salt))
        case Api.WRITE_TXN_MARKERS:
            markers = {marker.producer_id: marker for marker in request.markers}
            numbers = ordered(markers, lambda number: (number ^ number >> 32) & 0xFFFFFFFF, grown(len(markers)))
            changed = [
                copy_with(markers[each], topics=_by_name(_in_map(markers[each].topics, "partition_indexes")))
                for each in numbers
            ]
            return copy_with(request, markers=changed)
        case _:
            return request


def _in_map(topics: Sequence[Any], partitions: str, salt: int = 0) -> list[Any]:
    """Return topics with their partitions in the order of a HashMap of TopicPartition, grouped by topic."""
    found = _flat(topics, partitions)

    def hash_of(key: tuple[Any, int]) -> int:
        (name, topic_id), index = key
        return 31 * (31 + index) + string_hash(name) + salt + 31 * uuid_hash(topic_id) & 0xFFFFFFFF

    grouped: dict[Any, list[Any]] = {}
    for key in ordered(found, hash_of, grown(len(found))):
        grouped.setdefault(key[0], []).append(found[key])
    return _nested(grouped.values(), partitions)


def _in_linked_map(topics: Sequence[Any], partitions: str) -> list[Any]:
    """Return topics with their partitions in the order of a LinkedHashMap, grouped if they follow each other."""
    found = _flat(topics, partitions)
    return _nested(([found[key] for key in keys] for _, keys in groupby(found, lambda key: key[0])), partitions)


def _flat(topics: Sequence[Any], partitions: str) -> dict[tuple[Any, int], tuple[Any, Any]]:
    """Return (topic, partition) pairs, keyed by the name and id of the topic and the number of the partition."""
    found = {}
    for topic in topics:
        key = first_of(topic, TOPIC_NAMES), getattr(topic, "topic_id", ZERO_UUID)
        for each in getattr(topic, partitions):
            found[key, each if isinstance(each, int) else first_of(each, PARTITION_NAMES)] = topic, each
    return found


def _nested(groups: Iterable[list[tuple[Any, Any]]], partitions: str) -> list[Any]:
    return [copy_with(group[0][0], **{partitions: [each for _, each in group]}) for group in groups]


def _by_name(topics: Sequence[Any]) -> list[Any]:
    """Return topics in the order of a HashMap of their names."""
    named = {topic.name: topic for topic in topics}
    return [named[name] for name in order_of_strings(named)]
