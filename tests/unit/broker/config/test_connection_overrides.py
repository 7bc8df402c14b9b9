"""`kafkalet.broker.config.connection_overrides`: valid and invalid overrides."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.connection_overrides import check_overrides, parse_overrides
from kafkalet.properties import InvalidProperty

LIMIT, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("", {}),
        ("10.0.0.1:100", {"10.0.0.1": 100}),
        (" 10.0.0.1 : 100 , other.host:3,", {"10.0.0.1": 100, "other.host": 3}),
        ("::1:4", {"::1": 4}),
        ("a:-1", {"a": -1}),
    ],
)
def test_overrides_are_pairs_of_host_and_number(text: str, overrides: dict[str, int]) -> None:
    assert parse_overrides(text) == overrides


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "'x' is not host:number"),
        ("a:1,,b:2", "'' is not host:number"),
        ("a:x", "'a:x' is not host:number"),
        ("a:" + "9" * 5000, "is not host:number"),
        ("a b:3", "max.connections.per.ip.overrides contains invalid addresses : a b"),
    ],
)
def test_invalid_overrides_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidProperty) as refused:
        check_overrides(OVERRIDES, text)
    assert message in str(refused.value)


def test_limit_of_zero_requires_overrides() -> None:
    with pytest.raises(InvalidProperty) as refused:
        BrokerConfig({LIMIT: "0"})
    assert str(refused.value) == f"requirement failed: {LIMIT} can be set to zero only if {OVERRIDES} property is set."
    assert BrokerConfig({LIMIT: "0", OVERRIDES: "127.0.0.1:1"}).max_connections_per_ip == 0
