"""UnregisterBroker: a broker leaves the cluster until it is started again. Observed in Apache Kafka 3.9 and 4.4."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from tests.wire.brokers import Plain, Wire, batch, on_the_wire
from tests.wire.rights import without_rights


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire(3) as opened:
        opened.cluster.topic("r").create(assignments=[[1, 2, 3], [3, 1, 2]])
        opened.cluster.topic("s").create(assignments=[[3]])
        yield opened


def unregister(wire: Wire, broker_id: int, node: int = 1) -> tuple[int, str]:
    answer = wire.ask("UnregisterBroker", 0, {"broker_id": broker_id}, node)
    return answer["error_code"], answer["error_message"]


def listed(wire: Wire, node: int = 1) -> list[tuple[int, bool]]:
    """Return the brokers in DescribeCluster, and whether they are fenced."""
    body = {"include_cluster_authorized_operations": False, "endpoint_type": 1, "include_fenced_brokers": True}
    answer = wire.ask("DescribeCluster", 2, body, node)
    return [(broker["broker_id"], broker["is_fenced"]) for broker in answer["brokers"]]


def metadata(wire: Wire, node: int = 1) -> Plain:
    return wire.ask("Metadata", 9, {"topics": None, "allow_auto_topic_creation": False}, node)


def partition(wire: Wire, name: str, index: int, node: int = 1) -> tuple[int, list[int], list[int]]:
    """Return leader, ISR and offline replicas of a partition."""
    [topic] = [topic for topic in metadata(wire, node)["topics"] if topic["name"] == name]
    [found] = [found for found in topic["partitions"] if found["partition_index"] == index]
    return found["leader_id"], found["isr_nodes"], found["offline_replicas"]


@pytest.mark.parametrize("broker_id", [99, -1])
@pytest.mark.parametrize(
    ("release", "message"), [("3.9", ""), ("4.4", "Broker ID {} is not currently registered")], ids=["3.9", "4.4"]
)
def test_unknown_id_is_not_registered(release: str, message: str, broker_id: int) -> None:
    with on_the_wire(version=release) as wire:
        assert unregister(wire, broker_id) == (Code.BROKER_ID_NOT_REGISTERED, message.format(broker_id))


def test_stopped_broker_is_not_fenced_any_more(wire: Wire) -> None:
    wire.cluster.broker(2).stop()
    assert listed(wire) == [(1, False), (2, True), (3, False)]
    assert unregister(wire, 2) == (Code.NONE, "")
    assert listed(wire) == [(1, False), (3, False)]
    assert unregister(wire, 2)[0] == Code.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize("node", [1, 3])
def test_running_broker_is_listed_by_no_broker(wire: Wire, node: int) -> None:
    assert unregister(wire, 3, node) == (Code.NONE, "")
    assert listed(wire, node) == [(1, False), (2, False)]
    assert [broker["node_id"] for broker in metadata(wire, node)["brokers"]] == [1, 2]
    assert unregister(wire, 3, node)[0] == Code.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize("node", [1, 3])
def test_partitions_of_running_broker_are_led_by_others(wire: Wire, node: int) -> None:
    unregister(wire, 3)
    assert partition(wire, "r", 0, node) == (1, [1, 2], [3])
    assert partition(wire, "r", 1, node) == (1, [1, 2], [3])
    assert partition(wire, "s", 0, node) == (-1, [], [3])


def test_last_replica_stays_in_isr_without_eligible_leaders() -> None:
    with on_the_wire(version="3.9") as wire:
        wire.cluster.topic("s").create()
        unregister(wire, 1)
        assert partition(wire, "s", 0) == (-1, [1], [1])


def test_running_broker_refuses_records_for_partition_that_it_led(wire: Wire) -> None:
    assert wire.produce(batch(b"a"), topic="s", node=3)["error_code"] == Code.NONE
    unregister(wire, 3)
    assert wire.produce(batch(b"b"), topic="s", node=3)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_running_broker_does_not_join_isr(wire: Wire) -> None:
    unregister(wire, 3)
    assert wire.produce(batch(b"a"), topic="r")["error_code"] == Code.NONE
    assert partition(wire, "r", 0) == (1, [1, 2], [3])


def test_no_replica_can_be_assigned_to_unregistered_broker(wire: Wire) -> None:
    unregister(wire, 3)
    with pytest.raises(KafkaError, match="includes broker 3, but no such broker is registered") as refused:
        wire.cluster.topic("new").create(assignments=[[3, 1]])
    assert refused.value.code is Code.INVALID_REPLICA_ASSIGNMENT
    with pytest.raises(KafkaError, match=r"only 2 broker\(s\) are registered"):
        wire.cluster.topic("new").create(1, replication_factor=3)


def test_last_broker_of_cluster_can_be_unregistered() -> None:
    with on_the_wire() as wire:
        wire.cluster.topic("s").create()
        assert unregister(wire, 1) == (Code.NONE, "")
        assert listed(wire) == []
        assert (metadata(wire)["brokers"], metadata(wire)["controller_id"]) == ([], -1)
        assert partition(wire, "s", 0) == (-1, [], [1])


def test_running_broker_still_describes_its_listeners(wire: Wire) -> None:
    resource = {"resource_type": 4, "resource_name": "3", "configuration_keys": ["advertised.listeners"]}
    before = wire.ask("DescribeConfigs", 4, {"resources": [resource]}, 3)
    unregister(wire, 3)
    assert wire.ask("DescribeConfigs", 4, {"resources": [resource]}, 3) == before


@pytest.mark.parametrize("stopped_first", [True, False])
def test_restarted_broker_registers_again(wire: Wire, stopped_first: bool) -> None:
    if stopped_first:
        wire.cluster.broker(3).stop()
    unregister(wire, 3)
    if not stopped_first:
        wire.cluster.broker(3).stop()
        assert listed(wire) == [(1, False), (2, False)]
    wire.cluster.broker(3).start()
    assert listed(wire) == [(1, False), (2, False), (3, False)]
    leader, isr, offline = partition(wire, "r", 1)
    assert (leader, sorted(isr), offline) == (1, [1, 2, 3], [])
    assert partition(wire, "s", 0) == (3, [3], [])


def test_unregistered_broker_is_still_a_broker_of_the_test_kit(wire: Wire) -> None:
    addresses = wire.cluster.bootstrap_servers
    unregister(wire, 3)
    assert wire.cluster.bootstrap_servers == addresses
    wire.cluster.broker(3).stop()
    assert "without broker 3" in repr(wire.cluster)
    with pytest.raises(RuntimeError, match="a snapshot needs all brokers of the cluster; stopped: 3"):
        wire.cluster.snapshot()


@pytest.mark.parametrize(
    ("release", "message"), [("3.9", ""), ("4.4", "User:ANONYMOUS may not ALTER on the cluster")], ids=["3.9", "4.4"]
)
def test_alter_on_cluster_is_needed(release: str, message: str) -> None:
    with without_rights(release) as rights:
        denied = rights.ask("UnregisterBroker", 0, broker_id=99)
        assert (denied["error_code"], denied["error_message"]) == (Code.CLUSTER_AUTHORIZATION_FAILED, message)
        rights.grant("alter cluster")
        assert rights.ask("UnregisterBroker", 0, broker_id=99)["error_code"] == Code.BROKER_ID_NOT_REGISTERED
