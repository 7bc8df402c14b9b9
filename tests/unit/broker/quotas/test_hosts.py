import socket

import pytest

from kafkalet.broker.quotas.hosts import address_of, literal_address, look_up, names_of


@pytest.mark.parametrize(
    ("host", "address"),
    [("::1", "::1"), ("0:0:0:0:0:0:0:1", "::1"), ("127.0.0.1", "127.0.0.1"), ("localhost", None), ("\0", None)],
)
def test_literal_address_is_normalized(host: str, address: str | None) -> None:
    assert literal_address(host) == address


def test_localhost_has_an_address() -> None:
    assert look_up("localhost") in ("127.0.0.1", "::1")


@pytest.mark.parametrize("host", ["\ufffd", "a" * 300, ".."])
def test_invalid_host_name_has_no_address(host: str) -> None:
    assert look_up(host) is None


def test_first_ipv4_address_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """InetAddress.getByName does the same."""
    found = [(socket.AF_INET6, "::2"), (socket.AF_INET, "10.0.0.2"), (socket.AF_INET, "10.0.0.1")]
    answers = [(family, socket.SOCK_STREAM, 0, "", (address, 0)) for family, address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: answers)
    assert look_up("host.example") == "10.0.0.2"


def test_only_host_names_are_resolved() -> None:
    hosts = ["host.example", "10.0.0.1", "::1", "10.0.0.300", "10.0.0.0/8", "", "\0", "a" * 300]
    entities = [frozenset({("ip", host)}) for host in hosts]
    assert list(names_of([frozenset({("user", "u")}), frozenset({("ip", None)}), *entities])) == ["host.example"]


def test_host_name_has_its_resolved_address() -> None:
    known = {"host.example": "10.0.0.1", "waiting.example": None}
    assert address_of("host.example", known) == "10.0.0.1"
    assert address_of("waiting.example", known) is None
    assert address_of("10.0.0.2", known) == "10.0.0.2"
