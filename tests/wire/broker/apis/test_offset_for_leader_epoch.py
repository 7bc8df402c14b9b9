"""OffsetForLeaderEpoch: the end offsets of epochs in a log that has had several leaders."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, batch, on_the_wire


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    """Three brokers and a log with two records in epoch 0, none in 1, three in 2, and one in 3, led by broker 2."""
    with on_the_wire(3) as opened:
        cluster = opened.cluster
        cluster.topic("t").append(batch(b"a", b"b"))
        cluster.topic("t").move_leader(2)
        cluster.topic("t").move_leader(1)
        cluster.topic("t").append(batch(b"c", b"d", b"e"))
        cluster.topic("t").move_leader(2)
        cluster.topic("t").append(batch(b"f"))
        yield opened


def end(wire: Wire, epoch: int, *, version: int = 4, node: int = 2, topic: str = "t", **more: int) -> Plain:
    partition = {"partition": 0, "leader_epoch": epoch, **more}
    answer = wire.ask("OffsetForLeaderEpoch", version, {"topics": [{"topic": topic, "partitions": [partition]}]}, node)
    found: Plain = answer["topics"][0]["partitions"][0]
    return found


@pytest.mark.parametrize(
    ("epoch", "known", "offset"),
    [(0, 0, 2), (2, 2, 5), (3, 3, 6), (4, -1, -1), (99, -1, -1), (-1, -1, -1)],
)
def test_epoch_ends_where_the_next_begins(wire: Wire, epoch: int, known: int, offset: int) -> None:
    found = end(wire, epoch)
    assert (found["error_code"], found["leader_epoch"], found["end_offset"]) == (Code.NONE, known, offset)


def test_epoch_without_records_returns_the_previous_epoch(wire: Wire) -> None:
    """Epoch 1 began at the same offset as epoch 2, so the log does not keep it."""
    found = end(wire, 1)
    assert (found["leader_epoch"], found["end_offset"]) == (0, 2)


def test_epoch_before_the_first_ends_at_the_log_start() -> None:
    with on_the_wire(3) as wire:
        wire.cluster.topic("t").move_leader(2)
        wire.cluster.topic("t").append(batch(b"a", b"b"))
        wire.cluster._server.call(lambda: wire.cluster._server.leadership.leader_of("t", 0).delete_records(1))
        found = end(wire, 0)
        assert (found["error_code"], found["leader_epoch"], found["end_offset"]) == (Code.NONE, 0, 1)


@pytest.mark.parametrize(
    ("current", "code"),
    [
        (-1, Code.NONE),
        (3, Code.NONE),
        (2, Code.FENCED_LEADER_EPOCH),
        (-2, Code.FENCED_LEADER_EPOCH),
        (4, Code.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_current_leader_epoch_is_checked(wire: Wire, current: int, code: Code) -> None:
    found = end(wire, 0, current_leader_epoch=current)
    assert found["error_code"] == code
    if code:
        assert (found["leader_epoch"], found["end_offset"]) == (-1, -1)


def test_only_the_leader_serves_the_request(wire: Wire) -> None:
    assert end(wire, 0, node=1)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_unknown_topic_is_refused(wire: Wire) -> None:
    assert end(wire, 0, topic="unknown")["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(5))
def test_every_version_returns_the_end_offset(wire: Wire, version: int) -> None:
    found = end(wire, 2, version=version)
    assert (found["error_code"], found["end_offset"]) == (Code.NONE, 5)
    assert found.get("leader_epoch") == (2 if version >= 1 else None)
