"""A partition of an internal topic: records are appended, replayed and replicated."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.cluster.state_log import StateLog, StateRecord
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.record import Record
from tests.unit.model.stage import Stage

RECORDS = [StateRecord(b"k", b"v"), StateRecord(b"gone", None)]


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(2)
    yield stage
    stage.close()


def log_of(stage: Stage, **properties: str) -> StateLog:
    """The log of a new topic with one partition and two replicas."""
    config = {"cleanup.policy": "compact"} | {name.replace("_", "."): value for name, value in properties.items()}
    stage.cluster.topic("s").create(1, config=config, replication_factor=2)
    node = stage.cluster._server.nodes[stage.leader("s", 0)]
    return StateLog(node.partition("s", 0), stage.clock, node.purgatory)


def follower_of(log: StateLog) -> int:
    return 3 - log.partition.node_id


def records_of(log: StateLog) -> list[Record]:
    return [record for _, records in log.read() for record in records]


def test_records_of_one_append_are_one_batch(stage: Stage) -> None:
    log = log_of(stage)
    assert log.append(RECORDS) == 1
    assert log.append(RECORDS[:1]) == log.end_offset - 1 == 2
    now_ms = stage.clock.now_ms()
    assert [batch.count for batch, _ in log.read()] == [2, 1]
    assert records_of(log) == [
        Record(0, now_ms, b"k", b"v"),
        Record(1, now_ms, b"gone", None),
        Record(2, now_ms, b"k", b"v"),
    ]


def test_batches_are_compressed_with_the_codec_of_the_log(stage: Stage) -> None:
    plain = log_of(stage)
    log = StateLog(
        plain.partition, stage.clock, stage.cluster._server.nodes[plain.partition.node_id].purgatory, Codec.GZIP
    )
    log.append(RECORDS)
    log.append(RECORDS, producer_id=7, producer_epoch=3)
    found = list(log.read())
    assert [(batch.codec, batch.is_transactional) for batch, _ in found] == [(Codec.GZIP, False), (Codec.GZIP, True)]
    assert [record.value for record in records_of(log)] == [b"v", None] * 2


def test_batch_contains_producer_and_leader_epoch(stage: Stage) -> None:
    log = log_of(stage)
    log.append(RECORDS)
    log.append(RECORDS, producer_id=7, producer_epoch=3, base_sequence=0)
    (plain, _), (transactional, _) = log.read()
    assert (plain.producer_id, plain.base_sequence, plain.is_transactional) == (-1, -1, False)
    assert (transactional.producer_id, transactional.producer_epoch) == (7, 3)
    assert (transactional.base_sequence, transactional.is_transactional) == (0, True)
    for batch in (plain, transactional):
        batch.check_crc()
        assert batch.leader_epoch == log.partition.leader_epoch


@pytest.mark.parametrize("properties", [{"compression_type": "gzip"}, {"message_timestamp_type": "LogAppendTime"}])
def test_records_are_converted_as_topic_requires(stage: Stage, properties: dict[str, str]) -> None:
    log = log_of(stage, **properties)
    log.append(RECORDS)
    assert log.append(RECORDS) == 3
    assert [(record.offset, record.key, record.value) for record in records_of(log)] == [
        (0, b"k", b"v"),
        (1, b"gone", None),
        (2, b"k", b"v"),
        (3, b"gone", None),
    ]


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({"max_message_bytes": "70"}, Code.MESSAGE_TOO_LARGE),
        ({"segment_bytes": "1048576", "max_message_bytes": "9000000"}, Code.RECORD_LIST_TOO_LARGE),
    ],
)
def test_records_exceeding_size_limit_are_refused(stage: Stage, properties: dict[str, str], code: Code) -> None:
    log = log_of(stage, **properties)
    big = [StateRecord(b"k", b"v" * 1_100_000)]
    with pytest.raises(KafkaError) as refused:
        log.append(big)
    assert refused.value.code == code
    assert log.end_offset == 0


def test_too_few_replicas_refuse_records(stage: Stage) -> None:
    log = log_of(stage, min_insync_replicas="2")
    log.append(RECORDS)
    stage.stop_broker(follower_of(log))
    with pytest.raises(KafkaError) as refused:
        log.append(RECORDS)
    assert refused.value.code == Code.NOT_ENOUGH_REPLICAS
    assert log.end_offset == 2


def test_former_leader_cannot_append(stage: Stage) -> None:
    log = log_of(stage)
    current = [log.is_current]
    stage.cluster.topic("s").move_leader(follower_of(log))
    current.append(log.is_current)
    assert current == [True, False]
    with pytest.raises(KafkaError) as refused:
        log.append(RECORDS)
    assert refused.value.code == Code.NOT_LEADER_OR_FOLLOWER


def test_read_starts_at_log_start_offset(stage: Stage) -> None:
    log = log_of(stage)
    for _ in range(3):
        log.append(RECORDS)
    log.partition.log.maybe_increment_log_start_offset(2)
    assert [batch.base_offset for batch, _ in log.read()] == [2, 4]


def test_append_of_replicated_records_completes_immediately(stage: Stage) -> None:
    log = log_of(stage)
    assert log.replicated(log.append(RECORDS), 1000).result() is Code.NONE


def test_unreplicated_records_wait_for_replication(stage: Stage) -> None:
    log = log_of(stage)
    held = stage.cluster.hold_replication(follower_of(log))
    last_offset = log.append(RECORDS)
    assert not log.is_replicated(last_offset)
    waiting = log.replicated(last_offset, 1000)
    stage.settle()
    assert waiting.is_waiting
    held.release()
    stage.settle()
    assert waiting.result() == Code.NONE


def test_replication_times_out(stage: Stage) -> None:
    log = log_of(stage)
    stage.cluster.hold_replication(follower_of(log))
    waiting = log.replicated(log.append(RECORDS), 1000)
    stage.clock.advance(milliseconds=1000)
    assert waiting.result() == Code.REQUEST_TIMED_OUT


def test_replication_fails_under_another_leader(stage: Stage) -> None:
    log = log_of(stage)
    follower = follower_of(log)
    stage.cluster.hold_replication(follower)
    waiting = log.replicated(log.append(RECORDS), 1000)
    stage.cluster.topic("s").move_leader(follower)
    stage.settle()
    assert waiting.result() == Code.NOT_LEADER_OR_FOLLOWER


def damage(log: StateLog, batch: int, byte: int) -> None:
    """Overwrite a byte of a batch in the log file."""
    [segment] = log.partition.log.segments
    position, _ = list(segment.heads())[batch]
    with open(segment.path, "r+b") as file:
        file.seek(position + byte)
        file.write(b"\x7f")


@pytest.mark.parametrize(("byte", "left"), [(61, [0, 4]), (57, [0, 4]), (16, [0]), (8, [0])])
def test_unreadable_batch_is_skipped_with_log_line(
    stage: Stage, caplog: pytest.LogCaptureFixture, byte: int, left: list[int]
) -> None:
    log = log_of(stage)
    for _ in range(3):
        log.append(RECORDS[:2])
    damage(log, 1, byte)
    assert [batch.base_offset for batch, _ in log.read()] == left
    assert repr(log.partition) in caplog.text
