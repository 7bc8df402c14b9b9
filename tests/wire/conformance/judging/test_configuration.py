"""Brokers that are configured differently from the recorded ones."""

import time
from typing import Any

import kafkalet
from kafkalet.protocol.api import BY_TITLE
from kafkalet_conformance.catalog import AREAS, scenarios
from kafkalet_conformance.judging.configuration import NEEDED_BY, RECORDED, Configuration, configuration
from kafkalet_conformance.judging.judge import Options, judge
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Outcome, Run
from tools.recording.recorded_properties import broker_properties

SCENARIO, CREATING = scenarios()["lo_time_equal"], scenarios()["metadata_auto_create"]


def judged(config: dict[str, Any], *only: str, release: str = "3.9", disposable: bool = False) -> Run:
    with kafkalet.Broker(version=release, config=config) as broker:
        return judge(Options(broker.bootstrap_servers, release, only=only, disposable=disposable))


def test_broker_configured_like_the_recorded_one_does_not_differ() -> None:
    with kafkalet.Broker(version="3.9", config=broker_properties("3.9")) as broker:
        assert configuration(Target(broker.bootstrap_servers), time.monotonic() + 10).differing == {}


def test_property_that_differs_is_noted_and_stops_scenarios_that_depend_on_it() -> None:
    config = {"group.initial.rebalance.delay.ms": "50", "message.max.bytes": "2000000"}
    run = judged(config, "group_describe", "lo_time_equal")
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


def test_scenario_depends_only_on_its_properties() -> None:
    delayed = Configuration({"group.initial.rebalance.delay.ms": "3000"})
    assert delayed.obstacle(SCENARIO, [{"op": "request", "api": "Fetch"}]) == ""
    assert delayed.obstacle(SCENARIO, [{"op": "request", "api": "JoinGroup"}]).startswith("depends on group.initial")
    assert Configuration({"num.partitions": "3"}).obstacle(CREATING, []).startswith("depends on num.part")
    assert Configuration().obstacle(CREATING, [{"op": "request", "api": "JoinGroup"}]) == ""
    assert Configuration().notes() == []


def test_scenario_with_larger_batches_than_the_broker_allows_is_not_run() -> None:
    small = Configuration({"message.max.bytes": "100000"})
    body = {"topics": [{"partitions": [{"records": [{"records": [{"value": {"fill": "x", "size": 100_001}}]}]}]}]}
    reason = "sends larger batches than message.max.bytes, which is 100000 here, allows"
    assert small.obstacle(SCENARIO, [{"op": "request", "api": "Produce", "body": body}]) == reason
    assert small.obstacle(SCENARIO, [{"op": "request", "api": "Produce", "body": {"topics": []}}, {"op": "note"}]) == ""


def test_property_whose_default_depends_on_the_release_differs_if_the_broker_sets_it() -> None:
    name = "group.coordinator.rebalance.protocols"
    reason = f"depends on {name}, which this broker sets and the recorded ones did not"
    here = Configuration(set_here=frozenset({name}))
    assert here.obstacle(SCENARIO, [{"op": "request", "api": "ConsumerGroupHeartbeat"}]) == reason
    assert here.obstacle(SCENARIO, [{"op": "request", "api": "JoinGroup"}]) == ""


def test_scenario_that_awaits_a_default_that_the_broker_sets_is_not_run() -> None:
    resource = {"resource_type": 2, "resource_name": "$t"}
    described = {"resources": [resource | {"configuration_keys": ["retention.ms"]}]}
    polled = {"op": "poll_until", "api": "DescribeConfigs", "body": described, "equals": "604800000"}
    altered = {"resources": [resource | {"configs": [{"name": "retention.ms", "value": "604800000"}]}]}
    here = Configuration(set_here=frozenset({"log.retention.hours"}))
    reason = "depends on log.retention.hours, which this broker sets and the recorded ones did not"
    assert here.obstacle(SCENARIO, [polled]) == reason
    assert here.obstacle(SCENARIO, [{"op": "request", "api": "IncrementalAlterConfigs", "body": altered}, polled]) == ""


def test_each_dependence_names_a_scenario_an_area_or_an_api() -> None:
    assert NEEDED_BY.keys() - RECORDED.keys() == {"group.coordinator.rebalance.protocols"}
    assert {each for needed in NEEDED_BY.values() for each in needed} <= {*scenarios(), *AREAS, *BY_TITLE}


def test_values_that_the_broker_sets_are_not_compared() -> None:
    config = {"log.segment.bytes": 1000000, "log.roll.hours": 24}
    run = judged(config, "create_topics_configs", "describe_topic_configs", "describe_broker_configs")
    assert run.counts() == {Outcome.AS_KAFKA: 3}
    assert (
        run.notes[-1] == "the broker sets log.roll.hours, log.segment.bytes; described values of these are not compared"
    )


def test_own_values_of_a_topic_are_compared_although_the_broker_sets_a_default() -> None:
    here = Configuration(set_here=frozenset({"log.retention.hours"}))
    own = {"name": "retention.ms", "value": "5", "config_source": 1, "synonyms": []}
    default = {"name": "log.retention.hours", "value": "1", "source": 4}
    answer = {"configs": [own | {"synonyms": [default]}, own | {"config_source": 4}, own | {"name": "segment.bytes"}]}
    assert here.without_set_here(answer) == {"configs": [own, own | {"name": "segment.bytes"}]}


def test_scenario_that_changes_a_property_that_the_broker_sets_is_not_run() -> None:
    [result] = judged({"log.cleaner.backoff.ms": 1000}, "incremental_broker", disposable=True).results
    assert result.outcome is Outcome.NOT_RUN
    assert result.reason == "depends on log.cleaner.backoff.ms, which this broker sets and the recorded ones did not"


def test_recorded_properties_are_those_of_the_recorded_brokers() -> None:
    assert broker_properties("4.4").items() <= RECORDED.items()
