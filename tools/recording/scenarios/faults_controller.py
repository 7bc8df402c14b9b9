"""No controller is active: it has crashed, and starts again later."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import CONTROLLER, Cluster

from .faults_partitions import create

scenario = Scenarios("faults", brokers=3, faults=True)


@scenario("KIP-631 KIP-590 org.apache.kafka.server.NodeToControllerChannelManagerImpl", level="must")
def controller_killed(ask: ScenarioBuilder) -> None:
    """While no controller is active, clients produce and fetch, the ISR does not change, and requests for the
    controller wait."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.do("kill", CONTROLLER)
    cluster.state("no controller")
    cluster.produce("no controller", batch(20), at=2)
    cluster.log("no controller", 2, 3, high_watermark=2)
    created = create(cluster, 1)
    absent = ask.unique("absent")
    body = {"topics": [{"name": absent}], "allow_auto_topic_creation": True}
    ask.request("an absent topic", "Metadata", 9, body, only=["topics"], conn="at-1")
    cluster.cut_off("brokers", node=3)
    cluster.produce("a follower is cut off", batch(30), at=2, timeout_ms=300)
    ask.step("sleep", ms=4000)
    cluster.produce("the follower lags", batch(40), at=2, timeout_ms=300)
    cluster.state("the follower lags")
    cluster.log("the follower lags", 2)
    ask.send(
        "waits", "Produce", 9, cluster.write(batch(50), at=2)["body"] | {"timeout_ms": 30_000}, conn="at-2.waiting"
    )
    ask.pending("no controller", created, 50)
    cluster.do("start", CONTROLLER)
    ask.receive("the controller is back", created, only=["topics"])
    cluster.wait(isr_nodes=[1, 2])
    ask.receive("the ISR has shrunk", "waits")
    cluster.state("the ISR has shrunk")
    cluster.undo("cut_off", 3)
    cluster.whole()
    cluster.log("at the end", 2, 3, high_watermark=5)


@scenario("KIP-631 ReplicationControlManager.handleBrokerFenced", level="must")
def leader_killed_without_controller(ask: ScenarioBuilder) -> None:
    """A leader that crashes while no controller is active stays leader in Metadata, and others refuse its requests; the
    next controller lets its session expire."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    cluster.do("kill", CONTROLLER)
    cluster.do("kill", 2)
    ask.step("sleep", ms=4000)
    cluster.state("no controller")
    cluster.produce("to a follower", batch(20), at=3)
    cluster.log("no controller", 3)
    cluster.do("start", CONTROLLER)
    cluster.leads(3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.state("the next replica leads")
    cluster.produce("to the new leader", batch(20), at=3)
    cluster.log("the next replica leads", 3, 1, high_watermark=2)
    cluster.do("start", 2)
    cluster.whole()
    cluster.state("it is back")
    cluster.log("it is back", 2, 3, high_watermark=2)


@scenario("KIP-590 org.apache.kafka.server.NodeToControllerChannelManagerImpl", level="should")
def requests_without_controller(ask: ScenarioBuilder) -> None:
    """A request for the controller ends with REQUEST_TIMED_OUT if no controller is active for a minute."""
    cluster = Cluster(ask)
    cluster.do("kill", CONTROLLER)
    absent = [ask.unique(f"absent{number}") for number in range(2)]
    new = {"name": absent[0], "num_partitions": 1, "replication_factor": 1}
    requests: dict[str, tuple[str, int, Step]] = {
        "create": ("CreateTopics", 4, {"topics": [new], "timeout_ms": 60_000}),
        "delete": ("DeleteTopics", 4, {"topic_names": [cluster.topic], "timeout_ms": 60_000}),
        "elect": (
            "ElectLeaders",
            2,
            {"topic_partitions": [{"topic": cluster.topic, "partitions": [0]}], "timeout_ms": 60_000},
        ),
        "reassignments": ("ListPartitionReassignments", 0, {"topics": None, "timeout_ms": 60_000}),
    }
    for name, (api, version, body) in requests.items():
        ask.send(name, api, version, body, conn=f"at-3.{name}")
    ask.pending("at first", "create", 50)
    ask.step("sleep", ms=50_000)
    ask.pending("after 50 seconds", "create", 50)
    for name in requests:
        ask.receive(f"after a minute, {name}", name)
    cluster.state("after a minute")
    cluster.do("start", CONTROLLER)
    created = create(cluster, 3)
    ask.receive("the controller is back", created, only=["topics"])
