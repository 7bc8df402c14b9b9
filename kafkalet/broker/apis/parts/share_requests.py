"""What ShareFetch and ShareAcknowledge have in common: who may send them, acknowledgements, and current leaders.

The acknowledgements of a partition are checked before any of them is applied: their offsets ascend, each range has one
type or one for each of its records, and a type to renew is used only in a request that says so. What a member has
really acquired is checked by the share partition, which applies all of them or none.

Source: kafka.server.KafkaApis: handleAcknowledgements, validateAcknowledgementBatches, getCurrentLeader.
"""

from collections.abc import Iterable, Mapping

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.share.sessions import MemberKey, Place
from kafkalet.broker.share.share_partition import RENEW, Acknowledgement
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafkalet.tasks.delayed import Delayed, completed

LONGEST_MEMBER_ID = 36
WITH_LEADER = frozenset({Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH})
"""The errors with which a response names the current leader."""

Results = dict[Place, KafkaError | None]
Range = ShareFetchRequest.Topic.Partition.AcknowledgementBatch
NodeEndpoint = ShareFetchResponse.NodeEndpoint
Leader = ShareFetchResponse.Topic.Partition.LeaderIdAndEpoch


def member_of(group_id: str | None, member_id: str | None, context: Context) -> MemberKey:
    """Return the member that sends a request. Raises KafkaError unless share groups are enabled and it may do so."""
    if context.node.feature_level("share.version") < 1:
        raise KafkaError(Code.UNSUPPORTED_VERSION)
    if group_id is None:
        is_checked = context.release.refuses_share_requests_without_group
        raise KafkaError(Code.INVALID_REQUEST if is_checked else Code.UNKNOWN_SERVER_ERROR)
    context.require(Operation.READ, ResourceType.GROUP, group_id)
    if not member_id or len(member_id.encode("utf-16-le")) // 2 > LONGEST_MEMBER_ID:
        raise KafkaError(Code.INVALID_REQUEST)
    return group_id, member_id


def topic_name(topic_id: bytes, context: Context) -> str | None:
    topic = context.metadata.topic_by_id(topic_id)
    return None if topic is None else topic.name


def access_error(name: str | None, partition: int, context: Context) -> Code:
    """Return why a client may not use a partition: its topic is unknown, or not to be read by the client, or NONE."""
    if name is None:
        return Code.UNKNOWN_TOPIC_ID
    if not context.allows(Operation.READ, ResourceType.TOPIC, name):
        return Code.TOPIC_AUTHORIZATION_FAILED
    return Code.NONE if context.metadata.partition(name, partition) is not None else Code.UNKNOWN_TOPIC_OR_PARTITION


def acknowledge(
    member: MemberKey, topics: Iterable[ShareFetchRequest.Topic], context: Context, *, renews: bool
) -> Delayed[Results]:
    """Apply acknowledgements, and return the error of each partition, or None."""
    ranges = {
        Place(topic.topic_id, partition.partition_index): partition.acknowledgement_batches
        for topic in topics
        for partition in topic.partitions
    }
    results: Results = {}
    valid: dict[Place, list[Acknowledgement]] = {}
    most = RENEW if context.version >= 2 else RENEW - 1
    for place, given in ranges.items():
        code = _fault(given, most, context, place, renews=renews)
        if code is not Code.NONE:
            results[place] = KafkaError(code)
        elif not given:
            results[place] = None
        else:
            valid[place] = [
                Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types) for each in given
            ]
    if not valid:  # a partition without acknowledgements is then left out, as in Kafka
        return completed({place: error for place, error in results.items() if error is not None})
    return context.broker.shares.acknowledge(member, valid).map(lambda applied: applied | results)


def _fault(given: Iterable[Range], most: int, context: Context, place: Place, *, renews: bool) -> Code:
    name = topic_name(place.topic_id, context)
    if name is None:
        return Code.UNKNOWN_TOPIC_ID
    if not _are_valid(given, most, renews=renews):
        return Code.INVALID_REQUEST
    return access_error(name, place.partition, context)


def _are_valid(given: Iterable[Range], most: int, *, renews: bool) -> bool:
    last = -1
    for each in given:
        types, count = each.acknowledge_types, each.last_offset - each.first_offset + 1
        if count < 1 or each.first_offset < last or len(types) not in (1, count):
            return False
        if min(types) < 0 or max(types) > most or (RENEW in types and not renews):
            return False
        last = each.last_offset
    return True


def leaders_of(codes: Mapping[Place, int], context: Context) -> tuple[dict[Place, Leader], list[NodeEndpoint]]:
    """Return the leader and leader epoch of partitions with an error that needs them, and the leaders' addresses."""
    leaders: dict[Place, Leader] = {}
    for place, code in codes.items():
        name = topic_name(place.topic_id, context) if code in WITH_LEADER else None
        state = None if name is None else context.metadata.partition(name, place.partition)
        if state is not None:
            leaders[place] = Leader(leader_id=state.leader, leader_epoch=state.leader_epoch)
    nodes = {leader.leader_id for leader in leaders.values()}
    return leaders, [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in (context.endpoints(nodes).values() if nodes else ())
    ]
