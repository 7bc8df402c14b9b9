"""Logs that are opened after the broker is ready: by their first use, or in the background."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker import server
from kafkalet.broker.cluster.opening import Opening
from kafkalet.protocol.errors import Code, KafkaError

TOPIC, PARTITIONS = "t", 5


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory with one record in each partition, which was cleanly closed."""
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        broker.topic(TOPIC).create(PARTITIONS)
        for index in range(PARTITIONS):
            broker.topic(TOPIC).send("v", partition=index)
    return tmp_path


@pytest.fixture
def late(closed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same directory. A broker opens only its first log at the start, and none in the background."""
    monkeypatch.setattr(server, "LOGS_OPENED_AT_START", 1)
    monkeypatch.setattr(Opening, "start", lambda self, nodes: None)
    return closed


def open_ones(broker: kafkalet.Broker) -> list[int]:
    return [partition.index for partition in broker._server.nodes[1].open_partitions()]


def open_all(broker: kafkalet.Broker) -> None:
    broker._server.call(broker._server.nodes[1].open_logs)


def test_log_is_opened_by_its_first_use(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        assert open_ones(broker) == [0]
        assert (
            broker._server.call(lambda: broker._server.nodes[1].partition(TOPIC, 3).log_for(None).log_end_offset) == 1
        )
        assert open_ones(broker) == [0, 3]


def test_remaining_logs_are_opened_in_the_background(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOGS_OPENED_AT_START", 0)
    with kafkalet.Broker(data_dir=closed) as broker:
        while open_ones(broker) != list(range(PARTITIONS)):  # the background does this within milliseconds
            broker._server.call(lambda: None)
        assert broker._server.call(lambda: broker._server.nodes[1].are_logs_open)


def test_records_are_appended_in_the_current_leader_epoch(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        epoch = broker._server.nodes[1].partitions[TOPIC, 2].leader_epoch
        broker.topic(TOPIC).send("w", partition=2)
        log = broker._server.nodes[1].partitions[TOPIC, 2].log
        assert [tuple(entry) for entry in log.epochs.entries][-1] == (epoch, 1)
        assert log.high_watermark == 2


def test_later_epoch_in_the_log_begins_another_one(late: Path) -> None:
    (late / f"{TOPIC}-2" / "leader-epoch-checkpoint").write_text("0\n1\n9 0\n")
    with kafkalet.Broker(data_dir=late) as broker:
        open_all(broker)
        assert broker._server.nodes[1].partitions[TOPIC, 2].leader_epoch == 10
        assert broker._server.nodes[1].partitions[TOPIC, 3].leader_epoch < 9


def test_log_that_cannot_be_opened_goes_offline(late: Path) -> None:
    (late / f"{TOPIC}-4" / "00000000000000000000.log").unlink()
    (late / f"{TOPIC}-4" / "00000000000000000000.log").mkdir()
    with kafkalet.Broker(data_dir=late) as broker:
        node = broker._server.nodes[1]
        with pytest.raises(KafkaError) as refusal:
            broker._server.call(lambda: node.partition(TOPIC, 4).log)
        assert refusal.value.code is Code.KAFKA_STORAGE_ERROR
        with pytest.raises(KafkaError) as refusal:
            broker._server.call(lambda: node.partition(TOPIC, 4))
        assert refusal.value.code is Code.KAFKA_STORAGE_ERROR
        assert broker._server.metadata.topics[TOPIC].partitions[4].leader == -1
        open_all(broker)
        assert open_ones(broker) == [0, 1, 2, 3]


def test_configuration_that_was_changed_before_applies_to_the_log(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        node = broker._server.nodes[1]
        topic = broker._server.metadata.topics[TOPIC]

        def change() -> None:
            topic.config["max.message.bytes"] = "777"
            broker._server.controller.change_config(topic, topic.config)

        broker._server.call(change)
        open_all(broker)
        assert {partition.log.config.max_message_bytes for partition in node.open_partitions()} == {777}


def test_log_that_was_not_opened_can_be_deleted(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        broker.topic(TOPIC).delete()
        assert not list(late.glob(f"{TOPIC}-[1-4]"))
        assert broker._server.nodes[1].are_logs_open


def test_directory_stays_clean_if_logs_were_not_opened(late: Path) -> None:
    before = {path: path.read_bytes() for path in late.glob(f"{TOPIC}-[1-4]/*")}
    with kafkalet.Broker(data_dir=late):
        pass
    assert (late / ".kafka_cleanshutdown").exists()
    assert {path: path.read_bytes() for path in late.glob(f"{TOPIC}-[1-4]/*")} == before


def test_log_that_was_opened_but_not_used_is_unchanged(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        open_all(broker)
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in late.glob(f"{TOPIC}-[1-4]/*")}
    with kafkalet.Broker(data_dir=late) as broker:
        open_all(broker)
    assert {path: (path.stat().st_ino, path.read_bytes()) for path in late.glob(f"{TOPIC}-[1-4]/*")} == before


def test_all_logs_are_recovered_before_the_broker_is_ready(late: Path) -> None:
    (late / ".kafka_cleanshutdown").unlink()
    with kafkalet.Broker(data_dir=late) as broker:
        assert open_ones(broker) == list(range(PARTITIONS))


def test_replicas_of_several_brokers_are_opened_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOGS_OPENED_AT_START", 0)
    for _ in range(2):
        with kafkalet.Cluster(brokers=2, data_dir=tmp_path) as cluster:
            if TOPIC not in cluster._server.metadata.topics:
                cluster.topic(TOPIC).create(assignments=[[1, 2]])
            replicas = [node.partitions[TOPIC, 0] for node in cluster._server.nodes.values()]
            assert all(replica.is_open for replica in replicas)


def test_size_of_unopened_log_is_that_of_its_segments(late: Path) -> None:
    with kafkalet.Broker(data_dir=late) as broker:
        node = broker._server.nodes[1]
        sizes = {index: node.size_bytes(node.partitions[TOPIC, index]) for index in range(PARTITIONS)}
        assert open_ones(broker) == [0]
        open_all(broker)
        assert sizes == {index: node.partitions[TOPIC, index].log.size_bytes for index in range(PARTITIONS)}
        assert all(sizes.values())
