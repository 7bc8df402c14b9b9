"""The properties of the brokers whose responses are recorded."""

TOKEN_PROPERTIES = {"delegation.token.secret.key": "the key of recorded tokens"}
"""The further properties of a broker with delegation tokens."""


FAULT_PROPERTIES = {
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "3000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.wait.max.ms": "200",
    "replica.lag.time.max.ms": "1500",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.replication.factor": "3",
}
"""The further properties of brokers that are stopped and started."""
TIERED_PROPERTIES = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
    "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    "remote.log.manager.task.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
}
"""The further properties of a broker with tiered storage. Apache Kafka also needs the directory (rsm.config.dir), and
the test classes of kafka-storage (remote.log.storage.manager.class.path)."""
RACKS = ("r1", "r2", "r3")
"""The racks of these brokers."""


def broker_properties(
    release: str, brokers: int = 1, *, tokens: bool = False, faults: bool = False, tiered: bool = False
) -> dict[str, str]:
    """Return the properties of a recorded broker of this release. It does not delay rebalances to wait for more
    members.
    """
    at_once = {"group.initial.rebalance.delay.ms": "0"}
    if brokers > 1:
        at_once["auto.leader.rebalance.enable"] = "false"  # the scenarios elect leaders themselves
    at_once |= (
        (TOKEN_PROPERTIES if tokens else {})
        | (FAULT_PROPERTIES if faults else {})
        | (TIERED_PROPERTIES if tiered else {})
    )
    if release in ("4.0", "4.1"):
        at_once["group.coordinator.append.linger.ms"] = "0"  # otherwise records are written up to 5 ms after a response
    return at_once | ({"group.consumer.assignment.interval.ms": "0"} if release >= "4" else {})
