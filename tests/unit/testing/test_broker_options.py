"""Tests of the options of a broker: names, short names, and how they are combined."""

import inspect
from typing import Any, get_type_hints

import pytest

import kafkalet
from kafkalet.broker.arguments import check_names
from kafkalet.testing.broker_options import NAMES, ClusterOptions, merged, new_cluster


def test_options_are_the_parameters_of_a_cluster() -> None:
    parameters = list(inspect.signature(kafkalet.Cluster).parameters)[:-1]  # without `unknown`
    assert list(get_type_hints(ClusterOptions)) == parameters == list(NAMES)


def test_unknown_option_is_refused_with_the_closest_one() -> None:
    with pytest.raises(TypeError, match="the marker kafka has no option 'verson'; did you mean 'version'"):
        check_names("the marker kafka", {"verson": "3.9"}, NAMES)


def test_unknown_option_without_a_close_one_is_refused_with_all_options() -> None:
    with pytest.raises(TypeError, match="has no option 'xyz'; The options are acls, advertise, brokers, clock"):
        check_names("the marker kafka", {"xyz": 1}, NAMES)


def test_later_options_replace_earlier_ones() -> None:
    assert merged([{"version": "3.9", "brokers": 3}, {"version": "4.4"}]) == {"version": "4.4", "brokers": 3}


def test_properties_of_all_layers_are_combined() -> None:
    layers = [{"config": {"a": 1, "b": 1}}, {"config": {"b": 2}}]
    assert merged(layers) == {"config": {"a": 1, "b": 2}}


def test_properties_of_single_brokers_are_combined() -> None:
    layers = [
        {"config": {2: {"broker.rack": "a", "fetch.max.bytes": 5000}}},
        {"config": {2: {"broker.rack": "b"}, 3: {}}},
    ]
    assert merged(layers) == {"config": {2: {"broker.rack": "b", "fetch.max.bytes": 5000}, 3: {}}}


def test_topics_of_all_layers_are_combined() -> None:
    topics = merged([{"topics": ["a", "b"]}, {"topics": {"b": 2, "c": {"partitions": 3}}}])["topics"]
    assert {name: topic.partitions for name, topic in topics.items()} == {"a": -1, "b": 2, "c": 3}


def test_environment_variables_of_all_layers_are_combined() -> None:
    assert merged([{"env": "A"}, {"env": ["B"]}]) == {"env": ["A", "B"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"env": 3}, "env must be a name or a list of names, not 3"),
        ({"needs": [1]}, "needs must be a name or a list of names"),
        ({"topics": {"a": "6"}}, "the value of topic a must be a number of partitions"),
        ({"topics": {"a": True}}, "the value of topic a must be a number of partitions"),
        ({"topics": {"a": {"partition": 6}}}, "topic a has no option 'partition'; did you mean 'partitions'"),
        ({"topics": "a"}, "topics is a list of names"),
    ],
)
def test_value_of_a_wrong_type_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        merged([options])


def test_topics_may_have_properties() -> None:
    [topic] = merged([{"topics": {"a": {"partitions": 2, "config": {"retention.ms": 5}}}}])["topics"].values()
    assert topic == kafkalet.NewTopic("a", 2, {"retention.ms": "5"})


def test_one_broker_is_a_broker_and_several_are_a_cluster() -> None:
    assert [type(new_cluster({"brokers": count})).__name__ for count in (1, 2)] == ["Broker", "Cluster"]


def test_one_broker_is_a_cluster_if_the_default_is_several() -> None:
    assert type(new_cluster({"brokers": 1}, brokers=3)) is kafkalet.Cluster


def test_timeout_becomes_that_of_the_cluster() -> None:
    assert (new_cluster({"timeout": 3}).timeout, new_cluster({}).timeout) == (3.0, 10.0)


@pytest.mark.parametrize("timeout", [-1, float("inf")])
def test_timeout_out_of_range_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout is"):
        new_cluster({"timeout": timeout})


def test_constructor_refuses_unknown_option_with_the_closest_one() -> None:
    with pytest.raises(TypeError, match="Broker has no option 'kafka_version'; did you mean 'version'"):
        kafkalet.Broker(kafka_version="3.9")  # type: ignore[arg-type]


def test_constructor_takes_topics_as_a_dict() -> None:
    with kafkalet.Broker(topics={"orders": 6, "payments": None}) as kafka:
        assert (kafka.topic("orders").partition_count, kafka.topic("payments").partition_count) == (6, 1)


@pytest.mark.parametrize("name", ["unknown", "return", "self"])
def test_name_inside_the_constructor_is_not_an_option(name: str) -> None:
    with pytest.raises(TypeError):
        kafkalet.Broker(**{name: 1})


def test_options_that_the_constructor_names_are_those_of_the_typed_dict() -> None:
    with pytest.raises(TypeError, match=f"The options are {', '.join(sorted(NAMES))}$"):
        kafkalet.Broker(xyz=1)
