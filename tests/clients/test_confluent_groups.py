"""librdkafka in consumer groups beyond test_steps.py: the new consumer protocol (KIP-848), static members (KIP-345),
and the incremental cooperative assignor (KIP-429).
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from .drivers import TIMEOUT_S, BrokerError, ConfluentKafka, Row
from .drivers.confluent import ConfluentMember
from .waiting import shared, take, until

FENCED_INSTANCE_ID = 82
FATAL = -150
"""librdkafka's _FATAL: a fenced consumer cannot be used any more."""

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
        pytest.skip("Kafka 3.9 has the new consumer protocol as a preview only, disabled by default")


def kind_of(admin: AdminClient, group: str) -> str:
    """Return the type of a group: classic or consumer."""
    [kind] = [each.type for each in admin.list_consumer_groups().result(TIMEOUT_S).valid if each.group_id == group]
    return str(kind.name.lower())


def polling_and_ignoring_errors(condition: Callable[[], bool], member: ConfluentMember) -> Callable[[], bool]:
    """Wrap a condition so that checking it polls the member and ignores errors such as a missing topic."""

    def look() -> bool:
        with contextlib.suppress(BrokerError):
            member.poll()
        return condition()

    return look


# The new consumer protocol


@pytest.mark.usefixtures("_new_protocol")
class TestConsumerProtocol:
    def test_single_member_gets_all_partitions(self, client: ConfluentKafka, topic: str, name: str) -> None:
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

    def test_partitions_of_leaving_member_are_reassigned(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first, second = client.member(name, topic, **CONSUMER), client.member(name, topic, **CONSUMER)
        until(shared(first, second), first, second)
        first.close()
        until(shared(second), second)

    def test_group_resumes_at_committed_offsets(self, client: ConfluentKafka, topic: str, name: str) -> None:
        client.produce(topic, 1, [Row(n, b"%d" % n) for n in range(10)])
        member = client.member(name, topic, **CONSUMER)
        assert len(take(member, 10)) == 10
        member.commit({1: 6})
        assert member.committed([0, 1]) == [None, 6]
        member.close()
        successor = client.member(name, topic, **CONSUMER)
        assert [message.offset for _, message in take(successor, 4)] == [6, 7, 8, 9]

    def test_pattern_subscribes_to_matching_topics(self, client: ConfluentKafka, name: str) -> None:
        topics = {f"{name}-{letter}" for letter in "acd"}
        for each in topics:
            client.create_topic(each, 1)
        until(lambda: topics <= client.list_topics())
        member = client.member(name, f"^{name}-[a-c]$", **CONSUMER)
        until(lambda: len(member.consumer.assignment()) == 2, member)
        assert {partition.topic for partition in member.consumer.assignment()} == {f"{name}-a", f"{name}-c"}

    def test_added_partitions_are_assigned(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first, second = client.member(name, topic, **CONSUMER), client.member(name, topic, **CONSUMER)
        until(shared(first, second), first, second)
        client.admin.create_partitions([NewPartitions(topic, 6)])[topic].result(TIMEOUT_S)
        until(lambda: len(first.assignment()) == len(second.assignment()) == 3, first, second)
        assert first.assignment() | second.assignment() == set(range(6))

    def test_topic_created_after_subscription_is_assigned(self, client: ConfluentKafka, name: str) -> None:
        member = client.member(name, name, **CONSUMER)
        until(polling_and_ignoring_errors(lambda: client.describe_group(name).state == "Stable", member))
        client.create_topic(name, 3)
        until(polling_and_ignoring_errors(shared(member), member))

    def test_deleted_topic_is_revoked(self, client: ConfluentKafka, topic: str, name: str) -> None:
        client.create_topic(f"{name}-stays", 1)
        until(lambda: f"{name}-stays" in client.list_topics())
        member = client.member(name, f"^{name}($|-stays)", **CONSUMER)
        until(lambda: len(member.consumer.assignment()) == 4, member)
        client.delete_topic(topic)
        until(polling_and_ignoring_errors(lambda: len(member.consumer.assignment()) == 1, member))

    def test_invalid_pattern_is_rejected(self, client: ConfluentKafka, name: str) -> None:
        """RE2 does not support backreferences; librdkafka does not check the pattern."""
        member = client.member(name, r"^(a)\1", **CONSUMER)
        with pytest.raises(BrokerError, match="The regular expression is not valid"):
            until(lambda: False, member)

    def test_static_member_gets_its_partitions_back(self, client: ConfluentKafka, topic: str, name: str) -> None:
        first = client.member(name, topic, **CONSUMER, group_instance_id="first")
        second = client.member(name, topic, **CONSUMER, group_instance_id="second")
        until(shared(first, second), first, second)
        before = first.assignment()
        first.close()
        assert second.assignment() == {0, 1, 2} - before
        again = client.member(name, topic, **CONSUMER, group_instance_id="first")
        until(lambda: again.assignment() == before, again, second)

    def test_classic_member_converts_empty_consumer_group(self, client: ConfluentKafka, topic: str, name: str) -> None:
        member = client.member(name, topic, **CONSUMER)
        until(shared(member), member)
        member.commit({0: 5})
        member.close()
        classic = client.member(name, topic)
        until(shared(classic), classic)
        assert kind_of(client.admin, name) == "classic"
        assert classic.committed([0]) == [5]

    def test_members_of_both_protocols_share_a_group(self, client: ConfluentKafka, topic: str, name: str) -> None:
        """The group migrates while it is in use, and back when the last member of the new protocol has left."""
        classic = client.member(name, topic)
        until(shared(classic), classic)
        new = client.member(name, topic, **CONSUMER)
        until(shared(classic, new), classic, new)
        assert kind_of(client.admin, name) == "consumer"
        new.close()
        until(shared(classic), classic)
        assert kind_of(client.admin, name) == "classic"


# Static members


def test_static_member_returns_without_rebalance(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, group_instance_id="first")
    second = client.member(name, topic, group_instance_id="second")
    until(shared(first, second), first, second)
    before, others = first.assignment(), second.assignment()
    first.close()
    again = client.member(name, topic, group_instance_id="first")
    until(lambda: again.assignment() == before, again, second)
    assert second.assignment() == others


def test_second_member_with_instance_id_fences_the_first(client: ConfluentKafka, topic: str, name: str) -> None:
    older = client.member(name, topic, group_instance_id="same")
    until(shared(older), older)
    newer = client.member(name, topic, group_instance_id="same")
    until(shared(newer), newer)
    with pytest.raises(BrokerError) as failure:
        until(lambda: False, older)
    assert failure.value.code in (FATAL, FENCED_INSTANCE_ID)


# Cooperative members


def test_cooperative_member_keeps_partitions_that_do_not_move(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, **COOPERATIVE)
    revoked: list[int] = []
    first.consumer.subscribe([topic], on_revoke=lambda _, gone: revoked.extend(each.partition for each in gone))
    until(shared(first), first)
    second = client.member(name, topic, **COOPERATIVE)
    until(shared(first, second), first, second)
    assert set(revoked) == second.assignment(), "only partitions that moved were revoked"
    assert client.describe_group(name).assignor == "cooperative-sticky"


def test_cooperative_member_cannot_join_eager_group(client: ConfluentKafka, topic: str, name: str) -> None:
    first = client.member(name, topic, partition_assignment_strategy="range")
    until(shared(first), first)
    second = client.member(name, topic, **COOPERATIVE)
    with pytest.raises(BrokerError) as failure:
        until(lambda: False, first, second)
    assert failure.value.code == 23  # INCONSISTENT_GROUP_PROTOCOL


# Auto-commit


def test_auto_commit_commits_polled_records_on_close(client: ConfluentKafka, topic: str, name: str) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(4)])
    member = client.member(name, topic, enable_auto_commit=True)
    take(member, 4)
    member.close()
    assert client.committed(name, topic) == {0: 4}
