"""Writing a marker to a single partition on its leader."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.transactions.marker import Marker, write_marker
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from kafkalet.testing.hold import Hold
from tests.wire.brokers import Wire, batch, on_the_wire

MARKER = Marker(producer_id=7, producer_epoch=1, coordinator_epoch=3, committed=True)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with on_the_wire(2, clock=ManualClock()) as opened:
        yield opened


def write(wire: Wire, marker: Marker = MARKER, *, topic: str = "t", leader: bool = True) -> list[Code]:
    """Write a marker and return the list of results, which is empty while the marker waits."""
    codes: list[Code] = []
    state = wire.cluster._server.metadata.partition(topic, 0)
    node = 1 if state is None else state.leader if leader else 3 - state.leader
    coordinators = wire.cluster._server.brokers[node].coordinators
    wire.cluster._server.call(lambda: write_marker(coordinators, topic, 0, marker).then(codes.append))
    return codes


def advance(wire: Wire, ms: int) -> None:
    clock = wire.cluster._server.clock
    assert isinstance(clock, ManualClock)
    wire.cluster._server.call(lambda: clock.advance(milliseconds=ms))


def hold(wire: Wire) -> Hold:
    """Hold back the only follower."""
    follower = 3 - wire.cluster._server.metadata.topics["t"].partitions[0].leader
    return wire.cluster.hold_replication(follower, "t")


def test_marker_has_bytes_of_kafka(wire: Wire) -> None:
    assert write(wire) == [Code.NONE]
    [found] = wire.cluster.topic("t").log().batches
    [record] = found.records()
    assert (found.is_control, found.is_transactional, found.producer_id, found.producer_epoch) == (True, True, 7, 1)
    assert (record.key, record.value) == (b"\0\0\0\1", b"\0\0\0\0\0\3")
    assert found.size == 78
    found.check_crc()


@pytest.mark.parametrize(
    "config",
    [{"compression.type": "gzip"}, {"message.timestamp.type": "LogAppendTime"}, {"compression.type": "uncompressed"}],
)
def test_marker_is_appended_unchanged_to_converting_topics(wire: Wire, config: dict[str, str]) -> None:
    wire.cluster.topic("other").create(1, config=config, replication_factor=1)
    assert write(wire, topic="other") == [Code.NONE]
    [found] = wire.cluster.topic("other").log().batches
    assert (found.is_control, len(found.records())) == (True, 1)


def test_follower_and_unknown_partition_refuse_marker(wire: Wire) -> None:
    assert write(wire, leader=False) == [Code.NOT_LEADER_OR_FOLLOWER]
    assert write(wire, topic="nowhere") == [Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_older_epochs_are_refused(wire: Wire) -> None:
    assert write(wire) == [Code.NONE]
    assert write(wire, MARKER._replace(producer_epoch=0)) == [Code.INVALID_PRODUCER_EPOCH]
    assert write(wire, MARKER._replace(coordinator_epoch=2)) == [Code.TRANSACTION_COORDINATOR_FENCED]


def test_marker_completes_after_replication(wire: Wire) -> None:
    held = hold(wire)
    codes = write(wire)
    advance(wire, 10_000)
    assert codes == []
    held.release()
    wire.until(lambda: codes == [Code.NONE])


def test_replication_of_marker_times_out() -> None:
    with on_the_wire(2, clock=ManualClock(), config={"request.timeout.ms": "1200"}) as wire:
        hold(wire)
        codes = write(wire)
        advance(wire, 1199)
        assert codes == []
        advance(wire, 1)
        assert codes == [Code.REQUEST_TIMED_OUT]


def test_message_format_without_transactions_refuses_marker() -> None:
    with on_the_wire(version="2.8", topic_config={"message.format.version": "0.10.0"}) as wire:
        wire.cluster._server.call(lambda: wire.cluster._server.leadership.leader_of("t", 0).append(batch(b"a")))
        assert write(wire) == [Code.UNSUPPORTED_FOR_MESSAGE_FORMAT]
