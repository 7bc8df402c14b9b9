"""ListOffsets: the order of its checks, special times by version, who sees how far, and how releases differ."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.storage.lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from tests.wire.brokers import Plain, Wire, batch, on_the_wire, timed

SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
UNKNOWN_TIME = -7
NOTHING = {"error_code": Code.NONE, "offset": -1, "timestamp": -1, "leader_epoch": -1}


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire() as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """One broker with records of the times 1000, 3000, 2000 and 4000 in two batches."""
    shared.cluster.delete_topic("t")
    shared.cluster.create_topic("t", 1)
    shared.cluster.produce("t", 0, timed(1000, 3000))
    shared.cluster.produce("t", 0, timed(2000, 4000))
    return shared


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" that 1 leads."""
    with on_the_wire(3) as wire:
        yield wire


def partition(timestamp: int, index: int = 0, **more: int) -> Plain:
    return {"partition_index": index, "timestamp": timestamp, **more}


def listed(answer: Plain) -> list[tuple[str, list[int]]]:
    """The partitions of each topic of the answer."""
    return [(topic["name"], [found["partition_index"] for found in topic["partitions"]]) for topic in answer["topics"]]


def error(wire: Wire, version: int, *partitions: Plain, topic: str = "t") -> list[int]:
    answer = wire.ask("ListOffsets", version, {"topics": [{"name": topic, "partitions": list(partitions)}]})
    return [found["error_code"] for found in answer["topics"][0]["partitions"]]


# The order of the checks: twice, time, partition, epoch, lookup


def test_named_twice_comes_before_a_time_that_nobody_knows(wire: Wire) -> None:
    assert set(error(wire, 7, partition(UNKNOWN_TIME), partition(UNKNOWN_TIME))) == {Code.INVALID_REQUEST}


def test_named_twice_comes_before_an_unknown_topic(wire: Wire) -> None:
    assert set(error(wire, 7, partition(-1), partition(-1), topic="unknown")) == {Code.INVALID_REQUEST}


def test_named_twice_spoils_no_other(wire: Wire) -> None:
    assert error(wire, 7, partition(-1, 5), partition(-1, 5), partition(-1))[-1] == Code.NONE


def test_a_time_that_nobody_knows_comes_before_an_unknown_topic(wire: Wire) -> None:
    assert error(wire, 7, partition(UNKNOWN_TIME), topic="unknown") == [Code.UNSUPPORTED_VERSION]


def test_an_unknown_topic_comes_before_the_epoch(wire: Wire) -> None:
    assert error(wire, 7, partition(-1, current_leader_epoch=9), topic="unknown") == [Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_epoch_comes_before_who_leads(three: Wire) -> None:
    assert three.list_offset(-1, node=2, current_leader_epoch=9)["error_code"] == Code.UNKNOWN_LEADER_EPOCH
    assert three.list_offset(-1, node=2, current_leader_epoch=0)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (-1, Code.NONE),
        (0, Code.NONE),
        (1, Code.UNKNOWN_LEADER_EPOCH),
        (-2, Code.FENCED_LEADER_EPOCH),
        (-100, Code.FENCED_LEADER_EPOCH),
    ],
)
def test_only_minus_one_stands_for_no_epoch(wire: Wire, epoch: int, code: Code) -> None:
    assert wire.list_offset(-1, current_leader_epoch=epoch)["error_code"] == code


# Times


@pytest.mark.parametrize(("timestamp", "since"), SINCE.items())
def test_a_special_time_is_unsupported_before_its_version(wire: Wire, timestamp: int, since: int) -> None:
    assert wire.list_offset(timestamp, version=since)["error_code"] == Code.NONE
    if since > 1:
        assert wire.list_offset(timestamp, version=since - 1)["error_code"] == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("timestamp", "offset", "found_timestamp", "epoch"),
    [
        (LATEST, 4, -1, 0),
        (EARLIEST, 0, -1, 0),
        (MAX_TIMESTAMP, 3, 4000, 0),
        (EARLIEST_LOCAL, 0, -1, 0),
        (LATEST_TIERED, -1, -1, -1),
        (EARLIEST_PENDING_UPLOAD, -1, -1, -1),
        (0, 0, 1000, 0),
        (1001, 1, 3000, 0),
        (3001, 3, 4000, 0),
        (4001, -1, -1, -1),
    ],
)
def test_what_a_time_finds(wire: Wire, timestamp: int, offset: int, found_timestamp: int, epoch: int) -> None:
    found = wire.list_offset(timestamp, version=11)
    assert (found["error_code"], found["offset"]) == (Code.NONE, offset)
    assert (found["timestamp"], found["leader_epoch"]) == (found_timestamp, epoch)


@pytest.mark.parametrize("version", range(1, 12))
def test_since_v4_answers_carry_the_epoch(wire: Wire, version: int) -> None:
    found = wire.list_offset(1001, version=version)
    assert (found["offset"], found["timestamp"]) == (1, 3000)
    assert found.get("leader_epoch") == (0 if version >= 4 else None)


def test_the_epoch_is_that_of_the_record_found(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    three.cluster.elect_leader("t", 0, 2)
    three.produce(timed(2000), acks=-1, node=2)
    three.cluster.elect_leader("t", 0, 1)
    epochs = {time: three.list_offset(time)["leader_epoch"] for time in (EARLIEST, 1000, 2000, MAX_TIMESTAMP, LATEST)}
    assert epochs == {EARLIEST: 0, 1000: 0, 2000: 1, MAX_TIMESTAMP: 1, LATEST: 2}


def test_deleted_records_are_passed_over(wire: Wire) -> None:
    wire.cluster.server.call(lambda: wire.cluster.server.leadership.leader_of("t", 0).delete_records(2))
    assert wire.list_offset(0)["offset"] == 2
    assert wire.list_offset(EARLIEST)["offset"] == 2


def test_the_largest_time_may_lie_below_the_log_start(wire: Wire) -> None:
    wire.cluster.server.call(lambda: wire.cluster.server.leadership.leader_of("t", 0).delete_records(4))
    assert wire.list_offset(MAX_TIMESTAMP)["offset"] == 3


# Who sees how far


def test_consumers_see_up_to_the_high_watermark_and_others_the_end(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(timed(1000, 2000))
    assert three.list_offset(LATEST)["offset"] == 0
    for replica_id in (-2, 0, 2, 77):
        assert three.list_offset(LATEST, replica_id=replica_id)["offset"] == 2


def test_what_lies_behind_the_high_watermark_is_not_found(three: Wire) -> None:
    three.produce(timed(1000))
    three.cluster.hold_replication(2)
    three.produce(timed(2000))
    for timestamp in (1001, MAX_TIMESTAMP):
        found = three.list_offset(timestamp)
        assert {name: found[name] for name in NOTHING} == NOTHING
        assert three.list_offset(timestamp, replica_id=-2)["offset"] == 1


def test_a_search_does_not_go_on_past_a_record_that_is_not_visible(three: Wire) -> None:
    """The first record that is late enough lies behind the high watermark: nothing is found, as if there were none."""
    three.produce(timed(1000, 900))
    three.cluster.hold_replication(2)
    three.produce(timed(5000))
    assert three.list_offset(950)["offset"] == 0
    assert three.list_offset(1001)["offset"] == -1


def test_a_debugging_client_may_ask_a_follower(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    assert three.list_offset(LATEST, node=2, replica_id=-2)["offset"] == 1
    assert three.list_offset(LATEST, node=2, replica_id=3)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_a_new_leader_that_lags_answers_what_it_can_be_sure_of(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    three.cluster.hold_replication(3)
    three.produce(timed(2000))
    three.cluster.elect_leader("t", 0, 2)
    asked = {"node": 2, "version": 8}
    assert three.list_offset(LATEST, **asked)["error_code"] == Code.OFFSET_NOT_AVAILABLE
    assert three.list_offset(2000, **asked)["error_code"] == Code.OFFSET_NOT_AVAILABLE
    assert three.list_offset(9999, **asked)["error_code"] == Code.OFFSET_NOT_AVAILABLE
    assert three.list_offset(1000, **asked)["offset"] == 0
    assert three.list_offset(EARLIEST, **asked)["offset"] == 0
    assert three.list_offset(LATEST, replica_id=-2, **asked)["offset"] == 2
    assert three.list_offset(LATEST, node=2, version=4)["error_code"] == Code.LEADER_NOT_AVAILABLE
    three.cluster.release_replication(3)
    assert three.list_offset(LATEST, **asked)["offset"] == 2


# Version 0


@pytest.mark.parametrize(
    ("timestamp", "most", "offsets"),
    [(-1, 1, [4]), (-1, 5, [4, 0]), (-2, 1, [0]), (-2, 5, [0]), (-1, 0, []), (0, 5, [])],
)
def test_v0_lists_where_segments_start(wire: Wire, timestamp: int, most: int, offsets: list[int]) -> None:
    found = wire.list_offset(timestamp, version=0, max_num_offsets=most)
    assert (found["error_code"], found["old_style_offsets"]) == (Code.NONE, offsets)


def test_v0_lists_segments_newest_first(wire: Wire) -> None:
    for time in (5000, 6000):
        wire.cluster.server.call(lambda: wire.cluster.log("t")._log.roll())
        wire.produce(timed(time))
    assert wire.list_offset(-1, version=0, max_num_offsets=10)["old_style_offsets"] == [6, 5, 4, 0]


def test_v0_caps_at_the_high_watermark_for_consumers_alone(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    three.cluster.hold_replication(2)
    three.produce(timed(2000))
    assert three.list_offset(-1, version=0, max_num_offsets=5)["old_style_offsets"] == [1, 0]
    assert three.list_offset(-1, version=0, max_num_offsets=5, replica_id=-2)["old_style_offsets"] == [2, 0]


def test_v0_answers_what_is_named_twice_twice(wire: Wire) -> None:
    entry = partition(-1, max_num_offsets=1)
    assert error(wire, 0, entry, entry) == [Code.NONE, Code.NONE]


def test_v0_knows_no_other_special_times(wire: Wire) -> None:
    assert error(wire, 0, partition(-3, max_num_offsets=1)) == [Code.UNSUPPORTED_VERSION]


# Releases


@pytest.mark.parametrize(("release", "times"), [("3.9", 2), ("4.4", 1)])
def test_what_is_named_twice_is_answered_once_since_4_0(release: str, times: int) -> None:
    with on_the_wire(kafka_version=release) as wire:
        assert error(wire, 7, partition(-1), partition(-1)) == [Code.INVALID_REQUEST] * times


@pytest.mark.parametrize(("release", "topics"), [("3.9", [("t", []), ("t", [0])]), ("4.4", [("t", [0])])])
def test_topics_without_partitions_vanish_since_4_0(release: str, topics: list[tuple[str, list[int]]]) -> None:
    with on_the_wire(kafka_version=release) as wire:
        asked = [{"name": "t", "partitions": []}, {"name": "t", "partitions": [partition(-1)]}]
        assert listed(wire.ask("ListOffsets", 7, {"topics": asked})) == topics


@pytest.mark.parametrize(
    ("release", "replica_id", "code"),
    [
        ("3.9", -1, Code.UNKNOWN_SERVER_ERROR),
        ("3.9", -2, Code.NONE),
        ("4.4", -1, Code.UNKNOWN_SERVER_ERROR),
        ("4.4", -2, Code.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_unknown_isolation_level(release: str, replica_id: int, code: Code) -> None:
    with on_the_wire(kafka_version=release) as wire:
        assert wire.list_offset(-1, isolation_level=5, replica_id=replica_id)["error_code"] == code


def test_an_unknown_isolation_level_of_3_9_comes_after_bad_times_and_duplicates() -> None:
    with on_the_wire(kafka_version="3.9") as wire:
        assert wire.list_offset(UNKNOWN_TIME, isolation_level=5)["error_code"] == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize("timestamp", [0, 1500, UNKNOWN_TIME, MAX_TIMESTAMP])
def test_topics_without_timestamps_have_no_lookup_by_time(timestamp: int) -> None:
    with on_the_wire(kafka_version="2.8", topic_config={"message.format.version": "0.9.0"}) as wire:
        assert wire.list_offset(timestamp, version=6)["error_code"] == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
        for special in (LATEST, EARLIEST):
            assert wire.list_offset(special, version=6)["offset"] == 0


def test_in_old_formats_the_beginning_has_no_epoch() -> None:
    with on_the_wire(kafka_version="2.8", topic_config={"message.format.version": "0.10.2"}) as wire:
        wire.produce(batch(b"a"))
        assert wire.list_offset(EARLIEST, version=6)["leader_epoch"] == -1
        assert wire.list_offset(LATEST, version=6)["leader_epoch"] == 0
