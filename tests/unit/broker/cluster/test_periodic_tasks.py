"""The periodic tasks of a cluster, with a manual clock."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.cluster.leadership import Leadership
from kafkalet.broker.cluster.periodic_tasks import PeriodicTasks
from kafkalet.clock import ManualClock, SystemClock
from kafkalet.protocol.records.batch import Record
from kafkalet.protocol.records.build import build_batch
from kafkalet.storage.log import Log
from kafkalet.storage.retention import Reason
from kafkalet.storage.segment import Segment
from kafkalet.tasks import turns

BEGIN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def batch(timestamp: int, value: bytes = b"value") -> bytearray:
    return bytearray(build_batch([Record(0, timestamp, None, value, ())]))


def test_old_segments_are_deleted_by_first_retention_check() -> None:
    clock = ManualClock()
    with kafkalet.Broker(topics=["t"], clock=clock, config={"log.retention.ms": "1000"}) as broker:
        broker.topic("t").append(batch(clock.now_ms()))
        broker._server.call(lambda: clock.advance(milliseconds=29_000))
        assert broker.topic("t").log().log_start_offset == 0
        broker._server.call(lambda: clock.advance(milliseconds=2_000))
        assert broker.topic("t").log().log_start_offset == 1


def test_retention_check_is_repeated_after_interval() -> None:
    clock = ManualClock()
    config = {"log.retention.ms": "1000", "log.retention.check.interval.ms": "5000"}
    with kafkalet.Broker(topics=["t"], clock=clock, config=config) as broker:
        broker._server.call(lambda: clock.advance(milliseconds=30_000))
        broker.topic("t").append(batch(clock.now_ms()))
        broker._server.call(lambda: clock.advance(milliseconds=5_000))
        assert broker.topic("t").log().log_start_offset == 1


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLICE_S", 0)


def retaining(broker: kafkalet.Broker, then: Callable[[PeriodicTasks], object] = lambda tasks: None) -> None:
    """Write an old record to three partitions, and begin a run of retention. Call `then` after its first turn."""
    for index in range(3):
        broker.topic("t").append(batch(BEGIN_MS), index)
    node = broker._server.nodes[1]
    tasks = PeriodicTasks(broker._server.nodes, broker._server.leadership, SystemClock(), node.turns, node.workers)

    def begin() -> None:
        tasks._retention.begin()
        assert starts(broker) == [1, 0, 0]
        then(tasks)

    broker._server.call(begin)


def starts(broker: kafkalet.Broker) -> list[int]:
    return [broker.topic("t").log(index).log_start_offset for index in range(3)]


THREE = {"topics": [kafkalet.NewTopic("t", 3)], "config": {"log.retention.ms": "1000"}}


@pytest.mark.usefixtures("short_turns")
def test_retention_of_many_logs_continues_in_the_next_turn() -> None:
    with kafkalet.Broker(**THREE) as broker:
        retaining(broker)
        while starts(broker) != [1, 1, 1]:  # it takes two more turns
            broker._server.call(lambda: None)


@pytest.mark.usefixtures("short_turns")
def test_retention_skips_logs_that_are_deleted_between_turns(caplog: pytest.LogCaptureFixture) -> None:
    with kafkalet.Broker(**THREE) as broker:
        running: list[PeriodicTasks] = []
        retaining(broker, lambda tasks: (running.append(tasks), broker.topic("t").delete()))
        while running[0]._retention.is_running:
            broker._server.call(lambda: None)
        assert "failed" not in caplog.text


@pytest.mark.usefixtures("short_turns")
def test_stop_ends_retention() -> None:
    with kafkalet.Broker(**THREE) as broker:
        retaining(broker, PeriodicTasks.stop)
        for _ in range(3):
            broker._server.call(lambda: None)
        assert starts(broker) == [1, 0, 0]


@pytest.mark.usefixtures("short_turns")
def test_retention_is_complete_when_clock_has_been_advanced() -> None:
    clock = ManualClock()
    with kafkalet.Broker(**THREE, clock=clock) as broker:
        for index in range(3):
            broker.topic("t").append(batch(clock.now_ms()), index)
        broker._server.call(lambda: clock.advance(milliseconds=30_000))
        assert starts(broker) == [1, 1, 1]


@pytest.mark.parametrize(
    ("config", "expiry_s"), [({}, 600), ({"producer.id.expiration.check.interval.ms": "90000"}, 90)]
)
def test_retry_is_a_duplicate_until_the_first_check_after_the_producer_expired(
    config: dict[str, str], expiry_s: int
) -> None:
    """The age of a producer is that of its last batch (ProducerStateManager.isProducerExpired)."""
    clock = ManualClock()
    config |= {"producer.id.expiration.ms": "60000", "log.retention.check.interval.ms": "1000"}
    with kafkalet.Broker(topics=["t"], clock=clock, config=config) as broker:
        of_producer = {"producer_id": 7, "producer_epoch": 0}
        written_ms = clock.now_ms() - 120_000
        first, second = (
            build_batch([Record(0, written_ms, None, b"v", ())], base_sequence=sequence, **of_producer)
            for sequence in (0, 1)
        )
        for records in (first, second):
            broker.topic("t").append(records)
        broker._server.call(lambda: clock.advance(milliseconds=expiry_s * 1000 - 1))
        assert broker.topic("t").append(second) == 1
        broker._server.call(lambda: clock.advance(milliseconds=1))
        assert broker.topic("t").append(second) == 2


def test_lagging_follower_leaves_isr() -> None:
    clock = ManualClock()
    with kafkalet.Cluster(brokers=2, clock=clock, config={"replica.lag.time.max.ms": "10000"}) as cluster:
        cluster.topic("t").create(1, replication_factor=2)
        state = cluster._server.metadata.topics["t"].partitions[0]
        follower = next(node for node in state.replicas if node != state.leader)
        held = cluster.hold_replication(follower)
        cluster.topic("t").append(batch(clock.now_ms()))
        assert cluster.topic("t").log().high_watermark == 0
        cluster._server.call(lambda: clock.advance(milliseconds=15_000))
        assert state.isr == [state.leader]
        assert cluster.topic("t").log().high_watermark == 1
        held.release()
        assert sorted(state.isr) == sorted(state.replicas)


def test_logs_are_flushed_after_flush_ms(tmp_path: Path) -> None:
    clock = ManualClock()
    config = {"log.flush.scheduler.interval.ms": "1000", "log.flush.interval.ms": "5000"}
    with kafkalet.Broker(topics=["t"], clock=clock, config=config, data_dir=tmp_path) as broker:
        broker.topic("t").append(batch(clock.now_ms()))
        local = broker._server.leadership.leader_of("t", 0).log.local
        broker._server.call(lambda: clock.advance(milliseconds=4_000))
        assert local.recovery_point == 0
        broker._server.call(lambda: clock.advance(milliseconds=2_000))
        assert local.recovery_point == 1


def test_year_needs_few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking every log each five minutes, and every follower each 15 seconds, would be two million checks a year."""
    checks: list[int] = []
    drop_laggards = Leadership.drop_laggards

    def counted(leadership: Leadership, lag_time_max_ms: int) -> None:
        checks.append(leadership.clock.now_ms())
        drop_laggards(leadership, lag_time_max_ms)

    monkeypatch.setattr(Leadership, "drop_laggards", counted)
    with kafkalet.Cluster(brokers=3) as cluster:
        topic = cluster.topic("t", partitions=1, replication_factor=3)
        topic.send("one")
        cluster.clock.advance(days=365)
        assert topic.log().log_start_offset == 1
        assert len(checks) < 100


@pytest.mark.parametrize("step_hours", [1, 24 * 10])
def test_records_expire_at_the_same_time_in_long_and_in_short_advances(
    monkeypatch: pytest.MonkeyPatch, step_hours: int
) -> None:
    clock = kafkalet.Clock.frozen(at=BEGIN_MS)
    expired: list[int] = []
    delete_oldest = Log._delete_oldest

    def noted(log: Log, segments: list[Segment], reason: Reason) -> None:
        expired.append(clock.now_ms() - BEGIN_MS)
        delete_oldest(log, segments, reason)

    monkeypatch.setattr(Log, "_delete_oldest", noted)
    with kafkalet.Broker(topics=["t"], clock=clock, config={"log.retention.ms": "100000000"}) as broker:
        log = broker._server.leadership.leader_of("t", 0).log
        for hours in (-20, -10, 0):
            broker.topic("t").append(batch(BEGIN_MS + hours * HOUR_MS))
            broker._server.call(log.roll)
        for _ in range(24 * 10 // step_hours):
            clock.advance(hours=step_hours)
    # The first check is after 30 s, and the next ones are at intervals of five minutes.
    assert expired == [28_230_000, 64_230_000, 100_230_000]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("replication-offset-checkpoint", "replica.high.watermark.checkpoint.interval.ms"),
        ("recovery-point-offset-checkpoint", "log.flush.offset.checkpoint.interval.ms"),
        ("log-start-offset-checkpoint", "log.flush.start.offset.checkpoint.interval.ms"),
    ],
)
def test_each_checkpoint_is_written_at_its_interval(tmp_path: Path, file: str, name: str) -> None:
    clock = ManualClock()
    with kafkalet.Broker(topics=["t"], clock=clock, config={name: "1000"}, data_dir=tmp_path) as broker:
        broker.topic("t").append(batch(clock.now_ms()))
        broker.topic("t").append(batch(clock.now_ms()))
        broker._server.call(lambda: broker._server.leadership.leader_of("t", 0).delete_records(1))
        broker._server.call(broker._server.leadership.leader_of("t", 0).log.flush)
        broker._server.call(lambda: clock.advance(milliseconds=900))
        assert not (tmp_path / file).exists()
        broker._server.call(lambda: clock.advance(milliseconds=100))
        assert "\nt 0 " in (tmp_path / file).read_text()
        assert [path.name for path in tmp_path.glob("*checkpoint")] == [file]
    assert len(list(tmp_path.glob("*checkpoint"))) == 3


def test_checkpoint_that_cannot_be_written_takes_the_directory_offline(tmp_path: Path) -> None:
    clock = ManualClock()
    with kafkalet.Broker(topics=["t"], clock=clock, data_dir=tmp_path) as broker:
        broker.topic("t").append(batch(clock.now_ms()))
        (tmp_path / "replication-offset-checkpoint").mkdir()
        broker._server.call(lambda: clock.advance(milliseconds=5000))
        assert "replication-offset-checkpoint" in broker._server.nodes[1].directories.offline[str(tmp_path)]
