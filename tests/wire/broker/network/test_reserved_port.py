"""Tests of reserved ports: other sockets cannot bind them, and connections are refused."""

import socket

import pytest

from kafkalet.broker.network.reserved_port import ReservedPort


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_reserved_port_cannot_be_bound_until_released() -> None:
    port = free_port()
    reserved = ReservedPort("127.0.0.1", port)
    with socket.socket() as other:
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        reserved.release()
        other.bind(("127.0.0.1", port))


def test_connection_to_reserved_port_is_refused() -> None:
    port = free_port()
    reserved = ReservedPort("127.0.0.1", port)
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", port))
    reserved.release()


def test_port_in_use_is_not_reserved() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        reserved = ReservedPort("127.0.0.1", port)
    with socket.socket() as another:
        another.bind(("127.0.0.1", port))
    reserved.release()
