"""The network is partitioned: a broker is cut off from the other brokers and the controller, or from clients."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

scenario = Scenarios("faults", brokers=3, faults=True)


def create(cluster: Cluster, at: int) -> str:
    """Send CreateTopics to a broker. Return the id of the request."""
    name = f"create at {at}"
    topic = cluster.ask.unique(f"created{at}")
    body = {"topics": [{"name": topic, "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 30_000}
    cluster.ask.send(name, "CreateTopics", 4, body, conn=f"at-{at}.creates")
    return name


def stale(cluster: Cluster, case: str, at: int) -> None:
    """Compare what a broker that has been cut off says about the partition."""
    body = {"topics": [{"name": cluster.topic}], "allow_auto_topic_creation": False}
    cluster.ask.request(f"{case}, metadata at {at}", "Metadata", 9, body, only=["topics"], conn=f"at-{at}")


@scenario("KIP-101 KIP-279 Partition.maybeShrinkIsr ReplicationControlManager.handleBrokerFenced", level="must")
def leader_isolated(ask: ScenarioBuilder) -> None:
    """A leader that only clients reach accepts acks=1, but not acks=all, because its ISR cannot shrink; another leads
    when its session has expired, and what only the old leader has is truncated."""
    cluster = Cluster(ask)
    cluster.written(batch(10, 20), at=2)
    cluster.log("before", 2, 3, high_watermark=2)
    cluster.do("isolate")
    cluster.produce("isolated, acks 1", batch(30), at=2, acks=1)
    cluster.produce("isolated, acks all", batch(40, 50), at=2, timeout_ms=300)
    ask.send(
        "waits", "Produce", 9, cluster.write(batch(60), at=2)["body"] | {"timeout_ms": 30_000}, conn="at-2.waiting"
    )
    cluster.leads(3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.state("the next replica leads")
    stale(cluster, "the next replica leads", 2)
    ask.pending("the next replica leads", "waits", 50)
    cluster.produce("to the isolated leader, acks 1", batch(70), at=2, acks=1)
    cluster.produce("to the isolated leader, acks all", batch(80), at=2, timeout_ms=300)
    cluster.log("at the isolated leader", 2)
    cluster.offsets("at the isolated leader", at=2)
    cluster.epochs("at the isolated leader", 2)
    cluster.sizes("at the isolated leader", 2)
    cluster.produce("to the new leader", batch(90), at=3)
    cluster.log("at the new leader", 3, 1, high_watermark=3)
    cluster.epochs("at the new leader", 3)
    cluster.undo("cut_off")
    ask.receive("the partition is healed", "waits")
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=3)
    cluster.sizes("it is back", 2, 3)
    cluster.elect("the preferred replica")
    cluster.leads(2)
    cluster.log("it leads again", 2, 3, high_watermark=3)
    cluster.epochs("it leads again", 2)


@scenario("Partition.maybeShrinkIsr ReplicationControlManager.handleBrokerFenced", level="must")
def follower_isolated(ask: ScenarioBuilder) -> None:
    """A follower that is cut off leaves the ISR after replica.lag.time.max.ms or when its session has expired; it keeps
    what it knows of leaders and of the log, and consumers may read from it."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.do("isolate", 3)
    cluster.produce("isolated, acks 1", batch(20), at=2, acks=1)
    ask.send("waits", "Produce", 9, cluster.write(batch(30), at=2)["body"], conn="at-2.waiting")
    ask.pending("before the ISR shrinks", "waits", 50)
    cluster.wait(isr_nodes=[1, 2])
    ask.receive("all remaining replicas have it", "waits")
    cluster.wait(offline_replicas=[3])
    cluster.state("the follower is fenced")
    stale(cluster, "the follower is fenced", 3)
    cluster.produce("without the follower", batch(40), at=2)
    cluster.produce("to the follower", batch(40), at=3)
    cluster.log("the follower is fenced", 2, 3)
    cluster.epochs("the follower is fenced", 3)
    cluster.undo("cut_off", 3)
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=4)


@scenario("KIP-631 KIP-455 org.apache.kafka.image.TopicsDelta", level="must")
def topics_change_behind_isolated_broker(ask: ScenarioBuilder) -> None:
    """A broker that is isolated serves the replicas that it had, although topics are deleted, moved and created
    meanwhile; it makes up for these changes when it is back."""
    cluster = Cluster(ask)
    deleted, moved = Cluster(ask, (2, 3), "deleted"), Cluster(ask, (3, 2), "moved")
    for each, leader in ((cluster, 2), (deleted, 2), (moved, 3)):
        each.written(batch(10), at=leader)
        each.log("before", 2, 3, high_watermark=1)
    cluster.do("isolate")
    cluster.leads(3)
    ask.setup("DeleteTopics", 4, {"topic_names": [deleted.topic], "timeout_ms": 30_000}, conn="at-1")
    replicas = [{"partition_index": 0, "replicas": [3, 1]}]
    body: Step = {"topics": [{"name": moved.topic, "partitions": replicas}], "timeout_ms": 30_000}
    ask.setup("AlterPartitionReassignments", 0, body, conn="at-1")
    moved.wait(isr_nodes=[1, 3])
    added = ask.unique("added")
    new = {"name": added, "num_partitions": -1, "replication_factor": -1}
    new["assignments"] = [{"partition_index": 0, "broker_ids": [3, 2]}]
    ask.setup("CreateTopics", 4, {"topics": [new], "timeout_ms": 30_000}, conn="at-1")
    for case, each in (("deleted", deleted), ("moved", moved)):
        stale(each, f"{case}, isolated", 2)
        each.produce(f"{case}, acks 1", batch(20), at=2, acks=1)
        each.log(f"{case}, isolated", 2)
        each.sizes(f"{case}, isolated", 2)
    moved.produce("moved, at its leader", batch(20), at=3)
    asked = {"topics": [{"name": added}], "allow_auto_topic_creation": False}
    ask.request("added, isolated", "Metadata", 9, asked, only=["topics"], conn="at-2")
    sizes = {"topics": [{"topic": added, "partitions": [0]}]}
    ask.request("added, isolated, sizes", "DescribeLogDirs", 1, sizes, conn="at-2", part="results.0.topics")
    cluster.undo("cut_off")
    cluster.whole()
    cluster.wait(topic=added, isr_nodes=[2, 3])
    for case, each in (("deleted", deleted), ("moved", moved)):
        each.gone(at=2)
        each.produce(f"{case}, it is back", batch(30), at=2, acks=1)
    moved.log("moved, it is back", 3, 1, high_watermark=2)
    ask.request("added, it is back", "DescribeLogDirs", 1, sizes, conn="at-2", part="results.0.topics")
    cluster.state("added, it is back", added)


@scenario("KIP-631 ReplicationControlManager.handleBrokerFenced", level="must")
def leader_hidden(ask: ScenarioBuilder) -> None:
    """A leader that clients do not reach goes on leading, because the controller reaches it, and serves the requests
    that arrive when the partition is healed."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    ask.send("before", "ApiVersions", 0, {}, conn="at-2.waiting")
    ask.receive("before", "before", only=["error_code"])
    cluster.cut_off("clients")
    ask.send("waits", "Produce", 9, cluster.write(batch(20), at=2)["body"], conn="at-2.waiting")
    ask.pending("hidden", "waits", 50)
    ask.step("sleep", ms=4000)
    cluster.state("after the session time-out")
    ask.pending("after the session time-out", "waits", 50)
    cluster.log("hidden", 3, 1)
    cluster.produce("to a follower", batch(30), at=3)
    cluster.undo("cut_off")
    ask.receive("healed", "waits")
    cluster.state("healed")
    cluster.log("healed", 2, 3, high_watermark=2)


@scenario("KIP-101 KIP-631 ReplicationControlManager.handleBrokerFenced", level="must")
def leader_without_controller(ask: ScenarioBuilder) -> None:
    """A leader that is cut off from the controller only has followers until another leads when its session has expired;
    requests for the controller wait until it is reached."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.cut_off("controller")
    cluster.produce("before the session expires", batch(20), at=2)
    cluster.log("before the session expires", 2, 3, high_watermark=2)
    cluster.leads(3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.state("the next replica leads")
    stale(cluster, "the next replica leads", 2)
    cluster.produce("to the old leader, acks 1", batch(30), at=2, acks=1)
    cluster.produce("to the old leader, acks all", batch(40), at=2, timeout_ms=300)
    cluster.log("at the old leader", 2)
    cluster.epochs("at the old leader", 2)
    cluster.produce("to the new leader", batch(50), at=3)
    created = create(cluster, 2)
    ask.pending("without the controller", created, 300)
    cluster.undo("cut_off")
    ask.receive("with the controller", created, only=["topics"])
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=3)
    cluster.epochs("it is back", 3)


@scenario("KIP-841 ReplicationControlManager.handleBrokerFenced Partition.isReplicaIsrEligible", level="must")
def follower_without_controller(ask: ScenarioBuilder) -> None:
    """A follower that is cut off from the controller only goes on copying, but leaves the ISR when its session has
    expired, until it is back."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.cut_off("controller", node=3)
    cluster.wait(offline_replicas=[3])
    cluster.state("the follower is fenced")
    stale(cluster, "the follower is fenced", 3)
    cluster.produce("without the follower", batch(20), at=2)
    cluster.log("without the follower", 2, 3, high_watermark=2)
    ask.step("sleep", ms=1000)
    cluster.state("a second later")
    cluster.undo("cut_off", 3)
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=2)


def without_brokers(ask: ScenarioBuilder, minimum: str) -> None:
    """Cut a leader off from its followers only."""
    cluster = Cluster(ask, min_insync_replicas=minimum)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.cut_off("brokers")
    cluster.produce("acks 1", batch(20), at=2, acks=1)
    cluster.produce("acks all, before the ISR shrinks", batch(30), at=2, timeout_ms=300)
    waiting = cluster.write(batch(40), at=2)["body"] | {"timeout_ms": 30_000}
    ask.send("waits", "Produce", 9, waiting, conn="at-2.waiting")
    ask.pending("before the ISR shrinks", "waits", 50)
    cluster.wait(isr_nodes=[2])
    ask.receive("after the ISR has shrunk", "waits")
    cluster.state("only the leader is in sync")
    cluster.produce("acks all", batch(50), at=2)
    cluster.log("only the leader is in sync", 2, 3)
    cluster.offsets("only the leader is in sync", at=2)
    cluster.undo("cut_off")
    cluster.whole()
    cluster.log("the followers are back", 2, 3, high_watermark=5 if minimum == "1" else 4)


@scenario("KIP-16 Partition.maybeShrinkIsr", level="must")
def leader_without_followers(ask: ScenarioBuilder) -> None:
    """A leader that is cut off from the other brokers, but not from the controller, stays leader and removes its
    followers from the ISR after replica.lag.time.max.ms."""
    without_brokers(ask, "1")


@scenario("KIP-16 KIP-966 Partition.maybeShrinkIsr", level="must")
def leader_without_enough_followers(ask: ScenarioBuilder) -> None:
    """A leader whose followers are cut off refuses acks=all when they have left the ISR, if min.insync.replicas are not
    in sync."""
    without_brokers(ask, "2")


@scenario("KIP-101 KIP-279 org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache", level="must")
def leaders_diverge(ask: ScenarioBuilder) -> None:
    """Two leaders that are isolated one after the other truncate what only they have, each from its own epoch on, when
    they are back."""
    cluster = Cluster(ask)
    cluster.written(batch(10, 20), at=2)
    cluster.log("before", 2, 3, high_watermark=2)
    cluster.do("isolate")
    cluster.produce("to the first, which is isolated", batch(30, 40), at=2, acks=1)
    cluster.leads(3)
    cluster.produce("to the second", batch(50), at=3)
    cluster.log("the second leads", 3, 1, high_watermark=3)
    cluster.do("isolate", 3)
    cluster.produce("to the second, which is isolated", batch(60, 70), at=3, acks=1)
    cluster.leads(1)
    cluster.wait(isr_nodes=[1])
    cluster.produce("to the third", batch(80), at=1)
    for node in (1, 2, 3):
        cluster.log("all lead", node)
        cluster.epochs("all lead", node)
        cluster.sizes("all lead", node)
    cluster.undo("cut_off", 2)
    cluster.wait(isr_nodes=[1, 2])
    cluster.log("the first is back", 1, 2, high_watermark=4)
    cluster.undo("cut_off", 3)
    cluster.whole()
    cluster.state("all are back")
    cluster.log("all are back", 1, 2, 3, high_watermark=4)
    cluster.sizes("all are back", 1, 2, 3)
    cluster.elect("the preferred replica")
    cluster.leads(2)
    cluster.epochs("the first leads again", 2)


@scenario("KIP-101 KIP-279 KIP-460 ReplicationControlManager.electLeader", level="must")
def unclean_election_beside_leader(ask: ScenarioBuilder) -> None:
    """An unclean election while the last in-sync replica is isolated makes two leaders; the isolated one truncates what
    it has beyond the common records when it is back."""
    cluster = Cluster(ask, (2, 3))
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.cut_off("brokers", node=3)
    cluster.produce("without the follower", batch(20, 30), at=2, acks=1)
    cluster.wait(isr_nodes=[2])
    cluster.do("isolate")
    cluster.wait(leader_id=-1)
    cluster.state("no leader")
    cluster.wait(leader_id=-1, at=3)
    cluster.produce("to the isolated leader", batch(40), at=2)
    cluster.elect("unclean", 1)
    cluster.leads(3)
    cluster.state("unclean")
    cluster.produce("to the new leader", batch(50), at=3)
    cluster.produce("to the isolated leader, again", batch(60), at=2, acks=1)
    for node in (2, 3):
        cluster.log("two leaders", node)
        cluster.epochs("two leaders", node)
    cluster.undo("cut_off", 3)
    cluster.undo("cut_off", 2)
    cluster.wait(isr_nodes=[2, 3])
    cluster.state("healed")
    cluster.log("healed", 2, 3, high_watermark=2)
    cluster.epochs("healed", 3)
    cluster.sizes("healed", 2, 3)
