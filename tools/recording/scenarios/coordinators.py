"""Coordinators in a cluster of several brokers: which broker coordinates, and how the other brokers respond."""

from typing import Any

from kafkalet_conformance.building import COORDINATOR_ERRORS, TRANSACTION_ERRORS, ScenarioBuilder, Step, batch
from tools.recording.definitions import Scenarios

from .several_brokers import PLACES, produced

scenario = Scenarios("several_brokers", brokers=3)

THERE, ELSEWHERE = "at-$B1", "not-$B1"


def find_coordinator(ask: ScenarioBuilder, name: str, kind: int = 0, *, node: str = "B1") -> str:
    """Bind a group (kind 0) or transactional id (1), and its coordinator, once it has loaded its state."""
    key = ask.unique(name)
    ask.until("FindCoordinator", 2, {"key": key, "key_type": kind}, "error_code", 0)
    ask.steps[-1]["timeout_ms"] = 40000
    ask.setup("FindCoordinator", 2, {"key": key, "key_type": kind}, bind={node: "node_id"})
    there = {"conn": f"at-${node}", "retry_errors": COORDINATOR_ERRORS, "must_succeed": False}
    if kind == 0:
        ask.setup("DescribeGroups", 0, {"groups": [key]}, **there)
    else:
        ask.setup("DescribeTransactions", 0, {"transactional_ids": [key]}, **there)
    for place in PLACES:
        ask.until("FindCoordinator", 2, {"key": key, "key_type": kind}, "node_id", f"${node}")
        ask.steps[-1]["conn"] = f"at-{place}"
    return key


@scenario("KIP-699 KafkaApis", level="must")
def coordinators_find(ask: ScenarioBuilder) -> None:
    """Every broker names the same coordinator of a group and of a transactional id."""
    for kind, name in enumerate(("g", "X1")):
        key = find_coordinator(ask, name, kind)
        for v in ask.versions("FindCoordinator", kind):
            body = {"key": key, "key_type": kind, "coordinator_keys": [key]}
            for node in PLACES:
                ask.request(f"v{v} broker {node}, kind {kind}", "FindCoordinator", v, body, conn=f"at-{node}")
        body = {"key_type": kind, "coordinator_keys": [key, key]}
        ask.each_version("FindCoordinator", {f"v# kind {kind} twice": body}, 4, conn="at-2")


@scenario("GroupCoordinator GroupCoordinatorService", level="must")
def coordinators_of_groups(ask: ScenarioBuilder) -> None:
    """A broker that does not coordinate the group returns NOT_COORDINATOR to all requests of the group."""
    t = ask.spread_topic("t", [1, 2])
    g = find_coordinator(ask, "g")
    member = "member-a-0000000000000"
    joining = {"group_id": g, "session_timeout_ms": 30000, "rebalance_timeout_ms": 60000, "member_id": ""}
    joining |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": "m"}]}
    being = {"group_id": g, "generation_id": 1, "member_id": member}
    leaving = {"group_id": g, "member_id": member, "members": [{"member_id": member, "group_instance_id": None}]}
    offset = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
    named = {"name": t, "topic_id": f"{t}.id"}
    committing = {"group_id": g, "generation_id_or_member_epoch": -1, "member_id": ""}
    committing |= {"topics": [named | {"partitions": [offset]}]}
    fetching: Step = {"group_id": g, "topics": [{"name": t, "partition_indexes": [0]}]}
    fetching["groups"] = [{"group_id": g, "topics": [named | {"partition_indexes": [0]}]}]
    beating: Step = {"group_id": g, "member_id": member, "member_epoch": 0, "rebalance_timeout_ms": 60000}
    beating |= {"subscribed_topic_names": [t], "topic_partitions": []}
    sent: dict[str, Step] = {
        "JoinGroup": joining,
        "SyncGroup": being | {"protocol_type": "consumer", "protocol_name": "range", "assignments": []},
        "Heartbeat": being,
        "LeaveGroup": leaving,
        "OffsetCommit": committing,
        "OffsetFetch": fetching,
        "OffsetDelete": {"group_id": g, "topics": [{"name": t, "partitions": [{"partition_index": 0}]}]},
        "DescribeGroups": {"groups": [g]},
        "DeleteGroups": {"groups_names": [g]},
        "ConsumerGroupHeartbeat": beating,
        "ConsumerGroupDescribe": {"group_ids": [g], "include_authorized_operations": False},
    }
    for api, body in sent.items():
        ask.each_version(api, {f"{api} v# elsewhere": body}, conn=ELSEWHERE)
    for v in ask.versions("OffsetFetch"):
        every = fetching | {"topics": None, "groups": [{"group_id": g, "topics": None}]} if v >= 2 else fetching
        ask.request(f"OffsetFetch v{v} of all topics elsewhere", "OffsetFetch", v, every, conn=ELSEWHERE)
    ask.each_version("OffsetCommit", {"OffsetCommit v# there": committing}, 2, conn=THERE)
    ask.each_version("OffsetFetch", {"OffsetFetch v# there": fetching}, 1, conn=THERE)
    for where, conn in (("there", THERE), ("elsewhere", ELSEWHERE)):
        body = {"states_filter": [], "types_filter": []}
        ask.request(f"ListGroups {where}", "ListGroups", 4, body, conn=conn, keep={"groups": "group_id"})
        ask.request(f"DescribeGroups {where}", "DescribeGroups", 5, {"groups": [g]}, conn=conn)
        ask.request(f"DescribeGroups of two {where}", "DescribeGroups", 5, {"groups": [g, g]}, conn=conn)
    ask.request("DeleteGroups there", "DeleteGroups", 2, {"groups_names": [g]}, conn=THERE)


@scenario("KIP-98 KIP-890 TransactionCoordinator", level="must")
def coordinators_of_transactions(ask: ScenarioBuilder) -> None:
    """A broker that does not coordinate the transactional id returns NOT_COORDINATOR to all requests for it."""
    t = ask.spread_topic("t", [1, 2])
    x = find_coordinator(ask, "X1", 1)
    there: dict[str, Any] = {"conn": THERE}
    elsewhere: dict[str, Any] = {"conn": ELSEWHERE}
    beginning: Step = {"transactional_id": x, "transaction_timeout_ms": 60000}
    for v in ask.versions("InitProducerId"):
        ask.request(f"InitProducerId v{v} elsewhere", "InitProducerId", v, beginning, **elsewhere)
        nameless = beginning | {"transactional_id": None}
        only = {"only": ["error_code", "producer_epoch"], "retry_errors": COORDINATOR_ERRORS}
        ask.request(f"InitProducerId v{v} without an id", "InitProducerId", v, nameless, **elsewhere, **only)
    ask.setup("InitProducerId", 4, beginning, bind={"P1": "producer_id"}, **there)
    mine: Step = {"transactional_id": x, "producer_id": "$P1", "producer_epoch": 0}
    partitions = [{"name": t, "partitions": [0]}]
    for v in ask.versions("AddPartitionsToTxn"):
        body = mine | {"topics": partitions}
        body = {"transactions": [body | {"verify_only": False}]} if v >= 4 else body
        ask.request(f"AddPartitionsToTxn v{v} elsewhere", "AddPartitionsToTxn", v, body, **elsewhere)
    ask.each_version("AddOffsetsToTxn", {"AddOffsetsToTxn v# elsewhere": mine | {"group_id": "g"}}, **elsewhere)
    ask.each_version("EndTxn", {"EndTxn v# elsewhere": mine | {"committed": True}}, **elsewhere)
    described = {"transactional_ids": [x, x]}
    listed: Step = {"state_filters": [], "producer_id_filters": []}
    ask.setup("AddPartitionsToTxn", 3, mine | {"topics": partitions}, **there)
    for where, conn in (("there", there), ("elsewhere", elsewhere)):
        ask.request(f"DescribeTransactions {where}", "DescribeTransactions", 0, described, **conn)
        keep = {"keep": {"transaction_states": "transactional_id"}}
        ask.request(f"ListTransactions {where}", "ListTransactions", 0, listed, **conn, **keep)
    fields = {"producer_id": "$P1", "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    for v in ask.versions("Produce", 3):
        body = produced(t, batch(10, **fields)) | {"transactional_id": x}
        ask.request(f"Produce v{v} at the leader", "Produce", v, body, conn="at-1")
        ask.request(f"Produce v{v} at a follower", "Produce", v, body, conn="at-2")
    ask.request("EndTxn there", "EndTxn", 3, mine | {"committed": True}, **there)


@scenario("KIP-98 KIP-447")
def coordinators_of_transactional_offsets(ask: ScenarioBuilder) -> None:
    """The coordinator of the group serves TxnOffsetCommit; it may be another broker than the coordinator of the
    transactional id.
    """
    t = ask.spread_topic("t", [1, 2])
    g = find_coordinator(ask, "g")
    x = find_coordinator(ask, "X1", 1, node="B2")
    transaction: dict[str, Any] = {"conn": "at-$B2"}
    beginning: Step = {"transactional_id": x, "transaction_timeout_ms": 60000}
    ask.setup("InitProducerId", 4, beginning, bind={"P1": "producer_id"}, **transaction)
    mine: Step = {"transactional_id": x, "producer_id": "$P1", "producer_epoch": 0}
    retried = {"retry_errors": TRANSACTION_ERRORS}
    ask.request("add offsets", "AddOffsetsToTxn", 3, mine | {"group_id": g}, **transaction, **retried)
    offset = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m"}
    body = mine | {"group_id": g, "topics": [{"name": t, "topic_id": f"{t}.id", "partitions": [offset]}]}
    for v in ask.versions("TxnOffsetCommit"):
        ask.request(f"v{v} elsewhere", "TxnOffsetCommit", v, body, conn=ELSEWHERE)
        ask.request(f"v{v} there", "TxnOffsetCommit", v, body, conn=THERE)
    fetching = {"group_id": g, "topics": [{"name": t, "partition_indexes": [0]}], "require_stable": True}
    ask.request("pending", "OffsetFetch", 7, fetching, conn=THERE)
    ask.request("end", "EndTxn", 3, mine | {"committed": True}, **transaction)
    ask.until("OffsetFetch", 7, fetching, "topics.0.partitions.0.error_code", 0)
    ask.steps[-1]["conn"] = THERE
    ask.request("committed", "OffsetFetch", 7, fetching, conn=THERE)
