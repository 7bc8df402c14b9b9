"""What librdkafka does in groups beyond the common script: the new consumer protocol (KIP-848), static members
(KIP-345), and the incremental cooperative assignor (KIP-429).
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from .drivers import PATIENCE_S, ConfluentKafka, Refused, Row
from .drivers.confluent import ConfluentMember
from .waiting import shared, take, until

FENCED_INSTANCE_ID = 82
FATAL = -150
"""librdkafka's _FATAL: a consumer that was fenced is of no more use."""

CONSUMER = {"group_protocol": "consumer"}
COOPERATIVE = {"partition_assignment_strategy": "cooperative-sticky"}

_numbers = itertools.count()


@pytest.fixture
def client(bootstrap: str) -> Iterator[ConfluentKafka]:
    driver = ConfluentKafka(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def name() -> str:
    return f"grouped-{next(_numbers)}"


@pytest.fixture
def topic(client: ConfluentKafka, name: str) -> str:
    client.create_topic(name, 3)
    until(lambda: name in client.list_topics())
    return name


@pytest.fixture
def _new_protocol(request: pytest.FixtureRequest) -> None:
    if "kafka-3.9" in request.node.callspec.id:
        pytest.skip("Kafka 3.9 has the new consumer protocol only as a preview, switched off")


def kind_of(admin: AdminClient, group: str) -> str:
    """classic or consumer."""
    [kind] = [each.type for each in admin.list_consumer_groups().result(PATIENCE_S).valid if each.group_id == group]
    return str(kind.name.lower())


def heedless(condition: Callable[[], bool], member: ConfluentMember) -> Callable[[], bool]:
    """The condition, seen by a member that does not mind being told that a topic is not there."""

    def look() -> bool:
        with contextlib.suppress(Refused):
            member.poll()
        return condition()

    return look


# The new consumer protocol


@pytest.mark.usefixtures("_new_protocol")
class TestConsumerProtocol:
    def test_a_member_gets_all_partitions(self, client: ConfluentKafka, topic: str, name: str) -> None:
        member = client.member(name, topic, **CONSUMER)
        until(shared(member), member)
        assert kind_of(client.admin, name) == "consumer"
        description = client.describe_group(name)
        assert (description.state, description.assignor, description.assigned) == ("Stable", "uniform", [[0, 1, 2]])

    @pytest.mark.parametrize("assignor", ["uniform", "range"])
    def test_two_members_share_the_partitions(
        self, client: ConfluentKafka, topic: str, name: str, assignor: str
    ) -> None:
        first = client.member(name, topic, **CONSUMER, group_remote_assignor=assignor)
        until(shared(first), first)
        second = client.member(name, topic, **CONSUMER, group_remote_assignor=assignor)
        until(shared(first, second), first, second)
        until(lambda: client.describe_group(name).state == "Stable", first, second)
        assert client.describe_group(name).assignor == assignor

    def test_who_leaves_gives_its_partitions_back(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first, second = client.member(name, topic, **CONSUMER), client.member(name, topic, **CONSUMER)
        until(shared(first, second), first, second)
        first.close()
        until(shared(second), second)

    def test_a_group_goes_on_where_it_committed(self, client: ConfluentKafka, topic: str, name: str) -> None:
        client.produce(topic, 1, [Row(n, b"%d" % n) for n in range(10)])
        member = client.member(name, topic, **CONSUMER)
        assert len(take(member, 10)) == 10
        member.commit({1: 6})
        assert member.committed([0, 1]) == [None, 6]
        member.close()
        successor = client.member(name, topic, **CONSUMER)
        assert [message.offset for _, message in take(successor, 4)] == [6, 7, 8, 9]

    def test_a_pattern_finds_its_topics(self, client: ConfluentKafka, name: str) -> None:
        topics = {f"{name}-{letter}" for letter in "acd"}
        for each in topics:
            client.create_topic(each, 1)
        until(lambda: topics <= client.list_topics())
        member = client.member(name, f"^{name}-[a-c]$", **CONSUMER)
        until(lambda: len(member.consumer.assignment()) == 2, member)
        assert {partition.topic for partition in member.consumer.assignment()} == {f"{name}-a", f"{name}-c"}

    def test_partitions_that_are_added_are_shared_too(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first, second = client.member(name, topic, **CONSUMER), client.member(name, topic, **CONSUMER)
        until(shared(first, second), first, second)
        client.admin.create_partitions([NewPartitions(topic, 6)])[topic].result(PATIENCE_S)
        until(lambda: len(first.assignment()) == len(second.assignment()) == 3, first, second)
        assert first.assignment() | second.assignment() == set(range(6))

    def test_a_topic_that_comes_later_is_assigned_when_it_comes(self, client: ConfluentKafka, name: str) -> None:
        member = client.member(name, name, **CONSUMER)
        until(heedless(lambda: client.describe_group(name).state == "Stable", member))
        client.create_topic(name, 3)
        until(heedless(shared(member), member))

    def test_a_topic_that_goes_is_taken_from_its_members(self, client: ConfluentKafka, topic: str, name: str) -> None:
        client.create_topic(f"{name}-stays", 1)
        until(lambda: f"{name}-stays" in client.list_topics())
        member = client.member(name, f"^{name}($|-stays)", **CONSUMER)
        until(lambda: len(member.consumer.assignment()) == 4, member)
        client.delete_topic(topic)
        until(heedless(lambda: len(member.consumer.assignment()) == 1, member))

    def test_a_pattern_that_is_none_to_the_broker_is_refused(self, client: ConfluentKafka, name: str) -> None:
        """RE2 refers back to no group; librdkafka lets it pass."""
        member = client.member(name, r"^(a)\1", **CONSUMER)
        with pytest.raises(Refused, match="The regular expression is not valid"):
            until(lambda: False, member)

    def test_a_static_member_comes_back_to_its_partitions(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first = client.member(name, topic, **CONSUMER, group_instance_id="first")
        second = client.member(name, topic, **CONSUMER, group_instance_id="second")
        until(shared(first, second), first, second)
        before = first.assignment()
        first.close()
        assert second.assignment() == {0, 1, 2} - before
        again = client.member(name, topic, **CONSUMER, group_instance_id="first")
        until(lambda: again.assignment() == before, again, second)

    def test_a_classic_member_moves_an_empty_group_back(self, client: ConfluentKafka, topic: str, name: str) -> None:
        member = client.member(name, topic, **CONSUMER)
        until(shared(member), member)
        member.commit({0: 5})
        member.close()
        classic = client.member(name, topic)
        until(shared(classic), classic)
        assert kind_of(client.admin, name) == "classic"
        assert classic.committed([0]) == [5]

    def test_members_of_both_protocols_share_a_group(self, client: ConfluentKafka, topic: str, name: str) -> None:
        """It migrates while it works, and back when the last member of the new protocol has left."""
        classic = client.member(name, topic)
        until(shared(classic), classic)
        new = client.member(name, topic, **CONSUMER)
        until(shared(classic, new), classic, new)
        assert kind_of(client.admin, name) == "consumer"
        new.close()
        until(shared(classic), classic)
        assert kind_of(client.admin, name) == "classic"


# Static members


def test_a_static_member_comes_back_without_a_rebalance(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, group_instance_id="first")
    second = client.member(name, topic, group_instance_id="second")
    until(shared(first, second), first, second)
    before, others = first.assignment(), second.assignment()
    first.close()
    again = client.member(name, topic, group_instance_id="first")
    until(lambda: again.assignment() == before, again, second)
    assert second.assignment() == others


def test_of_two_with_one_instance_id_the_older_is_fenced(client: ConfluentKafka, topic: str, name: str) -> None:
    older = client.member(name, topic, group_instance_id="same")
    until(shared(older), older)
    newer = client.member(name, topic, group_instance_id="same")
    until(shared(newer), newer)
    with pytest.raises(Refused) as refusal:
        until(lambda: False, older)
    assert refusal.value.code in (FATAL, FENCED_INSTANCE_ID)


# Cooperative members


def test_cooperative_members_keep_what_does_not_move(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, **COOPERATIVE)
    revoked: list[int] = []
    first.consumer.subscribe([topic], on_revoke=lambda _, gone: revoked.extend(each.partition for each in gone))
    until(shared(first), first)
    second = client.member(name, topic, **COOPERATIVE)
    until(shared(first, second), first, second)
    assert set(revoked) == second.assignment(), "nothing else was taken from it"
    assert client.describe_group(name).assignor == "cooperative-sticky"


def test_eager_and_cooperative_members_do_not_agree(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, partition_assignment_strategy="range")
    until(shared(first), first)
    second = client.member(name, topic, **COOPERATIVE)
    with pytest.raises(Refused) as refusal:
        until(lambda: False, first, second)
    assert refusal.value.code == 23  # INCONSISTENT_GROUP_PROTOCOL


# Auto-commit


def test_what_was_read_is_committed_on_closing(client: ConfluentKafka, topic: str, name: str) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(4)])
    member = client.member(name, topic, enable_auto_commit=True)
    take(member, 4)
    member.close()
    assert client.committed(name, topic) == {0: 4}
