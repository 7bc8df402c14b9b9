"""The leader of a partition stops, crashes or pauses, and comes back."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

from .faults_groups import OFFSETS, coordinate, coordinator_is

scenario = Scenarios("faults", brokers=3, faults=True)


def without_leader(ask: ScenarioBuilder, fault: str) -> None:
    """Disturb the leader of a partition, write to the next one, and let the old one come back."""
    cluster = Cluster(ask)
    cluster.state("before")
    cluster.written(batch(10, 20), at=2)
    cluster.log("before", 2, 3, high_watermark=2)
    if fault == "pause":
        ask.send("unanswered", "ApiVersions", 0, {}, conn="at-2.unanswered")
        ask.receive("answered before", "unanswered", only=["error_code"])
    cluster.do(fault)
    if fault == "pause":
        ask.send("unanswered", "ApiVersions", 0, {}, conn="at-2.unanswered")
        ask.pending("while it is paused", "unanswered")
    cluster.leads(3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.state("the next replica leads")
    cluster.produce("to the new leader", batch(30), at=3)
    cluster.produce("to the new leader, acks 1", batch(40), at=3, acks=1)
    cluster.produce("to a follower", batch(40), at=1)
    cluster.log("meanwhile", 3, 1, high_watermark=4)
    cluster.offsets("meanwhile", at=3)
    cluster.epochs("meanwhile", 3)
    cluster.elect("the preferred replica is away")
    cluster.undo(fault)
    if fault == "pause":
        ask.receive("after the pause", "unanswered", only=["error_code"])
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=4)
    cluster.produce("to the old leader", batch(50), at=2)
    cluster.elect("the preferred replica")
    cluster.leads(2)
    cluster.state("it leads again")
    cluster.produce("to the preferred leader", batch(50), at=2)
    cluster.log("at the end", 2, 3, high_watermark=5)
    cluster.epochs("at the end", 2)


@scenario("KIP-631 KIP-841 ReplicationControlManager.handleBrokerInControlledShutdown", level="must")
def leader_stopped(ask: ScenarioBuilder) -> None:
    """If the leader of a partition shuts down, the next in-sync replica leads in a new epoch and the old leader leaves
    the ISR; it follows after it has started again, until a preferred election."""
    without_leader(ask, "stop")


@scenario("KIP-631 ReplicationControlManager.handleBrokerFenced", level="must")
def leader_killed(ask: ScenarioBuilder) -> None:
    """If the leader of a partition crashes, the next in-sync replica leads in a new epoch when the session of the
    broker has expired."""
    without_leader(ask, "kill")


@scenario("KIP-631 ReplicationControlManager.handleBrokerFenced", level="must")
def leader_paused(ask: ScenarioBuilder) -> None:
    """A leader that pauses for longer than its session is replaced; it follows when it continues."""
    without_leader(ask, "pause")


@scenario("KIP-631 ReplicationControlManager.handleBrokerFenced Partition.maybeShrinkIsr", level="must")
def session_of_a_killed_broker(ask: ScenarioBuilder) -> None:
    """A broker that has crashed leads, coordinates and is elected until its session expires; leaders remove it from the
    ISR when it has lagged for too long."""
    cluster, preferred, followed = Cluster(ask), Cluster(ask, (3, 2, 1), "u"), Cluster(ask, (1, 2, 3), "v")
    group = ask.unique("G")
    coordinate(ask, OFFSETS, group, 0, [2, 3, 1])
    for topic in (OFFSETS, preferred.topic):
        cluster.wait(topic=topic, isr_nodes=[1, 2, 3])
    reordered = [{"name": preferred.topic, "partitions": [{"partition_index": 0, "replicas": [2, 3, 1]}]}]
    ask.setup("AlterPartitionReassignments", 0, {"topics": reordered, "timeout_ms": 30_000}, conn="at-1")
    cluster.written(batch(10), at=2)
    followed.written(batch(10), at=1)
    cluster.log("before", 3, high_watermark=1)
    cluster.do("kill")
    for each in (cluster, preferred, followed):
        each.state(f"{each.topic} in its session")
    ask.request("its coordinator", "FindCoordinator", 2, {"key": group, "key_type": 0}, conn="at-1")
    ask.request("all brokers", "DescribeCluster", 0, {}, only=["brokers"], conn="at-1")
    cluster.produce("to a follower", batch(20), at=3)
    cluster.log("in its session", 3)
    preferred.elect("the preferred leader is elected")
    preferred.state("after the election")
    created = ask.unique("w")
    made: Step = {"name": created, "num_partitions": -1, "replication_factor": -1, "configs": []}
    made["assignments"] = [{"partition_index": 0, "broker_ids": [2, 3]}, {"partition_index": 1, "broker_ids": [3, 2]}]
    body = {"topics": [made], "timeout_ms": 30_000, "validate_only": False}
    ask.request("create a topic", "CreateTopics", 4, body, conn="at-1")
    followed.produce("acks -1, when it has left the ISR", batch(20), at=1)
    cluster.wait(offline_replicas=[2])
    for each in (cluster, preferred, followed):
        each.state(f"{each.topic} after its session")
    cluster.state("the new topic after its session", created)
    cluster.leads(3)
    cluster.log("after its session", 3)
    followed.log("after its session", 1)
    coordinator_is(ask, group, 0, 3)
    cluster.undo("kill")
    for each in (cluster, preferred, followed):
        each.whole()
        each.state(f"{each.topic}, it is back")
    cluster.wait(topic=OFFSETS, isr_nodes=[1, 2, 3])
