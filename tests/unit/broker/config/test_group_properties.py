"""`kafkalet.broker.config.group_properties`: defaults, bounds and entries of group properties."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.broker_properties import BROKER_PROPERTIES
from kafkalet.broker.config.entries import Source
from kafkalet.broker.config.group_properties import (
    GROUP_PROPERTIES,
    check,
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
    rows = [known.row for known in GROUP_PROPERTIES if known.row.affects]
    assert rows
    assert {row.affects for row in rows} <= {row.affects for row in BROKER_PROPERTIES.values()}


@pytest.mark.slow
def test_every_property_with_an_effect_is_read_by_name() -> None:
    rows = [known.row for known in GROUP_PROPERTIES if known.row.affects]
    assert [row.name for row in rows if row.name not in names_in_code()] == []
