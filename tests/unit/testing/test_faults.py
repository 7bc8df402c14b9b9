"""Tests of `Cluster.fault`: invalid calls, the check at the end, and its message."""

import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalet import Broker
from kafkalet.protocol.api import Api
from kafkalet.testing.faults import FAULT_OPTIONS
from tests.unit.broker.network.faults.brokers import Asking
from tests.unit.broker.network.faults.test_engine import produce

ERROR = "NOT_LEADER_OR_FOLLOWER"


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(topics=["t"]) as broker:
        yield broker


# Wrong calls


@pytest.mark.parametrize(
    ("api", "options", "message"),
    [
        ("Prodcue", {"delay": 1}, "unknown API 'Prodcue'; did you mean Produce"),
        ("Produce", {"error": "NOT_LEADER"}, "unknown error 'NOT_LEADER'; did you mean NOT_LEADER_OR_FOLLOWER"),
        ("Produce", {"error": "NONE"}, "error is NONE"),
        ("Produce", {}, "without an effect"),
        ([], {"delay": 1}, "api is empty"),
        ("Produce", {"error": ERROR, "drop_response": True}, "error and drop_response cannot be combined"),
        ("Produce", {"hang": True, "barrier": 2}, "hang and barrier cannot be combined"),
        ("Produce", {"disconnect": "after", "bandwidth": 5}, "disconnect and bandwidth cannot be combined"),
        ("Produce", {"delay": 1, "nth": 2, "every": 2}, "nth and every cannot be combined"),
        ("Produce", {"barrier": 2, "times": 2}, "barrier and times cannot be combined"),
        ("Produce", {"disconnect": "during"}, 'disconnect is \'during\'; it must be "before" or "after"'),
        ("Produce", {"delay": 0}, "delay is 0; it must be greater than 0"),
        ("Produce", {"delay": float("inf")}, "delay is inf"),
        ("Produce", {"delay": 1, "times": 0}, "times is 0; it must be at least 1"),
        ("Produce", {"delay": 1, "probability": 1.5}, "probability is 1.5"),
        ("Produce", {"barrier": 1}, "barrier is 1; it must be at least 2"),
        ("Produce", {"delay": 1, "partition": -1}, "partition is -1"),
        ("Produce", {"delay": 1, "version": 99}, "serves Produce v0 to v13"),
        ("Produce", {"delay": 1, "version": range(0)}, "version is an empty range"),
        ("Produce", {"delay": 1, "broker": 7}, "broker 7 does not exist"),
        ("Produce", {"delay": 1, "group": "g"}, "Produce requests name no group; of topic, partition and group"),
        ("ListGroups", {"delay": 1, "topic": "t"}, "ListGroups requests name no topic; leave it out"),
        ("CreateTopics", {"error": "INVALID_CONFIG", "partition": 0}, "CreateTopics requests name no partition"),
        ("DescribeLogDirs", {"error": ERROR, "topic": "t"}, "have no error for a topic, only for the whole request"),
        ("DescribeLogDirs", {"error": ERROR, "version": 1}, "DescribeLogDirs responses v1 have no field for an error"),
        ("Fetch", {"respond": print, "drop_response": True}, "drop_response and respond cannot be combined"),
        ("SaslHandshake", {"throttle": 5}, "SaslHandshake responses v0 to v1 have no throttle time"),
    ],
)
def test_impossible_fault_raises_value_error(kafka: Broker, api: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        kafka.fault(api, **options)
    assert message in str(raised.value)
    assert kafka.unfired_faults() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delay": "1"}, "delay must be a number"),
        ({"delay": 1, "topic": 5}, "topic must be a str"),
        ({"delay": 1, "when": 5}, "when must be a function"),
        ({"respond": 5}, "respond must be a function that takes a decoded request and its response"),
        ({"delay": 1, "times": 1.5}, "times must be an int"),
        ({"delay": 1, "version": "9"}, "version, an int or a range, must be an int"),
    ],
)
def test_option_of_a_wrong_type_raises_type_error(kafka: Broker, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kafka.fault("Produce", **options)


def test_unknown_option_raises_type_error(kafka: Broker) -> None:
    with pytest.raises(TypeError, match=r"fault\(\) has no option 'eror'; did you mean 'error'"):
        kafka.fault("Produce", eror="NOT_LEADER_OR_FOLLOWER")  # type: ignore[arg-type]


def test_name_inside_the_method_is_not_an_option_of_a_fault(kafka: Broker) -> None:
    with pytest.raises(TypeError, match=r"fault\(\) has no option 'unknown'"):
        kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", unknown=1)  # type: ignore[arg-type]


def test_parameters_of_fault_are_the_options_in_the_table() -> None:
    parameters = list(inspect.signature(Broker.fault).parameters.values())[2:-1]  # without self, api and unknown
    assert [(each.name, each.default) for each in parameters] == [
        (option.name, option.default) for option in FAULT_OPTIONS.values()
    ]


def test_api_that_the_release_does_not_serve_raises_value_error() -> None:
    with Broker(version="2.8") as broker, pytest.raises(ValueError, match=r"Kafka 2\.8 does not serve"):
        broker.fault("ConsumerGroupHeartbeat", delay=1)


# The check at the end


def unfired(kafka: Broker, *ask: Any, **options: Any) -> str:
    """Return the text of the failure of a fault after some requests."""
    fault = kafka.fault("Produce", **options)
    for request in ask:
        request(Asking(kafka))
    with pytest.raises(AssertionError) as raised:
        fault.__exit__(None, None, None)
    return str(raised.value)


def test_fault_without_any_request_fails(kafka: Broker) -> None:
    assert unfired(kafka, error=ERROR, topic="t") == (
        "fault('Produce', error='NOT_LEADER_OR_FOLLOWER', topic='t') never fired\n"
        "no request arrived in the meantime; methods of the kit, such as topic.send(), send none"
    )


def test_failure_names_near_misses_and_all_requests(kafka: Broker) -> None:
    def metadata(ask: Asking) -> None:
        ask(Api.METADATA, 12, topics=None)

    assert unfired(kafka, lambda ask: produce(ask, 0), metadata, metadata, error=ERROR, topic="other").splitlines() == [
        "fault('Produce', error='NOT_LEADER_OR_FOLLOWER', topic='other') never fired",
        "requests that did not match:",
        "    Produce was for t-0, not topic 'other'",
        "all requests in the meantime: Metadata (2 times), Produce",
    ]


def test_fault_that_fired_less_than_times_fails(kafka: Broker) -> None:
    assert "fired 1 of 2 times" in unfired(kafka, lambda ask: produce(ask, 0), error=ERROR, times=2)


def test_failure_names_matching_requests_that_were_not_selected(kafka: Broker) -> None:
    assert unfired(kafka, lambda ask: produce(ask, 0), error=ERROR, nth=2).splitlines()[1:] == [
        "1 of 1 matching requests were not selected. The latest matching requests:",
        "    Produce v9 from 'tester' for t-0",
        "all requests in the meantime: Produce",
    ]


def test_incomplete_barrier_fails(kafka: Broker) -> None:
    assert "fired 1 of 2 times" in unfired(kafka, lambda ask: produce(ask, 0), barrier=2)


def test_exception_of_when_fails_even_if_the_fault_fired(kafka: Broker) -> None:
    results = iter([True])
    text = unfired(kafka, *[lambda ask: produce(ask, 0)] * 2, error=ERROR, when=lambda request: next(results))
    assert "called a function that raised StopIteration" in text


def test_exception_of_the_body_is_not_masked(kafka: Broker) -> None:
    with pytest.raises(KeyError), kafka.fault("Produce", error=ERROR):
        raise KeyError
    assert kafka.unfired_faults() == []
    assert kafka._server.faults.rules == []


def test_fault_that_is_not_strict_need_not_fire(kafka: Broker) -> None:
    with kafka.fault("Produce", error=ERROR, strict=False):
        pass


def test_unfired_faults_are_reported_until_they_fire(kafka: Broker) -> None:
    fault = kafka.fault("Produce", error=ERROR)
    [text] = kafka.unfired_faults()
    assert "never fired" in text
    produce(Asking(kafka), 0)
    assert kafka.unfired_faults() == []
    assert fault.fired == 1


def test_unfired_faults_are_reported_after_the_cluster_has_stopped() -> None:
    with Broker(topics=["t"]) as broker:
        fault = broker.fault("Produce", error=ERROR)
    fault.remove()
    assert len(broker.unfired_faults()) == 1


def test_removed_fault_does_not_fire_and_is_still_reported(kafka: Broker) -> None:
    fault = kafka.fault("Produce", error=ERROR)
    fault.remove()
    produce(Asking(kafka), 0)
    assert fault.fired == 0
    assert len(kafka.unfired_faults()) == 1
    kafka.remove_faults()


def test_remove_faults_forgets_all_faults(kafka: Broker) -> None:
    kafka.fault("Produce", error=ERROR)
    kafka.fault("Fetch", delay=1)
    kafka.remove_faults()
    assert kafka.unfired_faults() == []
    assert kafka._server.faults.rules == []


def test_wait_until_fired_wakes_when_the_fault_fires(kafka: Broker) -> None:
    with kafka.fault("Produce", error=ERROR) as fault:
        client = threading.Thread(target=lambda: produce(Asking(kafka), 0))
        client.start()
        fault.wait_until_fired()
        client.join()
    assert fault.seen == ["Produce v9 from 'tester' for t-0"]


def test_wait_until_fired_describes_the_requests_instead(kafka: Broker) -> None:
    with (
        kafka.fault("Produce", error=ERROR, strict=False) as fault,
        pytest.raises(AssertionError, match="fired 0 times, not 2\nno request arrived"),
    ):
        fault.wait_until_fired(2, timeout=0)


def test_repr_shows_options_and_firings(kafka: Broker) -> None:
    fault = kafka.fault("Produce", error=ERROR, times=2, strict=False)
    assert repr(fault) == "<fault('Produce', error='NOT_LEADER_OR_FOLLOWER', times=2, strict=False), fired 0 times>"


def test_restored_cluster_keeps_its_faults(kafka: Broker) -> None:
    snapshot = kafka.snapshot()
    with kafka.fault("Produce", error=ERROR) as fault:
        kafka.restore(snapshot)
        produce(Asking(kafka), 0)
        assert fault.fired == 1


def test_reset_removes_faults(kafka: Broker) -> None:
    kafka.fault("Produce", error=ERROR)
    kafka.reset()
    assert kafka.unfired_faults() == []


def test_cluster_stops_while_a_fault_holds_a_request() -> None:
    with Broker(topics=["t"]) as broker:
        fault = broker.fault("Produce", hang=True)
        produce(Asking(broker), 0)
    fault.remove()
    assert fault.fired == 1
