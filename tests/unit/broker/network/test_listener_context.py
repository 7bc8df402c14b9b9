"""Tests of `Limits`."""

from kafkalet.broker.network.listener_context import Limits


def test_defaults_are_those_of_kafka() -> None:
    limits = Limits()
    assert limits.socket_request_max_bytes == 104_857_600
    assert limits.connections_max_idle_ms == 600_000
    assert limits.max_connections == limits.max_connections_per_ip == 2_147_483_647
    assert limits.max_connections_per_ip_overrides == {}
