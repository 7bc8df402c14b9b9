"""Metadata records change the image as in Kafka."""

from typing import Any

import pytest

from kafkalet.broker.cluster.kraft.metadata_log import Content, Entry
from kafkalet.broker.cluster.kraft.replay import Replay
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.principal import user
from kafkalet.broker.security.scram_credentials import ScramCredential, ScramMechanism
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.metadata_frame import UnknownRecord

from .logs import TOPIC, TOPIC_ID, partition


def replayed(*contents: Content) -> tuple[Replay, MetadataImage]:
    replay = Replay()
    for offset, content in enumerate(contents):
        replay.apply(Entry(offset, content))
    return replay, replay.finish()


def change(**values: Any) -> records.PartitionChangeRecord:
    return records.PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **values)


def test_topic_has_its_id_partitions_and_epochs() -> None:
    _, image = replayed(TOPIC, partition(0, [2, 1], leader=1, leader_epoch=5, partition_epoch=9), partition(1))
    topic = image.topics["orders"]
    assert topic.topic_id == TOPIC_ID
    first = topic.partitions[0]
    assert (first.replicas, first.isr, first.leader) == ([2, 1], [2, 1], 1)
    assert (first.leader_epoch, first.partition_epoch, len(topic.partitions)) == (5, 9, 2)


def test_partition_that_is_missing_has_no_replicas_and_no_leader() -> None:
    _, image = replayed(TOPIC, partition(1))
    first = image.topics["orders"].partitions[0]
    assert (first.replicas, first.leader) == ([], -1)


def test_change_without_leader_keeps_leader_epoch() -> None:
    _, image = replayed(TOPIC, partition(0, [1, 2]), change(isr=[1]))
    state = image.topics["orders"].partitions[0]
    assert (state.isr, state.leader, state.leader_epoch, state.partition_epoch) == ([1], 1, 0, 1)


def test_change_of_leader_starts_an_epoch_even_if_it_stays_the_same() -> None:
    _, image = replayed(TOPIC, partition(0, [1, 2]), change(leader=1), change(leader=-1))
    state = image.topics["orders"].partitions[0]
    assert (state.leader, state.leader_epoch, state.partition_epoch) == (-1, 2, 2)


def test_reassignment_is_in_the_image() -> None:
    moving = change(replicas=[3, 1], adding_replicas=[3], removing_replicas=[1])
    _, image = replayed(TOPIC, partition(), moving)
    state = image.topics["orders"].partitions[0]
    assert (state.replicas, state.adding, state.removing) == ([3, 1], [3], [1])


def test_partition_without_in_sync_replicas_can_be_led_by_eligible_ones() -> None:
    _, image = replayed(TOPIC, partition(0, [1, 2]), change(isr=[], leader=-1, eligible_leader_replicas=[2]))
    state = image.topics["orders"].partitions[0]
    assert (state.isr, state.elr) == ([], [2])


def test_cleared_eligible_replicas_cannot_lead() -> None:
    without_isr = change(isr=[], leader=-1, eligible_leader_replicas=[2], last_known_elr=[1])
    _, image = replayed(TOPIC, partition(0, [1, 2]), without_isr, records.ClearElrRecord(topic_name="orders"))
    state = image.topics["orders"].partitions[0]
    assert (state.isr, state.elr, state.last_known_elr) == ([], [], [])


def test_removed_topic_is_gone_with_its_configuration() -> None:
    config = records.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5")
    again = records.TopicRecord(name="orders", topic_id=bytes(15) + b"x")
    _, image = replayed(TOPIC, partition(), config, records.RemoveTopicRecord(topic_id=TOPIC_ID), again)
    topic = image.topics["orders"]
    assert (topic.topic_id, topic.partitions, topic.config) == (again.topic_id, [], {})


def test_configurations_of_all_kinds_are_in_the_image() -> None:
    def config(kind: int, name: str, value: str | None, key: str = "a") -> records.ConfigRecord:
        return records.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)

    _, image = replayed(
        TOPIC,
        config(2, "orders", "1"),
        config(4, "", "2"),
        config(4, "7", "3"),
        config(16, "metrics", "4"),
        config(32, "group", "5"),
        config(8, "7", "INFO"),
        config(2, "orders", "6", "b"),
        config(2, "orders", None, "b"),
    )
    assert image.topics["orders"].config == {"a": "1"}
    assert image.broker_config == {None: {"a": "2"}, 7: {"a": "3"}}
    assert image.client_metrics == {"metrics": {"a": "4"}}
    assert image.group_config == {"group": {"a": "5"}}


def test_quotas_are_set_and_removed() -> None:
    def quota(name: str | None, value: float, *, remove: bool = False) -> records.ClientQuotaRecord:
        entity = records.ClientQuotaRecord.Entity(entity_type="user", entity_name=name)
        return records.ClientQuotaRecord(entity=[entity], key="producer_byte_rate", value=value, remove=remove)

    _, image = replayed(quota("a", 1), quota(None, 2), quota("a", 3), quota("b", 4), quota("b", 0, remove=True))
    rates = {key: values["producer_byte_rate"] for key, values in image.client_quotas.items()}
    assert rates == {frozenset({("user", "a")}): 3, frozenset({("user", None)}): 2}


def test_features_and_next_producer_id_are_the_last_ones() -> None:
    replay, image = replayed(
        records.FeatureLevelRecord(name="metadata.version", feature_level=20),
        records.FeatureLevelRecord(name="metadata.version", feature_level=21),
        records.FeatureLevelRecord(name="group.version", feature_level=1),
        records.FeatureLevelRecord(name="group.version", feature_level=0),
        records.ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=3000),
    )
    assert replay.features == {"metadata.version": 21}
    assert replay.next_producer_id == 3000
    assert image.feature_changes == 4


def test_acls_are_added_and_removed_by_id() -> None:
    def acl(number: int) -> records.AccessControlEntryRecord:
        return records.AccessControlEntryRecord(
            id=bytes([number] * 16),
            resource_type=2,
            resource_name=f"t{number}",
            pattern_type=3,
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        )

    _, image = replayed(acl(1), acl(2), records.RemoveAccessControlEntryRecord(id=bytes([1] * 16)))
    expected = Acl(ResourceType.TOPIC, PatternType.LITERAL, "t2", "User:alice", "*", Operation.READ, Permission.ALLOW)
    assert list(image.acls) == [expected]


def test_credentials_and_tokens_are_added_and_removed() -> None:
    def scram(name: str) -> records.UserScramCredentialRecord:
        return records.UserScramCredentialRecord(
            name=name, mechanism=1, salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=4096
        )

    def token(name: str) -> records.DelegationTokenRecord:
        return records.DelegationTokenRecord(
            owner="User:alice",
            requester="User:bob",
            renewers=["User:carol"],
            issue_timestamp=1,
            max_timestamp=3,
            expiration_timestamp=2,
            token_id=name,
        )

    _, image = replayed(
        *(scram("alice"), scram("bob"), records.RemoveUserScramCredentialRecord(name="bob", mechanism=1)),
        *(token("one"), token("two"), records.RemoveDelegationTokenRecord(token_id="one")),
    )
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    assert image.scram_credentials == {("alice", ScramMechanism.SCRAM_SHA_256): credential}
    assert list(image.delegation_tokens) == ["two"]
    two = image.delegation_tokens["two"]
    assert (two.owner, two.requester, two.renewers) == (user("alice"), user("bob"), (user("carol"),))
    assert (two.issued_ms, two.expires_ms, two.max_ms) == (1, 2, 3)


def test_transaction_counts_when_it_has_ended() -> None:
    _, image = replayed(records.BeginTransactionRecord(), TOPIC, partition(), records.EndTransactionRecord())
    assert list(image.topics) == ["orders"]


def test_aborted_transaction_does_not_count() -> None:
    _, image = replayed(records.BeginTransactionRecord(), TOPIC, partition(), records.AbortTransactionRecord())
    assert not image.topics


def test_open_transaction_does_not_count_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    _, image = replayed(records.NoOpRecord(), records.BeginTransactionRecord(), TOPIC)
    assert not image.topics
    assert "ignoring the transaction of metadata records from offset 2 on: its end is not in the log" in caplog.text


def test_unknown_record_is_skipped_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    _, image = replayed(UnknownRecord(6, 0), TOPIC, UnknownRecord(6, 0))
    assert list(image.topics) == ["orders"]
    assert caplog.text.count("skipping metadata records of unknown type 6, version 0 (first at offset 0)") == 1


@pytest.mark.parametrize(
    "record",
    [
        change(isr=[1]),  # of a topic that does not exist
        records.RemoveTopicRecord(topic_id=TOPIC_ID),
        records.ConfigRecord(resource_type=4, resource_name="one", name="a", value="b"),
        records.RemoveUserScramCredentialRecord(name="alice", mechanism=9),
    ],
)
def test_record_that_cannot_be_applied_is_skipped_and_logged(
    record: records.MetadataRecord, caplog: pytest.LogCaptureFixture
) -> None:
    replayed(records.NoOpRecord(), record)
    assert "skipping the metadata record at offset 1" in caplog.text
