"""The network is partitioned: a broker is cut off from the other brokers and the controller, or from clients."""

from kafkalet_conformance.building import ScenarioBuilder, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

scenario = Scenarios("faults", brokers=3, faults=True)


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
    cluster.cut_off("brokers", "controller")
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
    cluster.cut_off("brokers", "controller", node=3)
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
