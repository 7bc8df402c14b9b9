"""Tests of a cluster: its brokers, and the lists of what it contains."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet import Cluster
from kafkalet.protocol.errors import KafkaError
from tests.profile import examples


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        yield cluster


def test_records_survive_the_stop_of_a_broker(cluster: Cluster) -> None:
    topic = cluster.topic("t", replication_factor=3)
    topic.send("before")
    cluster.broker(1).stop()
    topic.send("after")
    assert topic.values() == [b"before", b"after"]


def test_stopped_broker_has_no_address(cluster: Cluster) -> None:
    broker = cluster.broker(1)
    broker.stop()
    assert not broker.is_running
    with pytest.raises(RuntimeError, match="broker 1 is stopped"):
        _ = broker.address


def test_restarted_broker_has_its_old_address(cluster: Cluster) -> None:
    broker = cluster.broker(2)
    address = broker.address
    broker.stop()
    broker.start()
    assert broker.address == address


def test_unknown_broker_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="broker 9 does not exist; this cluster has brokers 1, 2, 3"):
        cluster.broker(9)


# Lists


def test_topics_are_listed_by_name(cluster: Cluster) -> None:
    cluster.topic("b").send("v")
    cluster.topic("a", partitions=2)
    cluster.group("g").seek(0, "a")
    assert [topic.name for topic in cluster.topics()] == ["a", "b"]
    assert [topic.name for topic in cluster.topics(internal=True)] == ["__consumer_offsets", "a", "b"]


def test_groups_are_listed_by_id(cluster: Cluster) -> None:
    assert cluster.groups() == []
    cluster.topic("t").create()
    for group_id in ("two", "one"):
        cluster.group(group_id).seek(0, "t")
    assert [group.group_id for group in cluster.groups()] == ["one", "two"]


def test_transactions_are_listed_by_id(cluster: Cluster) -> None:
    for transactional_id in ("two", "one"):
        with cluster.open_transaction(transactional_id) as transaction:
            transaction.send("t", "v")
    assert [(each.transactional_id, each.state) for each in cluster.transactions()] == [
        ("one", "CompleteCommit"),
        ("two", "CompleteCommit"),
    ]


def test_brokers_are_listed_by_id_whether_they_run_or_not(cluster: Cluster) -> None:
    cluster.broker(2).stop()
    assert [(broker.node_id, broker.is_running) for broker in cluster.brokers()] == [(1, True), (2, False), (3, True)]


# The shared broker of a test session


def state(cluster: Cluster) -> dict[str, object]:
    """Return all that a test could have changed."""
    server = cluster._server
    metadata = server.metadata
    return {
        "topics": cluster.topics(internal=True),
        "groups": cluster.groups(),
        "transactions": cluster.transactions(),
        "files": sorted(server.call(server.image).files),
        "configuration": (dict(metadata.broker_config), dict(metadata.client_quotas), dict(server.config.static)),
        "rights": (list(map(str, cluster.acls)), list(cluster.users), set(metadata.scram_credentials)),
        "brokers": [(broker.node_id, broker.is_running, broker.address) for broker in cluster.brokers()],
        "refusing": set(server.refusing),
        "held": set(server.leadership._held_followers),
        "offline": [(set(node.offline), node.directories.have_all_failed) for node in server.nodes.values()],
        "clock": repr(cluster.clock),
        "waits": (cluster.timeout, dict(cluster._turns)),
        "faults": cluster.faults,
        "clients": (len(cluster.requests), cluster.requests.unsupported, cluster.connections),
    }


def send_in_a_transaction(cluster: Cluster) -> None:
    transaction = cluster.open_transaction("x").__enter__()
    transaction.send("t", "v")
    transaction.send_offsets("g", {("t", 0): 1})


def change_timeout(cluster: Cluster) -> None:
    cluster.timeout = 1


OPERATIONS: dict[str, Callable[[Cluster], object]] = {
    "create": lambda cluster: cluster.topic("t", partitions=2, config={"flush.ms": 5}, replication_factor=2),
    "send": lambda cluster: cluster.topic("t").send("v"),
    "configure": lambda cluster: cluster.topic("t").configure({"retention.ms": 5}),
    "truncate": lambda cluster: cluster.topic("t").truncate(0),
    "move leader": lambda cluster: cluster.topic("t").move_leader(2),
    "commit": lambda cluster: cluster.group("g").seek(0, "t"),
    "transaction": send_in_a_transaction,
    "add ACL": lambda cluster: cluster.acls.add("bob:read:topic:t"),
    "remove user": lambda cluster: cluster.users.remove("alice"),
    "add user": lambda cluster: cluster.users.add("bob", "secret"),
    "advance": lambda cluster: cluster.clock.advance(days=3),
    "advance clients": lambda cluster: cluster.clock.advance(hours=3, sessions=True),
    "hold replication": lambda cluster: cluster.hold_replication(2),
    "shrink ISR": lambda cluster: cluster.topic("t").shrink_isr(2),
    "hold high watermark": lambda cluster: cluster.topic("t").hold_high_watermark(),
    "take offline": lambda cluster: cluster.topic("t").take_offline(),
    "fail directory": lambda cluster: cluster.fail_log_dir(0, broker=2),
    "refuse connections": lambda cluster: cluster.refuse_connections(1),
    "stop": lambda cluster: cluster.broker(2).stop(),
    "kill": lambda cluster: cluster.broker(1).kill(),
    "pause": lambda cluster: cluster.broker(2).pause(),
    "timeout": change_timeout,
    "fault": lambda cluster: cluster.fault("Produce", hang=True, strict=False),
}


def new_cluster() -> Cluster:
    return Cluster(brokers=2, users={"alice": "secret"}, super_users=["alice"])


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with new_cluster() as cluster:
        yield cluster


@settings(max_examples=examples(1))
@given(operations=st.lists(st.sampled_from(sorted(OPERATIONS)), max_size=12))
def test_next_test_finds_the_shared_broker_as_new(shared: Cluster, operations: list[str]) -> None:
    before = state(shared)
    for name in operations:
        with suppress(KafkaError, ValueError, RuntimeError, AssertionError):
            OPERATIONS[name](shared)
    shared._end_faults()
    shared._renew()
    assert state(shared) == before
    shared.topic("t").send("v")
    assert shared.topic("t").values() == [b"v"]
    shared._renew()
