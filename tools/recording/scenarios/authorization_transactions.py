"""Responses of the transaction coordinator to users with some rights on transactional ids, groups and topics."""

from typing import Any

from kafkalet_conformance.access import (
    ALTER,
    CLUSTER_ACTION,
    DESCRIBE,
    GROUPS,
    IDEMPOTENT_WRITE,
    READ,
    TOPICS,
    TRANSACTIONAL_IDS,
    WRITE,
)
from kafkalet_conformance.building import TRANSACTION_ERRORS, ScenarioBuilder, Step
from tools.recording.definitions import EVERY_RELEASE, Scenarios
from tools.recording.rights import (
    Rights,
    all_except,
    as_user,
    ends,
    names_of_kinds,
    of_kinds,
    together_and_alone,
    unknown_id,
    without_rights,
)

scenario = Scenarios("authorization", acl=True)

TIMEOUT = {"transaction_timeout_ms": 60000}
KINDS: dict[str, tuple[int, ...]] = {"xnone": (), "xdescribed": (DESCRIBE,), "xwritten": (WRITE,)}


def initialized(ask: ScenarioBuilder, ids: dict[str, str]) -> dict[str, Step]:
    """Initialize producers as the super user, and return the fields that identify them."""
    found: dict[str, Step] = {}
    for kind, transactional_id in ids.items():
        ask.coordinator(transactional_id, 1)
        bind = {f"P_{kind}": "producer_id", f"E_{kind}": "producer_epoch"}
        body = {"transactional_id": transactional_id} | TIMEOUT
        ask.setup("InitProducerId", 3, body, bind=bind, retry_errors=TRANSACTION_ERRORS)
        who = {"producer_id": f"$P_{kind}", "producer_epoch": f"$E_{kind}"}
        found[kind] = {"transactional_id": transactional_id} | who
    return found


@scenario("KIP-98 KafkaApis KIP-679", EVERY_RELEASE, level="must")
def rights_init_producer(ask: ScenarioBuilder) -> None:
    """InitProducerId needs WRITE on the transactional id; without a transactional id, it needs IDEMPOTENT_WRITE on the
    cluster or WRITE on any topic; FindCoordinator needs DESCRIBE on the transactional id."""
    without_rights(ask)
    rights = Rights(ask)
    ids = names_of_kinds(ask, rights, TRANSACTIONAL_IDS, KINDS | {"xmissing": (DESCRIBE,)})
    for kind, key in ids.items():
        ask.coordinator(key, 1)
        as_user(ask, "FindCoordinator", {kind: {"key": key, "key_type": 1}}, 1, 3)
    together_and_alone(ask, "FindCoordinator", ids, lambda some: {"coordinator_keys": some, "key_type": 1}, 4)
    number = 0
    versions = ask.versions("InitProducerId", 0, 5)
    for v in ends(versions):
        for kind, key in ids.items():
            number += 1
            bind = {f"P{number}": "producer_id"} if kind == "xwritten" else {}
            body = {"transactional_id": key} | TIMEOUT
            ask.request(
                f"v{v}: {kind}", "InitProducerId", v, body, conn="user", bind=bind, retry_errors=TRANSACTION_ERRORS
            )
    idempotent = {"transactional_id": None} | TIMEOUT

    def ask_all(case: str, allowed: bool) -> None:
        nonlocal number
        for v in ends(versions):
            number += 1
            bind = {f"P{number}": "producer_id"} if allowed else {}
            name = f"v{v}: idempotent, {case}"
            ask.request(name, "InitProducerId", v, idempotent, conn="user", bind=bind, retry_errors=TRANSACTION_ERRORS)

    ask_all("without rights", False)
    rights.on_cluster(*(CLUSTER_ACTION, ALTER))
    ask_all("ALTER and CLUSTER_ACTION on the cluster", False)
    rights.on_cluster(IDEMPOTENT_WRITE)
    ask_all("IDEMPOTENT_WRITE", True)
    rights.remove()
    ask_all("without rights again", False)
    rights.grant(TOPICS, ask.unique("t"), WRITE)
    ask_all("WRITE on a topic that does not exist", True)
    rights.remove()


@scenario("KIP-98 KafkaApis", EVERY_RELEASE, level="must")
def rights_add_partitions(ask: ScenarioBuilder) -> None:
    """AddPartitionsToTxn needs WRITE on the transactional id, and WRITE on every topic: if one topic fails, no
    partition is added."""
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "neighbors": all_except(WRITE), "written": (WRITE,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "described": (DESCRIBE,), "written": (WRITE,)})
    ids = names_of_kinds(ask, rights, TRANSACTIONAL_IDS, KINDS)
    producers = initialized(ask, ids)
    wanted = {kind: {"name": topic, "partitions": [0]} for kind, topic in topics.items()}
    for kind in ("xnone", "xdescribed"):
        as_user(ask, "AddPartitionsToTxn", {kind: producers[kind] | {"topics": [wanted["written"]]}}, 0, 3)

    def body(named: list[Any]) -> Step:
        return producers["xwritten"] | {"topics": named}

    together_and_alone(ask, "AddPartitionsToTxn", wanted, body, 0, 3)
    some = [wanted["written"], wanted["missing written"]]
    as_user(ask, "AddPartitionsToTxn", {"a missing topic": body(some)}, 0, 3)
    verified = {
        "transactions": [producers["xwritten"] | {"topics": [wanted["written"], wanted["none"]], "verify_only": True}]
    }
    as_user(ask, "AddPartitionsToTxn", {"of brokers": verified}, 4)
    rights.on_cluster(CLUSTER_ACTION)
    as_user(ask, "AddPartitionsToTxn", {"of brokers, CLUSTER_ACTION": verified}, 4)
    as_user(ask, "AddPartitionsToTxn", {"CLUSTER_ACTION": producers["xnone"] | {"topics": [wanted["written"]]}}, 0, 3)
    ask.setup("EndTxn", 3, producers["xwritten"] | {"committed": False}, retry_errors=TRANSACTION_ERRORS)
    rights.remove()


@scenario("KIP-98 KafkaApis", EVERY_RELEASE, level="must")
def rights_transactional_offsets(ask: ScenarioBuilder) -> None:
    """AddOffsetsToTxn needs WRITE on the transactional id and READ on the group, TxnOffsetCommit also READ on each
    topic, and EndTxn only WRITE on the transactional id.
    """
    rights = Rights(ask)
    kinds = {"none": (), "described": (DESCRIBE,), "written": (WRITE,), "readable": (READ,)}
    topics = of_kinds(ask, rights, kinds, {"none": (), "readable": (READ,)})
    groups = names_of_kinds(ask, rights, GROUPS, {"gnone": (), "gdescribed": (DESCRIBE,), "greadable": (READ,)})
    ids = names_of_kinds(ask, rights, TRANSACTIONAL_IDS, KINDS)
    for group in groups.values():
        ask.coordinator(group)
    producers = initialized(ask, ids)
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    named = {kind: {"name": topic, "partitions": [partition]} for kind, topic in topics.items()}
    memberless = {"generation_id_or_member_epoch": -1, "member_id": ""}
    for xkind, gkind in (
        ("xnone", "greadable"),
        ("xdescribed", "greadable"),
        ("xwritten", "gnone"),
        ("xwritten", "gdescribed"),
    ):
        case = f"{xkind}, {gkind}"
        body = producers[xkind] | {"group_id": groups[gkind]}
        as_user(ask, "AddOffsetsToTxn", {case: body})
        as_user(
            ask, "TxnOffsetCommit", {case: body | memberless | {"topics": [named["readable"], named["none"]]}}, 0, 5
        )
    for kind in ("xnone", "xdescribed"):
        as_user(ask, "EndTxn", {kind: producers[kind] | {"committed": True}})
    who = producers["xwritten"] | {"group_id": groups["greadable"]}
    for v in (0, 3):
        ask.request(f"v{v}: add offsets", "AddOffsetsToTxn", v, who, conn="user", retry_errors=TRANSACTION_ERRORS)
    together_and_alone(ask, "TxnOffsetCommit", named, lambda some: who | memberless | {"topics": some}, 0, 4)
    by_id = [{"topic_id": f"${kind}.id", "partitions": [partition]} for kind in kinds]
    by_id.append({"topic_id": unknown_id(ask), "partitions": [partition]})
    as_user(ask, "TxnOffsetCommit", {"by id": who | memberless | {"topics": by_id}}, 6)
    ask.request(
        "end", "EndTxn", 3, producers["xwritten"] | {"committed": True}, conn="user", retry_errors=TRANSACTION_ERRORS
    )
    read = {"group_id": groups["greadable"], "topics": [{"name": topics["readable"], "partition_indexes": [0]}]}
    ask.until("OffsetFetch", 7, read, "topics.0.partitions.0.committed_offset", 1)
    ask.request("what was committed", "OffsetFetch", 7, read | {"topics": None})
    rights.remove()


@scenario("KIP-664 KafkaApis")
def rights_described_transactions(ask: ScenarioBuilder) -> None:
    """DescribeTransactions needs DESCRIBE on the transactional id, and omits topics without DESCRIBE; ListTransactions
    omits transactional ids without DESCRIBE.
    """
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "described": (DESCRIBE,), "readable": (READ,)})
    ids = names_of_kinds(ask, rights, TRANSACTIONAL_IDS, KINDS | {"xmissing": (DESCRIBE,), "xunknown": ()})
    producers = initialized(ask, {kind: ids[kind] for kind in KINDS})
    wanted = [{"name": topic, "partitions": [0]} for topic in topics.values()]
    for kind in KINDS:
        ask.setup("AddPartitionsToTxn", 3, producers[kind] | {"topics": wanted}, retry_errors=TRANSACTION_ERRORS)
    together_and_alone(ask, "DescribeTransactions", ids, lambda some: {"transactional_ids": some})
    more: Any = {"conn": "user", "keep": {"transaction_states": "transactional_id"}}
    body = {"state_filters": ["Ongoing"], "producer_id_filters": []}
    for v in ends(ask.versions("ListTransactions")):
        ask.request(f"v{v}: list", "ListTransactions", v, body, **more)
    rights.on_cluster(DESCRIBE)
    ask.request("list with DESCRIBE on the cluster", "ListTransactions", 0, body, **more)
    for kind in KINDS:
        ask.setup("EndTxn", 3, producers[kind] | {"committed": False}, retry_errors=TRANSACTION_ERRORS)
    rights.remove()


@scenario("KIP-98 KafkaApis KIP-664", EVERY_RELEASE)
def rights_write_markers(ask: ScenarioBuilder) -> None:
    """WriteTxnMarkers needs CLUSTER_ACTION on the cluster; 3.9 and 4.4 also accept ALTER."""
    rights = Rights(ask)
    topics = of_kinds(ask, rights, {"none": (), "written": (WRITE,)})
    producer = {"producer_id": 4711, "producer_epoch": 0, "transaction_result": False, "coordinator_epoch": 0}
    marked = [{"name": topic, "partition_indexes": [0]} for topic in topics.values()]
    body = {"markers": [producer | {"topics": marked}]}
    rights.on_cluster(DESCRIBE, IDEMPOTENT_WRITE)
    as_user(ask, "WriteTxnMarkers", {"DESCRIBE and IDEMPOTENT_WRITE": body})
    rights.on_cluster(ALTER)
    as_user(ask, "WriteTxnMarkers", {"ALTER": body})
    rights.on_cluster(CLUSTER_ACTION)
    as_user(ask, "WriteTxnMarkers", {"CLUSTER_ACTION": body})
    rights.remove()
