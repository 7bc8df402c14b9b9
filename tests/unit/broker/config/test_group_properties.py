"""`kafkalet.broker.config.group_properties`: defaults, bounds and entries of group properties."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN
from kafkalet.broker.config.entries import Source
from kafkalet.broker.config.group_properties import (
    GROUP_PROPERTIES,
    check,
    duration_ms,
    effective_number,
    group_entries,
    properties_of_groups,
)
from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.releases import RELEASES
from tests.unit.broker.configuration import names_in_code

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def config(release: str = "4.4", **static: str) -> BrokerConfig:
    return BrokerConfig({name.replace("_", "."): value for name, value in static.items()}, Release.of(release))


@pytest.mark.parametrize("release", RELEASES)
def test_defaults_are_valid_values(release: str) -> None:
    known = properties_of_groups(Release.of(release).version)
    check({name: property_.declared.default or "" for name, property_ in known.items()}, config(release))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (SESSION, "44999"),
        (SESSION, "60001"),
        (SESSION, "soon"),
        (HEARTBEAT, "0"),
        ("share.auto.offset.reset", "by_duration:1h"),
        ("share.isolation.level", "serializable"),
        ("streams.num.standby.replicas", "3"),
        ("streams.assignor.name", "mine"),
        ("retention.ms", "1"),
    ],
)
def test_invalid_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(KafkaError, match=name) as refused:
        check({name: value}, config())
    assert refused.value.code is Code.INVALID_CONFIG


@pytest.mark.parametrize("reset", ["earliest", "latest", "by_duration:PT1H", "by_duration:P1DT0.5S"])
def test_share_auto_offset_reset_accepts_positions_and_durations(reset: str) -> None:
    check({"share.auto.offset.reset": reset}, config())


def test_broker_properties_set_the_bounds() -> None:
    check({SESSION: "6000"}, config(group_consumer_min_session_timeout_ms="6000"))
    with pytest.raises(KafkaError, match="in the range 6000 to 60000"):
        check({SESSION: "5999"}, config(group_consumer_min_session_timeout_ms="6000"))


def test_entries_have_sources_and_synonyms() -> None:
    brokers = config(group_consumer_heartbeat_interval_ms="6000")
    result = {entry.name: entry for entry in group_entries({SESSION: "50000"}, brokers)}
    assert (result[SESSION].value, result[SESSION].source) == ("50000", Source.GROUP)
    assert [synonym.name for synonym in result[SESSION].synonyms] == [SESSION, f"group.{SESSION}"]
    assert (result[HEARTBEAT].value, result[HEARTBEAT].source) == ("6000", Source.STATIC)


def test_earlier_releases_have_fewer_properties() -> None:
    assert not properties_of_groups(Release.of("3.9").version)
    assert set(properties_of_groups((4, 0))) < set(properties_of_groups((4, 4)))


def test_property_with_an_effect_corresponds_to_a_broker_property_with_an_effect() -> None:
    rows = [known.row for known in GROUP_PROPERTIES if known.row.affects and known.broker is not None]
    assert rows
    as_given = {name.replace(".", "_") for name in READ_AS_GIVEN}
    assert {row.affects for row in rows} <= {row.affects for row in BROKER_PROPERTIES.values()} | as_given


@pytest.mark.slow
def test_every_property_with_an_effect_is_read_by_name() -> None:
    rows = [known.row for known in GROUP_PROPERTIES if known.row.affects]
    assert [row.name for row in rows if row.name not in names_in_code()] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("P1D", 86_400_000), ("PT1H2M3.5S", 3_723_500), ("p2dt1m", 172_860_000), ("-PT1S", -1000), ("PT-1S", -1000)],
)
def test_durations_have_the_notation_of_java(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("value", ["by_duration:-PT1H", "by_duration:PT", "by_duration:", "EARLIEST"])
def test_invalid_offset_resets_are_refused(value: str) -> None:
    with pytest.raises(KafkaError, match="must be either 'earliest', 'latest' or of the format 'by_duration:"):
        check({"share.auto.offset.reset": value}, config())


def test_dead_letter_queue_cannot_be_an_internal_topic() -> None:
    check({"errors.deadletterqueue.topic.name": "dlq"}, config())
    with pytest.raises(KafkaError, match="DLQ topic name must not start with '__'"):
        check({"errors.deadletterqueue.topic.name": "__dlq"}, config())


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("share.session.timeout.ms", "44999", "greater than or equal to group.share.min.session.timeout.ms"),
        ("share.session.timeout.ms", "60001", "less than or equal to group.share.max.session.timeout.ms"),
        ("streams.num.standby.replicas", "3", "less than or equal to group.streams.max.standby.replicas"),
    ],
)
def test_bound_is_named_before_4_4(name: str, value: str, bound: str) -> None:
    with pytest.raises(KafkaError, match=f"{name} must be {bound}"):
        check({name: value}, config("4.3"))


def test_session_timeout_must_be_longer_than_the_heartbeat_interval() -> None:
    low = {"group_share_min_session_timeout_ms": "1000"}
    with pytest.raises(KafkaError, match=r"share.session.timeout.ms must be greater than share.heartbeat.interval.ms"):
        check({"share.session.timeout.ms": "5000"}, config(**low))
    check({"share.session.timeout.ms": "5001"}, config(**low))


@pytest.mark.parametrize(
    ("release", "number", "applies"),
    [("4.3", "55000", 50_000), ("4.3", "46000", 46_000), ("4.3", "1000", 45_000), ("4.2", "55000", 55_000)],
)
def test_number_of_a_group_applies_within_the_bounds_of_the_broker_since_4_3(
    release: str, number: str, applies: int
) -> None:
    bounds = {"group.consumer.min.session.timeout.ms": "45000", "group.consumer.max.session.timeout.ms": "50000"}
    broker = BrokerConfig(bounds, Release.of(release))
    assert effective_number({SESSION: number}, SESSION, 47_000, broker) == applies
    assert effective_number({}, SESSION, 47_000, broker) == 47_000


def test_number_of_standby_replicas_has_only_a_maximum() -> None:
    broker = BrokerConfig({"group.streams.max.standby.replicas": "1"})
    name = "streams.num.standby.replicas"
    assert effective_number({name: "2"}, name, 0, broker) == 1
