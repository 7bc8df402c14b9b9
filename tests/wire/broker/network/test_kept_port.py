"""A kept port: nobody can take it, and whoever knocks is refused."""

import socket

import pytest

from kafkalet.broker.network.kept_port import KeptPort


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_nobody_else_can_take_it_until_it_is_released() -> None:
    port = free_port()
    kept = KeptPort("127.0.0.1", port)
    with socket.socket() as other:
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        kept.release()
        other.bind(("127.0.0.1", port))


def test_clients_are_refused() -> None:
    port = free_port()
    kept = KeptPort("127.0.0.1", port)
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", port))
    kept.release()


def test_a_port_that_cannot_be_had_is_not_kept() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        kept = KeptPort("127.0.0.1", port)
    with socket.socket() as another:
        another.bind(("127.0.0.1", port))
    kept.release()
