"""`kafkalet.broker.config.listeners`: the listeners of a broker, and what Kafka refuses."""

import pytest

from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.listeners import (
    SecurityProtocol,
    check_ports,
    inter_broker_listener,
    listeners_of,
    values_of,
    with_shifted_ports,
)
from kafkalet.properties import InvalidProperty

MAP = "listener.security.protocol.map"
IN_AND_OUT = {"listeners": "IN://:9092,OUT://0.0.0.0:9093", MAP: "IN:PLAINTEXT,OUT:SASL_SSL"}


def config(**given: str) -> BrokerConfig:
    return BrokerConfig({name.replace("_", "."): value for name, value in given.items()})


def refusal(given: dict[str, str]) -> str:
    with pytest.raises(InvalidProperty) as caught:
        listeners_of(BrokerConfig(given))
    return str(caught.value)


def test_broker_without_properties_has_the_listener_plaintext() -> None:
    [listener] = listeners_of(BrokerConfig())
    assert (listener.name, listener.protocol, listener.values) == ("PLAINTEXT", SecurityProtocol.PLAINTEXT, {})


def test_listeners_have_names_protocols_and_addresses() -> None:
    first, second = listeners_of(BrokerConfig(IN_AND_OUT))
    assert (first.name, first.protocol, first.host, first.port) == ("IN", SecurityProtocol.PLAINTEXT, "", 9092)
    assert (second.name, second.protocol, second.host, second.port) == (
        "OUT",
        SecurityProtocol.SASL_SSL,
        "0.0.0.0",
        9093,
    )
    assert (first.advertised, second.advertised, second.is_advertised) == (None, None, True)


def test_names_of_listeners_are_upper_case() -> None:
    [listener] = listeners_of(config(listeners="sasl_plaintext://h:1"))
    assert (listener.name, listener.protocol) == ("SASL_PLAINTEXT", SecurityProtocol.SASL_PLAINTEXT)


def test_ipv6_address_has_brackets() -> None:
    [listener] = listeners_of(config(listeners="PLAINTEXT://[::1]:9092"))
    assert (listener.host, listener.port) == ("::1", 9092)


def test_listener_that_is_missing_in_advertised_listeners_is_not_advertised() -> None:
    first, second = listeners_of(BrokerConfig(IN_AND_OUT | {"advertised.listeners": "OUT://kafka:1"}))
    assert not first.is_advertised
    assert (second.advertised, second.is_advertised) == (("kafka", 1), True)


def test_advertised_listeners_apply_without_listeners() -> None:
    [listener] = listeners_of(BrokerConfig({"advertised.listeners": "PLAINTEXT://kafka:1"}))
    assert listener.advertised == ("kafka", 1)


def test_listeners_of_the_controller_are_left_out() -> None:
    given = {
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    assert [listener.name for listener in listeners_of(BrokerConfig(given))] == ["PLAINTEXT"]
    given |= {MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "advertised.listeners": "PLAINTEXT://localhost:9092"}
    assert [listener.name for listener in listeners_of(BrokerConfig(given))] == ["PLAINTEXT"]


def test_only_listeners_of_the_controller_are_refused() -> None:
    given = {"listeners": "CONTROLLER://:9093", "controller.listener.names": "CONTROLLER"}
    assert refusal(given) == (
        "requirement failed: There must be at least one broker advertised listener. "
        "Perhaps all listeners appear in controller.listener.names?"
    )


@pytest.mark.parametrize(
    ("listeners", "message"),
    [
        (
            "PLAINTEXT",
            "Error creating broker listeners from 'PLAINTEXT': Unable to parse PLAINTEXT to a broker endpoint",
        ),
        (
            "PLAINTEXT://h",
            "Error creating broker listeners from 'PLAINTEXT://h': Unable to parse PLAINTEXT://h to a broker",
        ),
        (
            "XYZ://h:1",
            "Error creating broker listeners from 'XYZ://h:1': No security protocol defined for listener XYZ",
        ),
        ("PLAINTEXT://h:-1", "-1 is not a port; a port is a number from 0 to 65535"),
        (
            "PLAINTEXT://a:1,PLAINTEXT://a:2",
            "requirement failed: Each listener must have a different name, listeners: ",
        ),
        ("PLAINTEXT://a:1,SSL://a:1", "requirement failed: Each listener must have a different port, listeners: "),
        (
            "PLAINTEXT://[::1]:1,SSL://[::1]:1",
            "requirement failed: If you have two listeners on the same port then one ",
        ),
        ("SSL://[::1]:1,PLAINTEXT://127.0.0.1:1,SASL_SSL://:1", "If you have two listeners on the same port then one "),
        (
            "PLAINTEXT://127.0.0.1:1,SSL://127.0.0.1:1,SASL_SSL://127.0.0.1:1",
            "Each listener must have a different port unless exactly one listener has an IPv4 address and the other ",
        ),
        (
            "PLAINTEXT://apache.org:1,SSL://[::1]:1",
            "Each listener must have a different port unless exactly one listener ",
        ),
    ],
)
def test_invalid_listeners_are_refused_as_in_kafka(listeners: str, message: str) -> None:
    assert message in refusal({"listeners": listeners})


@pytest.mark.parametrize(
    "listeners",
    [
        "PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092",
        "PLAINTEXT://[::1]:9096,SSL://127.0.0.1:9096,SASL_SSL://[::1]:9097,SASL_PLAINTEXT://127.0.0.1:9097",
        "PLAINTEXT://h:0,SSL://h:0",
    ],
)
def test_one_port_may_have_an_ipv4_and_an_ipv6_listener(listeners: str) -> None:
    assert len(listeners_of(config(listeners=listeners))) == listeners.count("://")


def test_advertised_listeners_may_share_a_port_but_not_a_name() -> None:
    assert len(listeners_of(BrokerConfig(IN_AND_OUT | {"advertised.listeners": "IN://h:1,OUT://h:1"}))) == 2
    assert "must have a different name" in refusal(IN_AND_OUT | {"advertised.listeners": "IN://h:1,IN://h:2"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"advertised.listeners": "SSL://h:1"},
            "Error creating broker listeners from 'SSL://h:1': No security protocol defined for listener SSL",
        ),
        (
            {"listeners": "IN://:9092", "advertised.listeners": "IN://h:1,OUT://h:2"},
            "requirement failed: advertised.listeners listener names must be equal to or a subset of the ones defined "
            "in listeners. Found IN,OUT. The valid options based on the current configuration are IN",
        ),
        (
            {"advertised.listeners": "IN://0.0.0.0:1"},
            "requirement failed: advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. "
            "Use a routable IP address.",
        ),
        (
            {"inter.broker.listener.name": "OTHER"},
            "Listener with name OTHER defined in inter.broker.listener.name not found in "
            "listener.security.protocol.map.",
        ),
        (
            {"inter.broker.listener.name": "OUT", "advertised.listeners": "IN://h:1"},
            "requirement failed: inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            "The valid options based on currently configured listeners are IN",
        ),
        (
            {"inter.broker.listener.name": "IN", "security.inter.broker.protocol": "PLAINTEXT"},
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
        ),
        (
            {"inter.broker.listener.name": "IN", "control.plane.listener.name": "IN"},
            "requirement failed: control.plane.listener.name, when defined, should have a different value from the "
            "inter broker listener name. Currently they both have the value ListenerName(IN)",
        ),
        ({MAP: "IN:NOPE,OUT:SSL"}, "Invalid security protocol `NOPE` defined in listener.security.protocol.map"),
    ],
)
def test_properties_that_contradict_each_other_are_refused_as_in_kafka(given: dict[str, str], message: str) -> None:
    assert refusal(IN_AND_OUT | given) == message


def test_property_with_prefix_of_a_listener_takes_precedence() -> None:
    given = {
        "max.connections": "9",
        "listener.name.out.max.connections": "3",
        "listener.name.out.plain.sasl.jaas.config": "x",
    }
    found = BrokerConfig(IN_AND_OUT | given)
    assert values_of(found, "IN")["max.connections"] == "9"
    assert values_of(found, "OUT")["max.connections"] == "3"
    assert values_of(found, "OUT")["plain.sasl.jaas.config"] == "x"
    assert not [name for name in values_of(found, "IN") if "jaas" in name]


def test_inter_broker_listener_is_named_or_that_of_its_protocol() -> None:
    assert inter_broker_listener(BrokerConfig()) is None
    assert inter_broker_listener(BrokerConfig({"inter.broker.listener.name": "in"})) == "IN"
    assert inter_broker_listener(BrokerConfig({"security.inter.broker.protocol": "SSL"})) == "SSL"


def test_further_broker_has_the_next_port_of_each_listener() -> None:
    assert with_shifted_ports("IN://:9092, OUT://[::1]:9192,X://h:0", 2) == "IN://:9094,OUT://[::1]:9194,X://h:0"


def test_listeners_need_enough_ports_for_all_brokers() -> None:
    listeners = listeners_of(config(listeners="PLAINTEXT://h:9092,SSL://h:9093"))
    check_ports(listeners, 1)
    with pytest.raises(InvalidProperty, match="would both listen on port 9093, because each broker uses the next port"):
        check_ports(listeners, 2)
    with pytest.raises(InvalidProperty, match="PLAINTEXT of broker 2 would listen on port 65536"):
        check_ports(listeners_of(config(listeners="PLAINTEXT://h:65535")), 2)


def test_representation_shows_no_values() -> None:
    listeners = {"listeners": "SSL://127.0.0.1:9", "ssl.key.password": "secret"}
    [settings] = listeners_of(BrokerConfig(listeners))
    assert settings.values["ssl.key.password"] == "secret"
    assert repr(settings) == "ListenerSettings(SSL, SSL, 127.0.0.1:9)"
