"""Validation of manual replica assignments, as in Kafka's controller (ReplicationControlManager)."""

from collections.abc import Collection, Container, Sequence

from kafkalet.protocol.errors import Code, KafkaError


def check_assignments(
    partitions: Sequence[Sequence[int]],
    brokers: Collection[int],
    replication_factor: int | None = None,
    away: Collection[int] = (),
    first_index: int = 0,
) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless the assignments are valid.

    Every partition needs the same number of replicas, all on different brokers that are known. At least one of these
    brokers must not be `away`. `replication_factor` is the number of replicas of the existing partitions, or None for a
    new topic.
    """
    for index, replicas in enumerate(partitions, first_index):
        if not replicas:
            raise _refused("The manual partition assignment includes an empty replica list.")
        _check_brokers(replicas, {*brokers, *away})
        if len(replicas) != (replication_factor or len(replicas)):
            raise _refused(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is "
                f"not consistent with previous partitions, which have {replication_factor} replica(s)."
            )
        replication_factor = len(replicas)
        if not set(replicas) - set(away):
            raise _refused(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )


def _check_brokers(replicas: Sequence[int], brokers: Container[int]) -> None:
    seen = set()
    for broker in sorted(replicas):
        if broker not in brokers:
            raise _refused(
                f"The manual partition assignment includes broker {broker}, but no such broker is registered."
            )
        if broker in seen:
            raise _refused(f"The manual partition assignment includes the broker {broker} more than once.")
        seen.add(broker)


def in_order(by_partition: Sequence[tuple[int, Sequence[int]]]) -> list[list[int]]:
    """Return the replicas of partitions 0, 1, ... in order.

    Raises INVALID_REPLICA_ASSIGNMENT if a partition is missing or listed twice.
    """
    replicas: dict[int, list[int]] = {}
    for partition, brokers in by_partition:
        if partition in replicas:
            raise _refused(f"Found multiple manual partition assignments for partition {partition}")
        replicas[partition] = list(brokers)
    if any(partition not in replicas for partition in range(len(replicas))):
        raise _refused("partitions should be a consecutive 0-based integer sequence")
    return [replicas[partition] for partition in range(len(replicas))]


def _refused(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, message)
