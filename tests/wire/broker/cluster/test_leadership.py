"""Leader election, the ISR, and requests that wait for them, while brokers stop and start."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.cluster.metadata import PartitionState
from kafkalet.broker.cluster.metadata_store import FILE
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.storage.failing_disk import FailingDisk
from tests.wire.brokers import Wire, batch, fetched, on_the_wire

LAG_MS = 30_000  # replica.lag.time.max.ms
SESSION_MS = 9000  # broker.session.timeout.ms


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" led by 1, with a manual clock."""
    with on_the_wire(3, clock=ManualClock()) as wire:
        yield wire


def state(wire: Wire, topic: str = "t") -> PartitionState:
    return wire.cluster._server.metadata.topics[topic].partitions[0]


def advance(wire: Wire, ms: int) -> None:
    clock = wire.cluster._server.clock
    assert isinstance(clock, ManualClock)
    wire.cluster._server.call(lambda: clock.advance(milliseconds=ms))


# Leaders


def test_next_in_sync_replica_becomes_leader_when_leader_stops(three: Wire) -> None:
    three.cluster.broker(1).stop()
    assert (state(three).leader, state(three).leader_epoch, state(three).isr) == (2, 1, [2, 3])


def test_replica_out_of_sync_does_not_become_leader(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    advance(three, 2 * LAG_MS)
    assert state(three).isr == [1, 3]
    three.cluster.broker(1).stop()
    assert state(three).leader == 3


def test_epoch_does_not_change_while_leader_stays(three: Wire) -> None:
    three.cluster.broker(3).stop()
    three.cluster.broker(3).start()
    assert (state(three).leader, state(three).leader_epoch) == (1, 0)
    assert state(three).partition_epoch == 2  # broker 3 left the ISR and returned


def test_former_leader_returns_as_follower(three: Wire) -> None:
    three.cluster.broker(1).stop()
    three.cluster.broker(1).start()
    assert (state(three).leader, state(three).isr) == (2, [1, 2, 3])


def test_electing_current_leader_changes_nothing(three: Wire) -> None:
    three.cluster.topic("t").move_leader(1)
    assert (state(three).leader, state(three).leader_epoch) == (1, 0)


def test_only_in_sync_replica_can_be_elected(three: Wire) -> None:
    three.cluster.broker(2).stop()
    with pytest.raises(KafkaError) as refusal:
        three.cluster.topic("t").move_leader(2)
    assert refusal.value.code == Code.PREFERRED_LEADER_NOT_AVAILABLE
    assert state(three).leader == 1


def test_only_last_in_sync_replica_can_lead_again(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    advance(three, 2 * LAG_MS)
    for node in (3, 1):
        three.cluster.broker(node).stop()
    assert (state(three).leader, state(three).isr, state(three).elr) == (-1, [], [1])
    three.cluster.broker(3).start()
    assert state(three).leader == -1
    three.cluster.broker(1).start()
    assert state(three).leader == 1
    assert three.cluster.topic("t").log().log_end_offset == 1


# Eligible leader replicas (KIP-966)


def leaving_too_few(three: Wire) -> None:
    """Create topic "two" on brokers 2 and 3 with two records, the second of which only broker 2 has, and stop both."""
    three.cluster.topic("two").create(config={"min.insync.replicas": "2"}, assignments=[[2, 3]])
    three.produce(batch(b"both"), topic="two", node=2)
    three.cluster.broker(3).stop()
    three.produce(batch(b"only on 2"), topic="two", node=2)
    assert three.cluster._server.call(lambda: three.log("two").high_watermark) == 1
    three.cluster.broker(2).stop()


def replicas(three: Wire) -> tuple[int, list[int], list[int], list[int]]:
    """Return leader, ISR, eligible leader replicas and last known ELR of "two"."""
    found = state(three, "two")
    return found.leader, found.isr, found.elr, found.last_known_elr


def test_replica_that_left_a_small_isr_is_elected_and_records_are_lost(three: Wire) -> None:
    leaving_too_few(three)
    assert replicas(three) == (-1, [], [2, 3], [2])
    three.cluster.broker(3).start()
    assert replicas(three) == (3, [3], [2], [])
    three.cluster.broker(2).start()
    assert replicas(three) == (3, [2, 3], [], [])
    assert three.cluster._server.call(lambda: three.log("two").log_end_offset) == 1


def test_replica_is_not_eligible_before_4_1() -> None:
    with on_the_wire(3, version="4.0") as three:
        leaving_too_few(three)
        three.cluster.broker(3).start()
        assert replicas(three) == (-1, [2], [], [])
        three.cluster.broker(2).start()
        assert three.cluster._server.call(lambda: three.log("two").log_end_offset) == 2


def test_killed_broker_is_not_eligible_but_the_last_known_leader_is_elected(three: Wire) -> None:
    three.cluster.topic("two").create(config={"min.insync.replicas": "2"}, assignments=[[2, 3]])
    for node in (3, 2):
        three.cluster.broker(node).kill()
        advance(three, SESSION_MS)
    assert replicas(three) == (-1, [], [2, 3], [2])
    three.cluster.broker(3).start()
    assert replicas(three) == (-1, [], [2], [2])
    three.cluster.broker(2).start()
    assert replicas(three) == (2, [2, 3], [], [])


def test_broker_whose_marker_of_a_clean_shutdown_is_gone_is_not_eligible(three: Wire) -> None:
    three.cluster.topic("two").create(config={"min.insync.replicas": "2"}, assignments=[[2, 3]])
    directory = three.cluster._server.nodes[3].directories.paths[0]
    for node in (3, 2):
        three.cluster.broker(node).stop()
    assert replicas(three) == (-1, [], [2, 3], [2])
    (Path(directory) / ".kafka_cleanshutdown").unlink()
    three.cluster.broker(3).start()
    assert replicas(three) == (-1, [], [2], [2])


def test_partition_without_a_leader_gets_one_out_of_sync_some_time_after_its_topic_allows_it(three: Wire) -> None:
    topic = three.cluster.topic("careful").create(assignments=[[1, 2]])
    for node in (2, 1):
        three.cluster.broker(node).stop()
    three.cluster.broker(2).start()
    topic.configure({"unclean.leader.election.enable": "true"})
    assert state(three, "careful").leader == -1
    advance(three, 300_000)  # unclean.leader.election.interval.ms
    assert (state(three, "careful").leader, state(three, "careful").isr) == (2, [2])


def test_preferred_leader_leads_again_some_time_after_it_is_in_sync(three: Wire) -> None:
    three.cluster.broker(1).stop()
    advance(three, 300_000)  # leader.imbalance.check.interval.seconds
    assert state(three).leader == 2
    three.cluster.broker(1).start()
    assert state(three).leader == 2
    advance(three, 300_000)
    assert (state(three).leader, state(three).leader_epoch) == (1, 2)


def test_preferred_leader_does_not_lead_again_without_a_controller(three: Wire) -> None:
    three.cluster.broker(1).stop()
    three.cluster.broker(1).start()
    with three.cluster.stop_controller():
        advance(three, 300_000)
        assert state(three).leader == 2
    advance(three, 300_000)
    assert state(three).leader == 1


def test_preferred_leader_does_not_lead_again_if_rebalancing_is_disabled() -> None:
    with on_the_wire(3, clock=ManualClock(), config={"auto.leader.rebalance.enable": "false"}) as three:
        three.cluster.broker(1).stop()
        three.cluster.broker(1).start()
        advance(three, 300_000)
        assert state(three).leader == 2


def test_replica_of_a_topic_that_was_deleted_while_its_broker_was_stopped_is_set_aside(three: Wire) -> None:
    three.cluster.topic("gone").create(assignments=[[2, 3]])
    directory = Path(three.cluster._server.nodes[3].directories.paths[0])
    three.cluster.broker(3).stop()
    three.cluster.topic("gone").delete()
    assert (directory / "gone-0").exists()
    three.cluster.broker(3).start()
    assert [path.name.split(".")[-1].split("-")[-1] for path in directory.glob("gone-0*")] == ["stray"]


def test_change_of_min_isr_clears_the_eligible_replicas(three: Wire) -> None:
    three.cluster.topic("two").create(config={"min.insync.replicas": "2"}, assignments=[[2, 3]])
    three.cluster.broker(3).stop()
    assert replicas(three) == (2, [2], [3], [])
    changed = {"name": "min.insync.replicas", "config_operation": 0, "value": "1"}
    resource = {"resource_type": 2, "resource_name": "two", "configs": [changed]}
    three.ask("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
    assert replicas(three) == (2, [2], [], [])


def test_unclean_election_permits_loss_of_records(three: Wire) -> None:
    three.cluster.topic("rash").create(config={"unclean.leader.election.enable": "true"}, assignments=[[1, 2]])
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"), topic="rash")
    advance(three, 2 * LAG_MS)
    three.cluster.broker(1).stop()
    assert (state(three, "rash").leader, state(three, "rash").isr) == (2, [2])
    assert three.cluster.topic("rash").log().log_end_offset == 0


def test_records_missing_from_unclean_leader_are_truncated_everywhere(three: Wire) -> None:
    three.cluster.topic("rash").create(config={"unclean.leader.election.enable": "true"}, assignments=[[1, 2]])
    three.produce(batch(b"both"), topic="rash")
    held = three.cluster.hold_replication(2)
    three.produce(batch(b"lost"), topic="rash")
    advance(three, 2 * LAG_MS)
    three.cluster.broker(1).stop()
    held.release()
    three.cluster.broker(1).start()
    ends = [three.cluster._server.nodes[node].partitions["rash", 0].log.log_end_offset for node in (1, 2)]
    assert ends == [1, 1]


# ISR


def test_lagging_follower_leaves_isr(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    advance(three, LAG_MS)
    assert state(three).isr == [1, 2, 3]
    advance(three, LAG_MS)
    assert state(three).isr == [1, 3]
    assert three.cluster.topic("t").log().high_watermark == 1


def test_follower_with_full_temporary_disk_leaves_isr_until_it_can_write() -> None:
    with on_the_wire(3, clock=ManualClock()) as wire:
        with FailingDisk(Path(wire.cluster._server.nodes[2].directories.paths[0])) as disk:
            disk.fail_on(".log")
            assert wire.produce(batch(b"a"))["error_code"] == Code.NONE
            assert wire.cluster.topic("t").log().high_watermark == 0
            advance(wire, 2 * LAG_MS)
            assert state(wire).isr == [1, 3]
            assert wire.cluster.topic("t").log().high_watermark == 1
        wire.produce(batch(b"b"))
        assert state(wire).isr == [1, 2, 3]
        assert wire.cluster._server.nodes[2].partitions["t", 0].log.log_end_offset == 2


def test_follower_with_all_records_does_not_lag(three: Wire) -> None:
    three.produce(batch(b"a"))
    three.cluster.hold_replication(2)
    advance(three, 10 * LAG_MS)
    assert state(three).isr == [1, 2, 3]


def test_follower_rejoins_isr_after_catching_up(three: Wire) -> None:
    held = three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    advance(three, 2 * LAG_MS)
    held.release()
    assert state(three).isr == [1, 2, 3]


def test_external_follower_joins_isr_when_it_fetches_at_log_end(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a", b"b"))
    advance(three, 2 * LAG_MS)
    three.fetch(replica_id=2, offset=1)
    assert state(three).isr == [1, 3]
    three.fetch(replica_id=2, offset=2)
    assert state(three).isr == [1, 2, 3]


def test_single_partition_can_be_held_back(three: Wire) -> None:
    three.cluster.topic("u").create(assignments=[[1, 2], [1, 2]])
    three.cluster.hold_replication(2, "u", 1)
    for index in (0, 1):
        three.produce(batch(b"a"), topic="u", index=index)
    assert [three.cluster.topic("u").log(index).high_watermark for index in (0, 1)] == [1, 0]


# Waiting requests


def test_shrinking_isr_completes_waiting_fetch(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    with three.waiting("Fetch", 12, three.fetch_body(wait_ms=100 * LAG_MS)) as receive:
        advance(three, 2 * LAG_MS)
        assert fetched(receive())["high_watermark"] == 1


def test_stopped_follower_completes_waiting_fetch(three: Wire) -> None:
    three.cluster.hold_replication(2)
    three.produce(batch(b"a"))
    with three.waiting("Fetch", 12, three.fetch_body(wait_ms=100 * LAG_MS)) as receive:
        three.cluster.broker(2).stop()
        assert fetched(receive())["high_watermark"] == 1


def test_restarted_broker_completes_waiting_fetch_when_enough_are_in_sync() -> None:
    """Since KIP-966 the high watermark does not advance while fewer than min.insync.replicas are in sync."""
    with on_the_wire(2, topic_config={"min.insync.replicas": "2"}) as wire:
        wire.cluster.broker(2).stop()
        wire.produce(batch(b"a"))
        with wire.waiting("Fetch", 12, wire.fetch_body(wait_ms=60_000)) as receive:
            wire.cluster.broker(2).start()
            assert fetched(receive())["high_watermark"] == 1


@pytest.mark.parametrize(("release", "high_watermark"), [("3.6", 1), ("3.7", 0)])
def test_since_3_7_high_watermark_waits_for_enough_replicas(release: str, high_watermark: int) -> None:
    with on_the_wire(2, version=release, topic_config={"min.insync.replicas": "2"}) as wire:
        wire.cluster.broker(2).stop()
        wire.produce(batch(b"a"))
        assert wire.cluster.topic("t").log().high_watermark == high_watermark


# Stopping and starting brokers


def test_unknown_broker_cannot_be_stopped_or_started(three: Wire) -> None:
    with pytest.raises(ValueError, match="broker 9"):
        three.cluster.broker(9).stop()
    with pytest.raises(ValueError, match="broker 9"):
        three.cluster.broker(9).start()
    with pytest.raises(ValueError, match="broker 1"):
        three.cluster.broker(1).start()


def test_port_of_stopped_broker_is_reserved(three: Wire) -> None:
    port = three.cluster._server.metadata.endpoints[2].port
    three.cluster.broker(2).stop()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", port))
    three.cluster.broker(2).start()
    assert three.fetch(node=2)["error_code"] == Code.NONE


def test_failed_start_of_broker_changes_nothing(three: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    three.cluster.broker(2).stop()
    with monkeypatch.context() as patch:
        patch.setattr("kafkalet.broker.network.listener.Listener.bind", refuse)
        with pytest.raises(OSError, match="refused by the test"):
            three.cluster.broker(2).start()
    assert sorted(three.cluster._server.nodes) == [1, 3]
    three.cluster.broker(2).start()
    assert state(three).isr == [1, 2, 3]


def refuse(*_: object) -> tuple[str, int]:
    raise OSError("refused by the test")


# After a restart


def test_partition_without_leader_has_leader_after_restart(tmp_path: Path) -> None:
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as first:
        first.topic("t").create(assignments=[[2]])
        first.broker(2).stop()
        assert first._server.metadata.topics["t"].partitions[0].leader == -1
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as second:
        assert second.topic("t").log().log_end_offset == 0
        assert second._server.metadata.topics["t"].partitions[0].leader == 2


def test_stopped_replicas_are_in_sync_after_restart(tmp_path: Path) -> None:
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as first:
        first.topic("t").create(1, replication_factor=2)
        first.broker(1).stop()
        first.topic("t").append(batch(b"a"))
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as second:
        partition = second._server.metadata.topics["t"].partitions[0]
        assert (partition.leader, partition.isr) == (2, [1, 2])
        assert second._server.nodes[1].partitions["t", 0].log.log_end_offset == 1


def test_partition_of_removed_broker_gets_another_leader(tmp_path: Path) -> None:
    with kafkalet.Cluster(brokers=3, data_dir=tmp_path) as first:
        first.topic("t").create(assignments=[[3, 2]])
        first.topic("t").append(batch(b"a"))
    with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as second:
        partition = second._server.metadata.topics["t"].partitions[0]
        assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 2, [2])
        assert second.topic("t").log().high_watermark == 1


@pytest.mark.parametrize(("release", "isr"), [("3.9", [1, 3, 2]), ("4.4", [1, 2, 3])])
def test_since_4_0_isr_is_sorted(release: str, isr: list[int]) -> None:
    with kafkalet.Cluster(brokers=3, version=release) as cluster:
        cluster.topic("t").create(assignments=[[1, 2, 3]])
        cluster.broker(2).stop()
        assert cluster._server.metadata.topics["t"].partitions[0].isr == [1, 3]
        cluster.broker(2).start()
        assert cluster._server.metadata.topics["t"].partitions[0].isr == isr


@pytest.mark.parametrize(("release", "after_crash"), [("3.9", 2), ("4.4", 4)])
def test_restart_starts_new_leader_epochs(tmp_path: Path, release: str, after_crash: int) -> None:
    def epoch() -> int:
        return cluster._server.metadata.topics["t"].partitions[0].leader_epoch

    with kafkalet.Broker(data_dir=tmp_path, version=release) as cluster:
        cluster.topic("t").create()
        assert epoch() == 0
    with kafkalet.Broker(data_dir=tmp_path, version=release) as cluster:
        assert epoch() == 2, "one epoch without a leader, one with a leader"
        as_it_runs = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(as_it_runs)
    with kafkalet.Broker(data_dir=tmp_path, version=release) as cluster:
        assert epoch() == after_crash
        assert cluster.topic("t").log().log_end_offset == 0
