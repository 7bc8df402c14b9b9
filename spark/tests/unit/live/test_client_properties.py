import pytest

from kafkalet.client_security import Security
from kafkalet.properties import InvalidProperty
from kafkalet_spark.live.client_properties import Settings


def test_missing_properties_have_defaults() -> None:
    settings = Settings.of({})
    assert settings.client_id == "kafkalet-spark"
    assert settings.max_partition_fetch_bytes == settings.fetch_max_bytes == 8 << 20
    assert settings.isolation_level == "read_uncommitted"
    assert settings.check_crcs
    assert settings.request_timeout_ms == 30_000
    assert settings.default_api_timeout_ms == 60_000
    assert settings.fetch_max_wait_ms == 500
    assert settings.fetch_min_bytes == 1
    assert settings.security == Security()


def test_values_are_parsed_as_in_kafka() -> None:
    settings = Settings.of({"client.id": " me ", "check.crcs": "FALSE", "fetch.max.wait.ms": "+7"})
    assert (settings.client_id, settings.check_crcs, settings.fetch_max_wait_ms) == ("me", False, 7)


def test_fetch_max_bytes_defaults_to_partition_limit() -> None:
    assert Settings.of({"max.partition.fetch.bytes": "1000"}).fetch_max_bytes == 1000
    assert Settings.of({"max.partition.fetch.bytes": "1000", "fetch.max.bytes": "50"}).fetch_max_bytes == 50


def test_bootstrap_servers_may_be_among_the_properties() -> None:
    assert Settings.of({"bootstrap.servers": "a:1"}) == Settings.of({})


@pytest.mark.parametrize("name", ["group.id", "max.poll.records", "session.timeout.ms"])
def test_property_without_effect_is_accepted(name: str) -> None:
    assert Settings.of({name: "7"}) == Settings.of({})


@pytest.mark.parametrize("name", ["ssl.provider", "sasl.login.class", "nonsense"])
def test_unsupported_property_is_rejected_by_name(name: str) -> None:
    with pytest.raises(InvalidProperty, match=name):
        Settings.of({name: "x"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("isolation.level", "read_everything"),
        ("fetch.max.wait.ms", "-1"),
        ("request.timeout.ms", "soon"),
        ("check.crcs", "yes"),
        ("security.protocol", "TLS"),
        ("max.partition.fetch.bytes", "2147483648"),
    ],
)
def test_values_that_kafka_rejects_are_rejected(name: str, text: str) -> None:
    with pytest.raises(InvalidProperty, match=name):
        Settings.of({name: text})
