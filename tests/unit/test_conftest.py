"""The guard of unit tests: network sockets and JVMs fail a test; brokers, pairs and other programs need none."""

import asyncio
import socket
import subprocess
import sys

import pytest

import kafkalet

Failed = pytest.fail.Exception


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_network_socket_fails_the_test(family: int) -> None:
    with pytest.raises(Failed, match="tests/wire"):
        socket.socket(family)


def test_jvm_fails_the_test() -> None:
    for command in (["/usr/bin/java", "-version"], "java"):
        with pytest.raises(Failed, match="JVM"):
            subprocess.Popen(command)


def test_event_loop_and_pair_of_sockets_are_allowed() -> None:
    asyncio.run(asyncio.sleep(0))
    for end in socket.socketpair():
        end.close()


def test_broker_has_an_address_but_does_not_listen() -> None:
    with kafkalet.Cluster(2) as cluster:
        first, second = cluster.bootstrap_servers.split(",")
        assert first != second
        cluster.broker(2).stop()
        cluster.broker(2).start()
        assert cluster.bootstrap_servers == f"{first},{second}"


def test_python_process_is_allowed() -> None:
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
