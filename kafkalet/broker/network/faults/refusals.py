"""Determines which parts of a request can be refused, and builds responses in which parts are refused.

The errors themselves are built as for a whole request (error_responses.py).
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from kafkalet.broker.context import Context
from kafkalet.broker.network.error_responses import is_error_code
from kafkalet.broker.network.request_items import GROUP, PARTITION, TOPIC, Part, identity, kinds, parts_of
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Struct
from kafkalet.protocol.wire import ZERO_UUID

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

_UNKNOWN_NUMBER = -1


@cache
def places(api: Api, version: int) -> frozenset[str]:
    """Return the kinds of items for which a response can have an error code; ROOT for the whole request."""
    request = request_type(api)
    found = set(_error_kinds(request.RESPONSE, version, ROOT)) & ({ROOT} | kinds(parts_of(request, version)))
    return frozenset(found)


def _error_kinds(cls: Any, version: int, kind: str) -> Iterator[str]:
    if any(is_error_code(field, version) for field in cls.FIELDS):
        yield kind
    for part in parts_of(cls, version):
        struct = next(field.struct for field in cls.FIELDS if field.name == part.name)
        if struct is not None:
            yield from _error_kinds(struct, version, part.kind)


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
