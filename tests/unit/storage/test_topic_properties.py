"""Compares `kafkalet.storage.topic_properties` with what Kafka 2.8, 3.9 and 4.4 described, accepted and refused."""

import json
import os
from typing import Any

import pytest

from kafkalet.properties import InvalidProperty
from kafkalet.storage.config import LogConfig, LogRules, check_tiers
from kafkalet.storage.topic_properties import TOPIC_PROPERTIES, topic_properties
from tests.unit.broker.configuration import reads_of_configurations

with open(os.path.join(os.path.dirname(__file__), "recorded_topic_properties.json"), encoding="utf-8") as file:
    RECORDED: dict[str, Any] = json.load(file)

RELEASES = {"2.8": (2, 8), "3.9": (3, 9), "4.4": (4, 4)}
RULES = set(LogRules._fields) & set(LogConfig._fields)
HIDDEN = "internal.segment.bytes"

release = pytest.mark.parametrize("release", RELEASES)


@release
def test_a_release_has_kafkas_properties_with_their_types_and_defaults(release: str) -> None:
    ours = {
        property_.name: [property_.type.name, property_.default]
        for property_ in topic_properties(RELEASES[release])
        if property_.name != HIDDEN
    }
    assert ours == RECORDED[release]["properties"]


def test_properties_are_in_kafkas_order() -> None:
    names = [property_.name for property_ in topic_properties((4, 4))]
    assert names[:-1] == list(RECORDED["4.4"]["properties"])


def test_property_is_documented_by_a_sentence() -> None:
    for row in TOPIC_PROPERTIES.values():
        assert row.documentation[0].isupper() or row.documentation.split()[0] in TOPIC_PROPERTIES, row.name
        assert row.documentation.endswith("."), row.name


def test_declared_effects_are_the_attributes_of_a_log_config() -> None:
    affected = {attribute for row in TOPIC_PROPERTIES.values() for attribute in row.affects.split()}
    assert affected | RULES == set(LogConfig._fields)


@pytest.mark.slow
def test_attribute_of_a_log_config_is_read() -> None:
    assert set(LogConfig._fields) - reads_of_configurations() == set()


@release
def test_every_recorded_value_is_accepted_or_refused_as_by_kafka(release: str) -> None:
    properties = topic_properties(RELEASES[release])
    wrong = []
    for name, (accepted, refused) in RECORDED[release]["answers"].items():
        for value in accepted + refused:
            try:
                known = properties.get(name)
                taken = known is not None
                if known is not None and known.parse(value) is True and name == "remote.storage.enable":
                    check_tiers(LogConfig(remote_storage_enable=True), is_possible=False, was_tiered=False)
            except InvalidProperty:
                taken = False
            if taken != (value in accepted):
                wrong.append((name, value))
    assert wrong == []


def test_throttled_replicas_are_refused_with_kafkas_message() -> None:
    with pytest.raises(InvalidProperty) as refused:
        topic_properties((4, 4))["leader.replication.throttled.replicas"].parse("1:2, x")
    assert str(refused.value) == (
        "Invalid value [1:2, x] for configuration leader.replication.throttled.replicas: "
        "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


@pytest.mark.parametrize(
    ("version", "default"),
    [
        ((0, 10, 0), "0.10.0-IV1"),
        ((0, 11), "0.11.0-IV2"),
        ((1, 0), "1.0-IV0"),
        ((2, 8), "2.8-IV1"),
        ((3, 5), "3.0-IV1"),
    ],
)
def test_the_format_version_is_by_default_the_release_but_at_most_3_0(version: tuple[int, ...], default: str) -> None:
    assert topic_properties(version)["message.format.version"].default == default


def test_a_release_refuses_the_format_of_a_later_one() -> None:
    with pytest.raises(InvalidProperty):
        topic_properties((2, 4))["message.format.version"].parse("2.5")
    assert topic_properties((2, 4))["message.format.version"].parse("2.4-IV1") == "2.4-IV1"
    with pytest.raises(InvalidProperty):
        topic_properties((2, 4))["message.format.version"].parse("2.4-IV2")


def test_internal_segment_bytes_exists_since_4_1() -> None:
    assert HIDDEN not in topic_properties((4, 0))
    assert topic_properties((4, 1))[HIDDEN].parse("100") == 100


@pytest.mark.parametrize("value", ["2.8.x", "2.8-IV1.x", "2.8." + "9" * 5000, "0.9.0.1", "0.10.2-IV0", "2.8-IV0"])
def test_format_version_is_checked_by_its_first_numbers(value: str) -> None:
    assert topic_properties((2, 8))["message.format.version"].parse(value) == value
    assert LogConfig.of({"message.format.version": value}, LogRules(version=(2, 8), honors_message_format=True))


@pytest.mark.parametrize("value", ["2.8-IV01", "0.10", "2.8-IV2", "2.8-IV" + "9" * 5000, "\u0662.8"])
def test_unknown_format_version_is_refused(value: str) -> None:
    with pytest.raises(InvalidProperty, match="` is not a valid version"):
        topic_properties((2, 8))["message.format.version"].parse(value)


def test_throttled_replicas_are_ascii_digits() -> None:
    with pytest.raises(InvalidProperty, match="must be the literal"):
        topic_properties((3, 9))["leader.replication.throttled.replicas"].parse("\u0663:1")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ((4, 1), "Invalid value  for configuration cleanup.policy: String must be one of: compact, delete"),
        ((4, 2), "Configuration 'cleanup.policy' values must not be empty."),
    ],
)
def test_empty_value_in_cleanup_policy_is_refused(version: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidProperty) as refused:
        topic_properties(version)["cleanup.policy"].parse("delete,")
    assert str(refused.value) == message
