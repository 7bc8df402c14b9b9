"""`kafkalet.broker.quotas.entities`: valid entities and values, and the quota of a client."""

import pytest

from kafkalet.broker.quotas.entities import (
    CLIENT,
    CONNECT,
    MUTATE,
    PRODUCE,
    REQUEST,
    USER,
    QuotaEntity,
    check_entity,
    check_value,
    quota_of,
    quotas_of_addresses,
)
from kafkalet.broker.quotas.hosts import IP
from kafkalet.protocol.errors import Code, KafkaError

IN_ORDER: list[dict[str, str | None]] = [
    {USER: "u", CLIENT: "c"},
    {USER: "u", CLIENT: None},
    {USER: "u"},
    {USER: None, CLIENT: "c"},
    {USER: None, CLIENT: None},
    {USER: None},
    {CLIENT: "c"},
    {CLIENT: None},
]
TOGETHER = [("u", "c"), ("u", "c"), ("u", ""), ("u", "c"), ("u", "c"), ("u", ""), ("", "c"), ("", "c")]


def entity(**parts: str | None) -> QuotaEntity:
    return frozenset((name.replace("_", "-"), value) for name, value in parts.items())


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_most_specific_quota_applies(first: int) -> None:
    quotas = {frozenset(parts.items()): {PRODUCE: float(n)} for n, parts in enumerate(IN_ORDER) if n >= first}
    assert quota_of(quotas, PRODUCE, "u", "c") == (float(first), *TOGETHER[first])


def test_quota_of_another_key_does_not_hide_a_less_specific_quota() -> None:
    quotas = {entity(user="u"): {REQUEST: 5.0}, entity(client_id="c"): {PRODUCE: 7.0}}
    assert quota_of(quotas, PRODUCE, "u", "c") == (7.0, "", "c")
    assert quota_of(quotas, MUTATE, "u", "c") is None


def test_other_clients_have_no_quota() -> None:
    quotas = {entity(user="u"): {PRODUCE: 5.0}, entity(client_id="c"): {PRODUCE: 7.0}}
    assert quota_of(quotas, PRODUCE, "v", "d") is None


def test_client_without_client_id_has_no_client_quota() -> None:
    quotas = {entity(client_id=None): {PRODUCE: 5.0}, entity(user=None, client_id=None): {PRODUCE: 6.0}}
    assert quota_of(quotas, PRODUCE, "u", "") is None


@pytest.mark.parametrize(
    "parts",
    [{}, {"group": "g"}, {USER: ""}, {USER: "u", IP: "::1"}, {IP: "10.0.0.300"}, {IP: "10.0.0.0/8"}],
)
def test_invalid_entity_is_refused(parts: dict[str, str | None]) -> None:
    with pytest.raises(KafkaError) as refused:
        check_entity(parts)
    assert refused.value.code is Code.INVALID_REQUEST


@pytest.mark.parametrize("parts", [*IN_ORDER, {IP: None}, {IP: "::1"}, {IP: "127.0.0.1"}])
def test_valid_entity_is_accepted(parts: dict[str, str | None]) -> None:
    check_entity(parts)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (USER, PRODUCE, 0.0),
        (USER, PRODUCE, -1.0),
        (USER, PRODUCE, 0.5),
        (USER, PRODUCE, 1e30),
        (USER, PRODUCE, float("nan")),
        (USER, REQUEST, 0.0),
        (USER, CONNECT, 1.0),
        (USER, "nope", 1.0),
        (IP, PRODUCE, 1.0),
        (IP, CONNECT, 3e9),
    ],
)
def test_invalid_value_is_refused(kind: str, key: str, value: float) -> None:
    with pytest.raises(KafkaError) as refused:
        check_value([kind], key, value)
    assert refused.value.code is Code.INVALID_REQUEST


@pytest.mark.parametrize(("kind", "key", "value"), [(USER, PRODUCE, 1.0), (CLIENT, REQUEST, 0.1), (IP, CONNECT, 5.0)])
def test_valid_value_is_accepted(kind: str, key: str, value: float) -> None:
    check_value([kind], key, value)


def test_connections_are_limited_by_address() -> None:
    quotas = {
        entity(ip="127.0.0.1"): {CONNECT: 5.0},
        entity(ip=None): {CONNECT: 9.0},
        entity(user="u"): {PRODUCE: 1.0},
    }
    assert quotas_of_addresses(quotas) == {"127.0.0.1": 5.0, None: 9.0}


def test_connections_of_a_host_are_limited_by_its_address() -> None:
    quotas = {entity(ip="known.example"): {CONNECT: 5.0}, entity(ip="unknown.example"): {CONNECT: 6.0}}
    assert quotas_of_addresses(quotas, {"known.example": "10.0.0.1", "unknown.example": None}) == {"10.0.0.1": 5.0}


def test_host_is_accepted_if_it_has_an_address() -> None:
    check_entity({IP: "known.example"}, {"known.example": "10.0.0.1"})
    with pytest.raises(KafkaError, match=r"unknown\.example is not a valid IP or resolvable host\."):
        check_entity({IP: "unknown.example"}, {"unknown.example": None})


def test_largest_long_is_compared_as_a_double() -> None:
    check_value([USER], PRODUCE, 2.0**63)
    with pytest.raises(KafkaError, match="too large"):
        check_value([USER], PRODUCE, 2.0**64)
