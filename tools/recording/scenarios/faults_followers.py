"""Followers lag, diverge and come back, and in-sync replicas are missing."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch, filled
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

scenario = Scenarios("faults", brokers=3, faults=True)

UNCLEAN = 1


@scenario("KIP-16 KIP-966 Partition.maybeShrinkIsr", level="must")
def follower_paused(ask: ScenarioBuilder) -> None:
    """A follower that pauses stays in the ISR while there are no new records; after a record, the high watermark waits
    until replica.lag.time.max.ms has removed the follower, which joins again later."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 1, high_watermark=1)
    cluster.sizes("before", 1, 2, 3)
    cluster.do("pause", 3)
    cluster.produce("before the ISR shrinks", batch(20), at=2, timeout_ms=100)
    cluster.log("before the ISR shrinks", 2)
    cluster.offsets("before the ISR shrinks", at=2)
    cluster.sizes("before the ISR shrinks", 1, 2)
    ask.send("waits", "Produce", 9, cluster.write(batch(30), at=2)["body"], conn="at-2.waiting")
    ask.pending("before the ISR shrinks", "waits", 50)
    cluster.wait(isr_nodes=[1, 2])
    ask.receive("all remaining replicas have it", "waits")
    cluster.log("the ISR has shrunk", 2, 1, high_watermark=3)
    cluster.wait(offline_replicas=[3])
    cluster.state("the follower is fenced")
    cluster.produce("without the follower", batch(40), at=2)
    cluster.undo("pause", 3)
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=4)
    cluster.sizes("it is back", 1, 2, 3)


@scenario("KIP-966 Partition.maybeIncrementLeaderHW", level="must")
def too_few_replicas(ask: ScenarioBuilder) -> None:
    """With fewer in-sync replicas than min.insync.replicas, acks=all is refused before anything is appended, while
    acks=1 appends; where there are eligible leader replicas, the high watermark stays."""
    cluster = Cluster(ask, min_insync_replicas=2)
    cluster.written(batch(10), at=2)
    cluster.do("stop", 3)
    cluster.wait(isr_nodes=[1, 2])
    cluster.produce("two replicas", batch(20), at=2)
    cluster.log("two replicas", 1, high_watermark=2)
    cluster.do("stop", 2)
    cluster.leads(1)
    cluster.wait(isr_nodes=[1])
    cluster.state("one replica")
    cluster.log("one replica", 1)
    cluster.produce("one replica, acks all", batch(30), at=1)
    cluster.produce("one replica, acks 1", batch(30), at=1, acks=1)
    cluster.log("one replica, after acks 1", 1)
    cluster.offsets("one replica, after acks 1", at=1)
    cluster.undo("stop", 2)
    cluster.wait(isr_nodes=[1, 2])
    cluster.log("two again", 1, 2, high_watermark=3)
    cluster.state("two again")
    cluster.produce("two again", batch(40), at=1)
    cluster.undo("stop", 3)
    cluster.whole()
    cluster.state("three again")
    cluster.log("three again", 3, high_watermark=4)
    cluster.epochs("three again", 1)


@scenario("KIP-966 ReplicationControlManager.handleBrokerUncleanShutdown", level="must")
def eligible_leaders(ask: ScenarioBuilder) -> None:
    """If all in-sync replicas are lost one after the other, a replica that has stopped cleanly while the ISR was
    smaller than min.insync.replicas may lead; without eligible leader replicas, only the last one may."""
    cluster = Cluster(ask, (2, 3), min_insync_replicas=2)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.do("stop", 2)
    cluster.leads(3)
    cluster.state("one replica is left")
    cluster.produce("one replica, acks 1", batch(20), at=3, acks=1)
    cluster.do("stop", 3)
    cluster.wait(leader_id=-1)
    cluster.state("none is left")
    cluster.undo("stop", 2)
    if ask.release >= "4":
        cluster.leads(2)
    cluster.state("the first one is back")
    cluster.undo("stop", 3)
    cluster.wait(isr_nodes=[2, 3])
    cluster.state("both are back")
    leader = 2 if ask.release >= "4" else 3
    cluster.leads(leader)
    cluster.log("both are back", 2, 3, high_watermark=1 if ask.release >= "4" else 2)
    cluster.epochs("both are back", leader)


@scenario("KIP-966 ReplicationControlManager.handleBrokerUncleanShutdown", level="must")
def killed_is_not_eligible(ask: ScenarioBuilder) -> None:
    """A replica whose broker has crashed is no longer an eligible leader when it comes back."""
    cluster = Cluster(ask, (2, 3), min_insync_replicas=2)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.do("kill", 2)
    cluster.leads(3)
    cluster.state("one replica is left")
    cluster.do("stop", 3)
    cluster.wait(leader_id=-1)
    cluster.state("none is left")
    cluster.undo("kill", 2)
    cluster.wait(offline_replicas=[3])
    cluster.state("the killed one is back")
    cluster.undo("stop", 3)
    cluster.wait(isr_nodes=[2, 3])
    cluster.leads(3)
    cluster.state("both are back")
    cluster.log("both are back", 2, 3, high_watermark=1)


def diverge(ask: ScenarioBuilder, **config: str) -> Cluster:
    """Leave records on broker 2 that broker 3, which is stopped before, never gets; then exchange the two."""
    cluster = Cluster(ask, (2, 3), **config)
    cluster.written(batch(10, 20), at=2)
    cluster.log("before", 2, 3, high_watermark=2)
    cluster.do("stop", 3)
    cluster.wait(isr_nodes=[2])
    cluster.written(batch(30), at=2)
    cluster.written(batch(40, 50), at=2)
    cluster.do("stop", 2)
    cluster.wait(leader_id=-1)
    cluster.state("nobody leads")
    cluster.undo("stop", 3)
    return cluster


def after_divergence(cluster: Cluster) -> None:
    """Write to the new leader, and let the old one, whose log has diverged, come back."""
    cluster.leads(3)
    cluster.state("the other one leads")
    cluster.log("the other one leads", 3, high_watermark=2)
    cluster.produce("to the new leader", batch(60), at=3)
    cluster.undo("stop", 2)
    cluster.wait(isr_nodes=[2, 3])
    cluster.state("both are back")
    cluster.log("both are back", 2, 3, high_watermark=3)
    cluster.epochs("both are back", 3, up_to=4)
    cluster.sizes("both are back", 2, 3)
    cluster.elect("the preferred replica")
    cluster.leads(2)
    cluster.epochs("the truncated replica leads", 2, up_to=5)
    cluster.log("the truncated replica leads", 2, high_watermark=3)


@scenario("KIP-101 KIP-279 KIP-460 ReplicationControlManager.electLeader", level="must")
def unclean_election(ask: ScenarioBuilder) -> None:
    """A partition whose in-sync replicas are gone has no leader until an unclean election is requested; the
    records that the new leader never had are lost, and the old leader truncates them when it comes back."""
    cluster = diverge(ask)
    cluster.wait(offline_replicas=[2])
    cluster.state("the other one is not in sync")
    cluster.produce("no leader", batch(60), at=3)
    cluster.log("no leader", 3)
    cluster.elect("preferred election without in-sync replicas")
    cluster.elect("unclean election", UNCLEAN)
    after_divergence(cluster)


@scenario("KIP-101 KIP-279 ReplicationControlManager.handleBrokerUnfenced", level="must")
def unclean_election_enabled(ask: ScenarioBuilder) -> None:
    """With unclean.leader.election.enable, the first replica that is alive leads."""
    after_divergence(diverge(ask, unclean_leader_election_enable="true"))


@scenario("KIP-392 org.apache.kafka.common.replica.RackAwareReplicaSelector")
def rack_of_a_paused_follower(ask: ScenarioBuilder) -> None:
    """The leader sends consumers to an in-sync replica in their rack, and no longer when that has left the ISR."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, 1, high_watermark=1)

    def from_rack(case: str, *racks: str) -> None:
        for rack in racks:
            body = cluster.reading(rack_id=rack)
            ask.request(f"{case}, rack {rack}", "Fetch", 12, body, conn="at-2")

    from_rack("all in sync", "r1", "r2", "r3", "r4", "")
    cluster.do("pause", 3)
    cluster.written(batch(20), at=2)
    cluster.wait(isr_nodes=[1, 2])
    from_rack("without broker 3", "r1", "r2", "r3")
    cluster.undo("pause", 3)
    cluster.whole()
    cluster.log("back", 3, high_watermark=2)
    from_rack("all in sync again", "r3")


@scenario("KIP-455 KIP-73 ReplicationControlManager.alterPartitionReassignment", level="must")
def reassignment_waits(ask: ScenarioBuilder) -> None:
    """A reassignment to a broker that pauses stays in progress; it can be replaced and cancelled, and completes when
    the new replica is in sync."""
    cluster = Cluster(ask, (1, 2))
    cluster.written(batch(10), at=1)
    cluster.do("pause", 3)

    def move(case: str, replicas: list[int] | None) -> None:
        topics = [{"name": cluster.topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
        ask.request(case, "AlterPartitionReassignments", 0, {"topics": topics, "timeout_ms": 30_000}, conn="at-1")
        ask.step("sleep", ms=300)
        listed = {"topics": [{"name": cluster.topic, "partition_indexes": [0]}], "timeout_ms": 30_000}
        ask.request(f"{case}, listed", "ListPartitionReassignments", 0, listed, conn="at-1")
        cluster.state(case)

    move("to a paused broker", [1, 3])
    move("replaced", [3, 2])
    move("cancelled", None)
    move("again", [3, 1])
    cluster.produce("meanwhile", batch(20), at=1)
    cluster.wait(offline_replicas=[3])
    cluster.state("the new broker is fenced")
    cluster.undo("pause", 3)
    cluster.wait(replica_nodes=[1, 3])
    cluster.wait(isr_nodes=[1, 3])
    move("complete", None)
    cluster.log("complete", 1, 3, high_watermark=2)
    cluster.produce("to a removed replica", batch(30), at=2)
    cluster.elect("the new preferred replica")
    cluster.leads(3)
    cluster.state("it leads")


@scenario("KIP-841 KIP-966 ReplicationControlManager", level="must")
def topics_without_a_broker(ask: ScenarioBuilder) -> None:
    """While a broker is stopped, topics are created with replicas on it, deleted and configured, which it finds
    when it starts."""
    cluster = Cluster(ask)
    other = Cluster(ask, (3, 2), "deleted")
    cluster.written(batch(10, 20), at=2)
    cluster.do("stop", 3)
    cluster.wait(isr_nodes=[1, 2])
    ask.setup("DeleteTopics", 5, {"topic_names": [other.topic], "timeout_ms": 30_000}, conn="at-1")
    name = ask.unique("u")
    made: Step = {"name": name, "num_partitions": -1, "replication_factor": -1}
    made["assignments"] = [{"partition_index": 0, "broker_ids": [3, 2]}]
    ask.request("created", "CreateTopics", 5, {"topics": [made], "timeout_ms": 30_000}, conn="at-1")
    only = [{"partition_index": 0, "broker_ids": [3]}]
    alone = made | {"name": ask.unique("v"), "assignments": only}
    ask.request("created without a replica", "CreateTopics", 5, {"topics": [alone], "timeout_ms": 30_000}, conn="at-1")
    deleted = {"name": cluster.topic, "partitions": [{"partition_index": 0, "offset": 1}]}
    body = {"topics": [deleted], "timeout_ms": 1000}
    ask.request("records deleted", "DeleteRecords", 2, body, conn="at-2")
    cluster.wait(topic=name, leader_id=2)
    cluster.state("created", name)
    cluster.undo("stop", 3)
    cluster.whole()
    cluster.wait(topic=name, isr_nodes=[2, 3])
    cluster.state("it is back", name)
    cluster.log("it is back", 3, high_watermark=2, start=1)
    asked = {"topics": [{"name": other.topic}], "allow_auto_topic_creation": False}
    ask.request("the deleted topic", "Metadata", 9, asked, only=["topics"], conn="at-3")


@scenario("KIP-841 KIP-98 ReplicationControlManager.handleBrokerInControlledShutdown", level="must")
def rolling_restart(ask: ScenarioBuilder) -> None:
    """An idempotent producer that follows the leader through a rolling restart loses and repeats nothing."""
    cluster = Cluster(ask)
    ask.producer()
    sequence = 0

    def produce(case: str, at: int) -> None:
        nonlocal sequence
        one = batch(10 + sequence, base_sequence=sequence, producer_id="$P1", producer_epoch="$E1")
        cluster.produce(case, one, at=at)
        cluster.produce(f"{case}, repeated", one, at=at)
        sequence += 1

    produce("before", 2)
    leader = 2
    for restarted in (2, 3):
        after = {2: 3, 3: 2}[restarted]
        cluster.do("stop", restarted)
        leader = after if restarted == leader else leader
        cluster.leads(leader)
        produce(f"without {restarted}", leader)
        cluster.undo("stop", restarted)
        cluster.whole()
        produce(f"after {restarted}", leader)
        cluster.state(f"after {restarted}")
    cluster.log("at the end", 1, 2, 3, high_watermark=5)
    cluster.epochs("at the end", leader)
    producers = {"topics": [{"name": cluster.topic, "partition_indexes": [0]}]}
    ask.request("the producer", "DescribeProducers", 0, producers, conn=f"at-{leader}")


@scenario("KIP-455 KIP-73 ReplicationControlManager.alterPartitionReassignment", level="must")
def throttled_reassignment_disturbed(ask: ScenarioBuilder) -> None:
    """A throttled reassignment stays in progress while its leader stops and while its new replica pauses, and
    completes when the limit is removed."""

    def limit(rate: str | None) -> None:
        changed = {"name": "follower.replication.throttled.rate", "config_operation": 0 if rate else 1, "value": rate}
        resource = {"resource_type": 4, "resource_name": "3", "configs": [changed]}
        ask.setup("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False}, conn="at-3")
        ask.step("sleep", ms=500)

    cluster = Cluster(ask, (2, 1), follower_replication_throttled_replicas="0:3")
    for number in range(8):
        cluster.written(filled(number, 900_000), at=2)
    limit("1")
    body = {"topics": [{"name": cluster.topic, "partition_indexes": [0]}], "timeout_ms": 30_000}

    def look(case: str) -> None:
        ask.request(f"{case}, listed", "ListPartitionReassignments", 0, body, conn="at-1")
        cluster.state(case)

    moved = [{"name": cluster.topic, "partitions": [{"partition_index": 0, "replicas": [2, 3]}]}]
    ask.request("move", "AlterPartitionReassignments", 0, {"topics": moved, "timeout_ms": 30_000}, conn="at-1")
    cluster.copied(900_072, at=3)
    look("after one fetch")
    cluster.sizes("after one fetch", 2, 3)
    cluster.produce("meanwhile", batch(10), at=2)
    cluster.do("stop", 2)
    cluster.leads(1)
    look("without its leader")
    cluster.produce("without its leader", batch(20), at=1)
    cluster.undo("stop", 2)
    cluster.wait(isr_nodes=[1, 2])
    look("its leader is back")
    cluster.do("pause", 3)
    cluster.wait(offline_replicas=[3])
    look("without the new replica")
    cluster.undo("pause", 3)
    cluster.wait(offline_replicas=[])
    look("the new replica is back")
    limit(None)
    cluster.wait(replica_nodes=[2, 3])
    cluster.wait(isr_nodes=[2, 3])
    cluster.leads(2)
    look("complete")
    cluster.log("complete", 2, 3, high_watermark=10, start=8)
    cluster.sizes("complete", 2, 3)


@scenario("KIP-455 KIP-73 ReplicationControlManager.alterPartitionReassignment", level="must")
def throttled_leader_killed(ask: ScenarioBuilder) -> None:
    """A reassignment that its leader throttles is completed by the next leader, which has no limit."""

    def limit(rate: str | None) -> None:
        changed = {"name": "leader.replication.throttled.rate", "config_operation": 0 if rate else 1, "value": rate}
        resource = {"resource_type": 4, "resource_name": "2", "configs": [changed]}
        ask.setup("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False}, conn="at-2")
        ask.step("sleep", ms=500)

    cluster = Cluster(ask, (2, 1), leader_replication_throttled_replicas="0:2")
    for number in range(8):
        cluster.written(filled(number, 900_000), at=2)
    limit("60000")
    moved = [{"name": cluster.topic, "partitions": [{"partition_index": 0, "replicas": [1, 3]}]}]
    ask.request("move", "AlterPartitionReassignments", 0, {"topics": moved, "timeout_ms": 30_000}, conn="at-1")
    cluster.copied(900_072, at=3)
    cluster.state("throttled")
    cluster.do("kill", 2)
    cluster.leads(1)
    cluster.wait(replica_nodes=[1, 3])
    cluster.state("complete")
    cluster.log("complete", 1, 3, high_watermark=8, start=7)
    cluster.undo("kill", 2)
    limit(None)
    cluster.sizes("at the end", 1, 3)


@scenario("KIP-455 PartitionReassignmentReplicas.maybeCompleteReassignment", level="must")
def reassignment_without_a_replica(ask: ScenarioBuilder) -> None:
    """Since 4.3, a reassignment is complete when the replicas that are added are in sync, even if one that stays is
    away; but if it removes more replicas than it adds, it waits for all of them."""
    added, removed = Cluster(ask, (2, 1)), Cluster(ask, (2, 3, 1), "u")
    added.written(batch(10), at=2)

    def move(cluster: Cluster) -> None:
        moved = [{"name": cluster.topic, "partitions": [{"partition_index": 0, "replicas": [2, 3]}]}]
        body: Step = {"topics": moved, "timeout_ms": 30_000}
        ask.request(f"move {cluster.topic}", "AlterPartitionReassignments", 0, body, conn="at-1")

    def look(case: str) -> None:
        for cluster in (added, removed):
            body: Step = {"topics": [{"name": cluster.topic, "partition_indexes": [0]}], "timeout_ms": 30_000}
            ask.request(f"{case}, {cluster.topic} listed", "ListPartitionReassignments", 0, body, conn="at-1")
            cluster.state(f"{case}, {cluster.topic}")

    added.do("pause", 3)
    added.wait(topic=removed.topic, offline_replicas=[3])
    move(added)
    added.do("stop", 2)
    added.leads(1)
    added.undo("pause", 3)
    if ask.release < "4.3":
        added.wait(isr_nodes=[1, 3])
    else:
        added.leads(3)
    removed.wait(isr_nodes=[1, 3])
    move(removed)
    look("without a replica that stays")
    added.undo("stop", 2)
    for cluster in (added, removed):
        cluster.wait(replica_nodes=[2, 3])
        cluster.wait(isr_nodes=[2, 3])
    look("it is back")
    added.log("it is back", 2, 3, high_watermark=1)
