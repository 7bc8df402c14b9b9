"""DeleteRecords: accepted offsets, replication and the time of the response."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, batch, on_the_wire


def body(offset: int, *, topic: str = "t", index: int = 0, timeout_ms: int = 60_000) -> Plain:
    topics = [{"name": topic, "partitions": [{"partition_index": index, "offset": offset}]}]
    return {"topics": topics, "timeout_ms": timeout_ms}


def code_and_watermark(answer: Plain) -> tuple[int, int]:
    """Return the error code and the low watermark."""
    [topic] = answer["topics"]
    [partition] = topic["partitions"]
    return partition["error_code"], partition["low_watermark"]


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """One broker with five records in "t"."""
    shared.cluster.topic("t").delete()
    shared.cluster.topic("t").create(1)
    shared.cluster.topic("t").append(batch(b"0", b"1", b"2"))
    shared.cluster.topic("t").append(batch(b"3", b"4"))
    return shared


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with five records in "t", which broker 1 leads, and a manual clock."""
    with on_the_wire(3, clock=ManualClock()) as wire:
        wire.cluster.topic("t").append(batch(b"0", b"1", b"2", b"3", b"4"))
        yield wire


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(("offset", "low_watermark"), [(2, 2), (3, 3), (5, 5), (-1, 5), (0, 0)])
def test_response_contains_the_new_low_watermark(wire: Wire, version: int, offset: int, low_watermark: int) -> None:
    assert code_and_watermark(wire.ask("DeleteRecords", version, body(offset))) == (Code.NONE, low_watermark)
    assert wire.cluster.topic("t").log().log_start_offset == low_watermark


@pytest.mark.parametrize("offset", [6, -2, -100])
def test_offset_above_high_watermark_or_below_minus_one_is_out_of_range(wire: Wire, offset: int) -> None:
    assert code_and_watermark(wire.ask("DeleteRecords", 2, body(offset))) == (Code.OFFSET_OUT_OF_RANGE, -1)


def test_offset_below_the_log_start_has_no_effect(wire: Wire) -> None:
    wire.ask("DeleteRecords", 2, body(4))
    assert code_and_watermark(wire.ask("DeleteRecords", 2, body(1))) == (Code.NONE, 4)


def test_unknown_partition_does_not_affect_others(wire: Wire) -> None:
    asked = body(1)
    asked["topics"][0]["partitions"].append({"partition_index": 9, "offset": 1})
    [topic] = wire.ask("DeleteRecords", 2, asked)["topics"]
    answers = {partition["partition_index"]: partition for partition in topic["partitions"]}
    assert (answers[0]["error_code"], answers[0]["low_watermark"]) == (Code.NONE, 1)
    assert (answers[9]["error_code"], answers[9]["low_watermark"]) == (Code.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_last_offset_of_a_duplicate_partition_counts(wire: Wire) -> None:
    asked = body(4)
    asked["topics"][0]["partitions"].append({"partition_index": 0, "offset": 2})
    assert code_and_watermark(wire.ask("DeleteRecords", 2, asked)) == (Code.NONE, 2)


@pytest.mark.parametrize(("policy", "code"), [("compact", 44), ("compact,delete", 0), ("delete", 0)])
def test_compacted_topic_keeps_its_records(wire: Wire, policy: str, code: int) -> None:
    wire.cluster.topic("policy").create(1, config={"cleanup.policy": policy})
    assert code_and_watermark(wire.ask("DeleteRecords", 2, body(0, topic="policy")))[0] == code
    wire.cluster.topic("policy").delete()


def test_internal_topic_is_refused(wire: Wire) -> None:
    wire.cluster.topic("__consumer_offsets").create(1)
    answer = wire.ask("DeleteRecords", 2, body(0, topic="__consumer_offsets"))
    assert code_and_watermark(answer) == (Code.INVALID_TOPIC_EXCEPTION, -1)
    wire.cluster.topic("__consumer_offsets").delete()


def test_files_are_kept_until_a_whole_segment_can_be_deleted(wire: Wire) -> None:
    wire.ask("DeleteRecords", 2, body(4))
    assert [batch.base_offset for batch in wire.cluster.topic("t").log().batches] == [0, 3]


# Replicas


def test_only_the_leader_accepts_the_request(three: Wire) -> None:
    assert code_and_watermark(three.ask("DeleteRecords", 2, body(2), node=2)) == (Code.NOT_LEADER_OR_FOLLOWER, -1)


def test_followers_adopt_the_log_start_offset_of_the_leader(three: Wire) -> None:
    assert code_and_watermark(three.ask("DeleteRecords", 2, body(2))) == (Code.NONE, 2)
    starts = [node.partitions["t", 0].log.log_start_offset for node in three.cluster._server.nodes.values()]
    assert starts == [2, 2, 2]


def test_response_waits_for_the_last_follower(three: Wire) -> None:
    held = three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        assert three.cluster.topic("t").log().log_start_offset == 2
        held.release()
        assert code_and_watermark(receive()) == (Code.NONE, 2)


def test_timeout_returns_the_low_watermark_from_before_the_wait(three: Wire) -> None:
    three.cluster.hold_replication(2)
    clock = three.cluster._server.clock
    assert isinstance(clock, ManualClock)
    with three.waiting("DeleteRecords", 2, body(2, timeout_ms=1000)) as receive:
        three.cluster._server.call(lambda: clock.advance(milliseconds=1000))
        assert code_and_watermark(receive()) == (Code.REQUEST_TIMED_OUT, 0)


def test_response_waits_for_a_follower_that_has_never_fetched(three: Wire) -> None:
    three.cluster.hold_replication(3)
    three.cluster.topic("t").move_leader(2)
    assert code_and_watermark(three.ask("DeleteRecords", 2, body(2, timeout_ms=0), node=2)) == (
        Code.REQUEST_TIMED_OUT,
        -1,
    )


def test_response_does_not_wait_for_an_offline_broker(three: Wire) -> None:
    three.cluster.broker(3).stop()
    assert code_and_watermark(three.ask("DeleteRecords", 2, body(2, timeout_ms=0))) == (Code.NONE, 2)


def test_leader_change_completes_the_wait_with_an_error(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.topic("t").move_leader(2)
        assert code_and_watermark(receive()) == (Code.NOT_LEADER_OR_FOLLOWER, -1)


def test_topic_deletion_completes_the_wait_with_unknown_topic(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.topic("t").delete()
        assert code_and_watermark(receive()) == (Code.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_broker_stop_ends_the_wait(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.broker(2).stop()
        assert code_and_watermark(receive()) == (Code.NONE, 2)
