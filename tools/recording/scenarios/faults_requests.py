"""Requests about brokers that are stopped, and clients in the middle of something when a broker fails."""

from kafkalet_conformance.building import ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

from .faults_followers import UNCLEAN
from .faults_groups import coordinate, coordinator_is
from .faults_transactions import STATE, Transaction

scenario = Scenarios("faults", brokers=3, faults=True)

BROKER = 4


@scenario("KIP-631 KIP-841 KIP-1073 ClusterControlManager", level="must")
def requests_about_a_stopped_broker(ask: ScenarioBuilder) -> None:
    """A broker that has stopped is missing in Metadata, but still gets replicas; nothing that it would have to answer
    can be read."""
    cluster = Cluster(ask, (1, 2))
    cluster.do("stop", 3)
    ask.until("Metadata", 1, {"topics": []}, "brokers.2", None)
    ask.steps[-1]["conn"] = "at-1"
    ask.each_version("Metadata", {"Metadata v#": {"topics": []}}, 1, only=["brokers"], conn="at-1")
    for v in ask.versions("DescribeCluster"):
        for fenced in (False, True) if v >= 2 else (False,):
            body: Step = {"include_fenced_brokers": fenced} if fenced else {}
            only = ["error_code", "brokers"]
            ask.request(f"DescribeCluster v{v}, {fenced=}", "DescribeCluster", v, body, only=only, conn="at-1")
    for replicas in (3, 4):
        made: Step = {"name": ask.unique(f"r{replicas}"), "num_partitions": 2, "replication_factor": replicas}
        body = {"topics": [made], "timeout_ms": 30_000}
        ask.request(f"{replicas} replicas", "CreateTopics", 4, body, conn="at-1")
    more = {"name": cluster.topic, "count": 2, "assignments": [{"broker_ids": [3, 1]}]}
    ask.request("more partitions", "CreatePartitions", 1, {"topics": [more], "timeout_ms": 30_000}, conn="at-1")
    alone = more | {"count": 3, "assignments": [{"broker_ids": [3]}]}
    ask.request("a partition there", "CreatePartitions", 1, {"topics": [alone], "timeout_ms": 30_000}, conn="at-1")
    ask.step("sleep", ms=500)
    cluster.state("more partitions")
    cluster.elect("nothing to elect")
    resource: Step = {"resource_type": BROKER, "resource_name": "3"}
    asked = {"resources": [resource | {"configuration_keys": ["broker.rack"]}]}
    ask.request("its configuration", "DescribeConfigs", 2, asked, conn="at-1")
    change = resource | {"configs": [{"name": "log.cleaner.threads", "config_operation": 0, "value": "2"}]}
    ask.request("set a property", "IncrementalAlterConfigs", 1, {"resources": [change]}, conn="at-1")
    change = resource | {"configs": [{"name": "log.cleaner.threads", "config_operation": 1, "value": None}]}
    ask.request("delete the property", "IncrementalAlterConfigs", 1, {"resources": [change]}, conn="at-1")
    cluster.undo("stop", 3)
    cluster.wait(offline_replicas=[])
    ask.request("Metadata at the end", "Metadata", 1, {"topics": []}, only=["brokers"], conn="at-1")


@scenario("KIP-631 Partition", level="must")
def leader_paused_briefly(ask: ScenarioBuilder) -> None:
    """A leader that pauses for less than its session stays the leader, and answers the requests that have arrived."""
    cluster = Cluster(ask)
    cluster.written(batch(10), at=2)
    cluster.log("before", 2, 3, high_watermark=1)
    ask.send("joined before", "Fetch", 12, cluster.reading(1, max_wait_ms=500, min_bytes=1), conn="at-2.long")
    cluster.do("pause", 2)
    ask.send("produce", "Produce", 9, cluster.write(batch(20), at=2)["body"], conn="at-2.producer")
    ask.send("fetch", "Fetch", 12, cluster.reading(0), conn="at-2.consumer")
    for name in ("joined before", "produce", "fetch"):
        ask.pending(f"{name} while it is paused", name, 200)
    cluster.log("at a follower", 3)
    cluster.state("while it is paused")
    cluster.undo("pause", 2)
    ask.receive("produce", "produce")
    ask.receive("fetch", "fetch", only=["error_code"])
    ask.receive("joined before", "joined before", only=["error_code"])
    cluster.whole()
    cluster.state("after the pause")
    cluster.log("after the pause", 2, 3, high_watermark=2)


@scenario("KIP-98 KIP-101 ProducerStateManager", level="must")
def unclean_election_producers(ask: ScenarioBuilder) -> None:
    """After an unclean election, the sequence numbers of producers are those of the records that are left."""
    cluster = Cluster(ask, (2, 3))
    ask.producer()

    def one(sequence: int) -> Step:
        return batch(10 + sequence, base_sequence=sequence, producer_id="$P1", producer_epoch="$E1")

    cluster.written(one(0), at=2)
    cluster.written(one(1), at=2)
    cluster.log("before", 2, 3, high_watermark=2)
    cluster.do("stop", 3)
    cluster.wait(isr_nodes=[2])
    cluster.written(one(2), at=2)
    cluster.do("kill", 2)
    cluster.wait(leader_id=-1)
    cluster.undo("stop", 3)
    cluster.wait(offline_replicas=[2])
    cluster.elect("unclean election", UNCLEAN)
    cluster.leads(3)
    cluster.produce("after the lost record", one(3), at=3)
    cluster.produce("a record that is left, again", one(1), at=3)
    cluster.produce("the lost record again", one(2), at=3)
    cluster.undo("kill", 2)
    cluster.wait(isr_nodes=[2, 3])
    cluster.log("at the end", 2, 3, high_watermark=3)
    cluster.elect("the preferred replica")
    cluster.leads(2)
    cluster.produce("the lost record, at the truncated replica", one(2), at=2)
    cluster.produce("the next one, at the truncated replica", one(3), at=2)
    producers = {"topics": [{"name": cluster.topic, "partition_indexes": [0]}]}
    ask.request("the producer", "DescribeProducers", 0, producers, conn="at-2")


@scenario("KIP-98 org.apache.kafka.storage.internals.log.UnifiedLog", level="must")
def transaction_leader_killed(ask: ScenarioBuilder) -> None:
    """A transaction continues at the next leader of its partition; until it ends, the last stable offset stays."""
    cluster = Cluster(ask)
    transaction = Transaction(ask, 1, cluster)
    coordinate(ask, STATE, transaction.id, 1, [1, 3, 2])
    transaction.at = 1
    transaction.begun()
    cluster.written(batch(5), at=2)
    topics = [{"name": cluster.topic, "partitions": [0]}]
    ask.setup("AddPartitionsToTxn", 3, transaction.of(topics=topics), conn="at-1", retry_errors=[51])
    transaction.write("", 0, at=2)
    cluster.log("open", 2, 3, high_watermark=2, isolation=1)
    cluster.do("kill", 2)
    cluster.leads(3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.offsets("at the next leader", at=3)
    transaction.write("the batch again", 0, at=3)
    transaction.write("a gap", 2, at=3)
    transaction.write("the next batch", 1, at=3)
    cluster.log("at the next leader", 3, 1, high_watermark=3, isolation=1)
    transaction.end("commit", committed=False)
    transaction.becomes("CompleteAbort")
    cluster.undo("kill", 2)
    cluster.whole()
    cluster.log("aborted", 1, 2, 3, high_watermark=4, isolation=1)
    cluster.offsets("aborted", at=3)


@scenario("KIP-98 TransactionStateManager GroupCoordinatorService", level="must")
def coordinators_with_too_few_replicas(ask: ScenarioBuilder) -> None:
    """A coordinator whose state cannot be replicated to min.insync.replicas refuses changes with
    COORDINATOR_NOT_AVAILABLE; when the replicas are back, it continues."""
    cluster = Cluster(ask, (1, 2, 3))
    transaction = Transaction(ask, 1, cluster)
    coordinate(ask, STATE, transaction.id, 1, [1, 2, 3])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    transaction.at = 1
    transaction.begun()
    transaction.written()
    for node in (2, 3):
        cluster.do("stop", node)
    cluster.wait(topic=STATE, isr_nodes=[1])
    body: Step = {"transactional_id": ask.unique("X2"), "transaction_timeout_ms": 60_000}
    ask.request("a new id", "InitProducerId", 3, body, conn="at-1", only=["error_code"])
    topics = [{"name": cluster.topic, "partitions": [0]}]
    ask.request("the same partition", "AddPartitionsToTxn", 3, transaction.of(topics=topics), conn="at-1")
    ask.request("commit", "EndTxn", 3, transaction.of(committed=True), conn="at-1")
    transaction.describe("open")
    cluster.undo("stop", 2)
    cluster.wait(topic=STATE, isr_nodes=[1, 2])
    transaction.end("commit with two replicas")
    transaction.becomes("CompleteCommit")
    cluster.log("committed", 1, high_watermark=2, isolation=1)
    cluster.undo("stop", 3)
    cluster.whole()
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    coordinator_is(ask, transaction.id, 1, 1)
