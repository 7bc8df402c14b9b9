"""The coordinator of transactions stops, crashes or pauses, while transactions are in each state."""

from kafkalet_conformance.building import TRANSACTION_ERRORS, ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios
from tools.recording.faults import FAULT_MS, Cluster

from .faults_groups import coordinate, coordinator_is

scenario = Scenarios("faults", brokers=3, faults=True)

STATE = "__transaction_state"
NAMES = ("ongoing", "empty", "complete")
AT_BEFORE, AT_AFTER = 2, 3
REQUEST_TIMEOUT_MS = 30_000


class Transaction:
    """A transactional id, its producer, and a partition to which it writes."""

    def __init__(self, ask: ScenarioBuilder, number: int, cluster: Cluster) -> None:
        self.ask, self.number, self.cluster = ask, number, cluster
        self.id = ask.unique(f"X{number}")
        self.at = AT_BEFORE

    def of(self, **more: object) -> Step:
        return {
            "transactional_id": self.id,
            "producer_id": f"$P{self.number}",
            "producer_epoch": f"$E{self.number}",
        } | more

    def begun(self, timeout_ms: int = 600_000) -> None:
        """Initialize the producer."""
        body = {"transactional_id": self.id, "transaction_timeout_ms": timeout_ms}
        bind = {f"P{self.number}": "producer_id", f"E{self.number}": "producer_epoch"}
        self.ask.setup("InitProducerId", 3, body, bind=bind, retry_errors=TRANSACTION_ERRORS, conn=f"at-{self.at}")

    def added(self) -> None:
        """Add the partition."""
        topics = [{"name": self.cluster.topic, "partitions": [0]}]
        there = {"retry_errors": TRANSACTION_ERRORS, "conn": f"at-{self.at}"}
        self.ask.setup("AddPartitionsToTxn", 3, self.of(topics=topics), **there)

    def written(self, sequence: int = 0) -> None:
        """Add the partition, and write a record."""
        self.added()
        self.write("", sequence)

    def write(self, case: str, sequence: int, at: int = 1) -> None:
        """Write a record; with `case`, compare the response."""
        fields = {"producer_id": f"$P{self.number}", "producer_epoch": f"$E{self.number}", "transactional": True}
        step = self.cluster.write(batch(10 + sequence, base_sequence=sequence, **fields), at=at)
        step["body"]["transactional_id"] = self.id
        if case:
            self.ask.step("request", case=case, **step)
        else:
            self.ask.step("request", setup=True, must_succeed=True, **step)

    def end(self, case: str, committed: bool = True) -> None:
        body = self.of(committed=committed)
        self.ask.request(case, "EndTxn", 3, body, conn=f"at-{self.at}", retry_errors=[14, 15])

    def becomes(self, state: str) -> None:
        """Wait for a state."""
        body = {"transactional_ids": [self.id]}
        self.ask.until("DescribeTransactions", 0, body, "transaction_states.0.transaction_state", state)
        self.ask.steps[-1] |= {"conn": f"at-{self.at}", "timeout_ms": REQUEST_TIMEOUT_MS + FAULT_MS}

    def describe(self, case: str) -> None:
        body = {"transactional_ids": [self.id]}
        self.ask.request(case, "DescribeTransactions", 0, body, conn=f"at-{self.at}")


def without_coordinator(ask: ScenarioBuilder, fault: str) -> None:
    """Bring transactions to each state, disturb their coordinator, continue at the next one, and return."""
    cluster = Cluster(ask, (1, 3))
    made = {name: Transaction(ask, number, cluster) for number, name in enumerate(NAMES, 1)}
    ongoing, empty, complete = made["ongoing"], made["empty"], made["complete"]
    coordinate(ask, STATE, ongoing.id, 1, [2, 3, 1])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    skipped: Step = {"transactional_id": None, "transaction_timeout_ms": 60_000}  # the id 0, which errors contain, too
    ask.setup("InitProducerId", 3, skipped, conn="at-2", retry_errors=TRANSACTION_ERRORS)
    for transaction in (ongoing, empty, complete):
        transaction.begun()
    complete.written()
    complete.end("end one")
    complete.becomes("CompleteCommit")
    ongoing.written()
    for name, transaction in made.items():
        transaction.describe(f"{name} before")
    cluster.log("before", 1, high_watermark=3, isolation=1)

    cluster.do(fault)
    coordinator_is(ask, ongoing.id, 1, AT_AFTER)
    for name, transaction in made.items():
        transaction.at = AT_AFTER
        transaction.describe(f"{name} at the new coordinator")
    cluster.offsets("the transaction is open", at=1)
    ongoing.write("ongoing, another record", 1)
    ongoing.end("ongoing, commit")
    ongoing.becomes("CompleteCommit")
    ongoing.end("ongoing, commit again")
    complete.end("complete, abort", committed=False)
    empty.end("empty, commit")
    cluster.log("committed by the new coordinator", 1, high_watermark=5, isolation=1)
    empty.written()
    for name, transaction in made.items():
        transaction.describe(f"{name} after requests to the new coordinator")

    cluster.undo(fault)
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    for name, transaction in made.items():
        transaction.at = AT_BEFORE
        transaction.describe(f"{name} at the old coordinator")
    empty.end("empty, commit at the old coordinator")
    coordinate(ask, STATE, ongoing.id, 1, [2, 3, 1])
    for name, transaction in made.items():
        transaction.describe(f"{name} at the end")
    empty.end("empty, abort at the end", committed=False)
    empty.becomes("CompleteAbort")
    cluster.log("at the end", 1, 3, high_watermark=7, isolation=1)


@scenario("KIP-98 TransactionCoordinator.onElection TransactionCoordinator.onResignation", level="must")
def transaction_coordinator_stopped(ask: ScenarioBuilder) -> None:
    """If the coordinator of transactions shuts down, the next replica of __transaction_state continues them in the
    states that they had."""
    without_coordinator(ask, "stop")


@scenario("KIP-98 TransactionCoordinator.onElection", level="must")
def transaction_coordinator_killed(ask: ScenarioBuilder) -> None:
    """If the coordinator of transactions crashes, the next one continues them in the states that they had."""
    without_coordinator(ask, "kill")


@scenario("KIP-98 TransactionCoordinator.onElection TransactionCoordinator.onResignation", level="must")
def transaction_coordinator_paused(ask: ScenarioBuilder) -> None:
    """A coordinator of transactions that pauses for longer than its session is replaced, and answers NOT_COORDINATOR
    when it continues."""
    without_coordinator(ask, "pause")


@scenario("KIP-98 org.apache.kafka.metadata.KRaftMetadataCache.getPartitionLeaderEndpoint", level="must")
def transaction_without_leader(ask: ScenarioBuilder) -> None:
    """A decided transaction waits until it can write its marker to a partition without a leader; recent releases skip
    the partition, in which the transaction then stays open."""
    waits = ask.release < "4.3"
    cluster, other = Cluster(ask, (3,)), Cluster(ask, (1,), "u")
    transaction = Transaction(ask, 1, cluster)
    coordinate(ask, STATE, transaction.id, 1, [2, 1, 3])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    transaction.begun()
    topics = [{"name": each.topic, "partitions": [0]} for each in (cluster, other)]
    there = {"retry_errors": TRANSACTION_ERRORS, "conn": "at-2"}
    ask.setup("AddPartitionsToTxn", 3, transaction.of(topics=topics), **there)
    transaction.write("", 0, at=3)
    cluster.do("stop", 3)
    cluster.wait(leader_id=-1)
    cluster.wait(leader_id=-1, at=2)
    transaction.end("commit without a leader")
    other.log("the other partition", 1, high_watermark=1, isolation=1)
    transaction.becomes("PrepareCommit" if waits else "CompleteCommit")
    transaction.describe("without a leader")
    transaction.end("commit again")
    body = {"transactional_id": transaction.id, "transaction_timeout_ms": 600_000}
    if waits:
        ask.request("a new producer", "InitProducerId", 3, body, conn="at-2", only=["error_code"])
    cluster.undo("stop", 3)
    cluster.leads(3)
    transaction.becomes("CompleteCommit")
    cluster.log("the leader is back", 3, high_watermark=2 if waits else 1, isolation=1)
    cluster.offsets("the leader is back", at=3)
    transaction.describe("the leader is back")
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])


class Prepared:
    """Transactions that are decided while the leader that has to write their markers pauses."""

    def __init__(self, ask: ScenarioBuilder) -> None:
        self.ask, self.cluster = ask, Cluster(ask, (3, 1))
        versions = [3, 5] if ask.release >= "4" else [3]
        made = [Transaction(ask, number, self.cluster) for number in range(1, len(versions) + 2)]
        self.versions = dict(zip(made, [*versions, versions[-1]], strict=True))
        coordinate(ask, STATE, made[0].id, 1, [2, 1, 3])
        self.cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
        skipped: Step = {"transactional_id": None, "transaction_timeout_ms": 60_000}
        ask.setup("InitProducerId", 3, skipped, conn="at-2", retry_errors=TRANSACTION_ERRORS)
        for transaction in made:
            transaction.begun()
            transaction.added()
            transaction.write("", 0, at=3)
        self.cluster.do("pause", 3)
        for number, (transaction, version) in enumerate(self.versions.items()):
            self._end(transaction, version, is_committed=number != 1)

    def _end(self, transaction: Transaction, version: int, *, is_committed: bool) -> None:
        name = f"{transaction.number}, v{version}"
        body = transaction.of(committed=is_committed)
        self.ask.request(f"{name}: end", "EndTxn", version, body, conn="at-2")
        transaction.becomes("PrepareCommit" if is_committed else "PrepareAbort")
        transaction.describe(f"{name}: prepared")
        self.ask.request(f"{name}: end again", "EndTxn", version, body, conn="at-2")
        self.ask.request(
            f"{name}: the opposite", "EndTxn", version, body | {"committed": not is_committed}, conn="at-2"
        )
        new = {"transactional_id": transaction.id, "transaction_timeout_ms": 600_000}
        self.ask.request(f"{name}: a new producer", "InitProducerId", 3, new, conn="at-2", only=["error_code"])

    def complete(self, case: str, at: int) -> None:
        """Wait until a coordinator has completed all transactions."""
        for number, transaction in enumerate(self.versions):
            transaction.at = at
            transaction.becomes("CompleteAbort" if number == 1 else "CompleteCommit")
            transaction.describe(f"{transaction.number}: {case}")


@scenario("KIP-98 KIP-890 TransactionCoordinator.endTransaction", level="must")
def prepared_transactions(ask: ScenarioBuilder) -> None:
    """A decided transaction stays prepared while the leader that has to write its marker pauses, and is complete when
    this leader continues."""
    prepared = Prepared(ask)
    prepared.cluster.undo("pause", 3)
    prepared.complete("complete", at=2)
    prepared.cluster.wait(isr_nodes=[1, 3])
    prepared.cluster.log("the leader continues", 1, 3, high_watermark=2 * len(prepared.versions), isolation=1)


@scenario("KIP-98 KIP-890 TransactionCoordinator.endTransaction", level="must")
def prepared_transactions_timed_out(ask: ScenarioBuilder) -> None:
    """The request with a marker that a paused leader has got must time out before the next leader gets the marker."""
    prepared = Prepared(ask)
    prepared.cluster.leads(1)
    ask.step("sleep", ms=1000)
    for transaction in prepared.versions:
        transaction.describe(f"{transaction.number}: another leader")
    prepared.complete("complete", at=2)
    prepared.cluster.log("another leader", 1, isolation=1)
    prepared.cluster.undo("pause", 3)
    prepared.cluster.wait(isr_nodes=[1, 3])
    prepared.cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    prepared.cluster.log("the old leader is back", 1, isolation=1)


def prepared_transactions_disturbed(ask: ScenarioBuilder, fault: str) -> None:
    prepared = Prepared(ask)
    cluster = prepared.cluster
    first = next(iter(prepared.versions))
    cluster.leads(1)
    if fault == "move":
        coordinate(ask, STATE, first.id, 1, [1, 2, 3])
    else:
        cluster.do(fault, 2)
        coordinator_is(ask, first.id, 1, 1)
        cluster.undo(fault, 2)
    cluster.wait(topic=STATE, isr_nodes=[1, 2])
    prepared.complete("complete at the new coordinator", at=1)
    cluster.log("another leader", 1, isolation=1)
    cluster.offsets("another leader", at=1)
    cluster.undo("pause", 3)
    cluster.wait(isr_nodes=[1, 3])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    cluster.log("the old leader is back", 1, isolation=1)


@scenario("KIP-98 KIP-890 TransactionCoordinator.onElection TransactionCoordinator.onResignation", level="must")
def prepared_transactions_moved(ask: ScenarioBuilder) -> None:
    """If another replica is elected to coordinate transactions, it writes the markers of those that are prepared."""
    prepared_transactions_disturbed(ask, "move")


@scenario("KIP-98 KIP-890 TransactionCoordinator.onElection TransactionCoordinator.onResignation", level="must")
def prepared_transactions_stopped(ask: ScenarioBuilder) -> None:
    """If the coordinator shuts down, the next one writes the markers of prepared transactions."""
    prepared_transactions_disturbed(ask, "stop")


@scenario("KIP-98 KIP-890 TransactionCoordinator.onElection", level="must")
def prepared_transactions_killed(ask: ScenarioBuilder) -> None:
    """If the coordinator crashes, the next one writes the markers of prepared transactions."""
    prepared_transactions_disturbed(ask, "kill")


def fenced_transactions_disturbed(ask: ScenarioBuilder, fault: str) -> None:
    """Let transactions expire before and after their coordinator moves, and fence a producer before."""
    cluster = Cluster(ask, (1, 3))
    expired, fenced, late = [Transaction(ask, number, cluster) for number in (1, 2, 3)]
    coordinate(ask, STATE, late.id, 1, [2, 3, 1])
    cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])
    skipped: Step = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    ask.setup("InitProducerId", 3, skipped, conn="at-2", retry_errors=TRANSACTION_ERRORS)
    expired.begun(timeout_ms=1000)
    expired.written()
    expired.becomes("CompleteAbort")
    expired.describe("expired")
    fenced.begun()
    fenced.written()
    body = {"transactional_id": fenced.id, "transaction_timeout_ms": 600_000}
    ask.request("a new producer", "InitProducerId", 3, body, conn="at-2")
    fenced.becomes("CompleteAbort")
    fenced.describe("fenced")
    late.begun(timeout_ms=15_000)
    late.written()
    late.describe("open")

    if fault == "move":
        coordinate(ask, STATE, late.id, 1, [3, 2, 1])
    else:
        cluster.do(fault)
        coordinator_is(ask, late.id, 1, AT_AFTER)
    for name, transaction in (("expired", expired), ("fenced", fenced), ("expires later", late)):
        transaction.at = AT_AFTER
        transaction.becomes("CompleteAbort")
        transaction.describe(f"{name}, at the new coordinator")
        transaction.write(f"{name}: write", 1)
        partitions = {"topics": [{"name": cluster.topic, "partitions": [0]}]}
        ended = [(version, committed) for committed in (True, False) for version in (1, 3, *ask.versions("EndTxn", 5))]
        requests: list[tuple[str, str, int, Step]] = [
            (f"{name}: AddPartitionsToTxn v3", "AddPartitionsToTxn", 3, partitions),
            *((f"{name}: EndTxn v{v} {committed}", "EndTxn", v, {"committed": committed}) for v, committed in ended),
        ]
        for case, api, version, more in requests:
            ask.request(case, api, version, transaction.of(**more), conn=f"at-{AT_AFTER}")
        own = {"producer_id": f"$P{transaction.number}", "producer_epoch": f"$E{transaction.number}"}
        body = {"transactional_id": transaction.id, "transaction_timeout_ms": 600_000}
        ask.request(f"{name}: the same producer", "InitProducerId", 3, body | own, conn=f"at-{AT_AFTER}")
        ask.request(f"{name}: a new producer", "InitProducerId", 3, body, conn=f"at-{AT_AFTER}")
        transaction.describe(f"{name}, initialized")
    cluster.log("at the end", 1, high_watermark=6, isolation=1)
    if fault != "move":
        cluster.undo(fault)
        cluster.wait(topic=STATE, isr_nodes=[1, 2, 3])


@scenario("KIP-98 KIP-360 KIP-890 TransactionCoordinator.onElection", level="must")
def fenced_transactions_moved(ask: ScenarioBuilder) -> None:
    """If another replica is elected to coordinate transactions, producers whose transaction has expired or that are
    fenced stay so, and transactions expire later."""
    fenced_transactions_disturbed(ask, "move")


@scenario("KIP-98 KIP-360 KIP-890 TransactionCoordinator.onElection", level="must")
def fenced_transactions_stopped(ask: ScenarioBuilder) -> None:
    """If the coordinator shuts down, producers stay fenced, and transactions expire at the next one."""
    fenced_transactions_disturbed(ask, "stop")


@scenario("KIP-98 KIP-360 KIP-890 TransactionCoordinator.onElection", level="must")
def fenced_transactions_killed(ask: ScenarioBuilder) -> None:
    """If the coordinator crashes, producers stay fenced, and transactions expire at the next one."""
    fenced_transactions_disturbed(ask, "kill")
