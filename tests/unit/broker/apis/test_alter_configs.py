"""`kafkalet.broker.apis.alter_configs`: replacement of all properties of a resource."""

from typing import Any

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code

from .asking import Asking, asking

TOPIC, BROKER = 2, 4


def alter(ask: Asking, kind: int, name: str, validate_only: bool = False, **texts: str | None) -> dict[str, Any]:
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in texts.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    [result] = ask(Api.ALTER_CONFIGS, 2, resources=[resource], validate_only=validate_only)["responses"]
    assert isinstance(result, dict)
    return result


def test_property_left_out_of_the_request_returns_to_its_default() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create(config={"retention.ms": "1", "segment.ms": "2"})
        assert alter(ask, TOPIC, "t", segment_ms="3")["error_code"] == 0
        log = ask.cluster._server.nodes[1].partitions["t", 0].log
        assert (log.config.retention_ms, log.config.segment_ms) == (604_800_000, 3)


def test_cluster_wide_properties_are_replaced() -> None:
    with asking(version="3.9") as ask:
        assert alter(ask, BROKER, "", max_connections="5")["error_code"] == 0
        assert alter(ask, BROKER, "", message_max_bytes="500")["error_code"] == 0
        node = ask.cluster._server.nodes[1]
        assert (node.config.max_connections, node.config.log_config({}).max_message_bytes) == (2**31 - 1, 500)


def test_cluster_wide_min_isr_cannot_be_removed_with_eligible_leader_replicas() -> None:
    with asking() as ask:
        assert alter(ask, BROKER, "", max_connections="5")["error_code"] == 40
        assert alter(ask, BROKER, "", max_connections="5", min_insync_replicas="1")["error_code"] == 0


def test_validate_only_changes_nothing() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create(config={"retention.ms": "1"})
        assert alter(ask, TOPIC, "t", validate_only=True, segment_ms="3")["error_code"] == 0
        assert ask.cluster._server.metadata.topics["t"].config == {"retention.ms": "1"}


def test_duplicate_resource_is_refused_both_times() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        resource = {"resource_type": TOPIC, "resource_name": "t", "configs": []}
        answer = ask(Api.ALTER_CONFIGS, 1, resources=[resource, resource], validate_only=False)
        assert [result["error_code"] for result in answer["responses"]] == [42, 42]


def test_number_of_5000_digits_returns_invalid_request_for_brokers_and_invalid_config_for_topics() -> None:
    with asking() as ask:
        ask.cluster.topic("t").create()
        assert alter(ask, TOPIC, "t", retention_ms="9" * 5000)["error_code"] == Code.INVALID_CONFIG
        assert alter(ask, BROKER, "", log_retention_ms="9" * 5000)["error_code"] == Code.INVALID_REQUEST
        assert alter(ask, BROKER, "9" * 5000, log_retention_ms="5")["error_code"] == Code.INVALID_REQUEST


def test_broker_id_is_parsed_like_in_java() -> None:
    with asking() as ask:
        for name in ("+1", "0" * 5000 + "1"):
            assert alter(ask, BROKER, name, log_retention_ms="600000")["error_code"] == Code.NONE


@pytest.mark.parametrize(
    ("release", "code"), [("2.6", Code.UNKNOWN_SERVER_ERROR), ("2.7", Code.UNKNOWN_TOPIC_OR_PARTITION)]
)
def test_unknown_topic_is_refused(release: str, code: Code) -> None:
    with asking(version=release) as ask:
        resource = {"resource_type": TOPIC, "resource_name": "unknown", "configs": []}
        answer = ask(Api.ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
        assert answer["responses"][0]["error_code"] == code
