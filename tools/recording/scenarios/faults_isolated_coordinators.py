"""Coordinators that are isolated, to which clients still send requests."""

from kafkalet_conformance.building import ScenarioBuilder, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import Cluster

from .faults_groups import OFFSETS, Group, coordinate, coordinator_is
from .faults_transactions import REQUEST_TIMEOUT_MS, STATE, Transaction, without_coordinator

scenario = Scenarios("faults", brokers=3, faults=True)


@scenario("KIP-98 TransactionCoordinator.onElection TransactionCoordinator.onResignation", level="must")
def transaction_coordinator_isolated(ask: ScenarioBuilder) -> None:
    """If the coordinator of transactions is cut off from the other brokers and the controller, the next one continues
    them in the states that they had."""
    without_coordinator(ask, "isolate")


@scenario("KIP-890 kafka.server.AddPartitionsToTxnManager", level="should")
def transaction_at_isolated_leader(ask: ScenarioBuilder) -> None:
    """A leader that does not reach the coordinator of a transaction waits for it before it appends the first batch, and
    returns NOT_ENOUGH_REPLICAS after request.timeout.ms."""
    cluster = Cluster(ask)
    transaction = Transaction(ask, 1, cluster)
    coordinate(ask, STATE, transaction.id, 1, [3, 1, 2])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    transaction.at = 3
    transaction.begun()
    transaction.added()
    cluster.cut_off("brokers")
    for number, case in enumerate(("expires", "arrives")):
        fields = {"producer_id": "$P1", "producer_epoch": "$E1", "transactional": True, "base_sequence": 0}
        body = cluster.write(batch(10, **fields), at=2, acks=1, transactional_id=transaction.id)["body"]
        ask.send(case, "Produce", 9, body, conn=f"at-2.{case}")
        ask.pending(f"{case}: the coordinator is not reached", case, 200)
        if number:
            cluster.undo("cut_off")
        else:
            ask.step("sleep", ms=REQUEST_TIMEOUT_MS)
        ask.receive(case, case)
    cluster.whole()
    transaction.end("commit")
    transaction.becomes("CompleteCommit")
    cluster.log("committed", 2, 3, high_watermark=2, isolation=1)


@scenario("GroupCoordinatorService.onElection kafka.coordinator.group.CoordinatorPartitionWriter", level="must")
def group_at_isolated_coordinator(ask: ScenarioBuilder) -> None:
    """An isolated coordinator of groups accepts heartbeats, but no commits, because it cannot replicate them; what it
    said is forgotten when it is back."""
    cluster = Cluster(ask, (1, 3))
    group = Group(ask, "stable", cluster.topic)
    coordinate(ask, OFFSETS, group.id, 0, [2, 3, 1])
    cluster.wait(topic=OFFSETS, isr_nodes=[1, 2, 3])
    group.entered("M1")
    group.synced("$M1", 1)
    group.committed(5, "$M1", 1)
    group.describe("before")
    cluster.do("isolate")
    coordinator_is(ask, group.id, 0, 3)
    found = {"key": group.id, "key_type": 0}
    ask.request("at the isolated coordinator, found", "FindCoordinator", 2, found, conn="at-2", only=["error_code"])
    group.heartbeat("at the isolated coordinator", "$M1", 1)
    group.commit("at the isolated coordinator, commit", 6, "$M1", 1)
    group.describe("at the isolated coordinator")
    group.heartbeat("at the isolated coordinator, again", "$M1", 1)
    group.at = 3
    group.describe("at the new coordinator")
    group.heartbeat("at the new coordinator", "$M1", 1)
    group.commit("at the new coordinator, commit", 7, "$M1", 1)
    cluster.undo("isolate")
    cluster.wait(topic=OFFSETS, isr_nodes=[1, 2, 3])
    group.at = 2
    group.heartbeat("at the old coordinator", "$M1", 1)
    coordinate(ask, OFFSETS, group.id, 0, [2, 3, 1])
    group.describe("at the end")


@scenario("KIP-98 TransactionStateManager.appendTransactionToLog", level="must")
def transaction_at_isolated_coordinator(ask: ScenarioBuilder) -> None:
    """An isolated coordinator of transactions cannot complete them, because it cannot replicate their states; the next
    one decides."""
    cluster = Cluster(ask, (1, 3))
    transaction = Transaction(ask, 1, cluster)
    coordinate(ask, STATE, transaction.id, 1, [2, 3, 1])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    transaction.begun()
    transaction.written()
    transaction.describe("before")
    cluster.do("isolate")
    coordinator_is(ask, transaction.id, 1, 3)
    transaction.describe("at the isolated coordinator")
    ask.send("commits", "EndTxn", 3, transaction.of(committed=True), conn="at-2.commits")
    ask.pending("at the isolated coordinator, commit", "commits", 200)
    transaction.describe("at the isolated coordinator, while it commits")
    transaction.at = 3
    transaction.describe("at the new coordinator")
    transaction.end("at the new coordinator, abort", committed=False)
    transaction.becomes("CompleteAbort")
    cluster.log("aborted", 1, high_watermark=2, isolation=1)
    cluster.undo("isolate")
    ask.receive("at the isolated coordinator, commit", "commits")
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    transaction.at = 2
    transaction.describe("at the old coordinator")
    coordinate(ask, STATE, transaction.id, 1, [2, 3, 1])
    transaction.describe("at the end")
