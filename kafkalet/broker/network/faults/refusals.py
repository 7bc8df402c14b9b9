"""Error responses for a whole request or for a part of it, whatever its API.

An error code is placed in every field for error codes that belongs to a refused item: in the partitions of a Produce
response, in the topics of a CreateTopics response, at the top level of a Heartbeat response. The arrays of a request
and of its response are paired by the kinds of their elements (items.py).

Most handlers have a function `refuse`, which is used if the whole request is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.fields import REQUIRED, Field
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Response, Struct
from kafkalet.protocol.wire import ZERO_UUID

from .items import GROUP, PARTITION, PARTITION_NAMES, TOPIC, TOPIC_NAMES, Part, identity, kinds, parts_of

ROOT = "request"
"""The kind of an error code that belongs to the whole request."""
PARTITIONS_IN_RESPONSE = frozenset({Api.METADATA, Api.DESCRIBE_TOPIC_PARTITIONS})
"""APIs whose requests name topics, and whose responses have an error for each of their partitions."""
SESSION_ERRORS = frozenset(
    {
        Code.FETCH_SESSION_ID_NOT_FOUND,
        Code.FETCH_SESSION_TOPIC_ID_ERROR,
        Code.INVALID_FETCH_SESSION_EPOCH,
        Code.UNKNOWN_SERVER_ERROR,
    }
)
"""The errors that belong to a whole Fetch request. All others belong to its partitions."""

_NOT_OF_THE_ITEM = ("topic_config_error_code",)
_IDENTITIES = frozenset(
    {"group_id", "group_instance_id", "key", "member_id", "resource_name", "resource_type", "transactional_id"}
)
"""Fields that identify the item of a response, in addition to the names of topics and partitions."""
_UNKNOWN_NUMBER = -1


@cache
def places(api: Api, version: int) -> frozenset[str]:
    """Return the kinds of items for which a response can have an error code; ROOT for the whole request."""
    request = request_type(api)
    found = set(_error_kinds(request.RESPONSE, version, ROOT)) & ({ROOT} | kinds(parts_of(request, version)))
    return frozenset(found)


def _error_kinds(cls: Any, version: int, kind: str) -> Iterator[str]:
    if any(_is_error_code(field, version) for field in cls.FIELDS):
        yield kind
    for part in parts_of(cls, version):
        struct = next(field.struct for field in cls.FIELDS if field.name == part.name)
        if struct is not None:
            yield from _error_kinds(struct, version, part.kind)


def _is_error_code(field: Field, version: int) -> bool:
    return field.name.endswith("error_code") and field.name not in _NOT_OF_THE_ITEM and version in field.versions


def can_refuse(api: Api, version: int, *, topic: bool, partition: bool, group: bool) -> bool:
    """Return whether a response can have an error for items of these kinds, or any error if no kind is given."""
    where = places(api, version)
    if partition:
        return PARTITION in where or api in PARTITIONS_IN_RESPONSE
    if topic:
        return bool(where & {TOPIC, PARTITION})
    if group and GROUP in kinds(parts_of(request_type(api), version)):
        return bool(where & {GROUP, PARTITION})
    return bool(where)


def refusal(request: Any, code: Code, context: Context, *, whole: bool) -> Response:
    """Return a response with an error for each item of `request`, and also at the top level if `whole` is true."""
    cls: type[Response] = type(request).RESPONSE
    node: Response = _built(cls, request, request, ROOT, code, context, whole)
    return node


def _built(cls: Any, node: Any, above: Any, kind: str, code: Code, context: Context, is_refused: bool) -> Any:
    version = context.version
    name, topic_id = (None, ZERO_UUID) if kind == ROOT else identity(node, kind, context)
    responses = {part.name: part for part in parts_of(cls, version)}
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if _is_error_code(field, version):
            values[field.name] = code if is_refused else Code.NONE
        elif field.name in responses:
            part = responses[field.name]
            values[field.name] = [
                _built(field.struct, element, node, part.kind, code, context, True)
                for element in _elements(node, part, context)
            ]
        elif kind == TOPIC and field.name in TOPIC_NAMES:
            values[field.name] = name
        elif kind == TOPIC and field.name == "topic_id":
            values[field.name] = topic_id
        elif kind == PARTITION and field.name in PARTITION_NAMES:
            values[field.name] = name
        elif kind != ROOT and (value := _identity_value(field, node, name)) is not None:
            values[field.name] = value
        elif field.default is REQUIRED:
            values[field.name] = _unknown(field, version)
    return cls(**values)


def _identity_value(field: Field, node: Any, name: Any) -> Any:
    """Return the value of a field that identifies the item of a response, or None for other fields."""
    is_marker = field.name == "producer_id" and hasattr(node, "transaction_result")  # WriteTxnMarkers
    if field.name not in _IDENTITIES and not is_marker:
        return None
    return getattr(node, field.name, name) if isinstance(node, Struct) else name


def _elements(node: Any, part: Part, context: Context) -> Iterator[Any]:
    """Iterate over the elements of a request that correspond to an array of the response."""
    if not isinstance(node, Struct):
        return
    for own in parts_of(type(node), context.version):
        for element in getattr(node, own.name) or ():
            if own.kind == part.kind:
                yield element
            else:
                yield from _elements(element, part, context)


def _unknown(field: Field, version: int) -> Any:
    """Return the value of a response field that is unused in case of an error."""
    if field.array:
        return []
    if version in field.nullable:
        return None
    if field.struct is not None:
        return field.struct(**{f.name: _unknown(f, version) for f in field.struct.FIELDS if f.default is REQUIRED})
    assert field.wire is not None
    if field.wire.name == "string":
        return ""
    if field.wire.name in ("bytes", "records"):
        return b""
    if field.wire.name == "uuid":
        return ZERO_UUID
    if field.wire.name == "bool":
        return False
    return _UNKNOWN_NUMBER


def merge(answer: Any, error: Struct, context: Context) -> Any:
    """Add the items of `error` to a response, replacing items that it already has. Return the response."""
    for part in parts_of(type(error), context.version):
        given = getattr(answer, part.name)
        if given is None:
            given = []
            setattr(answer, part.name, given)
        for element in getattr(error, part.name) or ():
            _put(given, element, part, context)
    return answer


def _put(given: list[Any], element: Any, part: Part, context: Context) -> None:
    wanted = identity(element, part.kind, context)
    for at, known in enumerate(given):
        if _is_same(identity(known, part.kind, context), wanted):
            if any(getattr(element, nested.name) for nested in part.parts):
                merge(known, element, context)
            else:
                given[at] = element
            return
    given.append(element)


def _is_same(one: tuple[Any, bytes], other: tuple[Any, bytes]) -> bool:
    by_id = one[1] != ZERO_UUID and other[1] != ZERO_UUID
    return bool(one[by_id] == other[by_id])


def mark_partitions(answer: Any, topic: Any, partition: int, code: Code) -> int:
    """Set an error for one partition of the topics for which `topic` is true. Return the number of partitions found."""
    count = 0
    for one in answer.topics:
        if not topic(one.name):
            continue
        for each in one.partitions:
            if each.partition_index == partition:
                each.error_code = code
                if code is Code.LEADER_NOT_AVAILABLE:
                    each.leader_id = _UNKNOWN_NUMBER
                count += 1
    return count
