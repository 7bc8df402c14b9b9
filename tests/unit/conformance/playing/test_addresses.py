"""The addresses of brokers."""

import pytest

from kafkalet_conformance.playing.addresses import bootstrap_addresses


def test_addresses_are_separated_by_commas() -> None:
    assert bootstrap_addresses("a.example:9092, 127.0.0.1:1,[::1]:65535") == [
        ("a.example", 9092),
        ("127.0.0.1", 1),
        ("::1", 65535),
    ]


@pytest.mark.parametrize("text", ["", "a", "a:", "a:x", ":9092", "a:0", "a:65536", "::1:9092", "a:1,b"])
def test_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address; expected is HOST:PORT, or \[IPV6\]:PORT for IPv6"):
        bootstrap_addresses(text)
