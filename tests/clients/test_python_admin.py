"""The admin clients of kafka-python and aiokafka beyond test_steps.py: groups, transactions and partitions."""

import itertools
from collections.abc import Iterator
from typing import Any

import aiokafka
import aiokafka.admin
import pytest

from .drivers import AioKafka, BrokerError, KafkaPython, Row, kafka
from .waiting import shared, take, until

errors = kafka.errors
_numbers = itertools.count()


@pytest.fixture
def client(bootstrap: str) -> Iterator[KafkaPython]:
    driver = KafkaPython(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def aio(bootstrap: str) -> Iterator[AioKafka]:
    driver = AioKafka(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def admin(client: KafkaPython) -> Any:
    return client.admin


@pytest.fixture
def name() -> str:
    return f"python-admin-{next(_numbers)}"


@pytest.fixture
def topic(client: KafkaPython, name: str) -> str:
    client.create_topic(name, 3)
    until(lambda: name in client.list_topics())
    return name


@pytest.fixture
def empty_group(client: KafkaPython, topic: str, name: str) -> str:
    """A group whose only member has left after committing offset 3 of partition 0."""
    client.produce(topic, 0, [Row(1000 * n, b"v") for n in range(5)])
    member = client.member(name, topic)
    take(member, 5)
    member.commit({0: 3})
    member.close()
    return name


def at(topic: str, partition: int) -> Any:
    return kafka.TopicPartition(topic, partition)


# Groups


def test_offsets_of_a_group_are_altered(client: KafkaPython, topic: str, empty_group: str) -> None:
    changes = {at(topic, 0): kafka.OffsetAndMetadata(1, "note", -1), at(topic, 99): kafka.OffsetAndMetadata(1, "", -1)}
    answer = client.admin.alter_group_offsets(empty_group, changes)
    assert answer == {at(topic, 0): errors.NoError, at(topic, 99): errors.UnknownTopicOrPartitionError}
    assert client.admin.list_group_offsets(empty_group)[empty_group][at(topic, 0)].metadata == "note"
    assert client.committed(empty_group, topic) == {0: 1}


def test_offsets_of_a_group_are_reset(client: KafkaPython, topic: str, empty_group: str) -> None:
    to = {at(topic, 0): kafka.admin.OffsetTimestamp(1500)}
    assert client.admin.reset_group_offsets(empty_group, to)[at(topic, 0)]["offset"] == 2
    assert client.committed(empty_group, topic) == {0: 2}


def test_offsets_of_a_group_are_deleted(client: KafkaPython, topic: str, empty_group: str) -> None:
    assert client.admin.delete_group_offsets(empty_group, [at(topic, 0)]) == {at(topic, 0): errors.NoError}
    assert client.committed(empty_group, topic) == {}


def test_offsets_of_subscribed_topic_cannot_be_deleted(client: KafkaPython, topic: str, name: str) -> None:
    member = client.member(name, topic)
    until(shared(member), member)
    member.commit({0: 0})
    answer = client.admin.delete_group_offsets(name, [at(topic, 0)])
    assert answer == {at(topic, 0): errors.GroupSubscribedToTopicError}
    assert client.committed(name, topic) == {0: 0}


def test_offsets_of_several_groups_are_listed_in_one_request(client: KafkaPython, topic: str, name: str) -> None:
    for number, group in enumerate((f"{name}-a", f"{name}-b")):
        client.admin.alter_group_offsets(group, {at(topic, 1): kafka.OffsetAndMetadata(number, "", -1)})
    found = client.admin.list_group_offsets([f"{name}-a", f"{name}-b", f"{name}-none"])
    assert {group: [kept.offset for kept in offsets.values()] for group, offsets in found.items()} == {
        f"{name}-a": [0],
        f"{name}-b": [1],
        f"{name}-none": [],
    }


def test_members_are_removed(client: KafkaPython, topic: str, name: str) -> None:
    member = client.member(name, topic, group_instance_id="static")
    until(shared(member), member)
    [described] = client.admin.describe_groups([name])[name]["members"]
    removed = client.admin.remove_group_members(name, [kafka.admin.MemberToRemove(group_instance_id="static")])
    assert list(removed.values()) == [errors.NoError]
    remaining = client.admin.describe_groups([name])[name]["members"]  # the removed consumer may have joined again
    assert described["member_id"] not in {member["member_id"] for member in remaining}
    unknown = client.admin.remove_group_members(name, [kafka.admin.MemberToRemove(member_id="nobody")])
    assert list(unknown.values()) == [errors.UnknownMemberIdError]


def test_groups_are_listed_by_state_and_type(client: KafkaPython, topic: str, empty_group: str) -> None:
    def listed(**filters: Any) -> bool:
        return empty_group in {group["group_id"] for group in client.admin.list_groups(**filters)}

    assert listed(states_filter=["Empty"])
    assert not listed(states_filter=["Stable"])
    assert listed(types_filter=["classic"])
    assert not listed(types_filter=["consumer"])


def test_members_are_described(client: KafkaPython, topic: str, name: str) -> None:
    member = client.member(name, topic, client_id="somebody")
    until(shared(member), member)
    description = client.admin.describe_groups([name])[name]
    [described] = description["members"]
    assert (description["protocol_type"], described["client_id"]) == ("consumer", "somebody")
    assert described["client_host"] == "/127.0.0.1"
    assert described["member_id"].startswith("somebody-")


# Transactions


def test_open_transaction_is_described(client: KafkaPython, topic: str, name: str) -> None:
    producer = client.transactional(name, transaction_timeout_ms=12_345)
    producer.begin()
    producer.send(topic, 1, [Row(1, b"a")])
    found = client.admin.describe_transactions([name])[name]
    assert (found.state.value, found.topic_partitions) == ("Ongoing", {at(topic, 1)})
    assert found.transaction_timeout_ms == 12_345
    listed = [each for each in client.admin.list_transactions()[found.coordinator_id] if each.transactional_id == name]
    assert [(each.producer_id, each.state.value) for each in listed] == [(found.producer_id, "Ongoing")]
    [active] = client.admin.describe_producers([at(topic, 1)])[at(topic, 1)].active_producers
    assert (active.producer_id, active.current_transaction_start_offset) == (found.producer_id, 0)
    producer.commit()
    until(lambda: client.admin.describe_transactions([name])[name].state.value == "CompleteCommit")


def test_transactions_are_listed_by_state(client: KafkaPython, topic: str, name: str) -> None:
    producer = client.transactional(name)

    def listed(state: str) -> bool:
        found = client.admin.list_transactions(state_filters=[state])
        return name in {each.transactional_id for listing in found.values() for each in listing}

    assert listed("Empty")
    producer.begin()
    producer.send(topic, 0, [Row(1, b"a")])
    assert listed("Ongoing")
    assert not listed("Empty")
    producer.abort()
    until(lambda: listed("CompleteAbort"))


def test_description_of_unknown_transactional_id_fails(admin: Any, name: str) -> None:
    with pytest.raises(errors.TransactionalIdNotFoundError):
        admin.describe_transactions([name])


def test_hanging_transaction_is_aborted(client: KafkaPython, topic: str, name: str) -> None:
    producer = client.transactional(name)
    producer.begin()
    producer.send(topic, 0, [Row(1, b"a")])
    [active] = client.admin.describe_producers([at(topic, 0)])[at(topic, 0)].active_producers
    client.admin.abort_transaction(
        kafka.admin.AbortTransactionSpec(at(topic, 0), active.producer_id, active.producer_epoch)
    )
    assert client.end_offsets(topic, [0], "read_committed") == [2]


# Partitions


def test_partitions_are_added(client: KafkaPython, topic: str) -> None:
    client.admin.create_partitions({topic: 4})
    until(lambda: len(client.describe_topic(topic)) == 4)


def test_list_of_reassignments_is_empty(client: KafkaPython, topic: str) -> None:
    assert client.admin.list_partition_reassignments({topic: [0]}) == {}


def test_topic_partitions_are_described_page_by_page(client: KafkaPython, topic: str) -> None:
    seen, cursor = [], None
    for _ in range(2):
        page = client.admin.describe_topic_partitions([topic], response_partition_limit=2, cursor=cursor)
        seen.append([partition["partition_index"] for partition in page["topics"][0]["partitions"]])
        cursor = page["next_cursor"]
    assert (seen, cursor) == ([[0, 1], [2]], None)


def test_log_directories_are_described(client: KafkaPython, topic: str) -> None:
    client.produce(topic, 0, [Row(1, b"a")])
    [broker] = client.admin.describe_log_dirs({topic: [0]})
    sizes = [
        partition["partition_size"]
        for directory in broker["log_dirs"]
        for each in directory["topics"]
        if (each.get("name") or each.get("topic")) == topic
        for partition in each["partitions"]
    ]
    assert len(sizes) == 1
    assert sizes[0] > 60


# aiokafka


def test_aiokafka_finds_the_coordinator(aio: AioKafka, name: str) -> None:
    [(broker_id, _, _)] = aio.describe_cluster().brokers
    assert aio._run(aio.admin.find_coordinator(name)) == broker_id
    assert aio._run(aio.admin.find_coordinator(name, coordinator_type=1)) == broker_id


def test_aiokafka_lists_the_offsets_of_chosen_partitions(aio: AioKafka, topic: str, empty_group: str) -> None:
    asked = [aiokafka.TopicPartition(topic, 0), aiokafka.TopicPartition(topic, 1)]
    found = aio._run(aio.admin.list_consumer_group_offsets(empty_group, partitions=asked))
    assert [found[partition].offset for partition in asked] == [3, -1]


def test_aiokafka_adds_partitions(aio: AioKafka, topic: str) -> None:
    aio._run(aio.admin.create_partitions({topic: aiokafka.admin.NewPartitions(5)}))
    until(lambda: len(aio.describe_topic(topic)) == 5)


def test_aiokafka_cannot_reduce_partitions(aio: AioKafka, topic: str) -> None:
    with pytest.raises(BrokerError) as failure:
        aio._run(aio.admin.create_partitions({topic: aiokafka.admin.NewPartitions(2)}))
    assert failure.value.code == 37  # INVALID_PARTITIONS
