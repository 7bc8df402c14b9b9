"""The records that coordinators write to `__consumer_offsets` and `__transaction_state`, byte for byte."""

from kafkalet_conformance.building import ScenarioBuilder, protocols
from tools.recording.definitions import EVERY_RELEASE, KAFKA_4_4, Scenarios

from .classic_groups import Classic
from .consumer_groups import A, Consumers
from .consumer_migration import Mixed
from .group_offsets import Offsets
from .transaction_apis import Coordinated
from .transaction_offsets import Sending

scenario = Scenarios("state_topics")

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


def written(ask: ScenarioBuilder, case: str, topic: str, of: str, **more: bool) -> None:
    """Read all records batch by batch. With `flat`, sort them by key instead, for topics whose batches are not
    deterministic.
    """
    ask.step("state_records", case=case, topic=topic, of=of, **more)


@scenario(
    "GroupCoordinatorRecordHelpers.newGroupMetadataRecord "
    "GroupCoordinatorRecordHelpers.newGroupMetadataTombstoneRecord",
    EVERY_RELEASE,
    level="detail",
)
def group_records(ask: ScenarioBuilder) -> None:
    """A broker writes the metadata of a classic group to __consumer_offsets after each rebalance, and a tombstone when
    the group is deleted."""
    group = Classic(ask)
    group.enter("M1", "range:r", "roundrobin:rr")
    written(ask, "before sync", GROUPS, group.id)
    group.synced("$M1", 1, "$M1")
    written(ask, "stable", GROUPS, group.id)
    group.join("the leader rejoins", "$M1", "range:other", session_timeout_ms=20000, rebalance_timeout_ms=50000)
    group.synced("$M1", 2, "$M1")
    written(ask, "another generation", GROUPS, group.id)
    group.leave("it leaves", "$M1")
    ask.until("DescribeGroups", 0, {"groups": [group.id]}, "groups.0.group_state", "Empty")
    written(ask, "empty", GROUPS, group.id)
    ask.request("delete", "DeleteGroups", 2, {"groups_names": [group.id]})
    written(ask, "deleted", GROUPS, group.id)


@scenario("KIP-345 GroupCoordinatorRecordHelpers.newGroupMetadataRecord", EVERY_RELEASE, level="detail")
def group_records_static(ask: ScenarioBuilder) -> None:
    """The record of a classic group in __consumer_offsets has the instance ids and the timeouts of its members,
    including those that joined with JoinGroup v0."""
    group = Classic(ask)
    group.enter("M1", "range:r", version=5, group_instance_id="i1")
    group.synced("$M1", 1, "$M1", group_instance_id="i1")
    written(ask, "a static member", GROUPS, group.id)
    group.join("it comes back", "", "range:r", bind="M2", group_instance_id="i1")
    written(ask, "it came back", GROUPS, group.id)
    old = Classic(ask, "old")
    old.enter("M3", "range:r", version=0)
    old.synced("$M3", 1, "$M3")
    written(ask, "a member of version 0", GROUPS, old.id)


@scenario(
    "GroupCoordinatorRecordHelpers.newOffsetCommitRecord GroupCoordinatorRecordHelpers.newOffsetCommitTombstoneRecord",
    EVERY_RELEASE,
    level="detail",
)
def offsets_records(ask: ScenarioBuilder) -> None:
    """A broker writes each committed offset to __consumer_offsets with its leader epoch and retention time, and a
    tombstone for each deleted offset."""
    t, u = ask.topic("t", 2), ask.topic("u")
    offsets = Offsets(ask, Classic(ask).id)
    offsets.committed((t, (5,)))
    written(ask, "an offset", GROUPS, offsets.group)
    offsets.committed((t, ({"committed_offset": 6, "committed_leader_epoch": 0, "committed_metadata": None},)))
    written(ask, "with a leader epoch", GROUPS, offsets.group)
    for version in ask.versions("OffsetCommit", 2, 4):
        body = offsets.committing((u, (version,))) | {"retention_time_ms": 60000}
        ask.setup("OffsetCommit", version, body)
    written(ask, "with retention times", GROUPS, offsets.group)
    if 10 in ask.versions("OffsetCommit"):
        ask.setup("OffsetCommit", 10, offsets.committing((t, (7,)), version=10))
        written(ask, "by topic id", GROUPS, offsets.group)
    partition = {"name": t, "partitions": [{"partition_index": 0}]}
    ask.request("delete one", "OffsetDelete", 0, {"group_id": offsets.group, "topics": [partition]})
    written(ask, "one is deleted", GROUPS, offsets.group)
    ask.request("delete the group", "DeleteGroups", 2, {"groups_names": [offsets.group]})
    written(ask, "all are deleted", GROUPS, offsets.group)


@scenario("KIP-848 GroupCoordinatorRecordHelpers", KAFKA_4_4, level="detail", ConsumerGroupHeartbeat=1)
def consumer_group_records(ask: ScenarioBuilder) -> None:
    """A broker writes the epochs, members, subscriptions, target and current assignments of a consumer group to
    __consumer_offsets as records of different types."""
    t = ask.topic("t", 2)
    group = Consumers(ask)
    group.joined(A, t, rack_id="r", server_assignor="range")
    written(ask, "joined", GROUPS, group.id)
    group.beat("it holds what it should", A, 2, held={t: (0, 1)})
    group.beat("it has no topics", A, 2, subscribed_topic_names=[])
    written(ask, "without topics", GROUPS, group.id)
    group.beat("it holds nothing", A, 2, held={})
    written(ask, "it gave up", GROUPS, group.id)
    offsets = Offsets(ask, group.id)
    body = {"member_id": A, "generation_id_or_member_epoch": 3}
    offsets.commit("commit", (t, (5,)), version=9, **body)
    group.leave("it leaves", A)
    written(ask, "it left", GROUPS, group.id)
    ask.request("delete", "DeleteGroups", 2, {"groups_names": [group.id]})
    written(ask, "deleted", GROUPS, group.id)


@scenario("KIP-848 GroupCoordinatorRecordHelpers", KAFKA_4_4, level="detail", ConsumerGroupHeartbeat=1)
def consumer_group_records_more(ask: ScenarioBuilder) -> None:
    """A broker writes resolved patterns, static members that are away, and the change of a group between protocols to
    __consumer_offsets."""
    t = ask.topic("t", 1)
    pattern = ask.let("pattern", f"c<unique>.{ask.name}.t.*")
    regex = Consumers(ask, "regex")
    regex.joined(A, subscribed_topic_names=None, subscribed_topic_regex=pattern)
    body = {"group_ids": [regex.id], "include_authorized_operations": False}
    ask.until("ConsumerGroupDescribe", 1, body, "groups.0.group_epoch", 2)
    written(ask, "a pattern", GROUPS, regex.id, flat=True)
    regex.leave("it leaves", A)
    written(ask, "the pattern went", GROUPS, regex.id, flat=True)
    static = Consumers(ask, "static")
    static.joined(A, t, instance_id="i1")
    static.leave("it leaves for a while", A, -2, instance_id="i1")
    written(ask, "a static member is away", GROUPS, static.id)
    mixed = Mixed(ask, "mixed")
    mixed.classic.enter("M1", protocols=protocols(t))
    mixed.join("a classic group is upgraded", A, t, only=["error_code", "member_epoch"])
    mixed.classic_join("the classic member rejoins", "$M1", protocols(t))
    mixed.leave("the consumer leaves", A)
    ask.request("what it is", "ListGroups", 5, {}, keep={"groups": "group_id"})


@scenario("KIP-98 TransactionLog.valueToBytes TransactionStateManager.appendTransactionToLog", level="detail")
def transactions_records(ask: ScenarioBuilder) -> None:
    """A broker writes each state of a transactional id to __transaction_state: created, ongoing, prepared and
    complete."""
    t = ask.topic("t", 2)
    txn = Coordinated(ask)
    txn.begun()
    written(ask, "begun", TRANSACTIONS, txn.id)
    txn.added(0, (t, (1,)))
    txn.added(0, (t, (1,)))
    written(ask, "added to", TRANSACTIONS, txn.id)
    txn.end("commit", 0)
    txn.wait_until("CompleteCommit")
    written(ask, "committed", TRANSACTIONS, txn.id)
    txn.added(0, (t, (0,)))
    txn.end("abort", 0, False)
    txn.wait_until("CompleteAbort")
    written(ask, "aborted", TRANSACTIONS, txn.id)
    txn.added(0, (t, (0,)))
    body = {"transactional_id": txn.id, "transaction_timeout_ms": 60000}
    ask.setup("InitProducerId", 4, body, must_succeed=False)
    txn.wait_until("CompleteAbort")
    txn.init("taken over")
    written(ask, "taken over", TRANSACTIONS, txn.id)


@scenario("KIP-890 TransactionLog.valueToBytes", KAFKA_4_4, level="detail", EndTxn=5)
def transactions_records_epochs(ask: ScenarioBuilder) -> None:
    """With transactions version 2, the records in __transaction_state have the next epoch and the previous producer id
    of each ended transaction."""
    t = ask.topic("t", 2)
    txn = Coordinated(ask)
    txn.begun()
    txn.produce("produce", 0, t, version=12)
    txn.end("commit", 0, version=5)
    txn.wait_until("CompleteCommit")
    written(ask, "committed", TRANSACTIONS, txn.id)
    txn.produce("produce more", 1, t, version=12)
    txn.end("abort", 1, False, version=5)
    txn.wait_until("CompleteAbort")
    written(ask, "aborted", TRANSACTIONS, txn.id)


@scenario("KIP-98 GroupCoordinatorRecordHelpers.newOffsetCommitRecord", level="detail")
def transactions_records_offsets(ask: ScenarioBuilder) -> None:
    """Offsets of a transaction are transactional records in __consumer_offsets, followed by the marker of the commit or
    the abort."""
    t = ask.topic("t", 2)
    txn = Sending(ask, Classic(ask).id)
    txn.begun()
    txn.offsets_added(0)
    txn.commit("commit an offset", 0, (t, (5,)))
    written(ask, "pending", GROUPS, txn.group)
    txn.end("commit", 0)
    txn.wait_until("CompleteCommit")
    ask.step("sleep", ms=100)
    written(ask, "committed", GROUPS, txn.group)
    txn.offsets_added(0)
    txn.commit("commit another offset", 0, (t, (6,)))
    txn.end("abort", 0, False)
    txn.wait_until("CompleteAbort")
    ask.step("sleep", ms=100)
    written(ask, "aborted", GROUPS, txn.group)
