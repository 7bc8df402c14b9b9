"""What members of the classic protocol say inside of their messages, read and written for a consumer group.

    metadata of a JoinGroup     int16 version | ConsumerProtocolSubscription
    assignment of a SyncGroup   int16 version | ConsumerProtocolAssignment

Source: org.apache.kafka.clients.consumer.internals.ConsumerProtocol.
"""

from struct import Struct
from struct import error as StructError

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.groups.assignors.spec import Assignment
from kafkalet.protocol.errors import Code, DecodeError, KafkaError
from kafkalet.protocol.messages.subscription import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

NAME = "consumer"
NEWEST = 3

_VERSION = Struct(">h")


class Malformed(ValueError):
    """Bytes that are not what the protocol "consumer" has there."""


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    version = _version(metadata)
    try:
        return ConsumerProtocolSubscription.decode(metadata, version, _VERSION.size)
    except DecodeError as problem:
        raise Malformed(str(problem)) from problem


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    version = _version(data)
    try:
        return ConsumerProtocolAssignment.decode(data, version, _VERSION.size)
    except DecodeError as problem:
        raise Malformed(str(problem)) from problem


def write_assignment(partitions: Assignment, metadata: MetadataImage, version: int) -> bytes:
    """An assignment by topic names, of the topics that still exist."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topic.name, partitions=list(of))
            for topic_id, of in partitions.items()
            if (topic := metadata.topic_by_id(topic_id)) is not None
        ]
    )
    return _VERSION.pack(version) + assignment.encode(version)


def version_of(metadata: bytes) -> int:
    """The version in which a member speaks, or the newest known where that is later."""
    try:
        return _version(metadata)
    except Malformed as problem:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, str(problem)) from problem


def by_ids(topics: list[TopicPartition], metadata: MetadataImage) -> Assignment:
    """Partitions by topic id, of the topics that exist."""
    return {
        topic.topic_id: list(of.partitions) for of in topics if (topic := metadata.topics.get(of.topic)) is not None
    }


def _version(data: bytes) -> int:
    try:
        (version,) = _VERSION.unpack_from(data)
    except StructError as problem:
        raise Malformed(f"{len(data)} bytes") from problem
    if version < 0:
        raise Malformed(f"version {version}")
    return min(int(version), NEWEST)
