"""May a member of a consumer group commit or read offsets with the epoch that it gives?

It may in its own epoch. With an older one it may commit those partitions that it has had since before (KIP-1251, 4.3):
the commit was on its way while the member went on. Members of the classic protocol get the codes that they know.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup.validateOffsetCommit, validateOffsetFetch.
"""

from typing import Any

from kafkalet.broker.groups.group import PartitionCheck
from kafkalet.protocol.errors import Code, KafkaError

from .members import ConsumerMember

FIRST_WITH_MEMBER_EPOCHS = 9


def check_commit(
    member: ConsumerMember, epoch: int, version: int, release: Any, *, transactional: bool
) -> PartitionCheck | None:
    """Raise KafkaError where this member may commit nothing; else what each partition has to be asked for."""
    if not transactional and not member.uses_classic_protocol and version < FIRST_WITH_MEMBER_EPOCHS:
        raise KafkaError(
            Code.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return None
    if epoch < member.member_epoch and release.keeps_assignment_epochs:
        return _late(member, epoch)
    if not release.keeps_assignment_epochs:
        _refuse_epoch(member, epoch)
    word = "generation id" if member.uses_classic_protocol else "member epoch"
    raise _stale(member, f"Received {word} {epoch} is newer than current member epoch {member.member_epoch}.")


def check_fetch(member: ConsumerMember, epoch: int) -> None:
    """Raise KafkaError where this member may not read offsets in that epoch."""
    if epoch != member.member_epoch:
        _refuse_epoch(member, epoch)


def _refuse_epoch(member: ConsumerMember, epoch: int) -> None:
    word = "generation id" if member.uses_classic_protocol else "member epoch"
    raise _stale(member, f"The received {word} {epoch} does not match the expected member epoch {member.member_epoch}.")


def _late(member: ConsumerMember, epoch: int) -> PartitionCheck:
    def check(topic: str, topic_id: bytes, partition: int) -> None:
        for owned in (member.assigned, member.pending_revocation):
            since = owned.get(topic_id, {}).get(partition)
            if since is not None:
                break
        else:
            raise _stale(member, f"Partition {topic}-{partition} is not assigned or pending revocation for member.")
        if epoch < since:
            word = "generation id" if member.uses_classic_protocol else "member epoch"
            raise _stale(
                member,
                f"Received {word} {epoch} is older than assignment epoch {since} for partition {topic}-{partition}.",
            )

    return check


def _stale(member: ConsumerMember, message: str) -> KafkaError:
    return KafkaError(Code.ILLEGAL_GENERATION if member.uses_classic_protocol else Code.STALE_MEMBER_EPOCH, message)
