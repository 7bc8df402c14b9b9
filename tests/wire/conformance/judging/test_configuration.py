"""Brokers that are configured differently from the recorded ones."""

import time

import kafkalet
from kafkalet.conformance.judging.configuration import RECORDED, differing, notes, obstacle
from kafkalet.conformance.judging.judge import Options, judge
from kafkalet.conformance.playing.target import Target
from kafkalet.conformance.recording.recorded_properties import broker_properties
from kafkalet.conformance.results import Outcome


def test_broker_configured_like_the_recorded_one_does_not_differ() -> None:
    with kafkalet.Broker(kafka_version="3.9", config=broker_properties("3.9")) as broker:
        assert differing(Target(broker.bootstrap_servers), time.monotonic() + 10) == {}


def test_property_that_differs_is_noted_and_stops_scenarios_that_depend_on_it() -> None:
    config = {"group.initial.rebalance.delay.ms": "50", "message.max.bytes": "2000000"}
    with kafkalet.Broker(kafka_version="3.9", config=config) as broker:
        run = judge(Options(broker.bootstrap_servers, "3.9", only=("group_describe", "lo_time_equal")))
    assert set(run.notes) == {
        "the broker has group.initial.rebalance.delay.ms=50, the recorded one 0",
        "the broker has message.max.bytes=2000000, the recorded one 1048588",
    }
    outcomes = {result.scenario.name: (result.outcome, result.reason) for result in run.results}
    assert outcomes["lo_time_equal"] == (Outcome.AS_KAFKA, "")
    assert outcomes["group_describe"] == (
        Outcome.NOT_RUN,
        "depends on group.initial.rebalance.delay.ms, which is 50 here and was 0 when recorded",
    )


def test_scenario_depends_only_on_properties_of_its_apis() -> None:
    differences = {"group.initial.rebalance.delay.ms": "3000"}
    assert obstacle([{"op": "request", "api": "Fetch"}], differences) == ""
    assert obstacle([{"op": "request", "api": "JoinGroup"}], {}) == ""
    assert notes({}) == []


def test_configurations_of_groups_depend_on_the_defaults_of_groups() -> None:
    differences = {"group.consumer.assignment.interval.ms": "1000"}
    described = {"op": "request", "api": "DescribeConfigs", "body": {"resources": [{"resource_type": 32}]}}
    assert "assignment.interval.ms, which is 1000 here and was 0" in obstacle([described], differences)
    assert obstacle([described | {"body": {"resources": [{"resource_type": 2}]}}], differences) == ""


def test_recorded_properties_are_those_of_the_recorded_brokers() -> None:
    assert broker_properties("4.4").items() <= RECORDED.items()
