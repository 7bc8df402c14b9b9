"""Offsets in transactions: AddOffsetsToTxn, TxnOffsetCommit, and OffsetFetch with require_stable."""

from typing import Any

from kafkalet_conformance.building import TRANSACTION_ERRORS, ScenarioBuilder, Step
from tools.recording.definitions import KAFKA_4_4, Scenarios

from .classic_groups import UNKNOWN_CLASSIC_MEMBER, Classic
from .consumer_groups import UNKNOWN_MEMBER, A, Consumers
from .group_offsets import MISSING_TOPIC_ID, Offsets, Topic, named
from .transaction_apis import NO_ID, Coordinated

scenario = Scenarios("transaction_offsets")


class Sending(Coordinated):
    """A transactional producer that commits offsets for a group."""

    def __init__(self, ask: ScenarioBuilder, group: str, number: int = 1) -> None:
        super().__init__(ask, number)
        self.group = group
        self.offsets = Offsets(ask, group)

    def add_offsets(self, case: str, epoch: int, version: int = 3, **more: Any) -> None:
        body = self.of(epoch, group_id=self.group) | more
        self.ask.request(case, "AddOffsetsToTxn", version, body, retry_errors=TRANSACTION_ERRORS)

    def offsets_added(self, epoch: int) -> None:
        body = self.of(epoch, group_id=self.group)
        self.ask.setup("AddOffsetsToTxn", 3, body, retry_errors=TRANSACTION_ERRORS)

    def commit(self, case: str, epoch: int, *topics: Topic, version: int = 3, **more: Any) -> None:
        self.ask.request(case, "TxnOffsetCommit", version, self.committing(epoch, *topics, version=version) | more)

    def committing(self, epoch: int, *topics: Topic, version: int = 3) -> Step:
        asked = []
        for topic, partitions in topics:
            given = [{"committed_offset": p} if isinstance(p, int) else p for p in partitions]
            whole = [{"partition_index": n, "committed_metadata": "m"} | p for n, p in enumerate(given)]
            asked.append((named(topic, 10) if version >= 6 else {"name": topic}) | {"partitions": whole})
        return self.of(epoch, group_id=self.group, topics=asked)

    def fetch_both(self, case: str, *topics: Topic, version: int = 7) -> None:
        self.offsets.fetch(f"{case}, fetched", *topics, version=version)
        self.offsets.fetch(f"{case}, fetched as stable", *topics, version=version, require_stable=True)


@scenario(
    "KIP-98 KIP-447 OffsetMetadataManager.commitTransactionalOffset OffsetMetadataManager.fetchOffsets", level="must"
)
def transactions_offsets(ask: ScenarioBuilder) -> None:
    """Offsets of a transaction become visible when it commits, and until then OffsetFetch with require_stable returns
    UNSTABLE_OFFSET_COMMIT for them."""
    t, n = ask.topic("t", 2), ask.unknown_topic()
    for version in ask.versions("TxnOffsetCommit"):
        group = Classic(ask, f"g{version}").id
        txn = Sending(ask, group, version + 1)
        early = min(version, ask.versions("AddOffsetsToTxn")[-1])
        txn.begun()
        txn.add_offsets(f"v{early} add offsets, {version}", 0, early)
        txn.describe(f"v{version} the offsets were added")
        txn.commit(f"v{version} commit offsets", 0, (t, (5, 6)), version=version)
        txn.commit(f"v{version} commit unknown ones", 0, (n, (5,)), (t, (5, 6, 7)), version=version)
        txn.commit(f"v{version} commit nothing", 0, version=version)
        large = {"committed_offset": 1, "committed_metadata": "m" * 4097}
        txn.commit(f"v{version} too much metadata", 0, (t, (large,)), version=version)
        txn.fetch_both(f"v{version} pending", (t, (0, 1)))
        txn.fetch_both(f"v{version} pending, all")
        txn.end(f"v{version} commit", 0)
        txn.wait_until("CompleteCommit")
        path = "topics.0.partitions.0.error_code"
        stable = {"group_id": group, "topics": [{"name": t, "partition_indexes": [0]}], "require_stable": True}
        ask.until("OffsetFetch", 7, stable, path, 0)
        txn.fetch_both(f"v{version} committed", (t, (0, 1)))
        txn.offsets_added(0)
        txn.commit(f"v{version} commit offsets again", 0, (t, (50,)), version=version)
        txn.fetch_both(f"v{version} pending again", (t, (0, 1)))
        txn.end(f"v{version} abort", 0, False)
        txn.wait_until("CompleteAbort")
        ask.until("OffsetFetch", 7, stable, path, 0)
        txn.fetch_both(f"v{version} aborted", (t, (0, 1)))


@scenario(
    "KIP-98 TransactionCoordinator.handleAddPartitionsToTransaction "
    "OffsetMetadataManager.validateTransactionalOffsetCommit",
    level="must",
)
def transactions_offsets_refused(ask: ScenarioBuilder) -> None:
    """AddOffsetsToTxn and TxnOffsetCommit reject unknown transactional ids, other producer ids and other epochs, and
    TxnOffsetCommit rejects an empty group id."""
    t = ask.topic("t")
    group = Classic(ask).id
    txn = Sending(ask, group)
    txn.begun()
    for version in ask.versions("AddOffsetsToTxn"):
        txn.add_offsets(f"v{version} add, another producer id", 0, version, producer_id=NO_ID)
        txn.add_offsets(f"v{version} add, a newer epoch", 1, version)
        txn.add_offsets(f"v{version} add, an unknown id", 0, version, transactional_id="no-such-id")
        txn.add_offsets(f"v{version} add, a nameless id", 0, version, transactional_id="")
        txn.add_offsets(f"v{version} add, a nameless group", 0, version, group_id="")
    txn.describe("what was added")
    for version in ask.versions("TxnOffsetCommit"):
        v = {"version": version}
        txn.commit(f"v{version} commit, another producer id", 0, (t, (1,)), producer_id=NO_ID, **v)
        txn.commit(f"v{version} commit, a newer epoch", 1, (t, (1,)), **v)
        txn.commit(f"v{version} commit, an older epoch", -1, (t, (1,)), **v)
        txn.commit(f"v{version} commit, an unknown id", 0, (t, (1,)), transactional_id="no-such-id", **v)
        txn.commit(f"v{version} commit, a nameless id", 0, (t, (1,)), transactional_id="", **v)
        txn.commit(f"v{version} commit, a nameless group", 0, (t, (1,)), group_id="", **v)
        txn.describe(f"v{version} what belongs to it")
    txn.offsets.fetch("what is there", (t, (0,)))
    ask.setup("EndTxn", 0, txn.of(0, committed=False), must_succeed=False)
    ask.step("sleep", ms=100)
    ask.setup("DeleteGroups", 0, {"groups_names": [""]}, must_succeed=False)  # other scenarios use this group id too


@scenario("KIP-890 GroupCoordinatorService.commitTransactionalOffsets", level="must")
def transactions_offsets_not_added(ask: ScenarioBuilder) -> None:
    """TxnOffsetCommit before version 5 rejects a group that AddOffsetsToTxn did not add, and since version 5 it adds
    the group to the transaction."""
    t = ask.topic("t")
    for version in ask.versions("TxnOffsetCommit"):
        group = Classic(ask, f"g{version}").id
        txn = Sending(ask, group, version + 1)
        txn.begun()
        txn.commit(f"v{version} commit", 0, (t, (5,)), version=version)
        txn.describe(f"v{version} described")
        txn.fetch_both(f"v{version} after that", (t, (0,)))
        for epoch in (0, 1):
            txn.end(f"v{version} end, epoch {epoch}", epoch, version=ask.versions("EndTxn")[-1])
            ask.step("sleep", ms=200)
        txn.describe(f"v{version} described at the end")
        txn.offsets.fetch(f"v{version} at the end", (t, (0,)))


@scenario(
    "KIP-447 OffsetMetadataManager.validateTransactionalOffsetCommit ClassicGroup.validateOffsetCommit",
    level="must",
    TxnOffsetCommit=3,
)
def transactions_offsets_members(ask: ScenarioBuilder) -> None:
    """TxnOffsetCommit returns UNKNOWN_MEMBER_ID for a member id and ILLEGAL_GENERATION for a generation that a classic
    group does not have."""
    t = ask.topic("t")
    group = Classic(ask)
    txn = Sending(ask, group.id)
    txn.begun()
    txn.offsets_added(0)

    def commits(state: str) -> None:
        for version in (3, ask.versions("TxnOffsetCommit")[-1]):
            for name, member in {"nobody": "", "the member": "$M1", "another": UNKNOWN_CLASSIC_MEMBER}.items():
                for generation in (-1, 0, 1, 2):
                    who: dict[str, Any] = {
                        "member_id": member,
                        "generation_id_or_member_epoch": generation,
                        "version": version,
                    }
                    txn.commit(f"{state}: v{version} {name}, generation {generation}", 0, (t, (1,)), **who)
            who = {"member_id": "$M1", "generation_id_or_member_epoch": 1, "version": version}
            txn.commit(f"{state}: v{version} unknown instance", 0, (t, (1,)), group_instance_id="i1", **who)

    ask.let("M1", UNKNOWN_CLASSIC_MEMBER.replace("0000-0000", "1111-1111"))
    commits("unknown")
    group.enter("M1")
    commits("before sync")
    group.synced("$M1", 1, "$M1")
    commits("stable")
    group.leave("it leaves", "$M1")
    ask.until("DescribeGroups", 0, {"groups": [group.id]}, "groups.0.group_state", "Empty")
    commits("empty")


@scenario("KIP-848 KIP-447 ConsumerGroup.validateOffsetCommit", KAFKA_4_4, level="must", TxnOffsetCommit=6)
def transactions_offsets_consumers(ask: ScenarioBuilder) -> None:
    """TxnOffsetCommit in a consumer group requires the epoch of the member, and returns ILLEGAL_GENERATION for another
    one, since version 6 STALE_MEMBER_EPOCH."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    txn = Sending(ask, group.id)
    txn.begun()
    txn.offsets_added(0)
    group.joined(A, t)
    for version in (3, 4, 5, 6):
        for name, member in {"nobody": "", "the member": A, "another": UNKNOWN_MEMBER}.items():
            for epoch in (-1, 0, 1, 2, 3):
                who: dict[str, Any] = {"member_id": member, "generation_id_or_member_epoch": epoch, "version": version}
                txn.commit(f"v{version} {name}, epoch {epoch}", 0, (t, (1,)), **who)
    txn.commit("v6 unknown ids", 0, (t, (1,)), (MISSING_TOPIC_ID, (2,)), ("ZERO", (3,)), version=6)
    for version in (9, 10):
        txn.offsets.fetch(
            f"v{version} pending", (t, (0, 1)), version=version, member_id=A, member_epoch=2, require_stable=True
        )


@scenario("KIP-447 OffsetMetadataManager.replayEndTransactionMarker OffsetMetadataManager.commitTransactionalOffset")
def transactions_offsets_two(ask: ScenarioBuilder) -> None:
    """Two transactions and plain commits can write the same offset, the last written one wins when all transactions
    have ended, and deleted offsets do not come back."""
    t = ask.topic("t", 2)
    group = Classic(ask).id
    first, second = Sending(ask, group, 1), Sending(ask, group, 2)
    for txn in (first, second):
        txn.begun()
        txn.offsets_added(0)
    first.offsets.committed((t, (1, 2)))
    first.commit("the first commits", 0, (t, (10,)))
    second.commit("the second commits", 0, (t, (20,)))
    first.fetch_both("both pending", (t, (0, 1)))
    first.offsets.committed((t, (3,)))
    first.fetch_both("a plain commit meanwhile", (t, (0, 1)))
    stable = {"group_id": group, "topics": [{"name": t, "partition_indexes": [0]}], "require_stable": True}
    second.end("the second ends", 0)
    second.wait_until("CompleteCommit")
    ask.step("sleep", ms=200)
    first.fetch_both("one is pending", (t, (0, 1)))
    first.offsets.committed((t, (4,)))
    first.fetch_both("a plain commit while one is pending", (t, (0, 1)))
    first.end("the first ends", 0)
    first.wait_until("CompleteCommit")
    ask.until("OffsetFetch", 7, stable, "topics.0.partitions.0.error_code", 0)
    first.fetch_both("none is pending: an older commit does not win", (t, (0, 1)))
    partition = {"name": t, "partitions": [{"partition_index": 0}]}
    first.offsets_added(0)
    first.commit("the first commits again", 0, (t, (30,)))
    ask.request("offsets are deleted", "OffsetDelete", 0, {"group_id": group, "topics": [partition]})
    first.fetch_both("deleted while one is pending", (t, (0, 1)))
    ask.request("the group is deleted", "DeleteGroups", 2, {"groups_names": [group]})
    first.fetch_both("the group deleted while one is pending", (t, (0, 1)))
    first.end("the first ends again", 0)
    first.wait_until("CompleteCommit")
    ask.step("sleep", ms=200)
    first.fetch_both("after the end", (t, (0, 1)))


@scenario("KIP-447 ClassicGroup", level="must")
def txn_offsets_fenced_instance(ask: ScenarioBuilder) -> None:
    """TxnOffsetCommit of a static member whose id was taken over is refused with FENCED_INSTANCE_ID."""
    t = ask.topic()
    group = Classic(ask)
    group.enter("M1", version=5, group_instance_id="i1")
    group.synced("$M1", 1, "$M1", group_instance_id="i1")
    ask.transactional_id()
    ask.init_producer(timeout_ms=60_000)
    ask.add_offsets(group.id)
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    body = ask.of_producer("X1") | {"group_id": group.id, "topics": [{"name": t, "partitions": [partition]}]}
    for v in ask.versions("TxnOffsetCommit", 3, 5):
        for case, member, instance in (
            ("another member id", "other", "i1"),
            ("unknown instance", "$M1", "i2"),
            ("without instance", "$M1", None),
            ("the member", "$M1", "i1"),
        ):
            whose = {"member_id": member, "generation_id_or_member_epoch": 1, "group_instance_id": instance}
            ask.request(f"v{v} {case}", "TxnOffsetCommit", v, body | whose)
    ask.setup("EndTxn", 3, ask.of_producer("X1") | {"committed": False})
