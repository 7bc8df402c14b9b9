"""DeleteRecords: what may be deleted, and when the answer comes."""

from collections.abc import Iterator

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, Wire, batch, on_the_wire


def body(offset: int, *, topic: str = "t", index: int = 0, timeout_ms: int = 60_000) -> Plain:
    topics = [{"name": topic, "partitions": [{"partition_index": index, "offset": offset}]}]
    return {"topics": topics, "timeout_ms": timeout_ms}


def told(answer: Plain) -> tuple[int, int]:
    """Error and low watermark."""
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
    shared.cluster.delete_topic("t")
    shared.cluster.create_topic("t", 1)
    shared.cluster.produce("t", 0, batch(b"0", b"1", b"2"))
    shared.cluster.produce("t", 0, batch(b"3", b"4"))
    return shared


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with five records in "t", which 1 leads, on a clock that stands still."""
    with on_the_wire(3, clock=ManualClock()) as wire:
        wire.cluster.produce("t", 0, batch(b"0", b"1", b"2", b"3", b"4"))
        yield wire


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(("offset", "low_watermark"), [(2, 2), (3, 3), (5, 5), (-1, 5), (0, 0)])
def test_the_answer_is_the_new_low_watermark(wire: Wire, version: int, offset: int, low_watermark: int) -> None:
    assert told(wire.ask("DeleteRecords", version, body(offset))) == (Code.NONE, low_watermark)
    assert wire.cluster.log("t").log_start_offset == low_watermark


@pytest.mark.parametrize("offset", [6, -2, -100])
def test_beyond_the_high_watermark_or_below_minus_one_is_out_of_range(wire: Wire, offset: int) -> None:
    assert told(wire.ask("DeleteRecords", 2, body(offset))) == (Code.OFFSET_OUT_OF_RANGE, -1)


def test_below_the_start_nothing_happens(wire: Wire) -> None:
    wire.ask("DeleteRecords", 2, body(4))
    assert told(wire.ask("DeleteRecords", 2, body(1))) == (Code.NONE, 4)


def test_unknown_partitions_do_not_spoil_their_neighbours(wire: Wire) -> None:
    asked = body(1)
    asked["topics"][0]["partitions"].append({"partition_index": 9, "offset": 1})
    [topic] = wire.ask("DeleteRecords", 2, asked)["topics"]
    answers = {partition["partition_index"]: partition for partition in topic["partitions"]}
    assert (answers[0]["error_code"], answers[0]["low_watermark"]) == (Code.NONE, 1)
    assert (answers[9]["error_code"], answers[9]["low_watermark"]) == (Code.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_a_partition_named_twice_counts_once_with_its_last_offset(wire: Wire) -> None:
    asked = body(4)
    asked["topics"][0]["partitions"].append({"partition_index": 0, "offset": 2})
    assert told(wire.ask("DeleteRecords", 2, asked)) == (Code.NONE, 2)


@pytest.mark.parametrize(("policy", "code"), [("compact", 44), ("compact,delete", 0), ("delete", 0)])
def test_a_topic_that_is_only_compacted_keeps_its_records(wire: Wire, policy: str, code: int) -> None:
    wire.cluster.create_topic("policy", 1, config={"cleanup.policy": policy})
    assert told(wire.ask("DeleteRecords", 2, body(0, topic="policy")))[0] == code
    wire.cluster.delete_topic("policy")


def test_topics_of_the_brokers_are_closed_to_clients(wire: Wire) -> None:
    wire.cluster.create_topic("__consumer_offsets", 1)
    answer = wire.ask("DeleteRecords", 2, body(0, topic="__consumer_offsets"))
    assert told(answer) == (Code.INVALID_TOPIC_EXCEPTION, -1)
    wire.cluster.delete_topic("__consumer_offsets")


def test_nothing_leaves_the_disk_before_a_whole_segment_may_go(wire: Wire) -> None:
    wire.ask("DeleteRecords", 2, body(4))
    assert [batch.base_offset for batch in wire.cluster.log("t").batches] == [0, 3]


# Replicas


def test_only_the_leader_deletes(three: Wire) -> None:
    assert told(three.ask("DeleteRecords", 2, body(2), node=2)) == (Code.NOT_LEADER_OR_FOLLOWER, -1)


def test_followers_start_where_their_leader_starts(three: Wire) -> None:
    assert told(three.ask("DeleteRecords", 2, body(2))) == (Code.NONE, 2)
    starts = [node.partitions["t", 0].log.log_start_offset for node in three.cluster.server.nodes.values()]
    assert starts == [2, 2, 2]


def test_the_answer_waits_for_the_last_follower(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        assert three.cluster.log("t").log_start_offset == 2
        three.cluster.release_replication(2)
        assert told(receive()) == (Code.NONE, 2)


def test_when_the_time_is_up_the_low_watermark_is_that_of_the_beginning(three: Wire) -> None:
    three.cluster.hold_replication(2)
    clock = three.cluster.server.clock
    assert isinstance(clock, ManualClock)
    with three.waiting("DeleteRecords", 2, body(2, timeout_ms=1000)) as receive:
        three.cluster.server.call(lambda: clock.advance(1000))
        assert told(receive()) == (Code.REQUEST_TIMED_OUT, 0)


def test_a_follower_that_never_fetched_is_waited_for(three: Wire) -> None:
    three.cluster.hold_replication(3)
    three.cluster.elect_leader("t", 0, 2)
    assert told(three.ask("DeleteRecords", 2, body(2, timeout_ms=0), node=2)) == (Code.REQUEST_TIMED_OUT, -1)


def test_a_broker_that_is_gone_is_not_waited_for(three: Wire) -> None:
    three.cluster.stop_broker(3)
    assert told(three.ask("DeleteRecords", 2, body(2, timeout_ms=0))) == (Code.NONE, 2)


def test_a_leader_that_changes_meanwhile_says_so(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.elect_leader("t", 0, 2)
        assert told(receive()) == (Code.NOT_LEADER_OR_FOLLOWER, -1)


def test_a_topic_that_is_deleted_meanwhile_is_unknown(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.delete_topic("t")
        assert told(receive()) == (Code.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_a_broker_that_stops_meanwhile_ends_the_wait(three: Wire) -> None:
    three.cluster.hold_replication(2)
    with three.waiting("DeleteRecords", 2, body(2)) as receive:
        three.cluster.stop_broker(2)
        assert told(receive()) == (Code.NONE, 2)
