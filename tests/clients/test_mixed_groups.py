"""Members of different client libraries in one group agree on a common protocol and on the assignment."""

import contextlib
import itertools
from collections.abc import Iterator

import pytest

from .drivers import DRIVERS, Driver, Row
from .waiting import shared, take, until

ROUND_ROBIN = {"partition_assignment_strategy": "roundrobin"}
"""The assignor that all three clients support; librdkafka gets it by configuration."""

_numbers = itertools.count()


@pytest.fixture
def clients(bootstrap: str) -> Iterator[dict[str, Driver]]:
    with contextlib.ExitStack() as opened:
        found = {}
        for name, driver_type in DRIVERS.items():
            found[name] = driver_type(bootstrap)
            opened.callback(found[name].close)
        yield found


@pytest.fixture
def topic(clients: dict[str, Driver]) -> str:
    name = f"mixed-{next(_numbers)}"
    clients["aiokafka"].create_topic(name, 3)
    until(lambda: name in clients["aiokafka"].list_topics())
    return name


@pytest.mark.parametrize("leader", sorted(DRIVERS))
def test_members_of_three_clients_share_three_partitions(clients: dict[str, Driver], topic: str, leader: str) -> None:
    """The first member is the leader and computes the assignment for all."""
    members = {}
    for name in sorted(clients, key=lambda name: name != leader):
        more = ROUND_ROBIN if name == "confluent-kafka" else {}
        members[name] = clients[name].member(topic, topic, **more)
        until(lambda: any(member.assignment() for member in members.values()), *members.values())
    until(shared(*members.values()), *members.values())
    for partition in range(3):
        clients["kafka-python"].produce(topic, partition, [Row(1, b"v")])
    for member in members.values():
        [(partition, _)] = take(member, 1)
        assert {partition} == member.assignment()
        member.commit()
    assert clients["confluent-kafka"].committed(topic, topic) == {0: 1, 1: 1, 2: 1}


def test_client_resumes_at_offset_committed_by_another_client(clients: dict[str, Driver], topic: str) -> None:
    clients["aiokafka"].produce(topic, 0, [Row(n, b"%d" % n) for n in range(4)])
    for offset, client in enumerate(clients.values()):
        member = client.member(topic, topic)
        assert take(member, 1)[0][1].offset == offset
        member.commit({0: offset + 1})
        member.close()
    successor = clients["confluent-kafka"].member(topic, topic)
    assert take(successor, 1)[0][1].offset == len(clients)
