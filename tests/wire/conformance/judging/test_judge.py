"""Judging a broker."""

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

import kafkalet
from kafkalet.control.server import ControlServer
from kafkalet.protocol.api import Api
from kafkalet_conformance.judging import judge as judging
from kafkalet_conformance.judging import replaying
from kafkalet_conformance.judging.judge import Announcement, CannotJudge, Options, judge
from kafkalet_conformance.playing import player
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Difference, Outcome, Run, ScenarioResult
from tools.recording.recorded_properties import broker_properties

from .garbage_broker import GarbageBroker, Spoil, framed

SCENARIO = "lo_time_equal"


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(version="3.9") as broker:
        yield broker


def test_broker_that_responds_like_kafka_is_as_kafka(broker: kafkalet.Broker) -> None:
    run = judge(Options(broker.bootstrap_servers, "3.9", only=("lo_every_version", SCENARIO)))
    assert run.counts() == {Outcome.AS_KAFKA: 2}
    assert run.case_counts()[Outcome.AS_KAFKA] > 20


def test_broker_with_authorizer_is_judged_as_two_users() -> None:
    users, admins = {"admin": "admin", "user": "user"}, ["admin"]
    with kafkalet.Broker(version="3.9", users=users, super_users=admins) as secured:
        only = ("denied_fetch", "rights_fetch", "lo_time_equal")
        options = Options(secured.bootstrap_servers, "3.9", only=only, acl=True)
        results = {each.scenario.name: each.outcome for each in judge(options).results}
        assert results == {
            "denied_fetch": Outcome.AS_KAFKA,
            "lo_time_equal": Outcome.NOT_RUN,
            "rights_fetch": Outcome.NOT_RUN,
        }
        [result] = judge(replace(options, only=("rights_fetch",), disposable=True)).results
        assert result.outcome is Outcome.AS_KAFKA


def test_run_announces_its_limit(broker: kafkalet.Broker) -> None:
    returned: list[Announcement] = []
    judge(Options(broker.bootstrap_servers, "nearest", only=(SCENARIO,), timeout_s=90), announce=returned.append)
    [announced] = returned
    assert (announced.scenarios, announced.limit_s) == (1, 90)


def test_run_is_announced_with_the_known_facts_about_the_broker(broker: kafkalet.Broker) -> None:
    returned: list[Announcement] = []
    options = Options(broker.bootstrap_servers, only=(SCENARIO,), jobs=1, disposable=True)
    run = judge(options, announce=returned.append)
    assert returned[0].run == replace(run, duration_s=0, notes=(), results=())
    assert (run.against, run.brokers, run.served["Fetch"]) == ("3.9", 1, (0, 17))
    assert run.options == {"only": SCENARIO, "jobs": "1", "disposable": ""}


def test_each_result_is_reported_once(broker: kafkalet.Broker) -> None:
    returned: list[ScenarioResult] = []
    run = judge(Options(broker.bootstrap_servers, "3.9", only=("list_offsets_timestamps",)), returned.append)
    assert sorted(result.scenario.name for result in returned) == [result.scenario.name for result in run.results]


def test_address_without_broker_cannot_be_judged() -> None:
    with pytest.raises(CannotJudge, match=r"the broker at 127\.0\.0\.1:1 cannot be judged: no connection"):
        judge(Options("127.0.0.1:1"))


def test_unknown_release_cannot_be_compared_with(broker: kafkalet.Broker) -> None:
    with pytest.raises(CannotJudge, match=r"no recorded responses of release 1\.0; choose one of nearest, 2\.8, 3\.2"):
        judge(Options(broker.bootstrap_servers, "1.0"))


def test_selection_without_scenarios_cannot_be_judged(broker: kafkalet.Broker) -> None:
    with pytest.raises(CannotJudge, match=r"no scenario of release 3\.9 matches"):
        judge(Options(broker.bootstrap_servers, "3.9", only=("group_configs",)))


def test_misspelled_selection_cannot_be_judged(broker: kafkalet.Broker) -> None:
    with pytest.raises(CannotJudge, match=r"no area or scenario 'qotas' .*did you mean 'quotas'"):
        judge(Options(broker.bootstrap_servers, only=("qotas",)))


def test_scenario_that_changes_the_cluster_needs_permission(broker: kafkalet.Broker) -> None:
    options = Options(broker.bootstrap_servers, "3.9", only=("incremental_broker",))
    [result] = judge(options).results
    assert (result.outcome, result.cases) == (Outcome.NOT_RUN, ())
    assert "--disposable" in result.reason


def test_scenario_that_changes_the_cluster_runs_with_permission(broker: kafkalet.Broker) -> None:
    options = Options(broker.bootstrap_servers, "3.9", only=("incremental_broker",), disposable=True)
    assert judge(options).counts() == {Outcome.AS_KAFKA: 1}


def test_old_message_formats_are_judged_against_the_release_that_stores_them() -> None:
    with kafkalet.Broker(version="2.8") as broker:
        assert judge(Options(broker.bootstrap_servers, "2.8", only=("legacy_090",))).counts() == {Outcome.AS_KAFKA: 1}


def test_scenario_with_some_cases_not_served_is_as_kafka(broker: kafkalet.Broker) -> None:
    [result] = judge(Options(broker.bootstrap_servers, "4.4", only=("lo_every_version",))).results
    assert result.outcome is Outcome.AS_KAFKA
    assert re.fullmatch(r"\d+ of \d+ cases not served", result.reason)


def test_scenario_of_a_release_that_serves_more_is_not_served(broker: kafkalet.Broker) -> None:
    [result] = judge(Options(broker.bootstrap_servers, "4.4", only=("consumer_group_life",))).results
    assert result.outcome is Outcome.NOT_SERVED
    assert result.reason == "ConsumerGroupHeartbeat v1: the broker advertises versions 0 to 0"


def judged(
    broker: kafkalet.Broker, spoil: Spoil, api: Api = Api.LIST_OFFSETS, scenario: str = SCENARIO, repeat: int = 0
) -> Run:
    with GarbageBroker(broker.bootstrap_servers, api, spoil) as garbage:
        return judge(Options(garbage.bootstrap_servers, "3.9", only=(scenario,), repeat=repeat))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _, response: None, "the broker closed the connection instead of responding"),
        (lambda _, response: framed(response)[:-3], "the broker did not respond in time"),
        (lambda _, response: b"", "the broker did not respond in time"),
        (lambda _, response: b"\xff" * 40, "a response has the size -1, allowed are 0 to 104857600"),
        (lambda _, response: b"\x7f" * 40, "a response has the size 2139062143"),
        (lambda _, response: framed(b"xy"), "a response of 2 bytes has no correlation id; the first bytes are 78 79"),
        (lambda n, response: framed(struct.pack(">i", n + 7) + response[4:]), "the response has the correlation id"),
        (lambda _, response: framed(response[:4] + b"\x7f" * 30), "ListOffsets v5 cannot be decoded: "),
    ],
    ids=["closes", "stops within", "silent", "negative size", "huge", "short", "correlation", "undecodable"],
)
def test_broker_that_misbehaves_fails_with_the_observed_behavior(
    broker: kafkalet.Broker, spoil: Spoil, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "ANSWER_S", 1)
    [result] = judged(broker, spoil).results
    assert result.outcome is Outcome.FAILED
    assert reason in result.reason
    assert all(case.outcome is Outcome.FAILED for case in result.cases)


def test_failed_case_has_the_bytes_of_request_and_response(broker: kafkalet.Broker) -> None:
    [result] = judged(broker, lambda _, response: framed(response[:5] + b"\x7f" * 30)).results
    case = result.cases[0]
    assert case.request_bytes[:2] == struct.pack(">h", Api.LIST_OFFSETS)
    assert case.answer_bytes == b""
    assert "7f 7f 7f" in case.reason


def test_failing_preparation_fails_all_cases(broker: kafkalet.Broker) -> None:
    [result] = judged(broker, lambda _, response: None, Api.CREATE_TOPICS).results
    assert {case.outcome for case in result.cases} == {Outcome.FAILED}
    assert "CreateTopics" in result.reason


def test_response_that_varies_is_unstable(broker: kafkalet.Broker) -> None:
    answered = 0

    def spoil(_: int, response: bytes) -> bytes:
        nonlocal answered
        answered += 1
        return framed(response[:-7] + b"\x55" + response[-6:] if answered == 1 else response)

    [result] = judged(broker, spoil, repeat=2).results
    assert result.outcome is Outcome.UNSTABLE
    assert result.reason.startswith("3 attempts: differs (")
    assert result.reason.endswith("; as Kafka; as Kafka")


def test_metadata_that_lags_behind_the_controller_is_requested_again(broker: kafkalet.Broker) -> None:
    answered = 0

    def spoil(_: int, response: bytes) -> bytes:
        nonlocal answered
        answered += 1
        return framed(response.replace(b"retention", b"retentiom") if answered == 1 else response)

    assert judged(broker, spoil, Api.DESCRIBE_CONFIGS, "describe_configs_keys").counts() == {Outcome.AS_KAFKA: 1}


def test_metadata_that_stays_different_differs(broker: kafkalet.Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "LAG_S", 0.1)

    def spoil(_: int, response: bytes) -> bytes:
        return framed(response.replace(b"retention", b"retentiom"))

    assert judged(broker, spoil, Api.DESCRIBE_CONFIGS, "describe_configs_keys").counts() == {Outcome.DIFFERS: 1}


def test_response_that_always_differs_is_not_unstable(broker: kafkalet.Broker) -> None:
    [result] = judged(broker, lambda _, response: framed(response[:-7] + b"\x55" + response[-6:]), repeat=2).results
    assert result.outcome is Outcome.DIFFERS
    assert result.cases[0].differences
    assert result.cases[0].answer_bytes.endswith(b"\x55" + result.cases[0].answer_bytes[-6:])


def throttled(_: int, response: bytes) -> bytes:
    """Return a response of ListOffsets v2 to v5 with a throttle time of one second."""
    return framed(response[:4] + struct.pack(">i", 1000) + response[8:])


def test_throttle_time_without_quotas_differs(broker: kafkalet.Broker) -> None:
    [result] = judged(broker, throttled).results
    assert result.outcome is Outcome.DIFFERS
    assert result.cases[0].differences == (Difference("throttle_time_ms", 0, 1000),)


def test_throttle_time_is_not_compared_if_quotas_apply_to_the_judge() -> None:
    with kafkalet.Broker(version="3.9") as broker:
        entity = [{"entity_type": "client-id", "entity_name": None}]
        quota = {"entity": entity, "ops": [{"key": "consumer_byte_rate", "value": 1e9, "remove": False}]}
        connection = Target(broker.bootstrap_servers).connect()
        connection.ask("AlterClientQuotas", 1, {"entries": [quota], "validate_only": False})
        connection.close()
        run = judged(broker, throttled)
    assert run.counts() == {Outcome.AS_KAFKA: 1}
    assert run.notes == ("quotas apply to the judge, so that throttle_time_ms is not compared",)


def test_dead_broker_ends_the_run(broker: kafkalet.Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "PROBE_PAUSE_S", 0.01)
    dying: list[GarbageBroker] = []

    def spoil(_: int, response: bytes) -> None:
        dying[0].die()

    with GarbageBroker(broker.bootstrap_servers, Api.LIST_OFFSETS, spoil) as garbage:
        dying.append(garbage)
        run = judge(Options(garbage.bootstrap_servers, "3.9", only=("list_offsets_timestamps",), jobs=1))
    assert run.results[0].outcome is Outcome.FAILED
    assert {result.outcome for result in run.results[1:]} == {Outcome.NOT_RUN}
    assert run.results[1].reason.startswith("the broker no longer responds to ApiVersions: no connection")


def test_run_ends_scenarios_at_its_limit(broker: kafkalet.Broker) -> None:
    with GarbageBroker(broker.bootstrap_servers, Api.CREATE_TOPICS, lambda *_: b"") as garbage:
        options = Options(garbage.bootstrap_servers, "3.9", only=("list_offsets_timestamps",), timeout_s=2, jobs=2)
        run = judge(options)
    assert run.counts().keys() == {Outcome.FAILED, Outcome.NOT_RUN}
    assert run.results[-1].reason == "the time for the run is over"


def test_main_broker_that_coordinates_nothing_gets_no_coordinator_requests() -> None:
    config = {"offsets.topic.replication.factor": 2, "transaction.state.log.replication.factor": 2}
    only = ("group_describe", "transactions_offsets_refused")
    with kafkalet.Cluster(2, version="3.9", config=config | {"auto.leader.rebalance.enable": False}) as cluster:
        options = Options(cluster.bootstrap_servers.split(",")[1], "3.9", only=only, repeat=0)
        judge(options)  # creates the internal topics
        cluster.broker(1).stop()
        cluster.broker(1).start()
        run = judge(options)
    assert run.counts() == {Outcome.AS_KAFKA: 2}


def test_groups_and_transactions_of_a_scenario_may_have_different_coordinators() -> None:
    config = {"offsets.topic.replication.factor": 2, "transaction.state.log.replication.factor": 2}
    few = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
    only = ("transactions_offsets", "transactions_offsets_members", "transactions_takeover")
    with kafkalet.Cluster(2, version="3.9", config=config | few) as cluster:
        options = Options(cluster.bootstrap_servers, "3.9", only=only, repeat=0)
        judge(options)  # creates the internal topics
        cluster.topic("__consumer_offsets").move_leader(2)
        cluster.topic("__transaction_state").move_leader(1)
        run = judge(options)
    assert run.counts() == {Outcome.AS_KAFKA: 3}


def test_scenario_keeps_its_limit_and_says_what_timed_out(
    broker: kafkalet.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "SCENARIO_S", 0.3)
    [result] = judged(broker, lambda *_: b"", Api.LIST_OFFSETS, repeat=2).results
    assert result.outcome is Outcome.FAILED
    assert result.reason.endswith("the time for the scenario is over: ListOffsets v5 got no response")


@pytest.mark.parametrize(
    ("brokers", "reason"),
    [
        (
            1,
            "step 5, FindCoordinator: the time for the scenario is over: error_code of FindCoordinator does not",
        ),
        (2, "the coordinator is not found: the time for the scenario is over: FindCoordinator returns "),
    ],
)
def test_coordinator_that_is_never_available_ends_the_scenario(
    brokers: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "SCENARIO_S", 0.3)
    with kafkalet.Cluster(brokers, version="3.9") as cluster:
        cluster.fault("FindCoordinator", error="COORDINATOR_NOT_AVAILABLE")
        [result] = judge(Options(cluster.bootstrap_servers.split(",")[0], "3.9", only=("group_describe",))).results
    assert result.outcome is Outcome.FAILED
    assert result.reason.startswith(reason)


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(3, version="3.9") as cluster:
        yield cluster


@pytest.mark.parametrize(
    "scenario",
    [
        "metadata_auto_create",
        "transactions_offsets_refused",
        "lo_time_equal",
        "offsets_fetch_lists",
        "transactions_add",
        "create_partitions_errors",
        "describe_cluster",
    ],
)
def test_recording_of_one_broker_is_as_kafka_on_a_cluster_of_three(cluster: kafkalet.Cluster, scenario: str) -> None:
    run = judge(Options(cluster.bootstrap_servers.split(",")[1], "3.9", only=(scenario,), repeat=0))
    assert run.brokers == 3
    assert run.case_counts().keys() <= {Outcome.AS_KAFKA, Outcome.NOT_RUN}
    assert run.case_counts()[Outcome.AS_KAFKA] > 2


def test_scenarios_with_faults_stop_and_start_brokers_with_a_command() -> None:
    config = broker_properties("4.4", 3, faults=True)
    with kafkalet.Cluster(3, version="4.4", config=config) as cluster, ControlServer(cluster) as control:
        script = f'exec {sys.executable} -m kafkalet ctl broker "$2" "$3" --control {control.url}'
        only, command = ("rolling_restart", SCENARIO), ("sh", "-c", script, "control")
        run = judge(Options(cluster.bootstrap_servers, "4.4", only=only, control=command, disposable=True))
        assert {each.scenario.name: each.outcome for each in run.results} == {"rolling_restart": Outcome.AS_KAFKA}
