"""Topics and brokers are read from kafkalet.json or from the metadata log of Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalet.protocol.messages import metadata_records as records
from kafkalet.protocol.metadata_frame import encode_record
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit.cluster_metadata import UNKNOWN, ClusterMetadata, TopicSettings, read_metadata
from kafkalet_spark.audit.findings import Findings

from .audited import audited, batch, write_log
from .test_directory_checks import faults

ID, OTHER = bytes(range(16)), bytes(range(16, 32))
TOPIC, BROKER = 2, 4
COMPACT = records.ConfigRecord(resource_type=TOPIC, resource_name="raw", name="cleanup.policy", value="compact")
CREATED = [
    records.TopicRecord(name="raw", topic_id=ID),
    records.PartitionRecord(
        partition_id=0, topic_id=ID, replicas=[1, 2], isr=[1], removing_replicas=[], adding_replicas=[], leader=1,
        leader_epoch=0, partition_epoch=0,
    ),
    COMPACT,
]  # fmt: skip


def written(base_offset: int, *found: records.MetadataRecord) -> bytes:
    values = [Record(base_offset + at, 0, None, encode_record(each, 0)) for at, each in enumerate(found)]
    return build_batch(values, base_offset=base_offset, leader_epoch=0)


def read(directories: list[Path], findings: Findings | None = None) -> ClusterMetadata | None:
    return read_metadata([str(each) for each in directories], findings or Findings())


def metadata(path: Path, *found: records.MetadataRecord) -> ClusterMetadata | None:
    """Write the records to a metadata log and read it."""
    directory = path / "__cluster_metadata-0"
    directory.mkdir(exist_ok=True)
    (directory / f"{0:020d}.log").write_bytes(written(0, *found))
    return read([path])


def test_settings_and_brokers_are_read_from_a_metadata_log(tmp_path: Path) -> None:
    found = metadata(tmp_path, *CREATED)
    assert found is not None
    assert found.settings("raw") == TopicSettings("compact")
    assert found.settings("other") == UNKNOWN
    assert found.brokers == {1, 2}


def test_topic_without_a_policy_has_that_of_the_brokers(tmp_path: Path) -> None:
    default = records.ConfigRecord(resource_type=BROKER, resource_name="", name="log.cleanup.policy", value="compact")
    assert metadata(tmp_path, *CREATED[:2]).settings("raw") == TopicSettings("delete")  # type: ignore[union-attr]
    assert metadata(tmp_path, *CREATED[:2], default).settings("raw") == TopicSettings("compact")  # type: ignore[union-attr]


def test_topic_that_was_created_again_does_not_have_its_old_settings(tmp_path: Path) -> None:
    again = records.RemoveTopicRecord(topic_id=ID), records.TopicRecord(name="raw", topic_id=OTHER)
    assert metadata(tmp_path, *CREATED, *again).settings("raw") == TopicSettings("delete")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("end", "policy"),
    [(records.EndTransactionRecord(), "compact"), (records.AbortTransactionRecord(), "delete")],
)
def test_records_of_an_aborted_transaction_do_not_count(
    tmp_path: Path, end: records.MetadataRecord, policy: str
) -> None:
    found = metadata(tmp_path, *CREATED[:2], records.BeginTransactionRecord(), COMPACT, end)
    assert found is not None
    assert found.settings("raw").cleanup_policy == policy


def test_log_is_applied_to_the_newest_snapshot(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    (directory / f"{3:020d}-{1:010d}.checkpoint").write_bytes(written(0, *CREATED))
    removed = records.ConfigRecord(resource_type=TOPIC, resource_name="raw", name="cleanup.policy", value=None)
    (directory / f"{0:020d}.log").write_bytes(written(0, *CREATED) + written(3, removed))
    assert read([tmp_path]).settings("raw") == TopicSettings("delete")  # type: ignore[union-attr]


def damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("change", [damaged, lambda data: data + written(9, COMPACT)], ids=["damaged", "with a hole"])
def test_incomplete_metadata_is_unknown(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    metadata(tmp_path, *CREATED)
    path = tmp_path / "__cluster_metadata-0" / f"{0:020d}.log"
    path.write_bytes(change(path.read_bytes()))
    assert read([tmp_path]) is None


@pytest.mark.parametrize("grown", [False, True])
def test_kafkalet_json_counts_until_kafka_has_written_to_its_log(tmp_path: Path, grown: bool) -> None:
    metadata(tmp_path, *CREATED)
    log = tmp_path / "__cluster_metadata-0" / f"{0:020d}.log"
    saved = {"metadata_log": [log.name, log.stat().st_size - grown], "broker_config": [], "topics": []}
    (tmp_path / "kafkalet.json").write_text(json.dumps(saved))
    found = read([tmp_path])
    assert found is not None
    assert found.settings("raw") == (TopicSettings("compact") if grown else UNKNOWN)


def test_directory_of_one_of_several_brokers_has_the_metadata_of_the_cluster(tmp_path: Path) -> None:
    topic = {"name": "raw", "config": {"cleanup.policy": "compact", "index.interval.bytes": "9"}}
    partitions = [{"replicas": [2, 3]}]
    saved = {"broker_config": [[None, {}]], "topics": [topic | {"partitions": partitions}]}
    (tmp_path / "kafkalet.json").write_text(json.dumps(saved))
    found = read([tmp_path / "broker-2"])
    assert found is not None
    assert (found.settings("raw"), found.brokers) == (TopicSettings("compact", 9), {2, 3})


def test_damaged_kafkalet_json_is_not_checked(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    (tmp_path / "kafkalet.json").write_text("{")
    verdict = audited(tmp_path)
    assert (verdict.findings, verdict.exit_status) == ([], 3)
    assert verdict.coverage.not_checked[0].path == str(tmp_path / "kafkalet.json")


def test_node_id_that_is_not_in_the_metadata_is_found(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    saved = {"broker_config": [], "topics": [{"name": "raw", "config": {}, "partitions": [{"replicas": [1]}]}]}
    (tmp_path / "kafkalet.json").write_text(json.dumps(saved))
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\n")
    assert faults(audited(tmp_path)) == []
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=7\n")
    assert faults(audited(tmp_path)) == [("node.id-unknown", str(tmp_path / "meta.properties"))]


def test_missing_metadata_log_is_found(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(0)]))
    assert faults(audited(tmp_path)) == []
    (tmp_path / "bootstrap.checkpoint").write_bytes(b"")
    assert faults(audited(tmp_path)) == [("no-metadata-log", str(tmp_path / "__cluster_metadata-0"))]


def test_missing_quorum_state_is_found(tmp_path: Path) -> None:
    metadata(tmp_path, *CREATED)
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=1\n")
    directory = tmp_path / "__cluster_metadata-0"
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert faults(audited(tmp_path)) == [("no-quorum-state", str(directory / "quorum-state"))]
    (directory / "quorum-state").write_text("{}")
    assert faults(audited(tmp_path)) == []
