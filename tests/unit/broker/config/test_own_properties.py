"""Properties of single brokers."""

import pytest

import kafkalet
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.own_properties import check_own_properties
from kafkalet.properties import InvalidProperty

THREE = range(1, 4)


def test_properties_of_one_broker_take_precedence() -> None:
    config = {"message.max.bytes": 1000, "broker.rack": "a", 2: {"broker.rack": "b", "message.max.bytes": 2000}}
    with kafkalet.Cluster(3, config=config) as cluster:
        configs = [node.config for node in cluster._server.nodes.values()]
        assert [config.broker_rack for config in configs] == ["a", "b", "a"]
        assert [config.log_config({}).max_message_bytes for config in configs] == [1000, 2000, 1000]


def test_properties_of_one_broker_survive_its_restart() -> None:
    with kafkalet.Cluster(2, config={2: {"broker.rack": "b"}}) as cluster:
        cluster.broker(2).stop()
        cluster.broker(2).start()
        assert cluster._server.metadata.endpoints[2].rack == "b"


def test_broker_ids_count_from_the_property() -> None:
    with kafkalet.Cluster(2, config={"node.id": 7, 8: {"broker.rack": "b"}}) as cluster:
        assert [endpoint.rack for endpoint in cluster._server.metadata.endpoints.values()] == [None, "b"]


def test_broker_that_does_not_exist_is_refused() -> None:
    expected = "broker.rack=b is set for broker 4, which does not exist; the cluster has brokers 1 to 3"
    with pytest.raises(ValueError, match=expected):
        check_own_properties({4: {"broker.rack": "b"}}, BrokerConfig(), THREE)


@pytest.mark.parametrize("name", ["listeners", "num.partitions", "offsets.topic.num.partitions"])
def test_property_of_all_brokers_is_refused_for_one(name: str) -> None:
    expected = f"broker 2: {name}=5 is refused: this property is the same for all brokers of a cluster"
    with pytest.raises(InvalidProperty, match=expected):
        check_own_properties({2: {name: "5"}}, BrokerConfig(), THREE)


def test_invalid_value_is_refused_with_the_broker() -> None:
    expected = "broker 2: Invalid value x for configuration message.max.bytes: Not a number of type INT"
    with pytest.raises(InvalidProperty, match=expected):
        check_own_properties({2: {"message.max.bytes": "x"}}, BrokerConfig(), THREE)


@pytest.mark.parametrize("node_id", [2, 4])
def test_passwords_are_not_shown(node_id: int) -> None:
    with pytest.raises(ValueError, match=r"ssl\.key\.password is") as refused:
        check_own_properties({node_id: {"ssl.key.password": "secret"}}, BrokerConfig(), THREE)
    assert "secret" not in str(refused.value)
