"""`kafkalet.broker.apis.list_config_resources`: all types, some types and unknown types."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet.protocol.api import Api

from .asking import Asking, asking

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE = 0, 1


def alter(ask: Asking, kind: int, name: str, key: str, value: str | None, operation: int = SET) -> int:
    change = {"name": key, "config_operation": operation, "value": value}
    resource = {"resource_type": kind, "resource_name": name, "configs": [change]}
    answer = ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False)
    code = answer["responses"][0]["error_code"]
    assert isinstance(code, int)
    return code


def listed(ask: Asking, *types: int, version: int = 1) -> list[tuple[int, str]]:
    fields: dict[str, Any] = {"resource_types": list(types)} if version else {}
    answer = ask(Api.LIST_CONFIG_RESOURCES, version, **fields)
    assert answer["error_code"] == 0
    return [(resource["resource_type"], resource["resource_name"]) for resource in answer["config_resources"]]


def test_all_resource_types_are_listed() -> None:
    with asking(brokers=2, topics=["t"]) as ask:
        assert alter(ask, GROUP, "g", "consumer.session.timeout.ms", "50000") == 0
        assert alter(ask, METRICS, "m", "interval.ms", "1000") == 0
        brokers = [(LOGGER, "1"), (LOGGER, "2"), (BROKER, "1"), (BROKER, "2")]
        assert listed(ask) == [(GROUP, "g"), (METRICS, "m"), *brokers, (TOPIC, "t")]
        assert listed(ask, TOPIC, GROUP) == [(GROUP, "g"), (TOPIC, "t")]
        assert listed(ask, version=0) == [(METRICS, "m")]


def test_group_without_properties_is_not_listed() -> None:
    with asking() as ask:
        alter(ask, GROUP, "g", "consumer.session.timeout.ms", "50000")
        alter(ask, GROUP, "g", "consumer.session.timeout.ms", None, DELETE)
        assert listed(ask, GROUP) == []


def test_resources_survive_a_restart(tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        alter(ask, GROUP, "g", "consumer.session.timeout.ms", "50000")
    with asking(data_dir=tmp_path) as ask:
        assert listed(ask, GROUP) == [(GROUP, "g")]


@pytest.mark.parametrize("kind", [0, 1, 64, 99, -1])
def test_unknown_resource_type_is_refused(kind: int) -> None:
    with asking() as ask:
        assert ask(Api.LIST_CONFIG_RESOURCES, 1, resource_types=[TOPIC, kind])["error_code"] == 35
