"""librdkafka's admin client beyond test_steps.py: groups and their offsets, partitions, configs and elections."""

import itertools
from collections.abc import Iterator

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from .drivers import TIMEOUT_S, ConfluentKafka, Found, Row
from .waiting import shared, take, until

_numbers = itertools.count()


@pytest.fixture
def client(bootstrap: str) -> Iterator[ConfluentKafka]:
    driver = ConfluentKafka(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def admin(client: ConfluentKafka) -> AdminClient:
    return client.admin


@pytest.fixture
def name() -> str:
    return f"administered-{next(_numbers)}"


@pytest.fixture
def topic(client: ConfluentKafka, name: str) -> str:
    client.create_topic(name, 3)
    until(lambda: name in client.list_topics())
    return name


@pytest.fixture
def empty_group(client: ConfluentKafka, topic: str, name: str) -> str:
    """A group whose only member has left after committing offset 3 of partition 0."""
    client.produce(topic, 0, [Row(n, b"v") for n in range(5)])
    member = client.member(name, topic)
    take(member, 5)
    member.commit({0: 3})
    member.close()
    return name


# Groups


def alter(admin: AdminClient, group: str, *partitions: TopicPartition) -> list[TopicPartition]:
    futures = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, list(partitions))])
    return list(futures[group].result(TIMEOUT_S).topic_partitions)


def test_offsets_of_an_empty_group_are_altered(client: ConfluentKafka, topic: str, empty_group: str) -> None:
    altered = alter(client.admin, empty_group, TopicPartition(topic, 0, 1), TopicPartition(topic, 2, 0))
    assert [(each.partition, each.offset, each.error) for each in altered] == [(0, 1, None), (2, 0, None)]
    assert client.committed(empty_group, topic) == {0: 1, 2: 0}
    assert [message.offset for _, message in take(client.member(empty_group, topic), 4)] == [1, 2, 3, 4]


def test_offsets_of_active_group_cannot_be_altered(client: ConfluentKafka, topic: str, name: str) -> None:
    member = client.member(name, topic)
    until(shared(member), member)
    [altered] = alter(client.admin, name, TopicPartition(topic, 0, 1))
    assert altered.error.code() == KafkaError.UNKNOWN_MEMBER_ID


def test_offsets_of_chosen_partitions_are_listed(admin: AdminClient, topic: str, empty_group: str) -> None:
    asked = ConsumerGroupTopicPartitions(empty_group, [TopicPartition(topic, 0), TopicPartition(topic, 1)])
    found = admin.list_consumer_group_offsets([asked])[empty_group].result(TIMEOUT_S)
    assert [(each.partition, each.offset) for each in found.topic_partitions] == [(0, 3), (1, -1001)]


def test_groups_are_listed_by_state_and_type(client: ConfluentKafka, topic: str, name: str, bootstrap: str) -> None:
    empty, stable = f"{name}-empty", f"{name}-stable"
    alter(client.admin, empty, TopicPartition(topic, 0, 1))
    member = client.member(stable, topic)
    until(shared(member), member)

    def listed(**filters: object) -> set[str]:
        found = client.admin.list_consumer_groups(**filters).result(TIMEOUT_S)
        assert not found.errors
        return {group.group_id for group in found.valid} & {empty, stable}

    assert listed() == {empty, stable}
    assert listed(states={ConsumerGroupState.STABLE}) == {stable}
    assert listed(states={ConsumerGroupState.EMPTY}) == {empty}
    assert listed(types={ConsumerGroupType.CLASSIC}) == {empty, stable}
    assert listed(types={ConsumerGroupType.CONSUMER}) == set()


def test_members_are_described(client: ConfluentKafka, topic: str, name: str) -> None:
    member = client.member(name, topic, client_id="somebody", group_instance_id="static")
    until(shared(member), member)
    found = client.admin.describe_consumer_groups([name])[name].result(TIMEOUT_S)
    [described] = found.members
    assert (described.client_id, described.group_instance_id) == ("somebody", "static")
    assert described.member_id == member.consumer.memberid()
    assert described.host.strip("/") == "127.0.0.1"
    assert found.type == ConsumerGroupType.CLASSIC


def test_unknown_group_is_described_as_deleted_group(admin: AdminClient, name: str) -> None:
    """Since Kafka 4.0 (KIP-1043) the response is GROUP_ID_NOT_FOUND; before, it was the state Dead."""
    future = admin.describe_consumer_groups([name])[name]
    failure = future.exception(TIMEOUT_S)
    if failure is None:
        assert future.result().state == ConsumerGroupState.DEAD
    else:
        assert failure.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND


def test_several_groups_are_deleted_in_one_request(client: ConfluentKafka, topic: str, name: str) -> None:
    groups = [f"{name}-{n}" for n in range(3)]
    for group in groups[:2]:
        alter(client.admin, group, TopicPartition(topic, 0, 1))
    codes = []
    for future in client.admin.delete_consumer_groups(groups).values():
        error = future.exception(TIMEOUT_S)
        codes.append(error and error.args[0].code())
    assert codes == [None, None, KafkaError.GROUP_ID_NOT_FOUND]
    assert client.list_groups().isdisjoint(groups)


# Topics


def test_partitions_are_added(client: ConfluentKafka, topic: str) -> None:
    client.admin.create_partitions([NewPartitions(topic, 5)])[topic].result(TIMEOUT_S)
    until(lambda: sorted(client.describe_topic(topic)) == [0, 1, 2, 3, 4])


def test_validate_only_creates_no_topic(client: ConfluentKafka, name: str) -> None:
    client.admin.create_topics([NewTopic(name, 1)], validate_only=True)[name].result(TIMEOUT_S)
    with pytest.raises(KafkaException) as failure:
        client.admin.create_topics([NewTopic(name, 1, config={"no.such": "1"})], validate_only=True)[name].result()
    assert failure.value.args[0].code() == KafkaError.INVALID_CONFIG
    assert name not in client.list_topics()


def test_existing_topic_cannot_be_created(client: ConfluentKafka, topic: str) -> None:
    with pytest.raises(KafkaException) as failure:
        client.admin.create_topics([NewTopic(topic, 1)])[topic].result(TIMEOUT_S)
    assert failure.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS


def test_topics_have_ids(admin: AdminClient, topic: str) -> None:
    found = admin.describe_topics(TopicCollection([topic]))[topic].result(TIMEOUT_S)
    assert str(found.topic_id) != "AAAAAAAAAAAAAAAAAAAAAA"
    assert not found.is_internal


# Configs


def test_configs_are_altered_incrementally(client: ConfluentKafka, topic: str) -> None:
    def change(name: str, value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        client.admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)

    usual = client.describe_config(topic)["retention.ms"]
    change("retention.ms", "1000", AlterConfigOpType.SET)
    until(lambda: client.describe_config(topic)["retention.ms"] == "1000")
    change("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    until(lambda: client.describe_config(topic)["cleanup.policy"] == "delete,compact")
    change("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    until(lambda: client.describe_config(topic)["cleanup.policy"] == "compact")
    change("retention.ms", None, AlterConfigOpType.DELETE)
    until(lambda: client.describe_config(topic)["retention.ms"] == usual)


def test_configs_have_sources_and_synonyms(admin: AdminClient, client: ConfluentKafka, name: str) -> None:
    client.create_topic(name, 1, {"max.message.bytes": "60000"})
    until(lambda: name in client.list_topics())
    resource = ConfigResource(ResourceType.TOPIC, name)
    found = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert not found["max.message.bytes"].is_default
    assert found["cleanup.policy"].is_default
    assert set(found["max.message.bytes"].synonyms) == {"max.message.bytes", "message.max.bytes"}


def test_brokers_have_configs(admin: AdminClient, client: ConfluentKafka) -> None:
    [(broker_id, _, _)] = client.describe_cluster().brokers
    resource = ConfigResource(ResourceType.BROKER, str(broker_id))
    found = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert found["message.max.bytes"].value == str(8 << 20)
    assert found["num.partitions"].is_read_only


# Offsets, elections


def test_offsets_of_several_partitions_are_listed(client: ConfluentKafka, topic: str) -> None:
    client.produce(topic, 0, [Row(1000, b"a"), Row(3000, b"b"), Row(2000, b"c")])
    specs = {0: OffsetSpec.max_timestamp(), 1: OffsetSpec.latest(), 2: OffsetSpec.earliest()}
    assert client.list_offsets(topic, specs) == {0: Found(1, 3000), 1: Found(0, -1), 2: Found(0, -1)}


def test_election_of_current_leader_is_not_needed(admin: AdminClient, topic: str) -> None:
    asked = [TopicPartition(topic, 0), TopicPartition(topic, 99)]
    found = admin.elect_leaders(ElectionType.PREFERRED, asked).result(TIMEOUT_S)
    codes = {each.partition: error.code() for each, error in found.items()}
    assert codes == {0: KafkaError.ELECTION_NOT_NEEDED, 99: KafkaError.UNKNOWN_TOPIC_OR_PART}
