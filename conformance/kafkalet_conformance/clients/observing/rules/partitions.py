"""Topic ids and leader epochs that the broker has sent to clients.

Topic ids are kept for the cluster, because they are the same for all clients. Leader epochs are kept for each
connection, because a client knows only those that it has received.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kafkalet.protocol.messages.create_topics import CreateTopicsResponse
from kafkalet.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsResponse
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.metadata import MetadataResponse
from kafkalet.protocol.messages.offset_commit import OffsetCommitRequest
from kafkalet.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkalet.protocol.messages.produce import ProduceRequest
from kafkalet.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet_conformance.clients.observing.sent import Sent


class ToldEpoch(NamedTuple):
    """The leader epoch of a partition in a Metadata response."""

    topic: str
    topic_id: bytes
    partition: int
    epoch: int


class FetchedPartition(NamedTuple):
    """A partition in a request, with the leader epoch that the client knows."""

    topic: str
    topic_id: bytes
    partition: int
    current_leader_epoch: int
    offset: int
    """The fetch offset; -1 in other requests."""


def told_topics(sent: Sent) -> Iterator[tuple[str, bytes]]:
    """Yield the names and ids of topics in a response. The name is "" if the response contains only the id."""
    response = sent.response
    if isinstance(response, MetadataResponse | CreateTopicsResponse | DescribeTopicPartitionsResponse):
        for topic in response.topics:
            if topic.topic_id != ZERO_UUID:
                yield topic.name or "", topic.topic_id
    elif isinstance(response, ConsumerGroupHeartbeatResponse) and response.assignment is not None:
        for assigned in response.assignment.topic_partitions:
            yield "", assigned.topic_id


def told_epochs(sent: Sent) -> Iterator[ToldEpoch]:
    """Yield the leader epochs in a Metadata response."""
    response = sent.response
    if isinstance(response, MetadataResponse) and not sent.is_altered:
        for topic in response.topics:
            if topic.error_code != Code.NONE or not topic.name:
                continue
            for partition in topic.partitions:
                if partition.error_code == Code.NONE and partition.leader_id >= 0 and partition.leader_epoch >= 0:
                    yield ToldEpoch(topic.name, topic.topic_id, partition.partition_index, partition.leader_epoch)


def partitions_with_epochs(sent: Sent) -> Iterator[FetchedPartition]:
    """Yield the partitions of a request with the leader epochs that the client sends; -1 if it does not know any."""
    request = sent.request
    if isinstance(request, FetchRequest):
        for topic in request.topics:
            for each in topic.partitions:
                yield FetchedPartition(
                    topic.topic, topic.topic_id, each.partition, each.current_leader_epoch, each.fetch_offset
                )
    elif isinstance(request, ListOffsetsRequest):
        for listed in request.topics:
            for one in listed.partitions:
                yield FetchedPartition(listed.name, ZERO_UUID, one.partition_index, one.current_leader_epoch, -1)
    elif isinstance(request, OffsetForLeaderEpochRequest):
        for validated in request.topics:
            for part in validated.partitions:
                yield FetchedPartition(validated.topic, ZERO_UUID, part.partition, part.current_leader_epoch, -1)


def topic_ids(sent: Sent) -> Iterator[bytes]:
    """Yield the topic ids in a request that names topics by their ids."""
    request = sent.request
    if isinstance(request, FetchRequest):
        if sent.version >= 13:
            yield from (topic.topic_id for topic in request.topics)
    elif isinstance(request, ProduceRequest):
        if sent.version >= 13:
            yield from (topic.topic_id for topic in request.topic_data)
    elif isinstance(request, OffsetCommitRequest):
        if sent.version >= 10:
            yield from (topic.topic_id for topic in request.topics)
    elif isinstance(request, TxnOffsetCommitRequest) and sent.version >= 6:
        yield from (topic.topic_id for topic in request.topics)
