"""ListOffsets: the order of the checks, visibility, and differences between releases.

Single requests to one broker are tested in tests/wire/behavior, which also runs against Apache Kafka. Lookups by
timestamp are tested in tests/unit/storage/test_lookup.py, and the visibility of offsets for consumers in
tests/unit/broker/cluster/test_partition.py.
"""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.codecs import Codec
from kafkalet.storage.lookup import EARLIEST, LATEST, MAX_TIMESTAMP
from tests.wire.brokers import Plain, Wire, batch, on_the_wire, timed

UNKNOWN_TIME = -7


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    """One broker with an empty topic "t"."""
    with on_the_wire() as wire:
        yield wire


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" that broker 1 leads."""
    with on_the_wire(3) as wire:
        yield wire


def partition(timestamp: int, index: int = 0, **more: int) -> Plain:
    return {"partition_index": index, "timestamp": timestamp, **more}


def listed(answer: Plain) -> list[tuple[str, list[int]]]:
    """Return the topics of a response with their partitions."""
    return [(topic["name"], [found["partition_index"] for found in topic["partitions"]]) for topic in answer["topics"]]


def error(wire: Wire, version: int, *partitions: Plain, topic: str = "t") -> list[int]:
    answer = wire.ask("ListOffsets", version, {"topics": [{"name": topic, "partitions": list(partitions)}]})
    return [found["error_code"] for found in answer["topics"][0]["partitions"]]


# The order of the checks: duplicate, timestamp, partition, leader epoch, lookup


def test_duplicate_partition_is_checked_before_the_timestamp(wire: Wire) -> None:
    assert set(error(wire, 7, partition(UNKNOWN_TIME), partition(UNKNOWN_TIME))) == {Code.INVALID_REQUEST}


def test_duplicate_partition_is_checked_before_the_topic(wire: Wire) -> None:
    assert set(error(wire, 7, partition(-1), partition(-1), topic="unknown")) == {Code.INVALID_REQUEST}


def test_topic_is_checked_before_the_leader_epoch(wire: Wire) -> None:
    assert error(wire, 7, partition(-1, current_leader_epoch=9), topic="unknown") == [Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_leader_epoch_is_checked_before_the_leader(three: Wire) -> None:
    assert three.list_offset(-1, node=2, current_leader_epoch=9)["error_code"] == Code.UNKNOWN_LEADER_EPOCH
    assert three.list_offset(-1, node=2, current_leader_epoch=0)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("epoch", [-2, -100])
def test_negative_leader_epoch_other_than_minus_one_is_fenced(wire: Wire, epoch: int) -> None:
    assert wire.list_offset(-1, current_leader_epoch=epoch)["error_code"] == Code.FENCED_LEADER_EPOCH


# Epochs


def test_response_contains_the_leader_epoch_of_the_record(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    three.cluster.topic("t").move_leader(2)
    three.produce(timed(2000), acks=-1, node=2)
    three.cluster.topic("t").move_leader(1)
    epochs = {time: three.list_offset(time)["leader_epoch"] for time in (EARLIEST, 1000, 2000, MAX_TIMESTAMP, LATEST)}
    assert epochs == {EARLIEST: 0, 1000: 0, 2000: 1, MAX_TIMESTAMP: 1, LATEST: 2}


# Visibility for consumers and replicas


def test_consumer_sees_the_high_watermark_and_replica_the_log_end(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(timed(1000, 2000))
    assert three.list_offset(LATEST)["offset"] == 0
    for replica_id in (-2, 0, 2, 77):
        assert three.list_offset(LATEST, replica_id=replica_id)["offset"] == 2


def test_follower_serves_a_debugging_client(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    assert three.list_offset(LATEST, node=2, replica_id=-2)["offset"] == 1
    assert three.list_offset(LATEST, node=2, replica_id=3)["error_code"] == Code.NOT_LEADER_OR_FOLLOWER


def test_lagging_new_leader_returns_the_retriable_error_of_the_version(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    held = three.cluster.hold_replication(3)
    three.produce(timed(2000))
    three.cluster.topic("t").move_leader(2)
    asked = {"node": 2, "version": 8}
    assert three.list_offset(LATEST, **asked)["error_code"] == Code.OFFSET_NOT_AVAILABLE
    assert three.list_offset(LATEST, replica_id=-2, **asked)["offset"] == 2
    assert three.list_offset(LATEST, node=2, version=4)["error_code"] == Code.LEADER_NOT_AVAILABLE
    held.release()
    assert three.list_offset(LATEST, **asked)["offset"] == 2


# Version 0


def test_v0_caps_offsets_at_the_high_watermark_for_consumers_only(three: Wire) -> None:
    three.produce(timed(1000), acks=-1)
    three.cluster.hold_replication(2)
    three.produce(timed(2000))
    assert three.list_offset(-1, version=0, max_num_offsets=5)["old_style_offsets"] == [1, 0]
    assert three.list_offset(-1, version=0, max_num_offsets=5, replica_id=-2)["old_style_offsets"] == [2, 0]


def test_v0_returns_a_duplicate_partition_twice(wire: Wire) -> None:
    entry = partition(-1, max_num_offsets=1)
    assert error(wire, 0, entry, entry) == [Code.NONE, Code.NONE]


def test_v0_refuses_other_special_timestamps(wire: Wire) -> None:
    assert error(wire, 0, partition(-3, max_num_offsets=1)) == [Code.UNSUPPORTED_VERSION]


# Releases


@pytest.mark.parametrize(("release", "times"), [("3.9", 2), ("4.4", 1)])
def test_duplicate_partition_is_returned_once_since_4_0(release: str, times: int) -> None:
    with on_the_wire(version=release) as wire:
        assert error(wire, 7, partition(-1), partition(-1)) == [Code.INVALID_REQUEST] * times


@pytest.mark.parametrize(("release", "topics"), [("3.9", [("t", []), ("t", [0])]), ("4.4", [("t", [0])])])
def test_topics_without_partitions_are_left_out_since_4_0(release: str, topics: list[tuple[str, list[int]]]) -> None:
    with on_the_wire(version=release) as wire:
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
def test_unknown_isolation_level_is_refused(release: str, replica_id: int, code: Code) -> None:
    with on_the_wire(version=release) as wire:
        assert wire.list_offset(-1, isolation_level=5, replica_id=replica_id)["error_code"] == code


def test_unknown_isolation_level_is_checked_after_timestamps_and_duplicates_in_3_9() -> None:
    with on_the_wire(version="3.9") as wire:
        assert wire.list_offset(UNKNOWN_TIME, isolation_level=5)["error_code"] == Code.UNSUPPORTED_VERSION


@pytest.mark.parametrize("timestamp", [0, 1500, UNKNOWN_TIME, MAX_TIMESTAMP])
def test_timestamp_lookup_is_refused_in_topics_without_timestamps(timestamp: int) -> None:
    with on_the_wire(version="2.8", topic_config={"message.format.version": "0.9.0"}) as wire:
        assert wire.list_offset(timestamp, version=6)["error_code"] == Code.UNSUPPORTED_FOR_MESSAGE_FORMAT
        for special in (LATEST, EARLIEST):
            assert wire.list_offset(special, version=6)["offset"] == 0


def test_earliest_has_no_leader_epoch_in_old_formats() -> None:
    with on_the_wire(version="2.8", topic_config={"message.format.version": "0.10.2"}) as wire:
        wire.produce(batch(b"a"))
        assert wire.list_offset(EARLIEST, version=6)["leader_epoch"] == -1
        assert wire.list_offset(LATEST, version=6)["leader_epoch"] == 0


@pytest.mark.parametrize(
    ("release", "codec", "offset"),
    [("3.3", "gzip", 2), ("3.3", "none", 1), ("3.7", "gzip", 2), ("3.7", "none", 2), ("3.8", "gzip", 1)],
)
def test_largest_timestamp_is_at_the_end_of_its_batch_before_3_8(release: str, codec: str, offset: int) -> None:
    with on_the_wire(version=release) as wire:
        wire.produce(timed(10, 30, 20, codec=Codec[codec.upper()]))
        assert wire.list_offset(MAX_TIMESTAMP, version=7)["offset"] == offset


@pytest.mark.parametrize(
    ("timestamp", "version", "offset"), [(MAX_TIMESTAMP, 1, 1), (MAX_TIMESTAMP, 6, 1), (-4, 1, 0), (-5, 7, 0)]
)
def test_versions_do_not_limit_special_timestamps_before_3_9(timestamp: int, version: int, offset: int) -> None:
    with on_the_wire(version="3.3") as wire:
        wire.produce(timed(10, 30, 20))
        assert wire.list_offset(timestamp, version=version)["offset"] == offset


@pytest.mark.parametrize(("release", "code"), [("3.8", Code.NONE), ("3.9", Code.UNSUPPORTED_VERSION)])
def test_unknown_timestamp_is_refused_since_3_9(release: str, code: Code) -> None:
    with on_the_wire(version=release) as wire:
        assert wire.list_offset(UNKNOWN_TIME, version=7)["error_code"] == code


# Damage


@pytest.mark.parametrize(
    ("position", "value", "code"),
    [(8, 3, Code.CORRUPT_MESSAGE), (57, 1 << 30, Code.INVALID_RECORD)],
    ids=["length", "number-of-records"],
)
def test_damage_that_a_lookup_finds_is_logged_and_is_an_error_of_its_partition(
    position: int, value: int, code: Code, caplog: pytest.LogCaptureFixture
) -> None:
    with on_the_wire() as wire:
        wire.produce(batch(b"a", b"b"))
        log = wire.log()
        with open(log.segments.active.path, "r+b") as file:
            file.seek(position)
            file.write(value.to_bytes(4, "big"))
        assert error(wire, 7, partition(1000), partition(1000, 99)) == [code, Code.UNKNOWN_TOPIC_OR_PARTITION]
        assert [line for line in caplog.messages if f"{log.directory}: cannot find the offset" in line]
