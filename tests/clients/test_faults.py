"""Faults in groups and transactions: members vanish, coordinators stop, fenced producers return. No client hangs, no
commit is lost, and every client gets Kafka's error code.
"""

import contextlib
import gc
import itertools
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import pytest

import kafkalet
from kafkalet.broker.cluster.state_topics import partition_of
from kafkalet_conformance.playing.connection import Closed

from .drivers import DRIVERS, AioKafka, BrokerError, ConfluentKafka, Driver, Row
from .killed_member import SESSION_TIMEOUT_MS
from .raw import RawMember, committed, form_group, rebalance
from .test_confluent_groups import CONSUMER
from .test_steps import FENCED, values
from .waiting import shared, take, until

CONFIG = {
    "log.retention.ms": "-1",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.num.partitions": "6",
}
UNKNOWN_MEMBER_ID = 25
ILLEGAL_GENERATION = 22

PATIENT = [AioKafka, ConfluentKafka]
"""kafka-python 3.0 forgets a request that its coordinator could no longer take, and waits for the response forever."""

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(brokers=3, config=CONFIG) as running:
        yield running


@pytest.fixture
def bootstrap(cluster: kafkalet.Cluster) -> Iterator[str]:
    """The addresses of all brokers; all are running before and after a test."""
    yield cluster.bootstrap_servers
    for node_id in {1, 2, 3} - set(cluster._server.nodes):
        cluster.broker(node_id).start()
    gc.collect()  # close sockets that clients left open


@pytest.fixture
def client(driver_type: type[Driver], bootstrap: str) -> Iterator[Driver]:
    driver = driver_type(bootstrap)
    yield driver
    driver.close()


@pytest.fixture
def name() -> str:
    return f"fault-{next(_numbers)}"


@pytest.fixture
def topic(cluster: kafkalet.Cluster, name: str) -> str:
    cluster.topic(name).create(3, replication_factor=3)
    return name


def coordinator_of(cluster: kafkalet.Cluster, state: str, key: str) -> int:
    """Return the coordinator of a group (__consumer_offsets) or a transactional id (__transaction_state)."""
    partitions = cluster._server.metadata.topics[state].partitions
    return partitions[partition_of(key, len(partitions))].leader


def stop_group_coordinator(cluster: kafkalet.Cluster, group: str) -> int:
    node_id = coordinator_of(cluster, "__consumer_offsets", group)
    cluster.broker(node_id).stop()
    return node_id


def stop_transaction_coordinator(cluster: kafkalet.Cluster, transactional_id: str) -> int:
    node_id = coordinator_of(cluster, "__transaction_state", transactional_id)
    cluster.broker(node_id).stop()
    return node_id


# Members that vanish


@pytest.mark.parametrize("client_name", [*sorted(DRIVERS), "confluent-kafka/consumer"])
def test_partitions_of_killed_client_are_reassigned(client_name: str, bootstrap: str, topic: str, name: str) -> None:
    client = ConfluentKafka(bootstrap)
    settings = CONSUMER if client_name.endswith("/consumer") else {"partition_assignment_strategy": "roundrobin,range"}
    with contextlib.closing(client):
        survivor = client.member(name, topic, **settings)
        until(shared(survivor), survivor)
        command = [sys.executable, "-W", "ignore", "-m", "tests.clients.killed_member"]
        command += [client_name, bootstrap, name, topic]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda: 0 < len(survivor.assignment()) < 3, survivor)
                assert process.stdout is not None
                process.stdout.readline()
            finally:
                process.kill()
        until(shared(survivor), survivor)


def test_member_with_closed_socket_is_removed_when_session_expires(
    client: Driver, bootstrap: str, topic: str, name: str
) -> None:
    member = client.member(name, topic)
    until(shared(member), member)
    vanishing = RawMember(bootstrap, name, topic, SESSION_TIMEOUT_MS)
    vanishing.send_join()
    until(vanishing.is_answered, member)
    assert vanishing.joined()["error_code"] == 0
    vanishing.send_sync()
    until(vanishing.is_answered, member)
    until(lambda: len(member.assignment()) < 3, member)
    vanishing.close()
    until(shared(member), member)


def test_member_that_never_syncs_does_not_block_the_group(
    client: Driver, bootstrap: str, topic: str, name: str
) -> None:
    """The member has joined but never syncs; the group completes without it."""
    vanishing = RawMember(bootstrap, name, topic, SESSION_TIMEOUT_MS)
    vanishing.send_join()
    assert vanishing.joined()["leader"] == vanishing.member_id
    vanishing.close()
    member = client.member(name, topic)
    until(shared(member), member)


def test_member_with_expired_session_is_unknown(client: Driver, bootstrap: str, topic: str, name: str) -> None:
    with contextlib.closing(RawMember(bootstrap, name, topic, SESSION_TIMEOUT_MS)) as late:
        late.send_join()
        assert late.joined()["error_code"] == 0
        member = client.member(name, topic)
        until(shared(member), member)  # after the other member's session has expired
        assert late.heartbeat() == UNKNOWN_MEMBER_ID
        assert late.commit({0: 1}) == {UNKNOWN_MEMBER_ID}
        assert late.leave() == UNKNOWN_MEMBER_ID
    assert member.committed([0]) == [None]


# Coordinators that stop


@pytest.mark.parametrize("driver_type", PATIENT)
def test_transaction_survives_stop_of_its_coordinator(
    client: Driver, cluster: kafkalet.Cluster, topic: str, name: str
) -> None:
    producer = client.transactional(name)
    producer.begin()
    producer.send(topic, 0, [Row(1, b"before")])
    stop_transaction_coordinator(cluster, name)
    producer.send(topic, 0, [Row(2, b"after")])
    producer.send(topic, 1, [Row(3, b"elsewhere")])
    assert client.end_offsets(topic, [0, 1], "read_committed") == [0, 0]
    producer.commit()
    until(lambda: client.end_offsets(topic, [0, 1], "read_committed") == [3, 2])
    found = client.read(topic, {0: 0, 1: 0}, 3, "read_committed")
    assert sorted(values(found), key=str) == [b"after", b"before", b"elsewhere"]


def test_transaction_continues_after_coordinator_restart(
    client: Driver, cluster: kafkalet.Cluster, topic: str, name: str
) -> None:
    producer = client.transactional(name)
    producer.begin()
    producer.send(topic, 0, [Row(1, b"aborted")])
    cluster.broker(stop_transaction_coordinator(cluster, name)).start()
    producer.abort()
    producer.begin()
    producer.send(topic, 0, [Row(2, b"committed")])
    cluster.broker(stop_transaction_coordinator(cluster, name)).start()
    producer.commit()
    assert values(client.read(topic, {0: 0}, 1, "read_committed")) == [b"committed"]


@pytest.mark.parametrize("driver_type", PATIENT)
def test_new_coordinator_fences_older_producer(
    client: Driver, cluster: kafkalet.Cluster, topic: str, name: str
) -> None:
    older = client.transactional(name)
    older.begin()
    older.send(topic, 0, [Row(1, b"of the older")])
    stop_transaction_coordinator(cluster, name)
    newer = client.transactional(name)
    newer.begin()
    newer.send(topic, 0, [Row(2, b"of the newer")])
    newer.commit()
    with pytest.raises(BrokerError) as failure:
        older.commit()
    assert failure.value.code in FENCED
    assert values(client.read(topic, {0: 0}, 1, "read_committed")) == [b"of the newer"]


def test_group_rebalances_at_new_coordinator(client: Driver, cluster: kafkalet.Cluster, topic: str, name: str) -> None:
    """The old coordinator stops while a member waits for the others to join."""
    first = client.member(name, topic)
    until(shared(first), first)
    with contextlib.closing(RawMember(cluster.bootstrap_servers, name, topic)) as waiting:
        waiting.send_join()  # gets no response, because the first member is not polled and does not rejoin
        stop_group_coordinator(cluster, name)
    second = client.member(name, topic)
    until(shared(first, second), first, second)


def test_committed_offsets_survive_stop_of_the_coordinator(
    client: Driver, cluster: kafkalet.Cluster, topic: str, name: str
) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(10)])
    member = client.member(name, topic)
    take(member, 10)
    for offset in range(1, 7):
        member.commit({0: offset})
        if offset % 2 == 0:
            cluster.broker(stop_group_coordinator(cluster, name)).start()
    member.commit({0: 7})
    assert member.committed([0]) == [7]
    member.close()
    stop_group_coordinator(cluster, name)
    assert client.committed(name, topic) == {0: 7}
    assert [message.offset for _, message in take(client.member(name, topic), 3)] == [7, 8, 9]


@pytest.fixture
def pending_commit(cluster: kafkalet.Cluster, bootstrap: str, topic: str, name: str) -> Iterator[RawMember]:
    """A member whose last commit waits for followers that do not replicate."""
    with form_group(bootstrap, name, topic, 1) as [member]:
        assert member.commit({0: 1}) == {0}
        followers = {1, 2, 3} - {coordinator_of(cluster, "__consumer_offsets", name)}
        holds = [cluster.hold_replication(node_id, "__consumer_offsets") for node_id in followers]
        member.send_commit({0: 2})
        assert not member.is_answered()
        yield member
        for held in holds:
            held.release()


def test_commit_is_acknowledged_when_every_replica_has_it(
    cluster: kafkalet.Cluster, bootstrap: str, pending_commit: RawMember
) -> None:
    assert committed(bootstrap, pending_commit.group, pending_commit.topic) == {0: 1}
    for node_id in {1, 2, 3} - {coordinator_of(cluster, "__consumer_offsets", pending_commit.group)}:
        cluster._server.call(partial(cluster._server.release_replication, node_id, "__consumer_offsets", None))
    assert pending_commit.was_committed() == {0}
    stop_group_coordinator(cluster, pending_commit.group)
    assert committed(cluster.bootstrap_servers, pending_commit.group, pending_commit.topic) == {0: 2}


def test_unreplicated_commit_is_lost_with_coordinator_but_never_acknowledged(
    cluster: kafkalet.Cluster, bootstrap: str, pending_commit: RawMember
) -> None:
    stop_group_coordinator(cluster, pending_commit.group)
    with pytest.raises(Closed):
        pending_commit.was_committed()
    assert committed(cluster.bootstrap_servers, pending_commit.group, pending_commit.topic) == {0: 1}


def test_transactional_offsets_survive_restart_of_both_coordinators(
    client: Driver, cluster: kafkalet.Cluster, topic: str, name: str
) -> None:
    client.produce(topic, 0, [Row(n, b"%d" % n) for n in range(5)])
    member = client.member(name, topic)
    take(member, 5)
    producer = client.transactional(name)
    producer.begin()
    producer.send(topic, 1, [Row(1, b"made of them")])
    producer.send_offsets(member, topic, {0: 5})
    cluster.broker(stop_group_coordinator(cluster, name)).start()
    cluster.broker(stop_transaction_coordinator(cluster, name)).start()
    producer.commit()
    until(lambda: client.committed(name, topic) == {0: 5})


def test_consumer_group_continues_at_new_coordinator(
    cluster: kafkalet.Cluster, bootstrap: str, topic: str, name: str
) -> None:
    client = ConfluentKafka(bootstrap)
    with contextlib.closing(client):
        first, second = client.member(name, topic, **CONSUMER), client.member(name, topic, **CONSUMER)
        until(shared(first, second), first, second)
        first.commit({0: 5})
        stop_group_coordinator(cluster, name)
        third = client.member(name, topic, **CONSUMER)
        until(shared(first, second, third), first, second, third)
        assert third.committed([0]) == [5]
        third.commit({next(iter(third.assignment())): 7})


# Producers that return


def test_transaction_is_aborted_after_its_timeout(client: Driver, topic: str, name: str) -> None:
    producer = client.transactional(name, transaction_timeout_ms=1000)
    producer.begin()
    producer.send(topic, 0, [Row(1, b"too late")])
    until(lambda: client.end_offsets(topic, [0], "read_committed") == [2])
    with pytest.raises(BrokerError) as failure:
        producer.commit()
    assert failure.value.code in FENCED


# Large groups


def test_group_of_two_hundred_members_rebalances(bootstrap: str, topic: str, name: str) -> None:
    with form_group(bootstrap, name, topic, 200) as members:
        assert {member.heartbeat() for member in members} == {0}
        gone = members.pop()
        assert gone.leave() == 0
        gone.close()
        assigned = rebalance(members)
        assert sorted(map(len, assigned))[-4:] == [0, 1, 1, 1]
        assert len({member.generation for member in members}) == 1


def test_commit_of_two_thousand_partitions_survives_coordinator_stop(
    cluster: kafkalet.Cluster, bootstrap: str, name: str
) -> None:
    cluster.topic(name).create(2000)
    offsets = {index: index * 7 for index in range(2000)}
    with form_group(bootstrap, name, name, 1) as [member]:
        assert member.commit(offsets) == {0}
    assert committed(bootstrap, name, name) == offsets
    stop_group_coordinator(cluster, name)
    assert committed(cluster.bootstrap_servers, name, name) == offsets
