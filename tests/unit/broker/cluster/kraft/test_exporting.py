"""The files that Apache Kafka needs to open a data directory."""

import json
import os
from pathlib import Path

import pytest

from kafkalet.broker.cluster.kraft.exporting import write_metadata_log
from kafkalet.broker.cluster.kraft.opening import open_metadata
from kafkalet.broker.cluster.metadata_store import MetadataStore
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.release import Release
from kafkalet.formats import parse_uuid
from kafkalet.properties import read_properties
from kafkalet.protocol.messages.metadata_records import PartitionRecord
from kafkalet.protocol.metadata_frame import decode_record
from kafkalet.protocol.records.batch import batches
from kafkalet.storage.files import Files

from .images import CLUSTER_ID, full_image

SNAPSHOT = Path("__cluster_metadata-0", "00000000000000000001-0000000000.checkpoint")
META = "version=1\nnode.id=1\ncluster.id=a-cluster\ndirectory.id=ySGBAv3jJIMpzoGQaJWAZQ\n"


def written(*directories: Path) -> int:
    for directory in directories:
        directory.mkdir(exist_ok=True)
    paths = {node_id: [str(directory)] for node_id, directory in enumerate(directories, 1)}
    return write_metadata_log(full_image(), 0, {"metadata.version": 21}, paths, Files(), 1000)


def properties(directory: Path) -> dict[str, str]:
    return read_properties((directory / "meta.properties").read_text())


def partitions(snapshot: Path) -> list[PartitionRecord]:
    values = [
        each.value or b""
        for batch in batches(snapshot.read_bytes())
        if not batch.is_control
        for each in batch.records()
    ]
    return [record for value in values if isinstance(record := decode_record(value), PartitionRecord)]


def test_metadata_log_is_only_in_the_directory_of_the_first_broker(tmp_path: Path) -> None:
    count = written(tmp_path / "1", tmp_path / "2")
    assert sum(batch.count for batch in batches((tmp_path / "1" / SNAPSHOT).read_bytes())) == count + 2
    assert os.listdir(tmp_path / "1" / SNAPSHOT.parent) == [SNAPSHOT.name]
    assert not (tmp_path / "2" / SNAPSHOT.parent).exists()


def test_metadata_that_was_written_is_read_back(tmp_path: Path) -> None:
    image = full_image()
    write_metadata_log(image, 7000, {"metadata.version": 33, "group.version": 1}, {1: [str(tmp_path)]}, Files(), 1000)
    store = MetadataStore(str(tmp_path))
    found = open_metadata(store, [store.path], BrokerConfig({}, Release.of("4.4")))
    assert found is not None
    assert (found.next_producer_id, found.is_complete) == (7000, True)
    read = json.loads(store.encode(found.image, 0))
    features = read.pop("features")["levels"]
    assert (features["metadata.version"], features["group.version"], features["transaction.version"]) == (33, 1, 0)
    written = json.loads(store.encode(image, 0))
    del written["features"]
    assert read | {"cluster_id": CLUSTER_ID} == written


def test_directory_of_kraft_keeps_its_identity(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(META)
    written(tmp_path)
    assert (tmp_path / "meta.properties").read_text() == META
    directory_id = parse_uuid("ySGBAv3jJIMpzoGQaJWAZQ")
    assert [record.directories for record in partitions(tmp_path / SNAPSHOT)] == [
        [directory_id, bytes(16)],
        [bytes(16), directory_id],
    ]


def test_directory_of_zookeeper_gets_the_identity_of_kraft(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=5\ncluster.id=a-cluster\n")
    written(tmp_path)
    found = properties(tmp_path)
    directory_id = parse_uuid(found.pop("directory.id"))
    assert found == {"version": "1", "node.id": "1", "cluster.id": "a-cluster"}
    assert partitions(tmp_path / SNAPSHOT)[0].directories == [directory_id, bytes(16)]


def test_directory_without_identity_gets_that_of_the_cluster(tmp_path: Path) -> None:
    written(tmp_path)
    assert properties(tmp_path)["cluster.id"] == CLUSTER_ID


def test_log_is_assigned_to_the_directory_that_contains_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "t-1").mkdir()
    paths = {1: [str(tmp_path / "a"), str(tmp_path / "b")]}
    write_metadata_log(full_image(), 0, {"metadata.version": 21}, paths, Files(), 1000)
    ids = {name: parse_uuid(properties(tmp_path / name)["directory.id"]) for name in ("a", "b")}
    first, second = partitions(tmp_path / "a" / SNAPSHOT)
    assert (first.directories, second.directories) == ([bytes(16)] * 2, [bytes(16), ids["b"]])


def test_earlier_metadata_log_is_replaced_in_every_directory(tmp_path: Path) -> None:
    for name in ("1", "2"):
        old = tmp_path / name / SNAPSHOT.parent
        old.mkdir(parents=True)
        (old / "quorum-state").write_text("{}")
        (tmp_path / name / "bootstrap.checkpoint").write_text("")
    written(tmp_path / "1", tmp_path / "2")
    assert sorted(os.listdir(tmp_path / "1")) == [".kafka_cleanshutdown", "__cluster_metadata-0", "meta.properties"]
    assert os.listdir(tmp_path / "1" / SNAPSHOT.parent) == [SNAPSHOT.name]
    assert sorted(os.listdir(tmp_path / "2")) == [".kafka_cleanshutdown", "meta.properties"]


def test_clean_shutdown_names_the_epoch_of_the_registration(tmp_path: Path) -> None:
    written(tmp_path)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":0}'


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_snapshot_with_secrets_can_only_be_read_by_the_owner(tmp_path: Path) -> None:
    written(tmp_path)
    assert (tmp_path / SNAPSHOT).stat().st_mode & 0o077 == 0
