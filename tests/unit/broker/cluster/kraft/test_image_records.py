"""The records that create the metadata of a cluster."""

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

import pytest

from kafkalet.broker.cluster.kraft.image_records import BROKER_EPOCH, UNKNOWN_BROKER, Cluster, encoded_records
from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.messages.metadata_records import MetadataRecord
from kafkalet.protocol.metadata_frame import UnknownRecord, decode_record

from .images import TOPIC_ID, full_image

Kind = TypeVar("Kind", bound=MetadataRecord)
KAFKA_4_4 = {"transaction.version": 2, "metadata.version": 33, "kraft.version": 0, "group.version": 1}
DIRECTORY = bytes([7] * 16)


def cluster(levels: Mapping[str, int] = KAFKA_4_4) -> Cluster:
    return Cluster(levels, 5000, {1: [DIRECTORY], 2: []}, lambda node_id, *_: DIRECTORY if node_id == 1 else bytes(16))


def decoded(image: MetadataImage, levels: Mapping[str, int] = KAFKA_4_4) -> list[MetadataRecord]:
    found = [decode_record(value) for value in encoded_records(image, cluster(levels))]
    return [record for record in found if not isinstance(record, UnknownRecord)]


def of(kind: type[Kind]) -> list[Kind]:
    return [record for record in decoded(full_image()) if isinstance(record, kind)]


def test_metadata_version_is_first_and_kraft_version_has_no_record() -> None:
    found = [(record.name, record.feature_level) for record in of(records.FeatureLevelRecord)]
    assert found == [("metadata.version", 33), ("group.version", 1), ("transaction.version", 2)]
    assert isinstance(decoded(full_image())[0], records.FeatureLevelRecord)


def test_partitions_follow_their_topic_with_directories_of_replicas() -> None:
    found = decoded(full_image())
    place = found.index(records.TopicRecord(name="t", topic_id=TOPIC_ID))
    fields: dict[str, Any] = {"topic_id": TOPIC_ID, "partition_id": 1, "replicas": [2, 1], "isr": [1], "leader": -1}
    fields |= {"leader_epoch": 4, "partition_epoch": 7, "adding_replicas": [2], "removing_replicas": [1]}
    assert found[place + 2] == records.PartitionRecord(**fields, directories=[bytes(16), DIRECTORY])


@pytest.mark.parametrize(("level", "version"), [(16, 0), (17, 1), (21, 1), (22, 1), (23, 2), (33, 2)])
def test_version_of_partitions_depends_on_metadata_version(level: int, version: int) -> None:
    values = encoded_records(full_image(), cluster({"metadata.version": level}))
    assert {value[2] for value in values if value[1] == records.PartitionRecord.TYPE} == {version}


@pytest.mark.parametrize(
    ("levels", "isr", "eligible"),
    [({**KAFKA_4_4, "eligible.leader.replicas.version": 1}, [], [2]), (KAFKA_4_4, [2], None)],
)
def test_eligible_leaders_are_in_sync_if_the_feature_is_disabled(
    levels: dict[str, int], isr: list[int], eligible: list[int] | None
) -> None:
    image, state = MetadataImage("c"), PartitionState(0, [1, 2])
    state.restore(
        leader=-1, isr=[], leader_epoch=1, partition_epoch=1, adding=[], removing=[], elr=[2], last_known_elr=[2]
    )
    image.add_topic(TopicState("t", TOPIC_ID, [state], {}))
    (found,) = [record for record in decoded(image, levels) if isinstance(record, records.PartitionRecord)]
    assert (found.isr, found.eligible_leader_replicas, found.last_known_elr) == (isr, eligible, eligible)


@pytest.mark.parametrize(("level", "version"), [(6, 0), (7, 1), (16, 1), (17, 3), (33, 3)])
def test_version_of_registrations_depends_on_metadata_version(level: int, version: int) -> None:
    values = encoded_records(full_image(), cluster({"metadata.version": level}))
    assert {value[2] for value in values if value[1] == records.RegisterBrokerRecord.TYPE} == {version}


def test_brokers_are_registered_and_fenced() -> None:
    found = of(records.RegisterBrokerRecord)
    assert [(each.broker_id, each.broker_epoch, each.fenced, each.log_dirs) for each in found] == [
        (1, BROKER_EPOCH, True, [DIRECTORY]),
        (2, BROKER_EPOCH, True, []),
    ]


def test_partition_of_unknown_brokers_gets_a_replica_on_none_of_them() -> None:
    image = MetadataImage("c")
    image.add_topic(TopicState("t", TOPIC_ID, [PartitionState(0, [])], {}))
    (found,) = [record for record in decoded(image) if isinstance(record, records.PartitionRecord)]
    assert (found.replicas, found.isr, found.leader) == ([UNKNOWN_BROKER], [UNKNOWN_BROKER], -1)


def test_configurations_have_types_and_names_of_resources() -> None:
    found = of(records.ConfigRecord)
    assert [(each.resource_type, each.resource_name, each.name, each.value) for each in found] == [
        (2, "t", "retention.ms", "5"),
        (4, "", "max.connections", "10"),
        (4, "2", "max.connections", "20"),
        (16, "m", "metrics", "org.apache"),
        (32, "g", "consumer.session.timeout.ms", "50000"),
    ]


def test_quotas_acls_credentials_tokens_and_producer_ids_have_records() -> None:
    (quota,) = of(records.ClientQuotaRecord)
    part = records.ClientQuotaRecord.Entity
    entity = [part(entity_type="client-id", entity_name="c"), part(entity_type="user", entity_name=None)]
    assert quota == records.ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=1.5, remove=False)
    (acl,) = of(records.AccessControlEntryRecord)
    fields: dict[str, Any] = {
        "resource_type": 2,
        "resource_name": "t",
        "pattern_type": 4,
        "principal": "User:a",
        "host": "*",
    }
    assert acl == records.AccessControlEntryRecord(**fields, id=acl.id, operation=3, permission_type=2)
    fields = {"name": "a", "mechanism": 2, "salt": b"salt", "stored_key": b"stored", "server_key": b"server"}
    assert of(records.UserScramCredentialRecord) == [records.UserScramCredentialRecord(**fields, iterations=4096)]
    fields = {"owner": "User:a", "requester": "User:b", "renewers": ["User:c"], "token_id": "id"}
    fields |= {"issue_timestamp": 1, "max_timestamp": 3, "expiration_timestamp": 2}
    assert of(records.DelegationTokenRecord) == [records.DelegationTokenRecord(**fields)]
    (ids,) = of(records.ProducerIdsRecord)
    assert ids == records.ProducerIdsRecord(broker_id=1, broker_epoch=BROKER_EPOCH, next_producer_id=5000)


def test_records_that_metadata_version_does_not_know_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = decoded(full_image(), {"metadata.version": 7})
    kinds = {type(record) for record in found}
    assert not {records.UserScramCredentialRecord, records.DelegationTokenRecord} & kinds
    assert {record.resource_type for record in found if isinstance(record, records.ConfigRecord)} == {2, 4}
    assert [record.message for record in caplog.records] == [
        f"leaving out 1 {name}, which metadata.version 7 does not support"
        for name in (
            "subscriptions of client metrics",
            "configurations of groups",
            "SCRAM credentials",
            "delegation tokens",
        )
    ]
