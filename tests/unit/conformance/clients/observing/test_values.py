"""Reserved and enumerated values: those that clients may send cause no complaint, and all others cause one."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafkalet.protocol.messages.api_versions import ApiVersionsRequest
from kafkalet.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalet.protocol.messages.heartbeat import HeartbeatRequest
from kafkalet.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet.protocol.schema import Request
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet_conformance.clients.observing.finding import Severity
from kafkalet_conformance.clients.observing.strict import check_request
from kafkalet_conformance.clients.observing.values import CHECKS, STRUCT_CHECKS

from .test_strict import encoded, fetch, found

ID = bytes(range(16))


@pytest.mark.parametrize("key", [*CHECKS, *STRUCT_CHECKS], ids=lambda key: f"{key[0]}-{key[1]}")
def test_each_check_belongs_to_a_declared_field(key: tuple[Api, str]) -> None:
    api, path = key
    struct: Any = request_type(api)
    for name in filter(None, path.split(".")):
        [field] = [field for field in struct.FIELDS if field.name == name]
        struct = field.struct


def heartbeat(**values: Any) -> ConsumerGroupHeartbeatRequest:
    given: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": 0}
    joining: dict[str, Any] = {"rebalance_timeout_ms": 1}
    return ConsumerGroupHeartbeatRequest(**given | joining | values)


def software(name: str) -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version="1.0")


def topic(name: str | None, topic_id: bytes) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequest.Topic(name=name, topic_id=topic_id)])


def list_offsets(timestamp: int) -> ListOffsetsRequest:
    partition = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=timestamp)
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name="t", partitions=[partition])])


def fetch_without_id() -> FetchRequest:
    request = fetch()
    request.topics[0].topic_id = ZERO_UUID
    return request


TRANSACTION = AddPartitionsToTxnRequest.Transaction(transactional_id="t", producer_id=1, producer_epoch=0, topics=[])


@pytest.mark.parametrize(
    ("request_", "version", "rule"),
    [
        (fetch(), 12, None),
        (fetch(replica_id=1), 12, "reserved-field"),
        (fetch(cluster_id="c"), 12, "reserved-field"),
        (fetch(replica_state=FetchRequest.ReplicaState(replica_id=1, replica_epoch=2)), 15, "reserved-field"),
        (fetch(isolation_level=2), 12, "enumeration"),
        (fetch(session_epoch=-2), 12, "range"),
        (fetch_without_id(), 13, "topic-id"),
        (fetch_without_id(), 12, None),
        (topic("t", ZERO_UUID), 12, None),
        (topic(None, ID), 12, None),
        (topic("", ID), 12, None),
        (topic(None, ID), 10, "topic-id"),
        (topic(None, ZERO_UUID), 12, "topic-id"),
        (topic("t", ID), 12, "topic-id"),
        (list_offsets(-3), 7, None),
        (list_offsets(-3), 6, "enumeration"),
        (FindCoordinatorRequest(key="k", key_type=2), 3, "enumeration"),
        (FindCoordinatorRequest(coordinator_keys=[]), 4, "empty"),
        (software("apache-kafka-java"), 3, None),
        (software("-me-"), 3, "client-software"),
        (AddPartitionsToTxnRequest(transactions=[TRANSACTION]), 4, "client-version"),
        (InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1, producer_id=5), 3, "range"),
        (heartbeat(member_epoch=-2), 0, "range"),
        (heartbeat(member_epoch=-2, instance_id="i"), 0, None),
        (heartbeat(group_id=""), 0, "empty"),
    ],
)
def test_value_is_judged(request_: Request, version: int, rule: str | None) -> None:
    assert [each for each, _, _ in found(encoded(request_, version))] == ([] if rule is None else [rule])


def test_empty_member_id_of_heartbeat_is_a_note() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=-1, member_id="")
    complaints = check_request(bytes(encoded(request, 4))).complaints
    assert [(each.claim.rule, each.claim.severity) for each in complaints] == [("empty", Severity.NOTE)]
