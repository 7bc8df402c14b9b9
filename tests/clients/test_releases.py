"""Each client against the releases that a broker can be, as long as the client still knows the release."""

import pytest

import kafkalet
from kafkalet.broker.release import Release

from .drivers import Driver, Found, Row, messages

SINCE = {"AioKafka": (0, 11), "ConfluentKafka": (0, 10, 1), "KafkaPython": (0, 10, 1)}
"""The oldest release that a client, left to find out by itself, can ask for an offset by time."""

MILESTONES = ("0.10.1", "0.11", "2.0", "2.8", "3.5", "3.9", "4.0", "4.4", "newest")
"""Releases at which versions of Produce, Fetch or ListOffsets came or went; the rest are alike to a client."""


@pytest.mark.parametrize("release", MILESTONES)
def test_a_round_trip(driver_type: type[Driver], release: str) -> None:
    if Release.of(release).version < SINCE[driver_type.__name__]:
        return
    with kafkalet.Broker(kafka_version=release, topics=["t"]) as broker:
        client = driver_type(broker.bootstrap_servers)
        client.produce("t", 0, [Row(1000, b"a", b"k"), Row(2000, b"b")], compression_type="gzip")
        assert client.beginning_offsets("t", [0]) == [0]
        assert client.end_offsets("t", [0]) == [2]
        assert client.offsets_for_times("t", {0: 1001}) == {0: Found(1, 2000)}
        assert [(message.key, message.value) for message in messages(client.read("t", {0: 0}, 2))] == [
            (b"k", b"a"),
            (None, b"b"),
        ]
        client.close()
