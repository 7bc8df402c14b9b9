"""APIs of the transaction coordinator: InitProducerId, AddPartitionsToTxn, EndTxn, WriteTxnMarkers and others."""

from collections.abc import Iterable
from typing import Any

from kafkalet_conformance.building import COORDINATOR_ERRORS, TRANSACTION_ERRORS, ScenarioBuilder, Step, batch
from tools.recording.definitions import KAFKA_4_4, Scenarios

scenario = Scenarios("transactions")

NO_ID = 987_654_321


class Coordinated:
    """The transactional id `$X1` with the producer id `$P1`; requests state the epoch."""

    def __init__(self, ask: ScenarioBuilder, number: int = 1) -> None:
        self.ask, self.number = ask, number
        self.producer_id = f"$P{number}"
        self.id = ask.transactional_id(f"X{number}")

    def of(self, epoch: int, **more: Any) -> Step:
        return {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": epoch} | more

    def init(self, case: str, version: int = 4, name: str = "", **more: Any) -> None:
        body = {"transactional_id": self.id, "transaction_timeout_ms": 60000} | more
        bind = {name or f"P{self.number}": "producer_id"}
        self.ask.request(case, "InitProducerId", version, body, bind=bind, retry_errors=COORDINATOR_ERRORS)

    def begun(self, version: int = 4, **more: Any) -> None:
        body = {"transactional_id": self.id, "transaction_timeout_ms": 60000} | more
        bind = {f"P{self.number}": "producer_id"}
        self.ask.setup("InitProducerId", version, body, bind=bind, retry_errors=TRANSACTION_ERRORS)

    def add(self, case: str, epoch: int, *partitions: tuple[str, Iterable[int]], version: int = 3, **more: Any) -> None:
        """Send AddPartitionsToTxn, since version 4 in the form used by brokers."""
        topics = [{"name": topic, "partitions": list(which)} for topic, which in partitions]
        flags = {key: more.pop(key) for key in ("verify_only",) if key in more}
        body = self.of(epoch, topics=topics) | more
        body = {"transactions": [body | flags]} if version >= 4 else body
        self.ask.request(case, "AddPartitionsToTxn", version, body, retry_errors=COORDINATOR_ERRORS)

    def added(self, epoch: int, *partitions: tuple[str, Iterable[int]]) -> None:
        topics = [{"name": topic, "partitions": list(which)} for topic, which in partitions]
        self.ask.setup("AddPartitionsToTxn", 3, self.of(epoch, topics=topics), retry_errors=TRANSACTION_ERRORS)

    def end(self, case: str, epoch: int, committed: bool = True, version: int = 4, **more: Any) -> None:
        body = self.of(epoch, committed=committed) | more
        bind = {"bind": {"P99": "producer_id"}} if version >= 5 else {}
        self.ask.request(case, "EndTxn", version, body, **bind)

    def produce(self, case: str, epoch: int, topic: str, sequence: int = 0, version: int = 11, **more: Any) -> None:
        fields = {"producer_id": self.producer_id, "producer_epoch": epoch, "base_sequence": sequence} | more
        ready = batch(10, transactional=True, **fields)
        self.ask.produce(topic, ready, case=case, version=version, transactional_id=self.id)

    def wait_until(self, *states: str) -> None:
        body = {"transactional_ids": [self.id]}
        self.ask.until("DescribeTransactions", 0, body, "transaction_states.0.transaction_state", states[0])

    def describe(self, case: str) -> None:
        self.ask.request(case, "DescribeTransactions", 0, {"transactional_ids": [self.id]})

    def look(self, case: str, topic: str) -> None:
        """Describe the transaction and the producers of the log, and look up its end under both isolation levels."""
        self.describe(f"{case}: described")
        asked = {"topics": [{"name": topic, "partition_indexes": [0]}]}
        self.ask.request(f"{case}: producers", "DescribeProducers", 0, asked)
        for level, name in enumerate(("uncommitted", "committed")):
            self.ask.offsets(f"{case}: latest {name}", topic, -1, 5, isolation_level=level)


@scenario(
    "KIP-98 TransactionCoordinator.handleInitProducerId TransactionStateManager.validateTransactionTimeoutMs",
    level="must",
)
def transactions_init(ask: ScenarioBuilder) -> None:
    """InitProducerId returns a producer id and epoch for a transactional id, INVALID_REQUEST for an empty one, and
    INVALID_TRANSACTION_TIMEOUT for a timeout of 0 or above transaction.max.timeout.ms."""
    txn = Coordinated(ask)
    for version in ask.versions("InitProducerId"):
        txn.init(f"v{version} no transactional id", version, "P9", transactional_id=None)
        txn.init(
            f"v{version} no transactional id, odd timeout",
            version,
            "P9",
            transactional_id=None,
            transaction_timeout_ms=-5,
        )
        txn.init(f"v{version} an empty transactional id", version, "P9", transactional_id="")
        txn.init(f"v{version} an id", version)
        for timeout_ms in (0, -1, 900001, 2147483647):
            txn.init(f"v{version} timeout {timeout_ms}", version, "P9", transaction_timeout_ms=timeout_ms)
        for timeout_ms in (1, 900000):
            txn.init(f"v{version} timeout {timeout_ms}", version, transaction_timeout_ms=timeout_ms)
    txn.describe("describe")


@scenario("KIP-360 KIP-588 TransactionCoordinator.prepareInitProducerIdTransit", level="must", InitProducerId=3)
def transactions_init_again(ask: ScenarioBuilder) -> None:
    """InitProducerId with the current producer id and epoch bumps the epoch; another epoch gets INVALID_PRODUCER_EPOCH
    in version 3, and PRODUCER_FENCED since version 4."""
    for version in ask.versions("InitProducerId", 3):
        txn = Coordinated(ask, version)

        def init(case: str, producer_id: Any, epoch: int, txn: Coordinated = txn, version: int = version) -> None:
            txn.init(f"v{version} {case}", version, "P99", producer_id=producer_id, producer_epoch=epoch)

        init("an unknown id with a producer id", NO_ID, 0)
        init("an unknown id with a producer id and no epoch", NO_ID, -1)
        init("an unknown id with an epoch and no producer id", -1, 3)
        txn.init(f"v{version} new", version)
        own = txn.producer_id
        init("its own", own, 0)
        init("its own once more, as before", own, 0)
        init("its own, next", own, 1)
        init("an older epoch", own, 0)
        init("a newer epoch", own, 9)
        init("another producer id", NO_ID, 2)
        init("no epoch", own, -1)
        init("no producer id", -1, 2)
        txn.init(f"v{version} without", version, "P99")
        init("the epoch before that", own, 2)
        init("the epoch now", own, 3)
        txn.describe(f"v{version} describe")
        body = {"transactional_id": None, "transaction_timeout_ms": 60000, "producer_id": own, "producer_epoch": 3}
        ask.request(
            f"v{version} a producer id without a transactional id",
            "InitProducerId",
            version,
            body,
            bind={"P99": "producer_id"},
        )


@scenario("KIP-98 KIP-588 TransactionCoordinator.handleInitProducerId", level="must")
def transactions_takeover(ask: ScenarioBuilder) -> None:
    """InitProducerId during an open transaction aborts it, after which transactional requests in any epoch but the new
    one are fenced."""
    t = ask.topic("t", 2)
    txn = Coordinated(ask)
    txn.begun()
    txn.added(0, (t, (0,)))
    txn.produce("the first produces", 0, t)
    txn.look("open", t)
    txn.ask.setup(
        "InitProducerId", 4, {"transactional_id": txn.id, "transaction_timeout_ms": 60000}, must_succeed=False
    )
    txn.wait_until("CompleteAbort")
    txn.look("fenced", t)
    txn.init("the second begins")
    txn.look("the second has begun", t)
    for epoch in (0, 1, 2, 3):
        for version in (4, 11):
            txn.produce(f"v{version} produce in epoch {epoch}", epoch, t, 1, version)
        for version in (0, 1, 2, 3):
            txn.add(f"v{version} add in epoch {epoch}", epoch, (t, (1,)), version=version)
        for version in (0, 2, 4):
            body = txn.of(epoch, group_id="c.some-group")
            ask.request(f"v{version} add offsets in epoch {epoch}", "AddOffsetsToTxn", version, body)
        txn.end(f"end in epoch {epoch}", epoch)
    txn.wait_until("CompleteCommit")
    txn.look("at the end", t)


@scenario(
    "KIP-98 TransactionCoordinator.handleAddPartitionsToTransaction KafkaApis.handleAddPartitionsToTxnRequest",
    level="must",
)
def transactions_add(ask: ScenarioBuilder) -> None:
    """If one partition of AddPartitionsToTxn is unknown, the broker adds none and returns OPERATION_NOT_ATTEMPTED for
    the others."""
    t, u, n = ask.topic("t", 3), ask.topic("u"), ask.unknown_topic()
    for version in ask.versions("AddPartitionsToTxn"):
        txn = Coordinated(ask, version + 1)
        v: dict[str, Any] = {"version": version}
        more = Coordinated(ask, 50 + version)
        more.producer_id = NO_ID  # type: ignore[assignment]
        more.add(f"v{version} an unknown transactional id", 0, (t, (0,)), **v)
        txn.begun()
        txn.add(f"v{version} unknown topic", 0, (n, (0,)), (t, (0, 1)), **v)
        txn.add(f"v{version} unknown partition", 0, (t, (0, 9)), **v)
        txn.describe(f"v{version} nothing was added")
        txn.add(f"v{version} no topics", 0, **v)
        txn.add(f"v{version} no partitions", 0, (t, ()), **v)
        txn.add(f"v{version} another producer id", 0, (t, (0,)), producer_id=NO_ID, **v)
        txn.add(f"v{version} a newer epoch", 1, (t, (0,)), **v)
        txn.add(f"v{version} epoch -1", -1, (t, (0,)), **v)
        txn.add(f"v{version} a nameless id", 0, (t, (0,)), transactional_id="", **v)
        txn.add(f"v{version} two topics", 0, (t, (2, 0)), (u, (0,)), **v)
        txn.describe(f"v{version} they were added")
        txn.add(f"v{version} the same again", 0, (t, (0,)), **v)
        txn.add(f"v{version} one more, one of them twice", 0, (t, (1, 1)), **v)
        txn.describe(f"v{version} all were added")
        txn.end(f"v{version} end", 0)
        txn.wait_until("CompleteCommit")
        txn.describe(f"v{version} after the end")
        txn.add(f"v{version} the next transaction", 0, (u, (0,)), **v)
        txn.describe(f"v{version} in the next transaction")


@scenario("KIP-890 TransactionCoordinator.handleVerifyPartitionsInTransaction", AddPartitionsToTxn=4)
def transactions_verify(ask: ScenarioBuilder) -> None:
    """AddPartitionsToTxn since version 4 handles several transactions, and with verify_only it returns
    TRANSACTION_ABORTABLE for partitions that are not in the transaction."""
    t, n = ask.topic("t", 3), ask.unknown_topic()
    for version in ask.versions("AddPartitionsToTxn", 4):
        first, second = Coordinated(ask, 10 + version), Coordinated(ask, 20 + version)
        first.begun()
        second.begun()
        v = {"version": version, "verify_only": True}
        first.add(f"v{version} verify before it begins", 0, (t, (0,)), **v)
        first.added(0, (t, (0, 1)))
        first.add(f"v{version} verify", 0, (t, (0, 1, 2)), **v)
        first.add(f"v{version} verify unknown ones", 0, (n, (0,)), (t, (9, 0)), **v)
        first.add(f"v{version} verify another producer id", 0, (t, (0,)), producer_id=NO_ID, **v)
        first.add(f"v{version} verify a newer epoch", 1, (t, (0,)), **v)
        first.add(f"v{version} verify an unknown id", 0, (t, (0,)), transactional_id="no-such-id", **v)
        several = [
            first.of(0, verify_only=True, topics=[{"name": t, "partitions": [0]}]),
            second.of(0, verify_only=False, topics=[{"name": t, "partitions": [2]}]),
        ]
        ask.request(f"v{version} several", "AddPartitionsToTxn", version, {"transactions": several})
        second.describe(f"v{version} the second")
        first.end(f"v{version} end", 0, False)
        first.wait_until("CompleteAbort")
        first.add(f"v{version} verify after the end", 0, (t, (0,)), **v)


@scenario("KIP-98 KIP-588 TransactionCoordinator.handleEndTransaction", level="must")
def transactions_end(ask: ScenarioBuilder) -> None:
    """EndTxn v0 to v4 commits or aborts an open transaction, accepts a repetition of the same result, and returns
    INVALID_TXN_STATE for the other result."""
    t = ask.topic("t")
    for version in ask.versions("EndTxn", 0, 4):
        txn = Coordinated(ask, version + 1)
        v: dict[str, Any] = {"version": version}
        txn.begun()
        for committed in (True, False):
            txn.end(f"v{version} nothing begun, {committed}", 0, committed, **v)
        txn.added(0, (t, (0,)))
        txn.end(f"v{version} another producer id", 0, producer_id=NO_ID, **v)
        txn.end(f"v{version} a newer epoch", 1, **v)
        txn.end(f"v{version} an unknown id", 0, transactional_id="no-such-id", **v)
        txn.end(f"v{version} a nameless id", 0, transactional_id="", **v)
        txn.end(f"v{version} commit", 0, **v)
        txn.wait_until("CompleteCommit")
        txn.end(f"v{version} commit again", 0, **v)
        txn.end(f"v{version} abort after that", 0, False, **v)
        txn.describe(f"v{version} committed")
        txn.added(0, (t, (0,)))
        txn.end(f"v{version} abort", 0, False, **v)
        txn.wait_until("CompleteAbort")
        txn.end(f"v{version} abort again", 0, False, **v)
        txn.end(f"v{version} commit after that", 0, **v)
        txn.describe(f"v{version} aborted")
        txn.look(f"v{version} in the log", t)


@scenario("KIP-890 TransactionCoordinator.endTransaction", KAFKA_4_4, level="must", EndTxn=5)
def transactions_end_epochs(ask: ScenarioBuilder) -> None:
    """EndTxn v5 ends the transaction and returns the next epoch of the producer, accepts a repetition in the old epoch,
    and fences every other epoch."""
    t = ask.topic("t")
    txn = Coordinated(ask)
    v: dict[str, Any] = {"version": 5}
    txn.begun()
    for committed in (True, False):
        txn.end(f"nothing begun, {committed}", 0, committed, **v)
        txn.wait_until("Empty" if committed else "CompleteAbort")
        txn.describe(f"nothing begun, {committed}: described")
    txn.begun(5)
    txn.describe("begun again")
    txn.init("how far it is", name="P98")
    epoch = 3
    txn.produce("the first record of the transaction", epoch, t, version=12)
    txn.look("open", t)
    txn.end("another producer id", epoch, producer_id=NO_ID, **v)
    txn.end("an older epoch", epoch - 1, **v)
    txn.end("a newer epoch", epoch + 1, **v)
    txn.end("commit", epoch, **v)
    txn.wait_until("CompleteCommit")
    txn.look("committed", t)
    txn.end("commit again, same epoch", epoch, **v)
    txn.end("abort after the commit, same epoch", epoch, False, **v)
    txn.end("commit in the next epoch", epoch + 1, **v)
    txn.end("abort in the next epoch", epoch + 1, False, **v)
    txn.wait_until("CompleteAbort")
    txn.describe("after an abort of nothing")
    for old in (epoch, epoch + 1, epoch + 2):
        for version in (11, 12):
            txn.produce(f"v{version} produce in epoch {old}", old, t, version=version)
        txn.look(f"after producing in epoch {old}", t)


@scenario("KIP-890 ReplicaManager.handleProduceAppend", KAFKA_4_4, level="must", EndTxn=5)
def transactions_implicit(ask: ScenarioBuilder) -> None:
    """With transactions version 2, Produce v12 and TxnOffsetCommit v5 add their partitions to the transaction, while
    older versions return an error for partitions that were not added."""
    t = ask.topic("t", 2)
    txn = Coordinated(ask)
    txn.begun()
    for version in (9, 10, 11):
        txn.produce(f"v{version} produce without adding", 0, t, version=version)
    txn.look("nothing yet", t)
    for version in ask.versions("Produce", 12):
        if version == 12:
            txn.produce(f"v{version} produce without adding", 0, t, version=version)
    txn.look("it has begun", t)
    txn.produce("v12 produce more", 0, t, 1, version=12)
    txn.produce("v12 produce in a newer epoch", 1, t, 0, version=12)
    txn.produce("v12 produce with another producer id", 0, t, 0, version=12, producer_id=NO_ID)
    txn.produce("v11 produce more", 0, t, 2, version=11)
    txn.end("commit by version 4", 0, version=4)
    txn.wait_until("CompleteCommit")
    txn.look("committed by version 4", t)
    txn.produce("v12 produce in the same epoch", 0, t, 3, version=12)
    txn.produce("v12 produce in the next epoch", 1, t, 0, version=12)
    txn.look("in the next epoch", t)
    txn.add("add in the next epoch", 1, (t, (1,)))
    txn.add("add in the same epoch", 0, (t, (1,)))
    txn.end("abort by version 5", 0, False, version=5)
    txn.wait_until("CompleteAbort")
    txn.look("aborted by version 5", t)


@scenario(
    "KIP-890 ReplicaManager.maybeStartTransactionVerificationForPartitions ProducerAppendInfo.checkSequence",
    level="must",
)
def transactions_produce(ask: ScenarioBuilder) -> None:
    """Produce rejects a transactional batch for a partition that is not in the open transaction, with INVALID_TXN_STATE
    before version 11 and TRANSACTION_ABORTABLE since."""
    t = ask.topic("t", 2)
    txn = Coordinated(ask)
    txn.begun()
    txn.produce("before adding", 0, t)
    txn.produce("before adding, version 8", 0, t, version=8)
    txn.added(0, (t, (1,)))
    txn.produce("after adding another partition", 0, t)
    txn.added(0, (t, (0,)))
    txn.produce("a sequence that does not begin at 0", 0, t, 5)
    txn.produce("after adding", 0, t)
    txn.produce("the same again", 0, t)
    txn.produce("a gap", 0, t, 5)
    txn.look("open", t)
    txn.end("commit", 0)
    txn.wait_until("CompleteCommit")
    txn.produce("after the end", 0, t, 1)
    txn.look("at the end", t)


@scenario("KIP-98 KIP-890 ReplicaManager.handleProduceAppend")
def transactions_produce_odd(ask: ScenarioBuilder) -> None:
    """While a transaction is open, Produce rejects batches with another producer id, an older epoch or no transactional
    id; in release 4.4, it also rejects a newer epoch."""
    t = ask.topic("t")
    txn = Coordinated(ask)
    txn.begun()
    txn.added(0, (t, (0,)))
    txn.produce("produce", 0, t)
    txn.produce("another producer id", 0, t, producer_id=NO_ID)
    txn.produce("a newer epoch", 1, t)
    txn.produce("an older epoch", -1, t)
    fields = {"producer_id": txn.producer_id, "producer_epoch": 0, "base_sequence": 1}
    ask.produce(t, batch(10, transactional=True, **fields), case="no transactional id", version=9)
    ask.produce(t, batch(10, **fields), case="not transactional", version=9, transactional_id=txn.id)
    other: dict[str, Any] = {"case": "another transactional id", "version": 9, "transactional_id": "another"}
    ask.produce(t, batch(10, transactional=True, **fields), **other)
    txn.look("open", t)


@scenario("KIP-98 TransactionCoordinator.abortTimedOutTransactions", level="must")
def transactions_timeout(ask: ScenarioBuilder) -> None:
    """The coordinator aborts a transaction that exceeds its timeout and bumps the epoch, so that later requests of the
    producer in the old epoch are fenced."""
    t = ask.topic("t")
    txn = Coordinated(ask)
    txn.begun(transaction_timeout_ms=1000)
    txn.added(0, (t, (0,)))
    txn.produce("produce in time", 0, t)
    txn.look("open", t)
    body = {"transactional_ids": [txn.id]}
    ask.until("DescribeTransactions", 0, body, "transaction_states.0.transaction_state", "CompleteAbort")
    ask.steps[-1]["timeout_ms"] = 40000
    txn.look("too late", t)
    txn.produce("produce too late", 0, t, 1)
    txn.add("add too late", 0, (t, (0,)))
    for version in (3, 4, *ask.versions("EndTxn", 5)):
        txn.end(f"v{version} end too late", 0, version=version)
        txn.end(f"v{version} abort too late", 0, False, version=version)
    own: dict[str, Any] = {"producer_id": txn.producer_id, "producer_epoch": 0}
    txn.init("begin again with the old epoch", name="P98", **own)
    txn.init("begin again", name="P97")
    txn.look("begun again", t)


@scenario(
    "KIP-98 KIP-890 ProducerAppendInfo.appendEndTxnMarker ProducerAppendInfo.checkCoordinatorEpoch", level="detail"
)
def transactions_markers(ask: ScenarioBuilder) -> None:
    """WriteTxnMarkers appends the markers to the given partitions, and rejects older producer epochs and older
    coordinator epochs."""
    t, n = ask.topic("t", 2), ask.unknown_topic()
    ask.let("P1", NO_ID)
    for version in ask.versions("WriteTxnMarkers"):
        txn = Coordinated(ask, version + 2)
        txn.begun()
        txn.added(0, (t, (0,)))
        txn.produce(f"v{version} produce", 0, t)

        def mark(
            case: str,
            producer_id: Any,
            epoch: int,
            *topics: tuple[str, tuple[int, ...]],
            version: int = version,
            **more: Any,
        ) -> None:
            asked = [{"name": name, "partition_indexes": list(which)} for name, which in topics]
            marker = {"producer_id": producer_id, "producer_epoch": epoch, "topics": asked, "coordinator_epoch": 0}
            body = {"markers": [marker | {"transaction_result": False} | more]}
            ask.request(f"v{version} {case}", "WriteTxnMarkers", version, body)

        mark("unknown topic", txn.producer_id, 0, (n, (0,)))
        mark("unknown partition", txn.producer_id, 0, (t, (7,)))
        mark("no topics", txn.producer_id, 0)
        mark("known and unknown", txn.producer_id, 0, (t, (0, 7)), (n, (1,)))
        txn.look(f"v{version} marked", t)
        mark("again", txn.producer_id, 0, (t, (0,)))
        mark("an older epoch", txn.producer_id, -1, (t, (0,)))
        mark("a newer epoch", txn.producer_id, 3, (t, (0,)), transaction_result=True)
        mark("the older epoch now", txn.producer_id, 0, (t, (0,)))
        mark("a newer coordinator", txn.producer_id, 3, (t, (0,)), coordinator_epoch=5)
        mark("an older coordinator", txn.producer_id, 3, (t, (0,)), coordinator_epoch=4)
        mark("an unknown producer", NO_ID, 0, (t, (1,)))
        ask.request(f"v{version} none", "WriteTxnMarkers", version, {"markers": []})
        for transaction_version in (0, 1, 2, 3, 9) if version >= 2 else ():
            kind = {"transaction_version": transaction_version}
            mark(f"transaction version {transaction_version}, same epoch", txn.producer_id, 3, (t, (1,)), **kind)
            mark(f"transaction version {transaction_version}, next epoch", txn.producer_id, 4, (t, (1,)), **kind)
        txn.look(f"v{version} at the end", t)


@scenario("KIP-664 KIP-994 KIP-1152 TransactionStateManager.listTransactionStates", DescribeTransactions=0)
def transactions_list(ask: ScenarioBuilder) -> None:
    """ListTransactions filters by state, producer id, duration and a pattern of transactional ids, and returns the
    state names in the request that it does not know.
    """
    t = ask.topic("t")
    fresh, opened, committed, aborted = (Coordinated(ask, n) for n in (1, 2, 3, 4))
    for txn in (fresh, opened, committed, aborted):
        txn.begun()
    for txn in (opened, committed, aborted):
        txn.added(0, (t, (0,)))
    committed.end("one commits", 0)
    aborted.end("one aborts", 0, False)
    committed.wait_until("CompleteCommit")
    aborted.wait_until("CompleteAbort")
    keep = {"keep": {"transaction_states": "transactional_id"}}
    for version in ask.versions("ListTransactions"):

        def listed(case: str, version: int = version, **more: Any) -> None:
            body = {"state_filters": [], "producer_id_filters": []} | more
            ask.request(f"v{version} {case}", "ListTransactions", version, body, **keep)

        listed("all")
        for state in (
            "Ongoing",
            "Empty",
            "CompleteCommit",
            "CompleteAbort",
            "PrepareCommit",
            "Dead",
            "PrepareEpochFence",
        ):
            listed(f"state {state}", state_filters=[state])
        for states in (["ongoing"], ["nope"], ["nope", "Ongoing"], [""], ["Ongoing", "Empty", "Empty"]):
            listed(f"states {states}", state_filters=states)
        listed("a producer id", producer_id_filters=["$P2"])
        listed("two producer ids, one unknown", producer_id_filters=["$P3", NO_ID])
        listed("an unknown producer id", producer_id_filters=[NO_ID])
        listed("a state and a producer id", state_filters=["Empty"], producer_id_filters=["$P2"])
        for duration_ms in (-1, 0, 1_000_000) if version >= 1 else ():
            listed(f"duration {duration_ms}", duration_filter=duration_ms)
        for pattern in (None, "", ".*", ".*X2", "X2", "[", "nope") if version >= 2 else ():
            listed(f"pattern {pattern}", transactional_id_pattern=pattern)
    several = [opened.id, "no-such-id", "", fresh.id, opened.id]
    ask.request("describe several", "DescribeTransactions", 0, {"transactional_ids": several})
    ask.request("describe none", "DescribeTransactions", 0, {"transactional_ids": []})


@scenario("KIP-890 ProducerAppendInfo.checkProducerEpoch ReplicaManager.handleProduceAppend", level="detail")
def found_transactional_epochs(ask: ScenarioBuilder) -> None:
    """For a transactional batch with a transactional id of another producer, Produce returns INVALID_PRODUCER_EPOCH
    below the epoch in the log and INVALID_PRODUCER_ID_MAPPING otherwise."""
    t = ask.topic()
    x = ask.transactional_id()
    for name, owner in (("P1", None), ("P2", x)):
        body = {"transactional_id": owner, "transaction_timeout_ms": 60000}
        ask.setup("InitProducerId", 3, body, bind={name: "producer_id"}, retry_errors=COORDINATOR_ERRORS)
    plain = batch(10, producer_id="$P1", producer_epoch=1, base_sequence=0)
    ask.produce(t, plain, case="not transactional, in epoch 1", version=9)
    for version in ask.versions("Produce", 9, 12):
        for owner, of in ((x, "another producer's"), ("c.nobody", "nobody's")):
            for epoch in (0, 1, 2):
                for sequence in (0, 1):
                    records = batch(
                        10, transactional=True, producer_id="$P1", producer_epoch=epoch, base_sequence=sequence
                    )
                    case = f"v{version} {of} id, epoch {epoch}, sequence {sequence}"
                    ask.produce(t, records, case=case, version=version, transactional_id=owner)
