"""`kafkalet export` prepares a data directory for Apache Kafka."""

import os
from pathlib import Path

import pytest

import kafkalet
from kafkalet.cli import main
from kafkalet.commands.export import layout_of
from kafkalet.formats import uuid_text
from kafkalet.properties import read_properties
from kafkalet.protocol.messages.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
)
from kafkalet.protocol.metadata_frame import UnknownRecord, decode_record
from kafkalet.protocol.records.batch import batches
from tests.unit.broker.cluster.kraft.logs import batch, write_log

SNAPSHOT = Path("__cluster_metadata-0", "00000000000000000001-0000000000.checkpoint")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory with the topic `orders` that a broker has closed."""
    path = tmp_path / "data"
    with kafkalet.Broker(data_dir=path) as broker:
        broker.topic("orders", 2, config={"retention.ms": "-1"}).send("a record")
    return path


def records(directory: Path) -> list[MetadataRecord]:
    found = [
        decode_record(each.value or b"")
        for batch in batches((directory / SNAPSHOT).read_bytes())
        if not batch.is_control
        for each in batch.records()
    ]
    return [record for record in found if not isinstance(record, UnknownRecord)]


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_export_writes_metadata_and_properties(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--data-dir", str(data)]) == 0
    found = records(data)
    assert [record.name for record in found if isinstance(record, TopicRecord)] == ["orders"]
    assert ("orders", "retention.ms", "-1") in [
        (record.resource_name, record.name, record.value) for record in found if isinstance(record, ConfigRecord)
    ]
    file = data / "server-1.properties"
    properties = read_properties(file.read_text())
    assert (properties["log.dirs"], properties["node.id"]) == (str(data), "1")
    assert properties["process.roles"] == "broker,controller"
    assert capsys.readouterr().out.splitlines() == [
        f"prepared {data} for Apache Kafka 4.4: {len(found)} metadata records",
        f"bin/kafka-server-start.sh {file}",
    ]


def test_export_to_another_directory_leaves_original_unchanged(data: Path, tmp_path: Path) -> None:
    before = contents(data)
    assert main(["export", "--data-dir", str(data), "--to", str(tmp_path / "copy")]) == 0
    assert contents(data) == before
    log = Path("orders-0", "00000000000000000000.log")
    assert (tmp_path / "copy" / log).read_bytes() == (data / log).read_bytes()
    assert (tmp_path / "copy" / log).stat().st_mtime_ns == (data / log).stat().st_mtime_ns
    assert read_properties((tmp_path / "copy" / "server-1.properties").read_text())["log.dirs"] == str(
        tmp_path / "copy"
    )


def test_levels_of_features_are_those_of_the_release(data: Path) -> None:
    assert main(["export", "--data-dir", str(data), "--kafka-version", "3.9"]) == 0
    found = [(each.name, each.feature_level) for each in records(data) if isinstance(each, FeatureLevelRecord)]
    assert found == [("metadata.version", 21)]


def test_directory_that_was_not_closed_is_recovered(data: Path) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    with (data / "orders-0" / "00000000000000000000.log").open("ab") as log:
        log.write(b"half a batch")
    assert main(["export", "--data-dir", str(data)]) == 0
    assert (data / ".kafka_cleanshutdown").exists()
    assert b"half a batch" not in (data / "orders-0" / "00000000000000000000.log").read_bytes()


def test_several_brokers_get_properties_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kafkalet.Cluster(3, data_dir=tmp_path, config={"node.id": 4}) as cluster:
        cluster.topic("t", 1, replication_factor=3)
    assert main(["export", "--data-dir", str(tmp_path)]) == 0
    found = [read_properties((tmp_path / f"server-{node_id}.properties").read_text()) for node_id in (4, 5, 6)]
    assert [each["process.roles"] for each in found] == ["broker,controller", "broker", "broker"]
    assert [each["log.dirs"] for each in found] == [str(tmp_path / f"broker-{node_id}") for node_id in (4, 5, 6)]
    assert [each["advertised.listeners"].rpartition(":")[2] for each in found] == ["9092", "9094", "9095"]
    assert {each["controller.quorum.voters"] for each in found} == {"4@localhost:9093"}
    assert (tmp_path / "broker-4" / SNAPSHOT).exists()


def test_several_directories_are_log_dirs_of_the_broker(tmp_path: Path) -> None:
    data = [tmp_path / "a", tmp_path / "b"]
    with kafkalet.Broker(data_dir=data) as broker:
        broker.topic("t", 2).send_batch(["a record"], partition=0)
        broker.topic("t", 2).send_batch(["another"], partition=1)
    copies = [tmp_path / "copy-a", tmp_path / "copy-b"]
    pairs = zip(data, copies, strict=True)
    options = [word for one, two in pairs for word in ("--data-dir", str(one), "--to", str(two))]
    assert main(["export", *options]) == 0
    properties = read_properties((copies[0] / "server-1.properties").read_text())
    assert properties["log.dirs"] == f"{copies[0]},{copies[1]}"
    ids = [read_properties((copy / "meta.properties").read_text())["directory.id"] for copy in copies]
    found = [uuid_text(record.directories[0]) for record in records(copies[0]) if isinstance(record, PartitionRecord)]
    assert found == [ids[(copies[1] / f"t-{partition}").exists()] for partition in range(2)]
    assert len(set(found)) == 2
    assert not (copies[1] / SNAPSHOT).exists()


def test_broker_keeps_the_id_of_its_partitions(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, config={"node.id": 7}) as broker:
        broker.topic("t", 1)
    assert layout_of([str(tmp_path)]).paths == {7: [str(tmp_path)]}
    assert main(["export", "--data-dir", str(tmp_path)]) == 0
    assert (tmp_path / "server-7.properties").exists()


def test_exported_directory_can_be_used_again(data: Path) -> None:
    assert main(["export", "--data-dir", str(data)]) == 0
    with kafkalet.Broker(data_dir=data) as broker:
        assert [record.value for record in broker.topic("orders").records()] == [b"a record"]
        broker.topic("new", 1)
    assert main(["export", "--data-dir", str(data)]) == 0
    assert {record.name for record in records(data) if isinstance(record, TopicRecord)} == {"orders", "new"}


def test_directory_that_kafka_has_used_since_the_export_has_the_metadata_of_kafka(data: Path) -> None:
    for number in range(2):
        assert main(["export", "--data-dir", str(data)]) == 0
        added = TopicRecord(name=f"of-kafka-{number}", topic_id=bytes([1 + number] * 16))
        write_log(data, batch(1, added), base_offset=1)
        with kafkalet.Broker(data_dir=data) as broker:
            assert broker.topic(added.name).exists
            assert broker.topic("orders").exists


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "--data-dir is missing; it names the directory to prepare for Apache Kafka"),
        (
            ["--data-dir", "{data}", "--kafka-version", "2.8"],
            2,
            "--kafka-version 2.8: expected a release with KRaft, 3.3 to 4.4",
        ),
        (
            ["--data-dir", "{data}", "--data-dir", "b", "--to", "c"],
            2,
            "--to is given 1 time, --data-dir 2 times; name a copy for each",
        ),
        (["--data-dir", "{data}/none"], 1, "{data}/none is not a directory"),
        (
            ["--data-dir", "{data}/orders-0"],
            1,
            "{data}/orders-0 is not a data directory: it contains neither kafkalet.json nor meta.properties",
        ),
        (["--data-dir", "{data}", "--to", "{data}"], 1, "--to {data}: the directory is not empty; name a new one"),
    ],
)
def test_invalid_export_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    assert main(["export", *(argument.format(data=data) for argument in arguments)]) == status
    assert capsys.readouterr().err == f"kafkalet: {message.format(data=data)}\n"
    assert not (data / SNAPSHOT).exists()


@pytest.mark.parametrize("more", [[], ["--to", "{tmp_path}/copy"]])
def test_directory_in_use_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    with kafkalet.Broker(data_dir=tmp_path / "data"):
        more = [argument.format(tmp_path=tmp_path) for argument in more]
        assert main(["export", "--data-dir", str(tmp_path / "data"), *more]) == 1
    assert capsys.readouterr().err == f"kafkalet: {tmp_path / 'data'} is in use by another broker\n"
    assert not os.path.exists(tmp_path / "copy")


def test_properties_that_the_release_does_not_accept_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with kafkalet.Broker(data_dir=tmp_path, version="3.9") as broker:
        broker.topic("t", 1, config={"segment.bytes": "4000"})
    assert main(["export", "--data-dir", str(tmp_path), "--kafka-version", "4.4"]) == 1
    assert "Invalid value 4000 for configuration segment.bytes" in capsys.readouterr().err


def test_authorizer_is_configured_if_there_are_acls(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, acls=["alice:read:topic:t"]):
        pass
    assert main(["export", "--data-dir", str(tmp_path)]) == 0
    properties = read_properties((tmp_path / "server-1.properties").read_text())
    assert properties["authorizer.class.name"] == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def test_help_describes_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--help"]) == 0
    assert "--kafka-version VERSION" in capsys.readouterr().out
