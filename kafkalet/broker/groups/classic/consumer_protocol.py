"""The consumer protocol, which is embedded in messages of the classic protocol. Consumer groups read and write it.

    metadata in JoinGroup       int16 version | ConsumerProtocolSubscription
    assignment in SyncGroup     int16 version | ConsumerProtocolAssignment

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
    """Raised for bytes that cannot be decoded as a subscription or assignment of the protocol "consumer"."""


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
    """Encode an assignment with topic names, leaving out topics that have been deleted."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topic.name, partitions=list(of))
            for topic_id, of in partitions.items()
            if (topic := metadata.topic_by_id(topic_id)) is not None
        ]
    )
    return _VERSION.pack(version) + assignment.encode(version)


def version_of(metadata: bytes) -> int:
    """Return the version of the embedded protocol that a member uses, limited to the newest known version."""
    try:
        return _version(metadata)
    except Malformed as problem:
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, str(problem)) from problem


def by_ids(topics: list[TopicPartition], metadata: MetadataImage) -> Assignment:
    """Return partitions, keyed by topic id, leaving out topics that do not exist."""
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
