"""What a change of leader leaves behind: epochs, producers, transactions, metadata."""

from typing import Any

from kafkalet_conformance.building import TRANSACTION_ERRORS, ScenarioBuilder, Step, batch, one
from tools.recording.definitions import Scenarios

from .several_brokers import PLACES, lead, produced, reading, replicated, write

scenario = Scenarios("several_brokers", brokers=3)


def history(ask: ScenarioBuilder, name: str = "t") -> str:
    """Create a topic with records of three epochs, between which leaders came and went without records."""
    t = ask.spread_topic(name, [1, 2])
    write(ask, t, batch(10, 20))
    lead(ask, t, [2, 1])
    write(ask, t, batch(30), at=2)
    write(ask, t, batch(40, 50, 60), at=2)
    lead(ask, t, [1, 2])
    lead(ask, t, [2, 1])
    lead(ask, t, [1, 2])
    write(ask, t, batch(70))
    replicated(ask, t, 7)
    return t


def describe(ask: ScenarioBuilder, case: str, *topics: str, version: int = 9, at: int = 1) -> None:
    asked = {"topics": [{"name": topic} for topic in topics], "allow_auto_topic_creation": False}
    ask.request(case, "Metadata", version, asked, only=["topics"], conn=f"at-{at}")


@scenario("KIP-101 KIP-279 KIP-320 LeaderEpochFileCache", level="must")
def leader_changes_epoch_ends(ask: ScenarioBuilder) -> None:
    """OffsetForLeaderEpoch finds the last epoch with records that is not above the requested one, and where it ends."""
    t = history(ask)
    describe(ask, "the current epoch", t)
    for v in ask.versions("OffsetForLeaderEpoch"):
        for node in (1, 2):
            for epoch in range(-2, 12):
                body = {"replica_id": -1, "topics": [{"topic": t, "partitions": [_end(epoch)]}]}
                ask.request(f"v{v} {PLACES[node]}, epoch {epoch}", "OffsetForLeaderEpoch", v, body, conn=f"at-{node}")
    for current in range(-2, 12):
        body = {"replica_id": -1, "topics": [{"topic": t, "partitions": [_end(1, current)]}]}
        ask.request(f"asked in epoch {current}", "OffsetForLeaderEpoch", 4, body, conn="at-1")
        ask.request(f"asked in epoch {current} at a follower", "OffsetForLeaderEpoch", 4, body, conn="at-2")
    several = {"replica_id": -1, "topics": [{"topic": t, "partitions": [_end(0), _end(1), _end(3)]}]}
    ask.request("several epochs of a partition", "OffsetForLeaderEpoch", 4, several, conn="at-1")


def _end(epoch: int, current: int = -1) -> Step:
    return {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}


@scenario("KIP-320 KIP-595 Partition", level="must")
def leader_changes_fencing(ask: ScenarioBuilder) -> None:
    """After leader changes, Fetch and ListOffsets refuse older and newer epochs, and batches keep theirs."""
    t = history(ask)
    ask.each_version("Fetch", {"Fetch v#": reading(t)}, 9, conn="at-1")
    newest = ask.versions("Fetch")[-1]
    for epoch in range(-2, 12):
        for v in (11, newest):
            for node in (1, 2):
                case = f"Fetch v{v} in epoch {epoch}, {PLACES[node]}"
                ask.request(case, "Fetch", v, reading(t, 7, current_leader_epoch=epoch), conn=f"at-{node}")
        asked = one(t, partition_index=0, timestamp=-1, current_leader_epoch=epoch)
        body = {"replica_id": -1, "topics": [asked]}
        ask.request(f"ListOffsets in epoch {epoch}", "ListOffsets", 5, body, conn="at-1")
        ask.request(f"ListOffsets in epoch {epoch} at a follower", "ListOffsets", 5, body, conn="at-2")
    for last in range(-2, 12):
        for offset in (0, 2, 3, 6, 7, 8):
            for v in (12, newest):
                case = f"Fetch v{v} from {offset}, whose predecessor has epoch {last}"
                ask.request(case, "Fetch", v, reading(t, offset, last_fetched_epoch=last), conn="at-1")
    for time in (10, 30, 60, 70, 71):
        ask.time(f"time {time}", t, time)
    for timestamp in (-1, -2, -3):
        body = {"replica_id": -1, "topics": [one(t, partition_index=0, timestamp=timestamp)]}
        ask.request(f"timestamp {timestamp}", "ListOffsets", 7, body, conn="at-1")


@scenario("KIP-320 KIP-966 org.apache.kafka.metadata.KRaftMetadataCache", level="must")
def leader_changes_metadata(ask: ScenarioBuilder) -> None:
    """Metadata and DescribeTopicPartitions of every broker name leaders, epochs, replicas and in-sync replicas."""
    t = history(ask)
    u = ask.spread_topic("u", [2, 3], [3, 1], [1, 3])
    for v in ask.versions("Metadata"):
        for node in PLACES:
            describe(ask, f"v{v} broker {node}", t, version=v, at=node)
            describe(ask, f"v{v} broker {node}, three partitions", u, version=v, at=node)
    ask.each_version("Metadata", {"v# brokers": {"topics": []}}, 1, only=["brokers", "cluster_id"], conn="at-2")
    for v in ask.versions("DescribeTopicPartitions"):
        for node in PLACES:
            body = {"topics": [{"name": t}, {"name": u}], "response_partition_limit": 2000, "cursor": None}
            ask.request(f"DescribeTopicPartitions v{v} {node}", "DescribeTopicPartitions", v, body, conn=f"at-{node}")
    for v in ask.versions("DescribeCluster"):
        only = ["error_code", "cluster_id", "brokers", "endpoint_type"]
        for node in PLACES:
            ask.request(f"DescribeCluster v{v} {node}", "DescribeCluster", v, {}, only=only, conn=f"at-{node}")


def idempotent(base_sequence: int, *times: int, epoch: int = 0) -> Step:
    fields = {"producer_id": "$P1", "producer_epoch": "$E1" if not epoch else f"$E1+{epoch}"}
    return batch(*times, base_sequence=base_sequence, **fields)


@scenario("KIP-98 ProducerStateManager", level="must")
def leader_changes_sequences(ask: ScenarioBuilder) -> None:
    """A new leader knows the sequence numbers of producers: it detects duplicates and gaps as the previous one
    would."""
    t = ask.spread_topic("t", [1, 2])
    ask.producer()
    write(ask, t, idempotent(0, 10, 20))
    write(ask, t, idempotent(2, 30))
    replicated(ask, t, 3)
    lead(ask, t, [2, 1])

    def produce(case: str, *batches: Step, at: int = 2, version: int = 9) -> None:
        ask.request(case, "Produce", version, produced(t, *batches), conn=f"at-{at}")

    for v in ask.versions("Produce", 7):
        produce(f"v{v} the last batch again", idempotent(2, 30), version=v)
        produce(f"v{v} the first batch again", idempotent(0, 10, 20), version=v)
        produce(f"v{v} a gap", idempotent(5, 40), version=v)
        produce(f"v{v} part of a batch", idempotent(1, 20), version=v)
        produce(f"v{v} at the old leader", idempotent(3, 40), at=1, version=v)
    produce("the next one", idempotent(3, 40, 50))
    produce("the next epoch, not from zero", idempotent(5, 60, epoch=1))
    produce("the next epoch", idempotent(0, 60, epoch=1))
    produce("the old epoch", idempotent(5, 60))
    replicated(ask, t, 6, at=1)
    lead(ask, t, [1, 2])
    produce("back: the last batch again", idempotent(0, 60, epoch=1), at=1)
    produce("back: the old epoch", idempotent(3, 40, 50), at=1)
    ask.request("what is in the log", "Fetch", 12, reading(t), conn="at-1")
    producers = {"topics": [{"name": t, "partition_indexes": [0]}]}
    ask.request("the producer", "DescribeProducers", 0, producers, conn="at-1")


@scenario("KIP-98 org.apache.kafka.storage.internals.log.UnifiedLog", level="must")
def leader_changes_transactions(ask: ScenarioBuilder) -> None:
    """A transaction survives a change of leader: the new leader knows that it is open, and later that it was
    aborted."""
    t = ask.spread_topic("t", [1, 2])
    mine = {"transactional_id": "$X1", "producer_id": "$P1", "producer_epoch": "$E1"}
    fields: dict[str, Any] = {"producer_id": "$P1", "producer_epoch": "$E1", "transactional": True}
    xid = ask.unique("X1")
    ask.until("FindCoordinator", 2, {"key": xid, "key_type": 1}, "error_code", 0)
    ask.steps[-1] |= {"timeout_ms": 40000}
    ask.setup("FindCoordinator", 2, {"key": xid, "key_type": 1}, bind={"B1": "node_id"})
    there: dict[str, Any] = {"conn": "at-$B1", "retry_errors": TRANSACTION_ERRORS}
    body: Step = {"transactional_id": xid, "transaction_timeout_ms": 600000}
    ask.setup("InitProducerId", 3, body, bind={"P1": "producer_id", "E1": "producer_epoch"}, **there)
    added = mine | {"topics": [{"name": t, "partitions": [0]}]}
    ask.setup("AddPartitionsToTxn", 3, added, **there)
    write(ask, t, batch(10, 20, base_sequence=0, **fields), transactional_id=xid)
    write(ask, t, batch(30))
    replicated(ask, t, 3)
    lead(ask, t, [2, 1])
    committed = {"isolation_level": 1}
    for node in (1, 2):
        place = "new leader" if node == 2 else "old leader"
        ask.request(f"open, {place}", "Fetch", 12, reading(t), conn=f"at-{node}")
        ask.request(f"open, {place}, committed", "Fetch", 12, reading(t) | committed, conn=f"at-{node}")
        stable = {"replica_id": -1, "isolation_level": 1, "topics": [one(t, partition_index=0, timestamp=-1)]}
        ask.request(f"open, {place}, stable offset", "ListOffsets", 5, stable, conn=f"at-{node}")
    more = produced(t, batch(40, base_sequence=2, **fields)) | {"transactional_id": xid}
    ask.request("more of the transaction", "Produce", 9, more, conn="at-2")
    again = produced(t, batch(10, 20, base_sequence=0, **fields)) | {"transactional_id": xid}
    ask.request("the first batch again", "Produce", 9, again, conn="at-2")
    ask.setup("EndTxn", 3, mine | {"committed": False}, **there)
    ask.until("ListOffsets", 5, stable, "topics.0.partitions.0.offset", 5)
    ask.steps[-1]["conn"] = "at-2"
    replicated(ask, t, 5, at=1)
    lead(ask, t, [1, 2])
    for node in (1, 2):
        place = "leader" if node == 1 else "follower"
        ask.request(f"aborted, {place}", "Fetch", 12, reading(t) | committed, conn=f"at-{node}")
        ask.request(f"aborted, {place}, from 2", "Fetch", 12, reading(t, 2) | committed, conn=f"at-{node}")
        ask.request(f"aborted, {place}, everything", "Fetch", 12, reading(t), conn=f"at-{node}")
