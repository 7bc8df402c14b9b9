"""`kafkalet.broker.config.catalog`: the properties that a broker of each release describes."""

import subprocess
import sys

import pytest

from kafkalet.broker.config.broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS
from kafkalet.broker.config.catalog import catalog, known_property
from kafkalet.broker.config.security_properties import declarations as security_declarations
from kafkalet.broker.config.without_effect import declarations as other_declarations
from kafkalet.properties import Declaration, Type


def declarations() -> list[Declaration]:
    return [*other_declarations(), *security_declarations()]


@pytest.mark.parametrize(
    ("version", "count"), [((2, 8), 218), ((3, 9), 315), ((4, 0), 289), ((4, 3), 340), ((4, 4), 350)]
)
def test_catalog_has_as_many_properties_as_the_release(version: tuple[int, ...], count: int) -> None:
    assert len(catalog(version)) == count


def test_every_default_can_be_parsed() -> None:
    for version in ((2, 8), (3, 9), (4, 4)):
        for known in catalog(version).values():
            known.declared.default_value()


@pytest.mark.parametrize(
    ("name", "version", "type_", "default", "dynamic"),
    [
        ("num.io.threads", (4, 4), Type.INT, "8", True),
        ("num.recovery.threads.per.data.dir", (3, 9), Type.INT, "1", True),
        ("num.recovery.threads.per.data.dir", (4, 4), Type.INT, "2", True),
        ("log.retention.hours", (4, 4), Type.INT, "168", False),
        ("log.retention.ms", (4, 4), Type.LONG, None, True),
        ("message.max.bytes", (2, 8), Type.INT, "1048588", True),
        ("log.message.timestamp.after.max.ms", (4, 4), Type.LONG, "3600000", True),
        ("ssl.keystore.password", (3, 9), Type.PASSWORD, None, True),
        ("kafka.metrics.reporters", (4, 4), Type.LIST, "", False),
    ],
)
def test_property_matches_the_description_of_kafka(
    name: str, version: tuple[int, ...], type_: Type, default: str | None, dynamic: bool
) -> None:
    known = catalog(version)[name]
    assert (known.declared.type, known.declared.default, known.is_dynamic) == (type_, default, dynamic)


def test_catalog_lacks_later_and_removed_properties() -> None:
    assert "zookeeper.connect" in catalog((3, 9))
    assert "zookeeper.connect" not in catalog((4, 0))
    assert "max.decompressed.message.bytes" not in catalog((4, 3))
    assert "max.request.partition.size.limit" not in catalog((2, 8))


def test_password_is_sensitive() -> None:
    assert catalog((4, 4))["ssl.key.password"].is_sensitive
    assert not catalog((4, 4))["ssl.keystore.type"].is_sensitive


def test_per_broker_property_cannot_change_cluster_wide() -> None:
    assert catalog((4, 4))["ssl.keystore.type"].is_per_broker
    assert not catalog((4, 4))["max.connections"].is_per_broker
    assert not catalog((4, 4))["sasl.oauthbearer.scope.claim.name"].is_per_broker


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("listener.name.inside.ssl.keystore.type", "ssl.keystore.type"),
        ("listener.name.inside.plain.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.inside.max.connections", "max.connections"),
    ],
)
def test_property_with_listener_prefix_is_known(name: str, base: str) -> None:
    assert known_property(name, (4, 4)) == catalog((4, 4))[base]


def test_unknown_names_are_not_found() -> None:
    assert known_property("no.such.property", (4, 4)) is None
    assert known_property("listener.name.inside.no.such", (4, 4)) is None


def test_property_is_declared_in_one_part_of_the_table() -> None:
    effective = {*BROKER_PROPERTIES, *READ_AS_GIVEN, *TOPIC_DEFAULTS}
    assert effective & {row.name for row in declarations()} == set()
    assert len(effective) == len(BROKER_PROPERTIES) + len(READ_AS_GIVEN) + len(TOPIC_DEFAULTS)


def test_variants_of_a_property_do_not_overlap() -> None:
    for version in ((2, 8), (3, 0), (3, 9), (4, 0), (4, 1), (4, 2), (4, 3), (4, 4)):
        names = [row.name for row in declarations() if row.in_release(version) is not None]
        assert len(names) == len(set(names)), version


def test_broker_starts_without_the_tables_that_are_loaded_on_demand() -> None:
    code = (
        "import sys; from kafkalet.broker.config.broker_config import BrokerConfig; "
        "BrokerConfig({'node.id': '1', 'num.partitions': '3', 'log.retention.hours': '1'}); "
        "print([name for name in sys.modules if name.endswith(('without_effect', 'security_properties'))])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
