"""The table of broker properties: every property is documented and read by the code."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.broker_properties import (
    BROKER_PROPERTIES,
    READ_AS_GIVEN,
    TOPIC_DEFAULTS,
    topic_defaults_of,
)
from kafkalet.broker.config.group_properties import GROUP_PROPERTIES
from kafkalet.properties import InvalidProperty
from tests.unit.broker.configuration import names_in_code, reads_of_configurations

ROWS = [*BROKER_PROPERTIES.values(), *READ_AS_GIVEN.values()]


def test_attribute_has_the_name_of_its_property() -> None:
    assert [row for row in BROKER_PROPERTIES.values() if row.affects != row.name.replace(".", "_")] == []


def test_attribute_of_unset_property_has_the_declared_default() -> None:
    config = BrokerConfig()
    for row in BROKER_PROPERTIES.values():
        assert getattr(config, row.affects) == row.declared.default_value(), row.name


@pytest.mark.slow
def test_attribute_of_every_declared_property_is_read() -> None:
    read = reads_of_configurations()
    assert [row.name for row in BROKER_PROPERTIES.values() if row.affects not in read] == []


@pytest.mark.slow
def test_every_property_read_as_given_is_read_by_name() -> None:
    bounds = {name for known in GROUP_PROPERTIES for name in (known.least, known.most)}
    assert [row.name for row in READ_AS_GIVEN.values() if row.name not in names_in_code() | bounds] == []
    assert [row.name for row in READ_AS_GIVEN.values() if not hasattr(BrokerConfig, row.affects)] == []


def test_topic_default_exists_in_some_release() -> None:
    assert set(TOPIC_DEFAULTS) == {name for version in ((2, 8), (3, 9), (4, 4)) for name in topic_defaults_of(version)}


def test_documentation_is_a_sentence() -> None:
    for row in ROWS:
        assert row.documentation[0].isupper(), row.name
        assert row.documentation.endswith("."), row.name


@pytest.mark.parametrize(
    ("version", "name", "least", "most"),
    [
        ((3, 9), "group.share.max.size", 10, 1000),
        ((4, 4), "group.share.max.size", 1, 1000),
        ((4, 4), "group.share.delivery.count.limit", 2, 10),
        ((4, 4), "group.share.partition.max.record.locks", 100, 10_000),
    ],
)
def test_share_groups_are_limited(version: tuple[int, int], name: str, least: int, most: int) -> None:
    declared = BROKER_PROPERTIES[name].in_release(version)
    assert declared is not None
    for value in (least, most):
        declared.parse(str(value))
    for value in (least - 1, most + 1):
        with pytest.raises(InvalidProperty):
            declared.parse(str(value))
