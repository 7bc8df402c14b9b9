"""The items of a request: the topics, partitions and groups that it names, whatever its API.

    Produce     topic_data[name] / partition_data[index]               -> (topic, partition)
    OffsetFetch groups[group_id] / topics[topic_id] / partition_indexes -> (topic, partition, group)
    JoinGroup   group_id                                               -> (group)

The arrays are found in the declarations of the messages, by the names of their structs. An item is an element of the
innermost array, or the whole request if it has no such array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Request, Struct
from kafkalet.protocol.wire import ZERO_UUID

TOPIC, PARTITION, GROUP = "topic", "partition", "group"
_STRUCTS = {
    "Coordinator": "coordinator",
    "Dir": "directory",
    "Entry": "entry",
    "Group": GROUP,
    "Marker": "marker",
    "Partition": PARTITION,
    "PartitionResult": PARTITION,
    "Resource": "resource",
    "Topic": TOPIC,
    "TopicResult": TOPIC,
    "Transaction": "transaction",
    "TransactionResult": "transaction",
}
"""The kinds of the elements of an array, keyed by the name of their struct."""
_SCALARS = {
    "coordinator_keys": "coordinator",
    "group_ids": GROUP,
    "groups": GROUP,
    "groups_names": GROUP,
    "partition_indexes": PARTITION,
    "partitions": PARTITION,
    "topic_names": TOPIC,
    "transactional_ids": "transaction",
}
"""The kinds of the elements of an array without structs, keyed by the name of the array."""
TOPIC_NAMES = ("name", "topic", "topic_name")
PARTITION_NAMES = ("partition_index", "partition", "index", "partition_id")
_GROUP_KEY = 0
"""The type of a FindCoordinator key that is a group id."""


class Item(NamedTuple):
    """A part of a request. An attribute is None if the request does not have it."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None


class Part(NamedTuple):
    """An array of items, in a request or in a response."""

    name: str
    kind: str
    parts: tuple[Part, ...]


@cache
def parts_of(cls: Any, version: int) -> tuple[Part, ...]:
    """Return the arrays of a struct that contain items."""
    found = []
    for field in cls.FIELDS:
        if not field.array or version not in field.versions:
            continue
        kind = _SCALARS.get(field.name) if field.struct is None else _STRUCTS.get(field.struct.__name__)
        if kind is not None:
            found.append(Part(field.name, kind, () if field.struct is None else parts_of(field.struct, version)))
    return tuple(found)


def kinds(parts: tuple[Part, ...]) -> set[str]:
    """Return the kinds of all arrays in `parts`, including nested ones."""
    return {part.kind for part in parts} | {kind for part in parts for kind in kinds(part.parts)}


@cache
def nameable(api: Api, version: int) -> frozenset[str]:
    """Return which of TOPIC, PARTITION and GROUP the requests of an API can name."""
    cls = request_type(api)
    names = {field.name for field in cls.FIELDS if version in field.versions}
    found = kinds(parts_of(cls, version))
    if "group_id" in names or api is Api.FIND_COORDINATOR:
        found.add(GROUP)
    return frozenset(found & {TOPIC, PARTITION, GROUP})


def has_elements(request: Request, version: int) -> bool:
    """Return whether a request has elements in at least one of its arrays of items."""
    return any(getattr(request, part.name) for part in parts_of(type(request), version))


def identity(element: Any, kind: str, context: Context) -> tuple[Any, bytes]:
    """Return the name (or number) of an element, and its topic id, which is zero if it has none."""
    if not isinstance(element, Struct):
        return element, ZERO_UUID
    if kind == TOPIC:
        topic_id: bytes = getattr(element, "topic_id", ZERO_UUID)
        name = first_of(element, TOPIC_NAMES)
        if not name and topic_id != ZERO_UUID:
            known = context.metadata.topic_by_id(topic_id)
            name = "" if known is None else known.name
        return name, topic_id
    if kind == PARTITION:
        return first_of(element, PARTITION_NAMES), ZERO_UUID
    names = {GROUP: ("group_id",), "coordinator": ("key",), "transaction": ("transactional_id",)}
    if kind in names:
        return first_of(element, names[kind]), ZERO_UUID
    if kind == "resource":
        return (element.resource_type, element.resource_name), ZERO_UUID  # type: ignore[attr-defined]
    return first_of(element, ("producer_id", "path")), ZERO_UUID


def first_of(element: Struct, names: tuple[str, ...]) -> Any:
    """Return the value of the first of these fields that a struct has, or None."""
    for name in names:
        if hasattr(element, name):
            return getattr(element, name)
    return None


def items(request: Request, context: Context) -> list[Item]:
    """Return the items of a request. A Fetch request in a session also has the partitions of the session."""
    found = list(_items(request, parts_of(type(request), context.version), _root(request), request, context))
    if context.api is Api.FETCH:
        found = [item for item in found if item.partition is not None]
        found += [item for item in _in_session(request, context) if item not in found]
    return found


def _root(request: Request) -> Item:
    group = getattr(request, "group_id", None)
    if getattr(request, "key_type", None) == _GROUP_KEY:  # FindCoordinator
        group = request.key or None  # type: ignore[attr-defined]
    return Item(group=group)


def _items(node: Any, parts: tuple[Part, ...], above: Item, request: Request, context: Context) -> Iterator[Item]:
    is_leaf = True
    for part in parts:
        for element in getattr(node, part.name) or ():
            is_leaf = False
            yield from _items(element, part.parts, _item(element, part.kind, above, request, context), request, context)
    if is_leaf:
        yield above


def _item(element: Any, kind: str, above: Item, request: Request, context: Context) -> Item:
    if kind == TOPIC:
        return above._replace(topic=identity(element, kind, context)[0])
    if kind == PARTITION:
        return above._replace(partition=identity(element, kind, context)[0])
    if kind == GROUP or (kind == "coordinator" and getattr(request, "key_type", None) == _GROUP_KEY):
        return above._replace(group=identity(element, kind, context)[0])
    return above


def _in_session(request: Any, context: Context) -> Iterator[Item]:
    """Iterate over the partitions that an incremental Fetch request does not list."""
    session = context.broker.fetch_sessions.sessions.get(request.session_id)
    if session is None or request.session_epoch <= 0:
        return
    for name, topic_id, index in [key for key, _ in session.partitions.values()]:
        known = None if name or topic_id is None else context.metadata.topic_by_id(topic_id)
        yield Item(name if known is None else known.name, index)


def split(request: Request, wanted: Callable[[Item], bool], context: Context) -> tuple[Any, Any]:
    """Split a request into one without the matching items and one with only these. A part without items is None."""
    return _split(request, parts_of(type(request), context.version), _root(request), wanted, request, context)


def _split(
    node: Any,
    parts: tuple[Part, ...],
    item: Item,
    wanted: Callable[[Item], bool],
    request: Request,
    context: Context,
) -> tuple[Any, Any]:
    rest: dict[str, list[Any]] = {}
    hit: dict[str, list[Any]] = {}
    for part in parts:
        for element in getattr(node, part.name) or ():
            one = _item(element, part.kind, item, request, context)
            without, only = _split(element, part.parts, one, wanted, request, context)
            if without is not None:
                rest.setdefault(part.name, []).append(without)
            if only is not None:
                hit.setdefault(part.name, []).append(only)
    if not rest and not hit:
        return (None, node) if wanted(item) else (node, None)
    names = [part.name for part in parts]
    return _copy(node, names, rest), _copy(node, names, hit)


def _copy(node: Struct, names: list[str], lists: dict[str, list[Any]]) -> Any:
    """Return a copy with other lists in the fields `names`, or None if they are all empty."""
    if not lists:
        return None
    emptied: dict[str, list[Any]] = {name: [] for name in names if getattr(node, name) is not None}
    return copy_with(node, **emptied | lists)


def expanded(request: Any, context: Context) -> Any:
    """Return a request that lists its topics, even if it requests all of them with null or an empty list."""
    states = context.metadata.topics
    if context.api is Api.METADATA and (request.topics is None or (context.version == 0 and not request.topics)):
        topic = struct_of(type(request), "topics")
        return copy_with(request, topics=[topic(name=name) for name in states])
    if context.api is Api.DESCRIBE_TOPIC_PARTITIONS and not request.topics:
        topic = struct_of(type(request), "topics")
        return copy_with(request, topics=[topic(name=name) for name in states])
    if context.api is Api.ELECT_LEADERS and request.topic_partitions is None:
        topic = struct_of(type(request), "topic_partitions")
        every = [topic(topic=name, partitions=list(range(len(state.partitions)))) for name, state in states.items()]
        return copy_with(request, topic_partitions=every)
    if context.api is Api.OFFSET_FETCH:
        return _with_committed(request, context)
    return request


def struct_of(cls: type[Struct], name: str) -> Any:
    """Return the struct of a field."""
    [struct] = [field.struct for field in cls.FIELDS if field.name == name]
    return struct


def copy_with(node: Struct, **changes: Any) -> Any:
    """Return a copy of a struct with other values in some fields."""
    return type(node)(**{field.name: getattr(node, field.name) for field in node.FIELDS} | changes)


def _with_committed(request: Any, context: Context) -> Any:
    """Return an OffsetFetch request that lists the committed partitions of its groups instead of null."""
    if context.version < 8:
        if request.topics is not None:
            return request
        topic = struct_of(type(request), "topics")
        return copy_with(request, topics=_committed(request.group_id, topic, context))
    topic = struct_of(struct_of(type(request), "groups"), "topics")
    groups = [
        group if group.topics is not None else copy_with(group, topics=_committed(group.group_id, topic, context))
        for group in request.groups
    ]
    return copy_with(request, groups=groups)


def _committed(group_id: str, topic: Any, context: Context) -> list[Any]:
    try:
        shard = context.broker.coordinators.groups.shard_for_offsets(group_id)
    except KafkaError:
        return []
    states = context.metadata.topics
    return [
        topic(name=name, partition_indexes=list(by_partition))
        if context.version < 10
        else topic(topic_id=states[name].topic_id, partition_indexes=list(by_partition))
        for name, by_partition in shard.offsets.committed(group_id).items()
        if name in states
    ]
