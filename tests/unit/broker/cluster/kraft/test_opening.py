"""The metadata of a data directory comes from kafkalet.json, from a metadata log, or from bootstrap.checkpoint."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet.broker.cluster.kraft.opening import open_metadata
from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.cluster.metadata_store import LoadedMetadata, MetadataStore
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.clock import ManualClock
from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record

from .logs import TOPIC, TOPIC_ID, batch, partition, snapshot, write_log

LEVEL = records.FeatureLevelRecord(name="metadata.version", feature_level=21)


def opened(directory: Path) -> LoadedMetadata | None:
    store = MetadataStore(str(directory))
    return open_metadata(store, [store.path], BrokerConfig({}, Release.of("4.4")))


def save(directory: Path, image: MetadataImage) -> None:
    MetadataStore(str(directory)).save(image, 17)


def config(name: str, value: str, kind: int = 2, resource: str = "orders") -> records.ConfigRecord:
    return records.ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


def test_log_is_used_without_kafkalet_json(tmp_path: Path) -> None:
    write_log(tmp_path, batch(0, LEVEL, TOPIC, partition()))
    found = opened(tmp_path)
    assert found is not None
    assert list(found.image.topics) == ["orders"]
    assert found.image.feature_levels["metadata.version"] == 21
    assert found.image.feature_levels["transaction.version"] == 0  # not the default of 4.4
    assert found.is_complete


def test_damaged_log_is_not_complete(tmp_path: Path) -> None:
    write_log(tmp_path, batch(0, TOPIC, partition()), b"\0" * 20)
    found = opened(tmp_path)
    assert found is not None
    assert not found.is_complete


def test_kafkalet_json_is_used_if_the_log_has_not_changed_since(tmp_path: Path) -> None:
    write_log(tmp_path, batch(0, TOPIC, partition()))
    first = opened(tmp_path)
    assert first is not None
    first.image.group_config["changed"] = {}
    save(tmp_path, first.image)
    again = opened(tmp_path)
    assert again is not None
    assert (again.image.group_config, again.next_producer_id, again.is_complete) == ({"changed": {}}, 17, False)


def test_log_is_used_if_kafka_has_written_it_after_kafkalet_json(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(tmp_path, batch(0, LEVEL))
    first = opened(tmp_path)
    assert first is not None
    save(tmp_path, first.image)
    write_log(tmp_path, batch(0, LEVEL), batch(1, TOPIC, partition()))
    again = opened(tmp_path)
    assert again is not None
    assert list(again.image.topics) == ["orders"]
    assert again.next_producer_id == 17  # ids that kafkalet has assigned are not assigned again
    assert "has changed since" in caplog.text


def test_kafkalet_json_that_does_not_mention_the_log_is_newer(tmp_path: Path) -> None:
    write_log(tmp_path, batch(0, TOPIC, partition()))
    image = MetadataImage("cluster")
    image.metadata_log = None
    save(tmp_path, image)
    found = opened(tmp_path)
    assert found is not None
    assert not found.image.topics
    assert found.image.metadata_log is not None


def test_snapshot_of_an_export_is_not_newer_until_kafka_adds_a_segment(tmp_path: Path) -> None:
    save(tmp_path, MetadataImage("cluster"))
    directory = write_log(tmp_path / "unused")
    directory.rename(tmp_path / "__cluster_metadata-0")
    (tmp_path / "__cluster_metadata-0" / f"{0:020d}.log").unlink()
    (tmp_path / "__cluster_metadata-0" / f"{7:020d}-{1:010d}.checkpoint").write_bytes(snapshot(LEVEL))
    found = opened(tmp_path)
    assert found is not None
    assert found.image.cluster_id == "cluster"
    write_log(tmp_path, batch(7, TOPIC, partition()), base_offset=7)
    found = opened(tmp_path)
    assert found is not None
    assert list(found.image.topics) == ["orders"]


def test_bootstrap_file_is_used_without_a_log(tmp_path: Path) -> None:
    write_log(tmp_path)
    (tmp_path / "bootstrap.checkpoint").write_bytes(batch(0, LEVEL))
    found = opened(tmp_path)
    assert found is not None
    assert found.image.feature_levels["metadata.version"] == 21
    assert not found.is_complete


def test_directory_without_metadata_has_none(tmp_path: Path) -> None:
    assert opened(tmp_path) is None


def test_properties_that_the_release_refuses_are_ignored_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_log(
        tmp_path,
        batch(0, TOPIC, partition(), config("retention.ms", "many"), config("segment.ms", "500")),
        batch(4, config("log.segment.bytes", "-5", 4, ""), config("log.retention.ms", "7", 4, "")),
    )
    found = opened(tmp_path)
    assert found is not None
    assert found.image.topics["orders"].config == {"segment.ms": "500"}
    assert found.image.broker_config[None] == {"log.retention.ms": "7"}
    assert "ignoring property 'retention.ms' of 'topic orders': Invalid value many" in caplog.text


# Brokers on such directories


@pytest.mark.parametrize("has_bootstrap", [False, True])
def test_producer_ids_in_the_logs_are_not_assigned_again(tmp_path: Path, *, has_bootstrap: bool) -> None:
    data = build_batch([Record(0, 1, None, b"x")], producer_id=41, producer_epoch=0, base_sequence=0)
    with kafkalet.Broker(data_dir=tmp_path, topics=["t"], clock=ManualClock(1000)) as broker:
        broker.topic("t").append_batches(data)
    (tmp_path / "kafkalet.json").unlink()
    if has_bootstrap:
        (tmp_path / "bootstrap.checkpoint").write_bytes(batch(0, LEVEL))
    for _ in range(2):
        with kafkalet.Broker(data_dir=tmp_path, clock=ManualClock(1000)) as broker:
            assert broker._server.controller.producer_ids.next_id == 42


def meta_properties(directory: Path, node_id: int) -> None:
    text = f"#\nversion=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\nnode.id={node_id}\n"
    (directory / "meta.properties").write_text(text)


def test_broker_takes_the_id_of_the_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_log(tmp_path, batch(0, LEVEL, TOPIC, partition(0, [3])))
    meta_properties(tmp_path, 3)
    caplog.set_level("INFO")
    for _ in range(2):  # at the second start, kafkalet.json exists
        with kafkalet.Broker(data_dir=tmp_path) as broker:
            assert broker._server.metadata.topics["orders"].partitions[0].leader == 3
            assert broker._server.metadata.topics["orders"].topic_id == TOPIC_ID
            assert broker._server.metadata.cluster_id == "MkU3OEVBNTcwNTJENDM2Qk"
    assert "the id of this broker is 3, as in the meta.properties of its directory" in caplog.text


def test_partitions_of_other_brokers_have_no_leader(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    partitions = [partition(0, [1, 2]), partition(1, [1]), partition(2, [2, 3]), partition(3, [1, 2], isr=[1])]
    write_log(tmp_path, batch(0, LEVEL, TOPIC, *partitions))
    meta_properties(tmp_path, 2)
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        states = broker._server.metadata.topics["orders"].partitions
        assert [state.replicas for state in states] == [[1, 2], [1], [2, 3], [1, 2]]
        assert [(state.leader, state.isr) for state in states] == [(2, [2]), (-1, [1]), (2, [2]), (-1, [1])]
    assert "1 partition without a leader, because the in-sync replicas belong to stopped brokers" in caplog.text
    with kafkalet.Broker(data_dir=tmp_path, config={"unclean.leader.election.enable": True}) as broker:
        assert broker._server.metadata.topics["orders"].partitions[3].leader == 2


def test_directory_that_the_metadata_does_not_contain_becomes_a_stray(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        broker.topic("removed").create()
        broker.topic("removed").send("value")
    (tmp_path / "kafkalet.json").unlink()
    write_log(tmp_path, batch(0, LEVEL, TOPIC, partition()))
    with kafkalet.Broker(data_dir=tmp_path) as broker:
        assert "removed" not in broker._server.metadata.topics
    [directory] = tmp_path.glob("removed-0*")
    assert directory.name.endswith("-stray")


def test_snapshot_of_formatted_cluster_is_read(tmp_path: Path) -> None:
    directory = write_log(tmp_path)
    (directory / f"{0:020d}-{0:010d}.checkpoint").write_bytes(snapshot(LEVEL))
    found = opened(tmp_path)
    assert found is not None
    assert found.image.feature_levels["kraft.version"] == 1
