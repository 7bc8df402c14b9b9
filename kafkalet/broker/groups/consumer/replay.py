"""What a record does to a consumer group: after it was written, and when the log is read again.

What changes is a list of records: decided, written, then taken in by the same code that reads the log later.

Source: the `replay` methods of org.apache.kafka.coordinator.group.GroupMetadataManager.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.protocol.errors import Code

from .members import LEAVING, ClassicProtocols, ConsumerMember, MemberState, Owned, Resolved
from .records import Change
from .state import ConsumerState
from .topics import hash_without_racks


def commit(group: ConsumerState, changes: Iterable[Change], before: Sequence[StateRecord] = ()) -> int:
    """Write changes and take them in; the offset of the last record. `before` is written first: it removes what the
    group was before it became this one. Raises KafkaError with a code for the client; nothing has changed then."""
    changes, shard = list(changes), cast(Any, group.shard)  # to a shard they are groups, not just states of them
    offset: int = shard.append([*before, *(change.encoded(shard.node.release) for change in changes)])
    former = shard.groups.get(group.group_id)
    if changes and former is not group:
        if former is not None:
            former.close(Code.REBALANCE_IN_PROGRESS)
        shard.groups[group.group_id] = group
    for change in changes:
        take_in(group, change)
    return offset


def take_in(group: ConsumerState, change: Change) -> None:
    """Change a group as a record of it says."""
    _BY_KIND[change.key.VERSIONS.low](group, change.key, change.value)


def _group(group: ConsumerState, key: Any, value: Any) -> None:
    if value is None:
        group.close()
        groups = cast(dict[str, Any], group.shard.groups)
        if groups.get(group.group_id) is group:
            del groups[group.group_id]
    else:
        group.group_epoch = value.epoch
        if group.shard.node.release.keeps_hash_of_topics:
            group.metadata_hash = value.metadata_hash


def _partition_metadata(group: ConsumerState, key: Any, value: Any) -> None:
    group.has_partition_metadata = value is not None
    if value is not None and not group.shard.node.release.keeps_hash_of_topics:
        group.metadata_hash = hash_without_racks(
            (topic.topic_name, topic.topic_id, topic.num_partitions) for topic in value.topics
        )


def _member(group: ConsumerState, key: Any, value: Any) -> None:
    if value is None:
        group.members.remove(key.member_id)
        return
    classic = None
    if value.classic_member_metadata is not None:
        classic = ClassicProtocols(
            value.classic_member_metadata.session_timeout_ms,
            tuple((known.name, known.metadata) for known in value.classic_member_metadata.supported_protocols),
        )
    before = group.members.get(key.member_id) or ConsumerMember(key.member_id)
    group.members.update(
        before._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=classic,
        )
    )


def _target_epoch(group: ConsumerState, key: Any, value: Any) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_timestamp_ms = -1, 0
    else:
        group.assignment_epoch, group.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp


def _target(group: ConsumerState, key: Any, value: Any) -> None:
    assignment = None
    if value is not None:
        assignment = {given.topic_id: given.partitions for given in value.topic_partitions}
    group.set_target(key.member_id, assignment)


def _current(group: ConsumerState, key: Any, value: Any) -> None:
    before = group.members.get(key.member_id)
    if value is None:
        if before is not None:
            gone = before._replace(
                member_epoch=LEAVING, previous_member_epoch=LEAVING, assigned={}, pending_revocation={}
            )
            group.members.update(gone)
        return
    known = value.state in set(MemberState)
    group.members.update(
        (before or ConsumerMember(key.member_id))._replace(
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if known else MemberState.UNKNOWN,
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            pending_revocation=_owned(value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _owned(written: Any, epoch: int) -> Owned:
    """Partitions with their epochs; releases before 4.3 wrote none."""
    owned: Owned = {}
    for of in written:
        epochs = of.assignment_epochs
        if epochs is None or len(epochs) != len(of.partitions):
            epochs = [max(epoch, 0)] * len(of.partitions)
        owned[of.topic_id] = dict(zip(of.partitions, epochs, strict=True))
    return owned


def _regex(group: ConsumerState, key: Any, value: Any) -> None:
    if value is None:
        group.members.resolved.pop(key.regular_expression, None)
    else:
        group.members.resolved[key.regular_expression] = Resolved(
            frozenset(value.topics), value.version, value.timestamp
        )


_BY_KIND: dict[int, Callable[[ConsumerState, Any, Any], None]] = {
    3: _group,
    4: _partition_metadata,
    5: _member,
    6: _target_epoch,
    7: _target,
    8: _current,
    16: _regex,
}
